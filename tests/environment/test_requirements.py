from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.environment import requirements
from torchpick.environment.requirementfiles import MOST_BYTES
from torchpick.environment.requirements import Requested, RequirementArgs, parse, read_requirements
from torchpick.errors import RequirementError, TorchpickError, UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Torch", Requested("Torch", "", "torch")),
        ("torch_vision", Requested("torch_vision", "", "torch-vision")),
        ("torch[opt,extra]<2.9", Requested("torch[opt,extra]<2.9", "", "torch", ("extra", "opt"), "<2.9")),
        ("./lib[a]", Requested("./lib[a]", "", extras=("a",), place="./lib")),
        ("git+https://x/y.git", Requested("git+https://x/y.git", "", place="git+https://x/y.git")),
        ("file:here", Requested("file:here", "", place="file:here")),
        ("..", Requested("..", "", place="..")),
        ("Lib.ZIP", Requested("Lib.ZIP", "", place="Lib.ZIP")),
        (
            "torch[b, a] @ file:x ; python_version > '3'",
            Requested(
                "torch[b, a] @ file:x ; python_version > '3'", "", "torch", ("a", "b"), "", "python_version > '3'",
                "file:x",
            ),
        ),
        (
            "torch @ https://x/torch-2.9.1%2Bcu126-cp311-cp311-win_amd64.whl",
            Requested(
                "torch @ https://x/torch-2.9.1%2Bcu126-cp311-cp311-win_amd64.whl",
                "", "torch", (), "==2.9.1+cu126", "", "https://x/torch-2.9.1%2Bcu126-cp311-cp311-win_amd64.whl",
            ),
        ),
        (
            "w/torch-2.9.1+cu126-cp311-cp311-win_amd64.whl ; python_version > '3'",
            Requested(
                "w/torch-2.9.1+cu126-cp311-cp311-win_amd64.whl ; python_version > '3'",
                "", "torch", (), "==2.9.1+cu126", "python_version > '3'",
                "w/torch-2.9.1+cu126-cp311-cp311-win_amd64.whl",
            ),
        ),
    ],
)  # fmt: skip
def test_requirements_in_their_forms(text: str, expected: Requested) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("https://x/Torch-2.9.1%2bcu126-1-cp311-cp311-win_amd64.whl?a=b.whl#c", ("torch", "2.9.1+cu126")),
        (r"C:\w\torch_x-1-2b-py3-none-any.whl", ("torch-x", "1")), ("torch-1-b-py3-none-any.whl", ("", "")),
        ("torch-1-py3-none-any.whl.asc", ("", "")), ("torch-1.zip", ("", "")),
    ],
)  # fmt: skip
def test_a_wheels_name_says_which_it_is(place: str, found: tuple[str, str]) -> None:
    assert requirements.wheel_of(place) == found


@pytest.mark.parametrize("end", ["whl", "zip", "tar.gz", "tgz", "tar.bz2", "tar.xz", "TAR"])
def test_an_archive_is_a_place_and_no_name(end: str) -> None:
    assert (parse(f"lib-1.{end}").place, parse(f"lib-1.{end}").name) == (f"lib-1.{end}", "")


@pytest.mark.parametrize(
    "text",
    [
        "torch @ https://h.example/a.whl #sha256=0", "https://h.example/a b.whl", "torch @ file:///a\u2028b.whl",
        "FILE:a b.whl", "a @ http:///x",
    ],
)  # fmt: skip
def test_a_url_that_would_end_early_is_refused(text: str) -> None:
    for reader in (parse, requirements.editable):
        with pytest.raises(RequirementError, match=r"^r\.txt line 3: the URL of `.*` is not valid: it has "):
            reader(text, "r.txt line 3")


@given(st.text(max_size=60))
def test_any_word_is_a_requirement_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except RequirementError:
        return
    assert found.name or found.place


def test_files_nest_and_constraints_limit(tmp_path: Path) -> None:
    tmp_path.joinpath("sub").mkdir()
    tmp_path.joinpath("a.txt").write_text("numpy\n-r sub/b.txt\n-c c.txt\n-e ./here\n", "utf-8")
    tmp_path.joinpath("sub", "b.txt").write_text("torch<2.12\n-r ../a.txt\n", "utf-8")
    tmp_path.joinpath("c.txt").write_text("torch!=2.9.0\n-r d.txt\n", "utf-8")
    tmp_path.joinpath("d.txt").write_text("scipy<2\n", "utf-8")  # of constraints it is constraints too

    asked = read_requirements(RequirementArgs(("torchvision",), (str(tmp_path / "a.txt"),)), {})

    assert [each.name or each.place for each in asked.wanted] == ["torchvision", "numpy", "torch", "./here"]
    assert [each.name for each in asked.limits] == ["torch", "scipy"]


def test_a_huge_file_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.txt"
    with file.open("wb") as stream:
        stream.truncate(MOST_BYTES + 1)

    for path, words in ((file, "larger than"), (tmp_path / "none.txt", "cannot be read"), (tmp_path, "cannot be read")):
        with pytest.raises(UsageError, match=words):
            read_requirements(RequirementArgs((), (str(path),)), {})


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    for number in range(requirements.MOST_FILES + 1):
        tmp_path.joinpath(f"{number}.txt").write_text(
            f"-r {number + 1}.txt\n" if number < requirements.MOST_FILES else "", "utf-8"
        )

    assert (
        len(read_requirements(RequirementArgs((), (str(tmp_path / "1.txt"),)), {}).sources) == requirements.MOST_FILES
    )
    with pytest.raises(UsageError, match="more than"):
        read_requirements(RequirementArgs((), (str(tmp_path / "0.txt"),)), {})


def test_files_that_only_the_installer_reads_are_opaque() -> None:
    files = ("pyproject.toml", "setup.py", "some/setup.cfg")

    assert read_requirements(RequirementArgs((), files), {}).opaque == files
    assert read_requirements(RequirementArgs(constraints=files), {}).opaque == files


def test_one_file_may_be_asked_for_and_limit(tmp_path: Path) -> None:
    for name, text in (
        ("r.txt", "torch --hash=sha256:0\nnumpy\n"),
        ("pyproject.toml", '[project]\ndependencies = ["a"]\n'),
    ):
        (tmp_path / name).write_text(text, "utf-8")
    files = (str(tmp_path / "r.txt"), str(tmp_path / "pyproject.toml"))

    read = read_requirements(RequirementArgs(files=files[:1], constraints=files), {})

    assert [[each.name for each in part] for part in (read.wanted, read.limits)] == [["torch", "numpy"]] * 2
    assert read.hashed
    assert [each.name for each in read_requirements(RequirementArgs(files=files), {}).wanted] == ["torch", "numpy", "a"]


@pytest.mark.parametrize("name", ["pylock.toml", "pylock.dev.toml"])
def test_a_lock_is_refused_as_it_leaves_nothing_to_pick(name: str) -> None:
    with pytest.raises(UsageError, match="leaves no torch to pick") as caught:
        read_requirements(RequirementArgs((), (name,)), {})

    assert f"uv pip sync {name}" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["s.py", "s", "s.txt"])
def test_a_script_is_refused_as_pip_sees_comments_in_it(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(
        "# /// script  \n# dependencies = ['torch @ https://e.org/torch-2.0-py3-none-any.whl']\n# ///\n", "utf-8"
    )

    with pytest.raises(UsageError, match="a script with requirements of its own"):
        read_requirements(RequirementArgs((), (str(file),)), {})


def test_a_remote_file_is_fetched_by_us_with_what_it_names() -> None:
    pages = {"HTTPS://e.org/a/r.txt": b"numpy\n-r ../b/s.txt\n", "https://e.org/b/s.txt": b"torch<2.9\n"}

    asked = read_requirements(RequirementArgs((), tuple(pages)[:1]), {}, pages.__getitem__)

    assert [each.text for each in asked.wanted] == ["numpy", "torch<2.9"]
    assert list(asked.sources) == [(url, False) for url in pages]


@pytest.mark.parametrize("url", ["https://e.org/r.txt", "ftp://e.org/r.txt"])
def test_a_remote_file_that_nobody_fetches_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="cannot be read here"):
        read_requirements(RequirementArgs((), (url,)), {}, (lambda _: b"torch") if url[:3] == "ftp" else None)


def test_a_remote_file_leads_to_no_file_of_this_computer(tmp_path: Path) -> None:
    tmp_path.joinpath("s.txt").write_text("torch", "utf-8")
    page = f"-r {tmp_path.joinpath('s.txt').as_uri()}".encode()

    with pytest.raises(UsageError, match=r"r\.txt"):
        read_requirements(RequirementArgs((), ("https://e.org/r.txt",)), {}, lambda _: page)


def test_a_line_in_doubt_is_refused_with_its_place(tmp_path: Path) -> None:
    for line, words in (
        ("--con x", "ambiguous option"),
        ("--find-links 'x", "closing quotation"),
        ("--nonsense", "no such option"),
    ):
        file = tmp_path / "r.txt"
        file.write_text(f"numpy\n{line}\n", "utf-8")

        with pytest.raises(RequirementError, match=f"r.txt line 2: .*{words}"):
            read_requirements(RequirementArgs((), (str(file),)), {})


@pytest.mark.parametrize("place", ["https://[x", "https://host[/c.txt", "//[x", "file://[x"])
@pytest.mark.parametrize("option", ["-r", "-c", "--find-links"])
def test_an_address_that_nobody_can_read_is_refused_or_left_alone(option: str, place: str) -> None:
    """Beside a remote file addresses are joined, and a bracket there must hold an IPv6 address."""
    page = f"{option} {place}\nnumpy\n".encode()

    def fetch(url: str) -> bytes:
        if url == "https://host/r.txt":
            return page
        raise RequirementError(f"{url} is not there", hint="look")

    with suppress(TorchpickError):  # anything else is a traceback
        read_requirements(RequirementArgs(("torch",), ("https://host/r.txt",)), {}, fetch)
