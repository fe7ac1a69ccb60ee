"""The page of `torchpick matrix --html` in a real headless browser, opened from a file as people will."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.shipping import frame, pages
from scripts.shipping import site as site_pages
from tests import usersettings
from tests.process import browser
from torchpick.cli import webpage
from torchpick.decide import matrix
from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Wish

pytestmark = [pytest.mark.process, pytest.mark.skipif(browser.found() is None, reason="no Chromium")]

GRID = """
  Object.fromEntries([...document.querySelectorAll('#grid tbody tr')].map((line) => [
    line.dataset.arch,
    [...line.querySelectorAll('td')].map((cell) => cell.textContent)]))
"""
HEADS = "[...document.querySelectorAll('#grid thead th')].slice(1).map((head) => head.textContent)"


@pytest.fixture(scope="module")
def page(once: Callable[[str, Callable[[], str]], Path]) -> str:
    words = ["matrix", "--platform", "linux-x86_64", "--python", "3.12", "--html", "-"]
    run = [sys.executable, "-m", "torchpick", *words]
    return once("matrix.html", lambda: subprocess.check_output(run, timeout=120, encoding="utf-8")).as_uri()


@pytest.fixture(scope="module")
def _browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    with browser.Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def chromium(_browser: browser.Browser) -> Iterator[browser.Browser]:
    _browser.faults.clear()
    _browser.screen(1280, 900)
    yield _browser
    assert _browser.faults == []


def answer(chromium: browser.Browser) -> str:
    return str(chromium.js("document.getElementById('answer').innerText"))


def test_typing_a_gpus_name_finds_it_and_its_row_ends_at_2_14_1(chromium: browser.Browser, page: str) -> None:
    chromium.open(page)
    chromium.js("document.getElementById('search').focus()")
    chromium.type("gtx 1080 ti")

    assert "GeForce GTX 1080 Ti" in answer(chromium)
    row = chromium.js(GRID)
    assert list(row) == ["sm_61"]
    by_release = dict(zip(chromium.js(HEADS), row["sm_61"], strict=True))
    assert (by_release["2.15.0"], by_release["2.14.1"]) == ("–", "cu126")
    assert "Newest that runs: torch 2.14.1 with cu126" in answer(chromium)
    assert "pip install --index-url https://download.pytorch.org/whl/cu126 torch==2.14.1+cu126" in answer(chromium)


def test_a_name_that_stands_for_several_is_not_guessed_at(chromium: browser.Browser, page: str) -> None:
    chromium.open(page)
    chromium.js("document.getElementById('search').focus()")
    chromium.type("a100")

    assert chromium.js("document.getElementById('answer-title').innerText").lower().startswith("a100 ")

    chromium.js("document.getElementById('search').select()")
    chromium.type("rtx 6000")

    assert chromium.js("document.getElementById('answer').hidden")
    matches = chromium.js("document.getElementById('matches').innerText")
    assert "Quadro RTX 6000 (sm_75)" in matches
    assert "(sm_120)" in matches

    chromium.js("document.getElementById('search').select()")
    chromium.type("GTX 1080 Tx")
    assert "Similar names" in chromium.js("document.getElementById('found').innerText")
    assert "GTX 1080 Ti" in chromium.js("document.getElementById('matches').innerText")
    chromium.js("document.getElementById('search').select()")
    chromium.type("8800 gtx")
    assert "No build of the table runs on" in chromium.js("document.getElementById('found').innerText")


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ("q=RX+9070&gpu=gfx1201&system=windows-x86_64&python=3.12", "torch 2.14.0 with rocm10.1"),
        ("q=RTX+5090&gpu=sm_120&system=linux-x86_64&python=3.12&driver=570", "torch 2.13.0 with cu129"),
    ],
)
def test_each_link_that_is_shown_keeps_the_whole_state(
    state: str, shown: str, chromium: browser.Browser, page: str
) -> None:
    chromium.open(f"{page}#{state}")
    assert f"Newest that runs: {shown}" in answer(chromium)

    link = chromium.js("document.querySelector('#answer a').getAttribute('href')")
    before = answer(chromium)
    chromium.open(page)
    chromium.open(page + link)

    assert answer(chromium) == before


def test_the_way_of_installing_is_part_of_the_address(chromium: browser.Browser, page: str) -> None:
    chromium.open(f"{page}#q=RTX+4090&gpu=sm_89&system=linux-x86_64&python=3.12")
    chromium.js("[...document.querySelectorAll('.ways button')].find((each) => each.textContent === 'project').click()")

    assert 'dependencies = ["torch==2.15.0+cu132"' in answer(chromium)
    assert "for=project" in chromium.js("location.hash")


def test_nonsense_and_markup_are_only_text(chromium: browser.Browser, page: str) -> None:
    chromium.open(
        page + "#q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&gpu=%3Cb%3E&torch=../..&system=x&python=9&driver=a"
    )

    assert chromium.js("document.querySelectorAll('img, b img').length") == 0
    assert "No GPU of that name is known" in chromium.js("document.getElementById('found').innerText")
    assert chromium.js("document.getElementById('search').value") == "<img src=x onerror=alert(1)>"


COMBINATIONS = [
    ("linux-x86_64", "3.9", "525.60.13"),
    ("linux-aarch64", "3.14t", "580.65.06"),
    ("windows-x86_64", "3.10", "560.76"),
]


@pytest.mark.parametrize(("system", "python", "driver"), COMBINATIONS)
def test_the_grid_says_what_resolve_says(
    system: str, python: str, driver: str, chromium: browser.Browser, page: str
) -> None:
    chromium.open(f"{page}#system={system}&python={python}&driver={driver}&patches=1")

    shown: dict[str, Any] = chromium.js(GRID)
    releases = chromium.js(HEADS)

    table = compat.Knowledge(os.environ).table([system])
    said = Driver(driver, table.drivers.speaks(Driver(driver)))
    free = python.endswith("t")
    others = {*webpage.OTHERS}
    for name, words in ((name, words) for name, words in shown.items() if name not in others):
        arch = Arch.parse(name)
        gpu = Gpu(0, "amd" if arch.kind == "gfx" else "nvidia", None, arch)
        machine = Machine(Platform.parse(system), Python(python.rstrip("t"), free_threaded=free), said, (gpu,))
        (row,) = matrix.rows(machine, table, Wish())
        expected = [best.build.backend if (best := row.best(torch)) else "–" for torch in releases]
        assert [word.rstrip("*") for word in words] == expected, name
    assert len(shown) >= 15


def test_filters_change_the_answer_and_the_address_keeps_them(chromium: browser.Browser, page: str) -> None:
    chromium.open(page + "#gpu=sm_90")
    assert "Newest that runs: torch 2.15.0 with cu132" in answer(chromium)

    chromium.js("""
      const driver = document.getElementById('driver');
      driver.selectedIndex = [...driver.options].findIndex((each) => each.text.startsWith('535'));
      driver.dispatchEvent(new Event('change'));
    """)

    assert "Newest that runs: torch 2.14.1 with cu126" in answer(chromium)
    assert "CUDA 13.2 needs driver 580 or newer; this one is 535" in answer(chromium)
    link = chromium.js("location.href")
    chromium.open(link)
    assert "Newest that runs: torch 2.14.1 with cu126" in answer(chromium)


def test_the_keyboard_reaches_everything(chromium: browser.Browser, page: str) -> None:
    chromium.open(page + "#q=sm_61")
    chromium.js("document.querySelector('#grid td button').focus()")
    chromium.press("ArrowRight")
    assert chromium.js("document.activeElement.getAttribute('aria-label')") == "torch 2.14.1 on sm_61: cu126"
    chromium.press("Enter")
    assert chromium.js("document.activeElement.id") == "answer-title"
    assert "torch 2.14.1" in answer(chromium)
    assert chromium.js("document.querySelectorAll('#grid td button[tabindex=\"0\"]').length") == 1


@pytest.mark.parametrize(("width", "dark"), [(320, False), (390, True), (768, False), (1280, True)])
def test_it_reads_well_at_every_width_light_and_dark(
    *, width: int, dark: bool, chromium: browser.Browser, page: str
) -> None:
    chromium.screen(width, 844, dark=dark)
    chromium.open(page + "#q=gtx+1080&gpu=sm_61")

    assert chromium.js("document.documentElement.scrollWidth") <= width
    assert (
        chromium.js(
            "Math.min(...[...document.querySelectorAll('main button, select, input')].map("
            "(each) => each.getBoundingClientRect().height).filter(Boolean))"
        )
        >= 13
    )
    for selector, least in (("body", 7), (".soft", 4.5), ("#grid td.runs", 4.5), ("#grid td.none button", 4.5)):
        assert contrast(chromium, selector) >= least, selector


def contrast(chromium: browser.Browser, selector: str) -> float:
    """WCAG's ratio between the text of an element and the nearest ground that is painted behind it."""
    return float(
        chromium.js(f"""(() => {{
      const parse = (words) => words.match(/[\\d.]+/g).map(Number);
      const light = (rgb) => {{
        const [r, g, b] = rgb.slice(0, 3).map((part) => {{
          const value = part / 255;
          return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        }});
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      }};
      const element = document.querySelector({selector!r});
      let ground = element;
      const paint = (each) => parse(getComputedStyle(each).backgroundColor);
      while (paint(ground)[3] === 0) ground = ground.parentElement;
      const both = [light(parse(getComputedStyle(element).color)), light(paint(ground))];
      return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    }})()""")
    )


@pytest.mark.parametrize(("agent", "renderer", "shown"), [
        ("Windows NT 10.0; x64", "ANGLE (NVIDIA, NVIDIA GeForce GTX 1080 Ti (0x1B06) Direct3D11 vs_5_0 ps_5_0, D3D11)",
         "GTX 1080 Ti on Windows, x86-64"),
        ("Macintosh; Intel Mac OS X 10_15_7", "ANGLE (Apple, ANGLE Metal Renderer: Apple M3 Max, Unspecified Version)",
         "Apple M3 Max on macOS, Apple silicon"),
        ("X11; Linux x86_64", "ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device), SwiftShader driver)", ""),
])  # fmt: skip
def test_home_guesses_by_what_the_browser_says_and_says_so(
    agent: str, renderer: str, shown: str, chromium: browser.Browser, site: Path
) -> None:
    told = f"getParameter: () => {renderer!r}, getExtension: () => ({{UNMASKED_RENDERER_WEBGL: 1}})"
    source = (
        f"HTMLCanvasElement.prototype.getContext = () => ({{{told}}});"
        f"for (const [name, value] of [['userAgent', {agent!r}], ['platform', ''], ['userAgentData', undefined]])"
        "  Object.defineProperty(navigator, name, {get: () => value});"
    )
    added = chromium.call("Page.addScriptToEvaluateOnNewDocument", source=source)
    try:
        chromium.open(f"{site.as_uri()}/index.html")
    finally:
        chromium.call("Page.removeScriptToEvaluateOnNewDocument", identifier=added["identifier"])

    assert chromium.js("document.getElementById('guess').hidden") is (not shown)
    assert shown in chromium.js("document.getElementById('guess').innerText")
    assert chromium.js("document.getElementById('answer').hidden") is (not shown)


def test_everything_has_a_name_for_a_screen_reader(chromium: browser.Browser, page: str) -> None:
    chromium.open(page + "#q=gtx+1080&gpu=sm_61")
    chromium.call("Accessibility.enable")
    nodes = chromium.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "combobox", "searchbox", "checkbox", "region", "grid", "columnheader", "rowheader"}
    found = [node for node in nodes if not node.get("ignored") and node.get("role", {}).get("value") in roles]

    nameless = [node for node in found if not node.get("name", {}).get("value", "").strip()]

    assert nameless == []
    assert {"searchbox", "combobox", "grid", "button", "checkbox"} <= {node["role"]["value"] for node in found}
    assert chromium.js("document.documentElement.lang") == "en"


@pytest.mark.parametrize(
    ("anchor", "shown"),
    [
        ("geforce-gtx-1080-ti", "torch 2.14.1 with cu126"),
        ("rx-7900-xtx", "torch 2.14.1 with rocm7.2"),
        ("sm_87", "torch"),
    ],
)  # fmt: skip
def test_every_gpu_has_an_address_that_stays(anchor: str, shown: str, chromium: browser.Browser, page: str) -> None:
    chromium.open(f"{page}#{anchor}")

    assert f"Newest that runs: {shown}" in answer(chromium)
    assert chromium.js("location.hash") == f"#{anchor}"


def test_it_opens_on_the_readers_question_and_every_offered_name_leads_to_an_answer(
    chromium: browser.Browser, page: str
) -> None:
    chromium.open(page)
    assert chromium.js("document.querySelector('label[for=search]').innerText") == "Your GPU"
    assert not chromium.js("document.getElementById('often').hidden")
    links = chromium.js("[...document.querySelectorAll('#popular a')].map((each) => each.getAttribute('href'))")
    assert len(links) > 10
    for link in links:
        chromium.open(page + link)
        assert "Newest that runs: torch" in answer(chromium), link
        assert chromium.js("document.getElementById('often').hidden")


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's source, by npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm")
    folder = tmp_path_factory.mktemp("axe")
    words = [npm, "pack", "--silent", "axe-core@4"]
    try:
        done = subprocess.run(
            words, cwd=folder, env=usersettings.fetching(), capture_output=True, timeout=120, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm's registry does not answer")
    files = list(folder.glob("axe-core-*.tgz"))
    if done.returncode or not files:
        pytest.skip("npm's registry does not answer")
    with tarfile.open(files[0]) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


# Every part of the page, small and large, light and dark.
VIEWS = (
    ("", 390, False), ("#gtx-1080-ti", 390, True), ("#q=a100", 1280, False), ("#q=nonsense", 1280, True),
)  # fmt: skip


@pytest.mark.network
@pytest.mark.parametrize(("anchor", "width", "dark"), VIEWS)
def test_axe_finds_nothing(
    *, anchor: str, width: int, dark: bool, axe: str, chromium: browser.Browser, page: str
) -> None:
    chromium.screen(width, 844, dark=dark)
    chromium.open(page + anchor)
    chromium.js(f"{axe}; 0")

    shown = "`${each.id}: ${each.nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(' | ')}`"
    found = chromium.js(f"axe.run().then((result) => result.violations.map((each) => {shown}))")

    assert found == []


needs_markdown = pytest.mark.skipif(importlib.util.find_spec("markdown") is None, reason="could not import 'markdown'")


@pytest.fixture(scope="module")
def site(once: Callable[[str, Callable[[], str]], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for name, text in json.loads(once("site.json", lambda: json.dumps(_site())).read_text("utf-8")).items():
        file = folder / name / "index.html" if name.endswith("/") else folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


def _site() -> dict[str, str]:
    made = [pages.everything(), pages.of_gpu("GTX 1080 Ti")]
    if importlib.util.find_spec("markdown"):
        made += [site_pages.document(name, text) for name, text in site_pages.sources() if name == "users"]
    written = {page.url or "all.html": frame.framed(page, "", heading=page.url != "users/") for page in made}
    release = frame.framed(pages.of_release(next(iter(pages.builds()))), "")
    searched = {"search.js": site_pages.search_index()} if "users/" in written else {}
    return {"index.html": pages.home(""), "release.html": release, **searched, **written}


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("index.html#rtx-4090", 390),
        pytest.param("users/index.html", 768, marks=needs_markdown),
        ("all.html", 1280),
        ("gpu/gtx-1080-ti/index.html", 390),
        ("release.html", 1280),
    ],
)  # fmt: skip
def test_axe_finds_nothing_on_the_site(name: str, width: int, axe: str, chromium: browser.Browser, site: Path) -> None:
    chromium.screen(width, 844)
    chromium.open(f"{site.as_uri()}/{name}")
    chromium.js(f"{axe}; 0")

    found = chromium.js("axe.run().then((result) => result.violations.map((each) => each.id + each.nodes[0].html))")

    assert found == []
    assert chromium.js("document.documentElement.scrollWidth") <= width


@needs_markdown
def test_the_documents_are_searched_by_their_words(chromium: browser.Browser, site: Path) -> None:
    chromium.open(f"{site.as_uri()}/users/index.html")
    assert chromium.js("performance.getEntriesByType('resource').length") == 0
    chromium.js("document.querySelector('aside input').focus()")
    chromium.type("driver libraries")
    chromium.until("document.querySelector('aside ol a') !== null")

    links = chromium.js("[...document.querySelectorAll('aside ol a')].map((link) => link.getAttribute('href'))")

    assert "../judgement/index.html#what-a-build-must-meet" in links
    assert len(links) <= 12


def test_what_is_printed_is_dark_on_white(chromium: browser.Browser, page: str) -> None:
    chromium.screen(1280, 900, dark=True)
    chromium.open(page + "#gtx-1080-ti")
    assert contrast(chromium, "#answer") >= 7
    dark = chromium.js("getComputedStyle(document.body).color")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    chromium.call("Emulation.setEmulatedMedia", media="print", features=features)
    try:
        assert chromium.js("getComputedStyle(document.body).color") == "rgb(27, 31, 36)" != dark
        assert chromium.js("getComputedStyle(document.querySelector('.ways')).display") == "none"
    finally:
        chromium.call("Emulation.setEmulatedMedia", media="")


def test_it_asks_nothing_of_the_network(chromium: browser.Browser, page: str, tmp_path: Path) -> None:
    chromium.open(page)

    assert chromium.js("performance.getEntriesByType('resource').length") == 0
    assert chromium.js("fetch('http://127.0.0.1:9').then(() => 'went', () => 'refused')") == "refused"
    chromium.faults.clear()  # the refusal by the page's own policy, which this test asked for
    chromium.picture(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_nothing_moves_under_a_reader_while_the_page_is_filled(chromium: browser.Browser, page: str) -> None:
    chromium.screen(390, 844)
    chromium.open(page)
    observer = "new PerformanceObserver((list) => done(list.getEntries().length))"
    watched = f"new Promise((done) => {{ {observer}.observe({{ type: 'layout-shift', buffered: true }});"

    assert chromium.js(f"{watched} setTimeout(() => done(0), 300); }})") == 0
    assert chromium.js("getComputedStyle(document.querySelector('main')).visibility") == "visible"
