"""A paragraph for a library's README: which command is for which GPU."""

from __future__ import annotations

from collections.abc import Sequence

from torchpick.model.about import INSTALL_LINE


def markdown(name: str, rows: Sequence[tuple[str, str]], rest: str) -> str:
    """`rows` are (whom, extra), the plain install first with an empty extra; `rest` names whom no extra supports."""
    lines = ["### Which PyTorch for which NVIDIA GPU", "", "| GPU and driver | command |", "|---|---|"]
    for whom, extra in rows:
        what = f'"{name}[{extra}]"' if extra else name
        lines.append(f"| {whom} | `pip install {what}` |")
    lines += [
        f"| {rest or 'any other, or several at once'} | `torchpick install {name}` |",
        "",
        f"`torchpick` chooses by the machine itself; it is installed by `{INSTALL_LINE}` in a checkout of it.",
    ]
    return "\n".join(lines)
