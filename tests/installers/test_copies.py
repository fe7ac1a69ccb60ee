"""A file of the user's that names a wheel index is copied without it, and so is all that leads there."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.environment import requirements
from torchpick.environment.requirements import Given
from torchpick.installers import copies
from torchpick.installers.copies import Copies

WHEELS = "https://download.pytorch.org/whl/cu130"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made(*names: str, remote: dict[str, str] | None = None, **files: str) -> Copies:
    """The copies for requirements files of these texts, `_` in a name for a dot."""
    for name, text in files.items():
        Path(name.replace("_", ".")).write_text(text)
    read = {url: text.encode() for url, text in (remote or {}).items()}
    return copies.without_wheel_indexes(requirements.read(Given((), names), {}, read.__getitem__), "/store")


def lines(found: Copies, name: str) -> list[str]:
    return next(file.content for path, file in found.files.items() if path.endswith(name)).splitlines()


def test_a_file_without_a_wheel_index_stays_where_it_is() -> None:
    found = made("r.txt", r_txt="numpy\n--index-url https://own\n-r more.txt\n", more_txt="scipy\n")

    assert found == Copies()
    assert found.path("r.txt") == "r.txt"


@pytest.mark.parametrize("option", ["--index-url", "-i", "--extra-index-url", "--find-links", "-f"])
def test_a_wheel_index_is_left_out(option: str) -> None:
    found = made("r.txt", r_txt=f"numpy\n{option} \\\n  {WHEELS}\nscipy  # why\n")

    assert lines(found, "r.txt") == ["numpy", "scipy"]
    (note,) = found.notes
    assert note.code == "INDEX_LEFT_OUT"
    assert note.text == f"r.txt line 2 names a PyTorch wheel index, left out for this run: {WHEELS}"
    assert found.path("r.txt") == next(iter(found.files.values())).path
    assert next(iter(found.files.values())).private


def test_of_several_options_in_a_line_the_others_stay() -> None:
    found = made("r.txt", r_txt=f"--index-url https://own.example --extra-index-url {WHEELS} --no-index\nnumpy\n")

    assert [line.split() for line in lines(found, "r.txt")] == [
        ["--index-url", "https://own.example", "--no-index"],
        ["numpy"],
    ]


def test_what_leads_to_a_copy_is_copied_and_names_it() -> None:
    found = made(
        "r.txt",
        r_txt="-r sub.txt\n-c plain.txt\nnumpy\n",
        sub_txt=f"scipy\n-i {WHEELS}\n",
        plain_txt="scipy<2\n",
    )

    sub, plain = found.path("sub.txt"), found.path("plain.txt")
    assert lines(found, "r.txt") == [f"--requirement {sub}", f"--constraint {plain}", "numpy"]
    assert lines(found, "sub.txt") == ["scipy"]
    assert lines(found, "plain.txt") == ["scipy<2"]


def test_a_circle_is_cut_where_there_is_a_copy_of_one() -> None:
    found = made("r.txt", r_txt=f"-r sub.txt\n-i {WHEELS}\nnumpy\n", sub_txt="-r r.txt\nscipy\n")

    assert lines(found, "sub.txt") == ["scipy"]
    assert lines(found, "r.txt") == [f"--requirement {found.path('sub.txt')}", "numpy"]
    assert made("r.txt", r_txt="-r sub.txt\nnumpy\n", sub_txt="-r r.txt\nscipy\n") == Copies()


@pytest.mark.parametrize("name", ["a b", "it's"])
def test_a_hard_name_is_quoted_as_pip_reads_it(name: str, tmp_path: Path) -> None:
    Path(name).mkdir()
    found = made("r.txt", r_txt=f'--find-links "{name}"\n-i {WHEELS}\n')

    assert lines(found, "r.txt") == [f'--find-links "{tmp_path / name}"']


def test_links_beside_a_file_are_found_from_its_copy(tmp_path: Path) -> None:
    Path("sub/links").mkdir(parents=True)
    Path("sub/r.txt").write_text(f"--find-links links\n--find-links gone\n--find-links https://own/x\n-i {WHEELS}\n")

    assert lines(made("sub/r.txt"), "r.txt") == [
        f"--find-links {tmp_path / 'sub' / 'links'}", "--find-links gone", "--find-links https://own/x",
    ]  # fmt: skip


def test_a_file_from_another_computer_is_always_a_copy() -> None:
    """An installer would fetch it again, and another may lie there by then."""
    url = "https://anna:hunter2@own.example/r.txt"
    remote = {url: f"numpy\n-c c.txt\n-i {WHEELS}\n", "https://anna:hunter2@own.example/c.txt": "numpy<3\n"}

    found = made("r.txt", remote=remote, r_txt=f"-r {url}\nscipy\n")

    assert len(found.files) == 3
    assert lines(found, "own.example/r.txt") == [
        "numpy", f"--constraint {found.files['https://anna:hunter2@own.example/c.txt'].path}",
    ]  # fmt: skip
    assert [note.text.partition(" line")[0] for note in found.notes] == ["https://anna:****@own.example/r.txt"]
    assert found.path(url) == found.files[url].path
