"""`torchpick run`: what is noted of a command that does not take torch by variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.install.env import command_of
from torchpick.model.pick import Request
from torchpick.run import start_run

SCRIPT = "# /// script\n# dependencies = ['torch']\n# ///\n"


OTHERS = ("poetry", "pdm", "pixi", "conda", "mamba", "micromamba", "pip-compile")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        *(((word, "install"), word) for word in OTHERS), (("/usr/bin/Poetry.exe", "install"), "poetry"),
        *((("uv", word), f"uv {word}") for word in ("sync", "lock", "add", "remove", "export")),
        (("uv", "run", "script.py"), "uv run"), (("uv", "run", "--with", "numpy", "python"), "uv run"),
        (("uv", "run", "--no-project", "--with=numpy", "python"), "uv run"),
        (("uv", "run", "python"), "uv run"), (("uv", "run", "--no-project", "python"), ""),
        (("uv", "pip", "sync"), ""), (("uv",), ""), (("make",), ""), (("make", "sync"), ""),
    ],
)  # fmt: skip
def test_a_command_that_takes_torch_from_a_file_of_its_own_is_told(
    argv: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("pyproject.toml").write_text("[project]\nname = 'mine'\n", "utf-8")
    tmp_path.joinpath("script.py").write_text(SCRIPT, "utf-8")
    request = Request(gpus=("sm_61",), driver="580.95.05", platform="linux-x86_64", python="3.12", offline=True)
    environ = {"TORCHPICK_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}

    _, command = command_of(start_run(request, environ), argv)

    told = [note.text for note in command.notes if note.code == "NOT_TAKEN"]
    assert [text.partition(" takes torch as")[0] for text in told] == [f"`{said}`"] * bool(said)
