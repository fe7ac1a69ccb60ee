"""The pages of the site that are made from the table: home, where one types a GPU, one for each GPU and release.

Each answer on them is torchpick's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from urllib.parse import quote_plus

from scripts.shipping import frame, timeline
from scripts.shipping.frame import Page
from scripts.shipping.linkpicture import LinkPicture
from torchpick.cli import webpage
from torchpick.decide.answer import Answer, older_drivers, why_not_newer
from torchpick.decide.matrix import Row
from torchpick.errors import TorchpickError
from torchpick.install.question import answer_request
from torchpick.model.arch import Fit
from torchpick.model.build import Build, Reason, python_span
from torchpick.model.machine import Machine
from torchpick.model.pick import Pick, Request, Wish, pip_line
from torchpick.model.table import Kind, Table
from torchpick.model.versions import grouped, major_minor, release_key
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


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())


FOOT = f"Judged by torchpick, for Python {PYTHON} and, where none is named, the newest driver."


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

    return pick, tuple(older_drivers(pick.machine, run.knowledge.rules.drivers, ask))


def _quoted(line: str) -> str:
    """Words with brackets as every shell takes them."""
    return re.sub(r"\S*\[\S*", r'"\g<0>"', line)


def commands(pick: Pick) -> list[tuple[str, str]]:
    pins = " ".join(f"{name}=={version}" for name, version in pick.companions.items())
    line = _quoted(f"pip install {pip_line(pick.build, pick.wish)} {pins}").strip()
    return [("pip", line), ("uv", f"uv {line}")]


def cells(gpu: str, system: str) -> tuple[tuple[str, str], ...]:
    """By minor release, oldest first, how this GPU fares there with the newest driver that supports it."""
    machine = _run_for(gpu, system).find_machine()
    (own,) = machine.gpus
    found = next((row for kind, row in _rows(machine.platform.name) if kind.arch == own.arch), None)
    if found is None:
        return ()
    cells_by_minor: dict[str, str] = {}
    for torch, verdicts in found.releases.items():  # the newest patch first
        best = timeline.best_of(verdicts)
        minor = major_minor(torch)
        word = "none" if best is None else "jit" if min(fit.fit for fit in best.fits) is Fit.JIT else "runs"
        if cells_by_minor.get(minor, "none") == "none":
            cells_by_minor[minor] = word
    minors = dict.fromkeys(major_minor(torch) for torch in reversed(list(builds())))
    return tuple((minor, cells_by_minor.get(minor, "void")) for minor in minors)


@cache
def _rows(platform: str) -> list[tuple[Kind, Row]]:
    return timeline.rows_of(_run_for("none", "linux-x86_64").knowledge.table([platform]), platform)


def _life(gpu: str, system: str) -> str:
    """The releases as a row, oldest first."""
    row = cells(gpu, system)
    running = [minor for minor, word in row if word in ("runs", "jit")]
    if not running:
        return ""
    words = {"runs": "runs", "jit": "compiled by the driver", "none": "does not run", "void": "no build is known"}
    spans = "".join(
        f'<span class="{kind}" title="torch {minor}: {words[kind]}"><i>{minor}</i></span>' for minor, kind in row
    )
    label = f"Releases {row[0][0]} to {row[-1][0]}: runs from torch {running[0]} to {running[-1]}"
    return f'<div class="timeline" role="img" aria-label="{label}">{spans}</div>'


def _block(line: str, language: str = "sh") -> str:
    return f'<pre><code class="language-{language}">{escape(line)}</code></pre>'


@cache
def answers(gpu: str) -> dict[str, tuple[Pick, tuple[str, ...]]]:
    """By system where anything runs."""
    made = {system: answer(gpu, system) for system in SYSTEMS}
    return {system: found for system, found in made.items() if found is not None}


def best_of(gpu: str) -> str:
    return next((f"torch {pick.version}" for pick, _ in answers(gpu).values()), "no build of today")


def of_gpu(gpu: str) -> Page:
    best = best_of(gpu)
    about = (
        f"The newest PyTorch that runs on {gpu}: {best}, with the commands for pip and uv, and what older drivers take."
    )
    body = [f'<p class="lead">The newest that runs: <b>{escape(best)}</b>.</p>']
    for system, (pick, older) in answers(gpu).items():
        link = f"../../index.html#q={quote_plus(gpu)}&amp;system={system}&amp;python={PYTHON}"
        body += [f"<h2>{SYSTEMS[system]}: torch {escape(pick.version)}</h2>", _life(gpu, system)]
        body += [f"<p>{escape(pick.machine.in_short)}</p>"]
        for name, line in commands(pick):
            body += [f"<h3>{escape(name)}</h3>", _block(line)]
        if older:
            body += ["<h3>With an older driver (nvidia-smi prints it)</h3>", '<ul class="builds">']
            body += [*(f"<li>driver {escape(line)}</li>" for line in older), "</ul>"]
        newer = (line for line in why_not_newer(pick)[:1] if line)
        body += [f'<p class="why"><b>Why not newer?</b> {escape(line)}.</p>' for line in newer]
        body += [f"<p>{escape(note.text)}</p>" for note in pick.notes if note.code == "PARTIAL_LIBRARY"]
        body += [f'<p><a href="{link}">Choose driver and Python, and see why nothing newer runs</a></p>']
    body += ["<h2>On the machine itself</h2>", _block("torchpick install torch torchvision")]
    url = f"gpu/{slug(gpu)}/"
    return Page(url, f"PyTorch for {gpu}", about, "\n".join(body), f"{url}link.png")


def _code_for(build: Build) -> str:
    """Its architectures by the generations that people know."""
    table = _run_for("none", "linux-x86_64").knowledge.table([])
    kinds = [(kind.generation if (kind := table.kind_of(arch)) else "", str(arch)) for arch in build.arches or ()]
    return "; ".join(f"{name} {' '.join(own)}".strip() for name, own in grouped(kinds).items()) or "not known"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, kind: str = "") -> str:
    top = "".join(f'<th scope="col">{each}</th>' for each in head)
    lines = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    head_and_body = f"<thead><tr>{top}</tr></thead><tbody>{lines}</tbody>"
    return f'<table class="plainly{kind}" tabindex="0"><caption>{caption}</caption>{head_and_body}</table>'


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
        for verdict in row.verdicts
        if not verdict.reasons - {Reason.NO_WHEEL_FOR_PYTHON}
    }
    return [build for build in table.of(platform) if build.key in keys and build.vendor is None]


def of_release(torch: str) -> Page:
    own = builds()[torch]
    backends = list(dict.fromkeys(build.backend for build in own))
    pythons = python_span(tuple(sorted({tag for build in own for tag in build.pythons})))
    about = f"PyTorch {torch}: its CUDA and ROCm builds, which GPUs each has code for, and the commands for pip."
    rows = [
        (
            escape(build.backend),
            escape(webpage.PLATFORMS[build.platform]),
            escape(_code_for(build)),
            _block(_quoted(f"pip install {pip_line(build, Wish())}")),
        )
        for build in own
    ]
    named = ", ".join(f"{name} {version}" for name, version in own[0].companions.items() if version)
    body = [
        f'<p class="lead">Published for {escape(", ".join(backends))}, for Python {escape(pythons)}.</p>',
        f"<p>With {escape(named)}.</p>" if named else "",
        _table(("Backend", "System", "Code for", "Command"), rows, f"Builds of torch {escape(torch)}", " wide"),
    ]
    url = f"release/{torch}/"
    return Page(url, f"PyTorch {torch}: CUDA, ROCm, GPUs", about, "\n".join(body), f"{url}link.png")


def listing() -> list[str]:
    """Every GPU and release with a page, and for each GPU its answer: what home shows without JavaScript."""
    body = []
    for generation, names in GPUS.items():
        rows = []
        for gpu in names:
            cells = [made[0] if (made := answer(gpu, system)) else None for system in SYSTEMS]
            shown = [escape(pick.version).replace("+", "<wbr>+") if pick else "none" for pick in cells]
            rows.append((f'<a href="gpu/{slug(gpu)}/index.html">{escape(gpu)}</a>', *shown))
        body.append(_table(("GPU", *SYSTEMS.values()), rows, escape(generation)))
    links = " ".join(f'<a href="release/{torch}/index.html">{torch}</a>' for torch in builds())
    return [*body, "<h2>Releases</h2>", f"<p>{links}</p>"]


def everything() -> Page:
    about = "The newest PyTorch for some sixty GPUs, on Linux and Windows, and every release."
    return Page("all.html", "All GPUs and releases", about, "\n".join(listing()))


def home(base: str) -> str:
    """The page of `torchpick matrix --html`, with the way to the others, and a table where no script runs."""
    run = _run_for("none", "linux-x86_64")
    known = run.knowledge.table(webpage.PLATFORMS)
    page = webpage.html_page(known, Wish(), run.knowledge, {"python": f"Python {PYTHON}"})
    about = "Type the name of a GPU: the newest PyTorch that runs on it, by driver, Python and system, for pip and uv."
    meta = frame.head(Page("", "Which PyTorch runs on my GPU?", about, "", kind="WebApplication"), base)
    # What a script alone fills.
    idle = "<noscript><style>#filters, #answer, #often, main > section { display: none; }</style></noscript>"
    table = f"<noscript>{''.join(listing())}</noscript>"
    page = re.sub(r"<noscript>.*?</noscript>", lambda _: table, page, flags=re.DOTALL)
    page = re.sub(
        r'<meta name="description" content="[^"]*">', f'<meta name="description" content="{escape(about)}">', page
    )
    return page.replace("</head>", f"{meta}\n{idle}\n</head>", 1).replace("<header>", f"<header>\n{frame.links('')}", 1)


def every(base: str) -> Iterator[tuple[str, str]]:
    """Each file with its page; `base` is where the site lies, for what must be a whole address."""
    yield "index.html", home(base)
    yield "all.html", frame.framed(everything(), base, foot=FOOT)
    made = [*(of_gpu(gpu) for names in GPUS.values() for gpu in names), *map(of_release, builds())]
    yield from ((f"{page.url}index.html", frame.framed(page, base, foot=FOOT)) for page in made)


def pictures() -> dict[str, LinkPicture]:
    """By file what a link to each page is shown as elsewhere."""
    gpus = [gpu for names in GPUS.values() for gpu in names]
    home_ = LinkPicture("Which PyTorch runs on my GPU?", f"torch {next(iter(builds()))} is the newest", ())
    drawn = {"pictures/link.png": home_}
    for gpu in gpus:
        system = next(iter(answers(gpu)), None)
        row = cells(gpu, system) if system else ()
        drawn[f"gpu/{slug(gpu)}/link.png"] = LinkPicture(f"PyTorch for {gpu}", best_of(gpu), row)
    for torch, own in builds().items():
        backends = ", ".join(dict.fromkeys(build.backend for build in own))
        drawn[f"release/{torch}/link.png"] = LinkPicture(f"PyTorch {torch}", backends)
    return drawn
