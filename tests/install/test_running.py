"""`torchpick run`: what is noted of a command that does not take torch by variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.install.env import command_of
from torchpick.model.pick import Request
from torchpick.run import start_run

SCRIPT = "# /// script\n# dependencies = ['torch']\n# ///\n"


OTHERS = ("poetry", "pdm", "pixi", "conda", "mamba", "micromamba")
PROJECT = (
    "takes torch as its project, script or `--with` says, not by variables: `torchpick extras --for app` writes every"
)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        *(((word, "install"), f"{word} reads none of these variables: `torchpick url` says which") for word in OTHERS),
        (("pip-compile", "x.in"), "pip-compile reads no constraint of a variable: `torchpick extras --write"),
        (("/usr/bin/Poetry.exe", "install"), "poetry reads none of these variables"),
        *((("uv", word), f"`uv {word}` {PROJECT}") for word in ("sync", "lock", "add", "remove", "export")),
        (("uv", "run", "script.py"), f"`uv run` {PROJECT}"),
        (("uv", "run", "--with", "numpy", "python"), f"`uv run` {PROJECT}"),
        (("uv", "run", "--no-project", "--with=numpy", "python"), f"`uv run` {PROJECT}"),
        (("uv", "run", "python"), f"`uv run` {PROJECT}"), (("uv", "run", "--no-project", "python"), ""),
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
    assert len(told) == bool(said)
    assert all(text.startswith(said) for text in told)
