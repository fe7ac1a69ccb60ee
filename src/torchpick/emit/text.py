"""What a person reads: plain lines, readable without colour, nothing foreign unescaped."""

from __future__ import annotations

from torchpick.errors import TorchpickError
from torchpick.model.verdict import Pick


def plain(foreign: str) -> str:
    """Text from outside (a GPU's name, a page) made safe for a terminal: control bytes and bidi marks escaped."""
    if foreign.isprintable():
        return foreign
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode("ascii")
        for char in foreign
    )


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most this width, broken at blanks; what follows the first line hangs by two."""
    lines, line = [], ""
    for word in text.split(" "):
        if line.strip() and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = "  " + word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def error(failure: TorchpickError) -> str:
    """`error: …`, a blank line, `hint: …`."""
    lines = [f"error: {plain(failure.message)}"]
    if failure.hint:
        lines += ["", f"hint: {plain(failure.hint)}"]
    return "\n".join(lines)


def notes(pick: Pick) -> list[str]:
    """What a person should know of the answer, a line each."""
    found = [note for machine in pick.machines for note in machine.notes]
    return [f"note: {plain(note.text)}" for note in (*found, *pick.notes)]
