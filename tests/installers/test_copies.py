"""Files of the user's of which one names a wheel index are given in one, without it; so is what lies elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.environment import requirements
from torchpick.environment.requirements import Given
from torchpick.errors import InstallerError
from torchpick.installers import copies
from torchpick.installers.store import StoredFile
from torchpick.model.machine import Note

WHEELS = "https://download.pytorch.org/whl/cu130"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made(
    *names: str, constraints: tuple[str, ...] = (), remote: dict[str, str] | None = None, **files: str
) -> tuple[Given, tuple[StoredFile, ...], tuple[Note, ...]]:
    """What is given for requirements files of these texts, `_` in a name for a dot; the files for it, and notes."""
    for name, text in files.items():
        Path(name.replace("_", ".")).write_text(text, "utf-8")
    read = {url: text.encode() for url, text in (remote or {}).items()}
    asked = requirements.read(Given((), names, constraints), {}, read.__getitem__)
    found, files_made, notes = copies.without_wheel_indexes(asked, "/store")
    return found.given, files_made, notes


def lines(name: str, r_txt: str | None = None, sub_txt: str | None = None) -> list[str]:
    """The lines of the one file of requirements."""
    files = {"r_txt": r_txt, "sub_txt": sub_txt}
    given, (file, *_), _ = made(name, **{key: text for key, text in files.items() if text is not None})  # type: ignore[arg-type]
    assert given.files == (file.path,)
    return file.content.splitlines()


def test_files_without_a_wheel_index_stay_where_they_are() -> None:
    given, files, notes = made("r.txt", r_txt="numpy\n--index-url https://own\n-r more.txt\n", more_txt="scipy\n")

    assert given.files == ("r.txt",)
    assert (files, notes) == ((), ())


@pytest.mark.parametrize("option", ["--index-url", "-i", "--extra-index-url", "--find-links", "-f"])
def test_a_wheel_index_is_left_out(option: str) -> None:
    given, (file,), (note,) = made("r.txt", r_txt=f"numpy\n{option} \\\n  {WHEELS}\nscipy  # why\n")

    assert given.files == (file.path,)
    assert file.content.splitlines() == ["numpy", "scipy"]
    assert note.code == "INDEX_LEFT_OUT"
    assert note.text == f"r.txt line 2 names a PyTorch wheel index, left out for this run: {WHEELS}"
    assert file.private


def test_of_several_options_in_a_line_the_others_stay() -> None:
    text = f"--index-url https://own.example --extra-index-url {WHEELS} --no-index\nnumpy --hash=sha256:0\n"

    assert lines("r.txt", r_txt=text) == ["--index-url https://own.example", "--no-index", "numpy --hash=sha256:0"]


def test_all_files_are_one_of_requirements_and_one_of_constraints() -> None:
    given, (wanted, limits), _ = made(
        "r.txt",
        constraints=("c.txt",),
        r_txt="-r sub.txt\n-c plain.txt\nnumpy\n",
        sub_txt=f"scipy\n-i {WHEELS}\n",
        plain_txt="scipy<2\n",
        c_txt="numpy<3\n",
    )

    assert (given.files, given.constraints) == ((wanted.path,), (limits.path,))
    assert wanted.content.splitlines() == ["numpy", "scipy"]
    assert limits.content.splitlines() == ["scipy<2", "numpy<3"]


def test_constraints_alone_make_no_file_of_requirements() -> None:
    given, (limits,), _ = made(constraints=("c.txt",), c_txt=f"--extra-index-url {WHEELS}\nnumpy<3\n")

    assert (given.files, given.constraints) == ((), (limits.path,))


def test_what_an_installer_alone_can_read_stays() -> None:
    Path("pyproject.toml").touch()

    given, (file,), _ = made("pyproject.toml", "r.txt", r_txt=f"-i {WHEELS}\nnumpy\n")

    assert given.files == ("pyproject.toml", file.path)


def test_a_file_that_is_both_is_read_as_both() -> None:
    _, (wanted, limits), _ = made("r.txt", constraints=("r.txt",), r_txt=f"numpy<3\n-i {WHEELS}\n")

    assert wanted.content == limits.content == "numpy<3\n"


def test_a_circle_has_an_end() -> None:
    assert lines("r.txt", r_txt=f"-r sub.txt\n-i {WHEELS}\nnumpy\n", sub_txt="-r r.txt\nscipy\n") == ["numpy", "scipy"]


@pytest.mark.parametrize("name", ["a b", "it's"])
def test_a_hard_name_is_quoted_as_pip_reads_it(name: str, tmp_path: Path) -> None:
    Path(name).mkdir()

    assert lines("r.txt", r_txt=f'--find-links "{name}"\n-i {WHEELS}\n') == [f'--find-links "{tmp_path / name}"']


def test_an_option_stays_one_value() -> None:
    with pytest.raises(InstallerError, match="cannot stand in a requirements file"):
        lines("r.txt", r_txt=f"--find-links 'a\" --index-url https://evil.example \"'\n-i {WHEELS}\n")


def test_links_beside_a_file_are_found_from_its_copy(tmp_path: Path) -> None:
    Path("sub/links").mkdir(parents=True)
    Path("sub/r.txt").write_text(
        f"--find-links links\n--find-links gone\n--find-links https://own/x\n-i {WHEELS}\n", "utf-8"
    )

    assert lines("sub/r.txt") == [
        f"--find-links {tmp_path / 'sub' / 'links'}", "--find-links gone", "--find-links https://own/x",
    ]  # fmt: skip


def test_a_file_from_another_computer_is_always_a_copy() -> None:
    """An installer would fetch it again, and another may lie there by then."""
    url = "https://anna:hunter2@own.example/r.txt"
    remote = {url: f"numpy\n-c c.txt\n-i {WHEELS}\n", "https://anna:hunter2@own.example/c.txt": "numpy<3\n"}

    _, (wanted, limits), notes = made("r.txt", remote=remote, r_txt=f"-r {url}\nscipy\n")

    assert (wanted.content, limits.content) == ("scipy\nnumpy\n", "numpy<3\n")
    assert [note.text.partition(" line")[0] for note in notes] == ["https://anna:****@own.example/r.txt"]
