"""`torchpick run`: what is noted of a command that does not take torch by variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.install import env
from torchpick.model.request import Request
from torchpick.session import Session

SCRIPT = "# /// script\n# dependencies = ['torch']\n# ///\n"


@pytest.mark.parametrize(
    ("argv", "codes"),
    [
        *(((word, "install"), ["NOT_TAKEN"]) for word in ("poetry", "pdm", "pixi", "conda", "mamba", "micromamba")),
        *((("uv", word), ["NOT_TAKEN"]) for word in ("sync", "lock", "add", "remove", "export")),
        (("uv", "run", "script.py"), ["NOT_TAKEN"]),
        (("uv", "run", "--with", "numpy", "python"), ["NOT_TAKEN"]),
        (("uv", "run", "python"), ["NOT_TAKEN"]),
        (("uv", "run", "--no-project", "python"), []),
        (("uv",), []),
        (("make",), []),
    ],
)
def test_a_note_has_a_code(
    argv: tuple[str, ...], codes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("pyproject.toml").write_text("[project]\nname = 'mine'\n")
    tmp_path.joinpath("script.py").write_text(SCRIPT)
    request = Request(gpus=("sm_61",), driver="580.95.05", platform="linux-x86_64", python="3.12", offline=True)
    environ = {"TORCHPICK_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}

    _, command = env.command_of(Session(request, environ), argv)

    assert [note.code for note in command.notes if note.code == "NOT_TAKEN"] == codes
