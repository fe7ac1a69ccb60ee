"""What `inspect` prints: a Reading and its verdicts as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchpick.cli.text import lines, paragraphs, plain
from torchpick.model.fields import written
from torchpick.model.verdict import UNKNOWN, WORST_FIRST
from torchpick.wheels.judging import ReadingVerdict, without_code
from torchpick.wheels.librarycode import Library, texts
from torchpick.wheels.readings import FLAGS, SAMPLE, Reading

_NOTHING_SEEN = "no GPU code in the part that was read; the rest may have some"
_DEPTHS = {
    FLAGS: "the compiled flags; `--deep` reads every library",
    SAMPLE: "a sample of the libraries, not everything; `--deep` reads all",
}


def facts(reading: Reading, verdicts: Sequence[ReadingVerdict]) -> dict[str, object]:
    """One entry of `results`."""
    words = [verdict.word for verdict in verdicts]
    # Without a GPU only what holds no code is judged.
    overall = min(words, key=WORST_FIRST.index) if words else UNKNOWN if reading.holds_code else without_code(reading)
    torch = reading.torch
    return {
        **written(reading, "target", "name", "version", "file", "sha256", "depth", "complete"),
        "cuda": torch.cuda if torch else None,
        **written(reading, "sass", "ptx", "size", "bytes_read", "requests"),
        "verdict": _word(overall),
        "gpus": [_verdict(verdict) for verdict in verdicts],
        "libraries": [_library(library) for library in reading.libraries],
        **written(reading, "compilers", "notes"),
    }


def _word(word: str) -> str | None:
    return None if word == UNKNOWN else word


def _verdict(verdict: ReadingVerdict) -> dict[str, object]:
    return {
        "gpu": verdict.gpu,
        "verdict": _word(verdict.word),
        **written(verdict, "fit", "via"),
        "failing": [{"path": each.path, "verdict": each.word, "text": each.text} for each in verdict.failing],
        "notes": verdict.notes,
    }


def _library(library: Library) -> dict[str, object]:
    return {
        **written(library, "path", "size", "sass", "ptx"),
        "modules": library.code.total,
        "empty": library.code.empty,
        **written(library, "complete", "notes"),
    }


def page(
    reading: Reading, verdicts: Sequence[ReadingVerdict], width: int | None, bold: Callable[[str], str] = str
) -> str:
    """The lines of text."""
    said = [bold(_headline(reading))]
    if reading.sass or reading.ptx:
        said.append(f"  code      {' '.join(texts(reading.sass)) or 'none'}")
        said.append(f"  PTX       {' '.join(texts(reading.ptx)) or 'none'}")
    elif not reading.holds_code:
        word = without_code(reading)
        said.append(f"  {_NOTHING_SEEN if word == UNKNOWN else word}")
    if reading.torch and reading.torch.cuda:
        said.append(f"  CUDA      {reading.torch.cuda}")
    if reading.compilers:
        said.append(f"  compiles  at run time, with {plain(reading.compilers[0])}")
    if reading.depth in _DEPTHS and (reading.depth != FLAGS or reading.sass or reading.ptx):
        said.append(f"  read      {_DEPTHS[reading.depth]}")
    said += [f"  note      {plain(note)}" for note in reading.notes]
    said += lines(_table(reading), width)
    for verdict in verdicts:
        by = f", by its {verdict.via}" if verdict.via is not None and verdict.fit else ""
        said.append(f"  {verdict.gpu!s:<8}  {bold(verdict.word)}{by}")
        said += [f"            {plain(each.path)}: {each.text}" for each in verdict.failing]
    for note in dict.fromkeys(note for verdict in verdicts for note in verdict.notes):
        said.append(f"            {plain(note)}")
    return paragraphs("\n".join(said), width)


def _headline(reading: Reading) -> str:
    name = plain(reading.file or reading.target)
    if reading.name:
        name = f"{plain(reading.name)} {plain(reading.version or '')}".rstrip()
    size = f"{name}: {reading.size / 1e6:.1f} MB"
    if not reading.requests:
        return size
    share = min(100.0, 100 * reading.bytes_read / max(reading.size, 1))
    return f"{size}, read {reading.bytes_read / 1e6:.1f} MB of it ({share:.1f} %) in {reading.requests} requests"


def _table(reading: Reading) -> list[tuple[str, str, str]]:
    rows = []
    for library in reading.libraries:
        if library.holds_code or library.notes:
            code = " ".join(texts((*library.sass, *library.ptx))) or "none"
            name = library.path.replace("\\", "/").rpartition("/")[2]
            rows.append((f"  {name}", f"{library.code.total:>7}", code))
            if library.code.empty:
                rows.append(("", "", f"and {library.code.empty} without a kernel"))
            if library.unregistered.total:
                apart = " ".join(texts((*library.unregistered.sass, *library.unregistered.ptx)))
                rows.append(("", "", f"and {library.unregistered.total} modules in its own data: {apart}"))
            rows += [("", "", note) for note in library.notes]
    return [("  library", "modules", "code"), *rows] if rows else []
