"""What a person reads: plain lines and tables, readable without colour, nothing foreign unescaped."""

from __future__ import annotations

from torchpick.errors import TorchpickError
from torchpick.model.address import redacted
from torchpick.model.arch import Arch, Fit
from torchpick.model.machine import CODE_VENDORS, Gpu, Machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


# A message may quote a line of somebody's file, and such a line can have megabytes.
_LONGEST = 4000
# What such a line was refused for stands behind it.
_END = 400
# What is to be copied stays on one line.
_WHOLE = ("run", "or", "threads")
_COLOURS = {"error": "1;31", "warning": "33", "hint": "1", "pick": "1;32", "run": "36", "or": "36"}
# The last column holds sentences: with less room than this it goes below its row.
_LEAST = 24


def plain(foreign: str) -> str:
    """Text from outside (a GPU's name, a page) made safe for one line of a terminal: whatever is no letter escaped."""
    if foreign.isprintable():
        return foreign
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in foreign)


def note(sentence: str, mark: str = "note") -> str:
    """One line of what a person may want to know, without secrets."""
    return f"{mark}: {plain(redacted(sentence))}"


def wrap(text: str, width: int | None) -> list[str]:
    """The text in lines of at most this width, broken at blanks; what follows the first line hangs by two.

    A command in backticks is one word where it has room. Without a width the text is one line.
    """
    if width is None:
        return [text]
    lines, line = [], ""
    parts = enumerate(text.split("`"))
    joined = "`".join(
        part.replace(" ", "\0") if number % 2 and len(part) <= width - 4 else part for number, part in parts
    )
    for word in (word.replace("\0", " ") for word in joined.split(" ")):
        if line.strip() and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = "  " + word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def ansi(text: str, code: str = "1") -> str:
    return f"\x1b[{code}m{text}\x1b[0m"


def error(failure: TorchpickError, width: int | None = None, *, colour: bool = False) -> str:
    """`error: …`, a blank line, `hint: …`; further lines of the message are indented, so that none looks like ours."""
    whole = redacted(failure.message).split("\n")
    first, *further = (
        line if len(line) <= _LONGEST else f"{line[: _LONGEST - _END]} ... {line[-_END:]}" for line in whole
    )
    lines = [f"error: {plain(first)}", *(f"  {plain(line)}".rstrip() for line in further)]
    if failure.hint:
        lines += ["", f"hint: {plain(redacted(failure.hint))}"]
    text = "\n".join(part for line in lines for part in wrap(line, width))
    if colour:
        words = text.split("`")
        words[1::2] = [ansi(f"`{command}`", _COLOURS["run"]) for command in words[1::2]]
        text = "".join(words).replace("error:", ansi("error:", _COLOURS["error"]), 1)
    return text


def fit(how: Fit, via: Arch | None) -> str:
    """How one GPU is supported."""
    return {
        Fit.EXACT: f"runs its own machine code, {via}",
        Fit.BINARY: f"runs the machine code of {via}",
        Fit.JIT: f"the driver compiles {via} for it",
        Fit.NONE: "holds no code for it",
    }[how]


def lines(rows: Iterable[Sequence[str]], width: int | None) -> list[str]:
    """The rows aligned, a string each; with a width, every line fits into it."""
    cells = [[plain(cell) for cell in row] for row in rows]
    if not cells:
        return []
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    left = sum(widths) + 2 * len(widths)
    shown = []
    for row in cells:
        start = "".join(f"{cell.ljust(wide)}  " for cell, wide in zip(row, widths, strict=False))
        if width is None or len(start) + len(row[-1]) <= width:
            shown.append((start + row[-1]).rstrip())
        elif width - left < _LEAST:
            below = [f"  {part}" for part in wrap(row[-1], max(width - 4, 1)) if part]
            shown.append("\n".join([*wrap(start.rstrip(), width), *below]))
        else:
            first, *more = wrap(row[-1], width - left)
            shown.append("\n".join([start + first, *(" " * left + part for part in more)]))
    return shown


def headed(rows: Iterable[Sequence[str]], width: int | None, bold: Callable[[str], str]) -> str:
    """The rows aligned, the first of them in bold."""
    head, *rest = lines(rows, width)
    return "\n".join([bold(head), *rest])


def block(
    labelled: Iterable[tuple[str, str]], width: int | None, bold: Callable[[str], str] = str, indent: int = 11
) -> str:
    """Texts beside their labels, each label once; prose is wrapped to what is left of the width."""
    shown_lines = []
    before = ""
    for label, text in ((label, redacted(text)) for label, text in labelled):
        parts = wrap(text, None if width is None or label in _WHOLE else max(width - indent, 30))
        for number, part in enumerate(map(plain, parts)):
            first = number == 0 and label != before
            shown = ansi(part, _COLOURS[label]) if first and bold is not str and label in _COLOURS else part
            shown_lines.append(f"{bold(label.ljust(indent)) if first and label else ' ' * indent}{shown}".rstrip())
        before = label
    return "\n".join(shown_lines)


def fact_table(machine: Machine, width: int | None = None) -> list[str]:
    """The facts as a table: what, which, and from where."""
    rows = [(what, f"{fact}  [{source}]" if source else fact) for what, fact, source in fact_rows(machine)]
    notes = [part for remark in machine.notes for part in wrap(note(remark.text), width)]
    return [*lines(rows, width), *([""] if notes else []), *notes]


def fact_rows(machine: Machine) -> list[tuple[str, str, str]]:
    platform, python, driver = machine.platform, machine.python, machine.driver
    libc = f"glibc {platform.glibc}" if platform.glibc else platform.libc or "C library unknown"
    where = f", {python.executable}" if python.executable else ""
    rows = [
        ("platform", f"{platform.name}, {libc}" if platform.os == "linux" else platform.name, ""),
        ("python", f"{python.version} ({python.tag}){where}", python.source),
    ]
    if driver is not None and driver.version is not None:
        rows.append(("driver", driver.version, driver.source))
    if driver is not None and driver.cuda is not None:
        rows.append(("cuda", f"{driver.cuda}, supported by the driver", driver.cuda_source or "unknown"))
    rows += [(f"gpu {gpu.index}", _gpu(gpu), gpu.source) for gpu in machine.gpus]
    if not machine.gpus:
        # Where something did not answer, nothing is known of a GPU; the error says what it was.
        text = "no GPU was found" if machine.trouble is None else "it is not known whether there is one"
        rows.append(("gpu", f'{text}; `--gpu sm_86` or `--gpu "RTX 3090"` specifies a GPU of another machine', ""))
    return rows


def _gpu(gpu: Gpu) -> str:
    # Apple's and Intel's GPUs need no code of their own in the wheel, so they have no capability.
    unknown = "capability unknown" if gpu.vendor in CODE_VENDORS else None
    parts = [gpu.name or "an unnamed GPU", str(gpu.arch) if gpu.arch else unknown, gpu.pci, gpu.uuid]
    marks = [
        ("integrated", gpu.integrated),
        ("hidden by CUDA_VISIBLE_DEVICES", not gpu.visible),
        ("left out", not gpu.counted),
    ]
    return ", ".join([part for part in parts if part] + [word for word, true in marks if true])
