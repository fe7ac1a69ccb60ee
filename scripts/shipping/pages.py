"""The pages of the site that are made from the table: home, where one types a GPU, one for each GPU and release.

Each answer on them is torchpick's own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path

from scripts.shipping import timeline
from torchpick.cli import webpage
from torchpick.cli.pick import older_drivers
from torchpick.decide.answer import Answer
from torchpick.errors import TorchpickError
from torchpick.install.question import answer_request
from torchpick.model.build import Build, Reason
from torchpick.model.machine import Machine
from torchpick.model.pick import Pick, Request, Wish, pip_line
from torchpick.model.pythons import python_span
from torchpick.model.table import Table
from torchpick.model.versions import release_key
from torchpick.run import Run, start_run

PYTHON = "3.12"
SYSTEMS = {"linux-x86_64": "Linux", "windows-x86_64": "Windows"}
# Those that people ask about most, by generation.
GPUS = {
    "Kepler and Maxwell": (
        "Tesla K80", "GTX 750 Ti", "GTX 960", "GTX 970", "GTX 980 Ti", "Tesla M40",
    ),
    "Pascal": (
        "GTX 1050 Ti", "GTX 1060", "GTX 1070", "GTX 1080", "GTX 1080 Ti", "MX330", "Tesla P4", "Tesla P40",
        "Tesla P100",
    ),
    "Volta and Turing": (
        "TITAN V", "Tesla V100", "GTX 1650", "GTX 1660 Super", "RTX 2060", "RTX 2070", "RTX 2080", "RTX 2080 Ti",
        "Tesla T4", "Quadro RTX 6000",
    ),
    "Ampere": (
        "RTX 3050", "RTX 3060", "RTX 3060 Ti", "RTX 3070", "RTX 3080", "RTX 3090", "RTX A2000", "RTX A4000",
        "RTX A6000", "A10", "A40", "A100",
    ),
    "Ada and Hopper": (
        "RTX 4060", "RTX 4060 Ti", "RTX 4070", "RTX 4080", "RTX 4090", "RTX 6000 Ada", "L4", "L40S", "H100",
        "H200", "GH200",
    ),
    "Blackwell": (
        "RTX 5060 Ti", "RTX 5070", "RTX 5070 Ti", "RTX 5080", "RTX 5090", "RTX PRO 6000 Blackwell", "B200",
        "GB10",
    ),
    "AMD": (
        "RX 6800 XT", "RX 7800 XT", "RX 7900 XT", "RX 7900 XTX", "RX 9060 XT", "RX 9070 XT", "MI210", "MI250X",
        "MI300X",
    ),
    "Intel": (
        "Arc A770", "Arc B580",
    ),
}  # fmt: skip
# They exist on Linux on Arm alone, which the name says.
_ARM = ("GB10", "GH200")
STYLE = (
    (Path(webpage.__file__).parent / "page" / "page.css").read_text(encoding="utf-8")
    + """
pre { padding: .5rem .6rem; background: var(--panel); border: 1px solid var(--line); white-space: pre-wrap; }
code { font: .85rem/1.5 ui-monospace, monospace; }
table.plainly { border-collapse: collapse; display: block; overflow-x: auto; overflow-wrap: normal; }
h2 { margin-top: 1.5rem; }
"""
)


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())


def _meta(kind: str, title: str, about: str, picture: str) -> str:
    """What a link to the page is shown as elsewhere."""
    values = {"type": kind, "site_name": "torchpick", "title": title, "description": about, "image": picture}
    return "\n".join(f'<meta property="og:{name}" content="{escape(value)}">' for name, value in values.items())


def _page(title: str, about: str, body: Sequence[str], *, url: str, picture: str) -> str:
    up = "../" * url.count("/")
    said = _meta("article", title, about, picture)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<meta name="description" content="{escape(about)}">
{said}
<style>
{STYLE}</style>
</head>
<body>
<header>
{links(up)}
<h1>{escape(title)}</h1>
</header>
<main>
{chr(10).join(body)}
</main>
<footer><p>Judged by torchpick, for Python {PYTHON} and, where none is named, the newest driver.</p></footer>
</body>
</html>
"""


def links(up: str) -> str:
    """What stands above each page; a page of docs/ is a folder of the site."""
    pages = (
        ("index.html", "Which PyTorch?"),
        ("all.html", "All GPUs and releases"),
        ("about/index.html", "torchpick"),
        ("users/index.html", "Documentation"),
    )
    anchors = "".join(f'<a href="{up}{to}">{name}</a>' for to, name in pages)
    return f'<nav aria-label="Site">{anchors}</nav>'


def _run_for(gpu: str, system: str) -> Run:
    request = Request(gpus=(gpu,), platform=None if gpu in _ARM else system, python=PYTHON)
    return start_run(request, {"TORCHPICK_OFFLINE": "1"})


@cache
def answer(gpu: str, system: str) -> tuple[Pick, tuple[str, ...]] | None:
    """The pick, and what older drivers take instead; None where nothing runs there."""
    if gpu in _ARM and system != "linux-x86_64":
        return None
    run = _run_for(gpu, system)
    try:
        pick = answer_request(run).pick
    except TorchpickError:
        return None
    if not pick.ok:
        return None

    def ask(machine: Machine) -> Answer:
        return answer_request(run, machines=(machine,), everything=False)

    return pick, tuple(line for _, line in older_drivers(pick.machine, run.knowledge.rules.drivers, ask))


def _quoted(line: str) -> str:
    """Words with brackets as every shell takes them."""
    return re.sub(r"\S*\[\S*", r'"\g<0>"', line)


def commands(pick: Pick) -> list[tuple[str, str]]:
    line = _quoted(f"pip install {pip_line(pick.build, pick.wish)}")
    pins = " ".join(f"{name}=={version}" for name, version in pick.companions.items())
    whole = f"{line} {pins}".strip()
    names = " and ".join(pick.companions)
    with_names = [(f"pip, with {names}", whole)] if names else []
    return [("pip", line), *with_names, ("uv", f"uv {whole}")]


def of_gpu(gpu: str, picture: str) -> tuple[str, str]:
    """The address and the page of one GPU."""
    found = {label: made for system, label in SYSTEMS.items() if (made := answer(gpu, system)) is not None}
    best = next((f"torch {pick.version}" for pick, _ in found.values()), "no build of today")
    about = (
        f"The newest PyTorch that runs on {gpu}: {best}, with the commands for pip and uv, and what older drivers take."
    )
    body = [f'<p class="lead">The newest that runs: <b>{escape(best)}</b>.</p>']
    for label, (pick, older) in found.items():
        fit = next((each for each in pick.machine.gpus), None)
        body += [f"<h2>{label}: torch {escape(pick.version)}</h2>"]
        body += [f"<p>{escape(pick.machine.in_short)}</p>"] if fit is not None else []
        for name, line in commands(pick):
            body += [f"<h3>{escape(name)}</h3>", f"<pre><code>{escape(line)}</code></pre>"]
        if older:
            body += ["<h3>With an older driver (nvidia-smi prints it)</h3>", "<ul>"]
            body += [*(f"<li>driver {escape(line)}</li>" for line in older), "</ul>"]
        body += [f"<p>{escape(note.text)}</p>" for note in pick.notes if note.code == "PARTIAL_LIBRARY"]
    body += ["<h2>On the machine itself</h2>", "<pre><code>torchpick install torch torchvision</code></pre>"]
    body += [f'<p><a href="../../index.html#{slug(gpu)}">Choose driver, Python and system</a></p>']
    return f"gpu/{slug(gpu)}/index.html", _page(
        f"PyTorch for {gpu}", about, body, url=f"gpu/{slug(gpu)}/", picture=picture
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    top = "".join(f'<th scope="col">{each}</th>' for each in head)
    lines = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    head_and_body = f"<thead><tr>{top}</tr></thead><tbody>{lines}</tbody>"
    return f'<table class="plainly" tabindex="0"><caption>{caption}</caption>{head_and_body}</table>'


@cache
def builds() -> dict[str, list[Build]]:
    """The builds that the command takes for some GPU, by release, the newest first."""
    table = _run_for("none", "linux-x86_64").knowledge.table(webpage.PLATFORMS)
    running: dict[str, list[Build]] = {}
    for name in webpage.PLATFORMS:
        for build in running_builds(table, name):
            running.setdefault(build.torch, []).append(build)
    return {torch: running[torch] for torch in sorted(running, key=release_key, reverse=True)}


def running_builds(table: Table, platform: str) -> list[Build]:
    """Those of PyTorch's own that some GPU of the table runs, on a Python that they have a wheel for."""
    keys = {
        verdict.build.key
        for _, row in timeline.rows_of(table, platform)
        for cell in row.cells
        for verdict in cell.verdicts
        if not verdict.reasons - {Reason.NO_WHEEL_FOR_PYTHON}
    }
    return [build for build in table.of(platform) if build.key in keys and build.vendor is None]


def of_release(torch: str, picture: str) -> tuple[str, str]:
    """The address and the page of one release."""
    own = builds()[torch]
    backends = list(dict.fromkeys(build.backend for build in own))
    pythons = python_span(tuple(sorted({tag for build in own for tag in build.pythons})))
    about = f"PyTorch {torch}: its CUDA and ROCm builds, which GPUs each has code for, and the commands for pip."
    rows = [
        (
            escape(build.backend),
            escape(webpage.PLATFORMS[build.platform]),
            escape(" ".join(map(str, build.arches or ())) or "not known"),
            f"<code>{escape(_quoted(f'pip install {pip_line(build, Wish())}'))}</code>",
        )
        for build in own
    ]
    named = ", ".join(f"{name} {version}" for name, version in own[0].companions.items() if version)
    body = [
        f'<p class="lead">Published for {escape(", ".join(backends))}, for Python {escape(pythons)}.</p>',
        f"<p>With {escape(named)}.</p>" if named else "",
        _table(("Backend", "System", "Code for", "Command"), rows, f"Builds of torch {escape(torch)}"),
    ]
    url = f"release/{torch}/"
    return f"{url}index.html", _page(f"PyTorch {torch}: CUDA, ROCm, GPUs", about, body, url=url, picture=picture)


def listing() -> list[str]:
    """Every GPU and release with a page, and for each GPU its answer: what home shows without JavaScript."""
    body = []
    for generation, names in GPUS.items():
        rows = []
        for gpu in names:
            cells = [made[0] if (made := answer(gpu, system)) else None for system in SYSTEMS]
            shown = [escape(f"torch {pick.version}") if pick else "none" for pick in cells]
            rows.append((f'<a href="gpu/{slug(gpu)}/index.html">{escape(gpu)}</a>', *shown))
        body.append(_table(("GPU", *SYSTEMS.values()), rows, escape(generation)))
    links = " ".join(f'<a href="release/{torch}/index.html">{torch}</a>' for torch in builds())
    return [*body, "<h2>Releases</h2>", f"<p>{links}</p>"]


def everything(picture: str) -> str:
    about = "The newest PyTorch for some sixty GPUs, on Linux and Windows, and every release."
    return _page("All GPUs and releases", about, listing(), url="", picture=picture)


def home(picture: str) -> str:
    """The page of `torchpick matrix --html`, with the way to the others, and a table where no script runs."""
    run = _run_for("none", "linux-x86_64")
    known = run.knowledge.table(webpage.PLATFORMS)
    page = webpage.html_page(known, Wish(), run.knowledge, {"python": f"Python {PYTHON}"})
    about = "Type the name of a GPU: the newest PyTorch that runs on it, by driver, Python and system, for pip and uv."
    meta = _meta("website", "Which PyTorch runs on my GPU?", about, picture)
    idle = "<noscript><style>#filters, #columns { display: none; }</style></noscript>"  # what a script alone fills
    table = f"<noscript>{''.join(listing())}</noscript>"
    page = re.sub(r"<noscript>.*?</noscript>", lambda _: table, page, flags=re.DOTALL)
    return page.replace("</head>", f"{meta}\n{idle}\n</head>", 1).replace("<header>", f"<header>\n{links('')}", 1)


def every(base: str) -> Iterator[tuple[str, str]]:
    """Each address with its page; `base` is where the site lies, for what must be a whole address."""
    picture = f"{base}pictures/link.png"
    yield "index.html", home(picture)
    yield "all.html", everything(picture)
    yield from (of_gpu(gpu, picture) for names in GPUS.values() for gpu in names)
    yield from (of_release(torch, picture) for torch in builds())


def write(folder: str, base: str) -> int:
    """Write them into a folder; how many there are."""
    pages = dict(every(base))
    for name, text in pages.items():
        path = Path(folder, name)
        os.makedirs(path.parent, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return len(pages)
