"""An answer for a person: the pick of a machine, the pins of a stack as a table, or what stands in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from torchpick.cli.text import block, headed
from torchpick.cli.text import fit as supported
from torchpick.install import shell
from torchpick.model.address import redacted
from torchpick.model.build import Reason
from torchpick.model.machine import Machine, Note
from torchpick.model.package import Package, Stack
from torchpick.model.pick import Pick, pip_words
from torchpick.model.versions import grouped, release_key, some_of

Paint = Callable[[str], str]
# What the picked build cannot do on these GPUs belongs to the pick itself.
_UNDER_THE_PICK = "PARTIAL_LIBRARY"
# The codes that say what may not run.
_DOUBTS = (_UNDER_THE_PICK, "PACKAGE_UNREAD")


def text(
    pick: Pick,
    commands: Sequence[str],
    width: int | None,
    bold: Paint = str,
    beside: Sequence[tuple[str, str]] = (),
) -> str:
    """Lines under headings, readable without colour. `commands` are those that take the pick, the best first.

    `beside` are labelled lines: the packages with it, or what older drivers take instead.
    """
    parts = [
        [("machine", line) for line in _found_all(pick)],
        [("pick", line) for line in _pick(pick)],
        beside,
        [*zip(("run", "or"), commands, strict=False)],
        [("why not newer", line) for line in why_not_newer(pick)],
        [("note", note.text) for note in pick.every_note if note.code != _UNDER_THE_PICK],
    ]
    return "\n\n".join(block(part, width, bold, len("why not newer") + 2) for part in parts if part)


def pip_command(pick: Pick) -> str:
    """Plain pip's command for torch and its companions, which all lie on one index."""
    return shell.line(["pip", "install", *pip_words(pick.build, pick.wish, redacted(pick.index_url))])


def packages(stack: Stack) -> list[tuple[str, str]]:
    others = (each for each in stack.packages if each.name != "torch")
    return [("with", f"{each.requirement}: {each.verdict}; {each.why}") for each in others]


def _found_all(pick: Pick) -> list[str]:
    """Each machine's lines; those that are alike but for their name are listed once, with their number and hosts."""
    if pick.fleet is None or pick.fleet.count == 1:
        return [line for machine in pick.machines for line in found(machine)]
    alike = grouped((tuple(found(each._replace(name=None))), place) for place, each in enumerate(pick.machines))
    return [line for lines, places in alike.items() for line in (str(pick.fleet.hosts(places)), *lines)]


def found(machine: Machine) -> list[str]:
    """The machine in two lines or so."""
    gpus = Counter(gpu.label + ("" if gpu.counted else ", not counted") for gpu in machine.gpus)
    lines = [machine.name] if machine.name else []
    lines += [f"{count} × {gpu}" if count > 1 else gpu for gpu, count in gpus.items()] or ["no GPU"]
    facts = []
    if machine.driver is not None:
        spoken = f" (CUDA {machine.driver.cuda})" if machine.driver.cuda else ""
        assumed = ", assumed" if machine.driver.source == "assumed" else ""
        windows = " of Windows" if machine.driver_os != machine.platform.os else ""
        facts.append(f"driver{windows} {machine.driver.version or 'not given'}{spoken}{assumed}")
    facts.append(machine.platform.name + (f", glibc {machine.platform.glibc}" if machine.platform.glibc else ""))
    python = machine.python
    facts.append(f"Python {python.version}{'t' if python.free_threaded else ''}")
    return [*lines, ", ".join(facts)]


def _pick(pick: Pick) -> list[str]:
    lines = [f"torch {pick.version}"]
    for verdict in pick.verdicts:
        for fit in verdict.fits:
            label = next(each.label for each in pick.machines[fit.machine or 0].gpus if each.index == fit.gpu)
            lines.append(f"{label}: {supported(fit.fit, fit.via)}")
    lines = [*dict.fromkeys(lines)]  # machines that are alike say the same
    lines += [note.text for note in pick.notes if note.code == _UNDER_THE_PICK]
    if pick.companions:
        lines.append("with " + ", ".join(f"{name} {version}" for name, version in pick.companions.items()))
    return lines


# What a newer build has against it that would run: it comes after PyTorch's own.
_BESIDE = "it is on AMD's index, and PyTorch's has a build that runs here"


def why_not_newer(pick: Pick) -> list[str]:
    """For up to three newer releases, why none of their builds was taken: the reason that most of them share."""
    chosen = release_key(pick.build.torch)
    newer = grouped(
        (each.build.torch, each)
        for each in pick.considered
        if release_key(each.build.torch) > chosen and each.rank.preference >= 2
    )
    lines = []
    for torch, verdicts in list(newer.items())[:3]:
        candidates = [each for each in verdicts if Reason.BACKEND_NOT_ALLOWED not in each.reasons] or verdicts
        by_text = grouped(
            (each.objections[0].text if each.objections else _BESIDE, each.build.backend) for each in candidates
        )
        lines += [f"{torch} {', '.join(backends)}: {why}" for why, backends in by_text.items()]
    if len(newer) > 3:
        lines.append(f"and {len(newer) - 3} more; `torchpick list` shows all")
    return lines


def table(stack: Stack, width: int | None, bold: Paint = str) -> str:
    """Every pin, what it is for, whether it runs, and why it was chosen."""
    rows = [("package", "version", "CUDA", "verdict", "from", "why")]
    for each in stack.packages:
        page = each.index.partition("/download/")[0]
        rows.append((each.name, each.version, each.cuda or "-", each.verdict, page, each.why))
    return headed(rows, width, bold)


def download(stack: Stack) -> list[tuple[str, str]]:
    """How much there is to fetch, as far as the index says."""
    if stack.download is None:
        return []
    size, unknown = stack.download.bytes, stack.download.unknown
    text = f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB" if size >= 1e6 else "under 1 MB"
    they = "it requires" if len(unknown) == 1 else "they require"
    left = f", without {some_of(unknown)} and what {they}" if unknown else ""
    return [("download", f"{text} at least{left}")]


def versions(rows: Iterable[tuple[Package, Stack]], width: int | None, bold: Paint = str) -> str:
    """The versions of a package, newest first, each with the torch it would be with, or why it does not fit.

    A reason that many in a row share is said once.
    """
    cells = [("version", "torch", "CUDA", "verdict", "why")]
    said = ""
    for package, stack in rows:
        torch, cuda, code, why = "-", package.cuda, "-", ""
        pin = next((each for each in stack.packages if each.name == package.name), None)
        if pin is not None:
            why = "; ".join(note.text.removeprefix(f"{package.who}: ") for note in _doubts(stack))
            torch, cuda, code = stack.version("torch") or "-", pin.cuda, pin.verdict
        elif objections := sorted(stack.objections, key=lambda each: each.name != package.name):
            code, why = objections[0].objection.code, objections[0].objection.text
        cells.append((package.version, torch, cuda or "-", code, "as above" if why and why == said else why))
        said = why
    return headed(cells, width, bold)


def of_torch(rows: Iterable[tuple[Package, Stack]]) -> list[str]:
    """What the torch builds beside the versions lack, a line each: many versions are beside the same."""
    found = (
        each.text for _, stack in rows for each in stack.notes if each.code in _DOUBTS and each not in _doubts(stack)
    )
    return [*dict.fromkeys(found)]


def _doubts(stack: Stack) -> list[Note]:
    """The notes on whether a package of it runs, torch's own aside."""
    pinned = [f"{each.name} {each.version}" for each in stack.packages]
    return [each for each in stack.notes if each.code in _DOUBTS and any(who in each.text for who in pinned)]
