"""`torchpick run`: what is noted of a command that does not take torch by variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.install import running
from torchpick.installers.variables import Variables
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
        (("uv", "run", "--with", "torch", "python"), []),
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

    prepared = running.prepared(Session(request, environ), argv)

    assert [note.code for note in prepared.command.notes if note.code == "NOT_TAKEN"] == codes


def test_the_links_of_both_sides_reach_uv_and_nothing_empty_does() -> None:
    ours = Variables({"PIP_FIND_LINKS": "file:///a.html https://h.example/"}, (), ())

    assert running._links(ours, {"UV_FIND_LINKS": "/srv/mine,,file:///a.html"}) == {
        "UV_FIND_LINKS": "file:///a.html,https://h.example/,/srv/mine"
    }
    assert running._links(Variables({"UV_FIND_LINKS": "/b"}, (), ()), {}) == {"UV_FIND_LINKS": "/b"}
    assert running._links(Variables({}, (), ()), {}) == {"UV_FIND_LINKS": ""}


def test_the_project_is_that_of_the_nearest_folder_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert running._project_above() is None

    (tmp_path / "pyproject.toml").touch()
    assert running._project_above() == str(tmp_path / "pyproject.toml")
    (deep / "pyproject.toml").touch()
    assert running._project_above() == str(deep / "pyproject.toml")
