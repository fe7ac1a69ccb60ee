from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.errors import RequirementError, UsageError
from torchpick.install import requirements
from torchpick.install.requirements import Given, Wanted, parse, read, wheel_of

FAMILY = ("torch", "torchvision", "torchaudio", "torchcodec")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Torch", Wanted("Torch", "", "torch")),
        ("torch_vision", Wanted("torch_vision", "", "torch-vision")),
        ("torch[opt,extra]<2.9", Wanted("torch[opt,extra]<2.9", "", "torch", ("extra", "opt"), "<2.9")),
        ("./lib[a]", Wanted("./lib[a]", "", extras=("a",), place="./lib")),
        ("git+https://x/y.git", Wanted("git+https://x/y.git", "", place="git+https://x/y.git")),
        (
            "torch @ https://x/torch-2.9.1%2Bcu126-cp311-cp311-win_amd64.whl",
            Wanted(
                "torch @ https://x/torch-2.9.1%2Bcu126-cp311-cp311-win_amd64.whl",
                "",
                "torch",
                (),
                "==2.9.1+cu126",
                "",
                "https://x/torch-2.9.1%2Bcu126-cp311-cp311-win_amd64.whl",
            ),
        ),
        (
            "w/torch-2.9.1+cu126-cp311-cp311-win_amd64.whl ; python_version > '3'",
            Wanted(
                "w/torch-2.9.1+cu126-cp311-cp311-win_amd64.whl ; python_version > '3'",
                "",
                "torch",
                (),
                "==2.9.1+cu126",
                "python_version > '3'",
                "w/torch-2.9.1+cu126-cp311-cp311-win_amd64.whl",
            ),
        ),
    ],
)
def test_requirements_in_their_forms(text: str, expected: Wanted) -> None:
    assert parse(text) == expected


def test_a_folder_named_like_a_project_is_a_project() -> None:
    assert parse("torch").place == ""


@pytest.mark.parametrize("text", ["torch=>2", "two words", "?", "-"])
def test_nonsense_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(RequirementError, match=r"reqs\.txt line 3"):
        parse(text, "reqs.txt line 3")


@given(st.text(max_size=60))
def test_any_word_is_a_requirement_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except RequirementError:
        return
    assert found.name or found.place


@pytest.mark.parametrize("file", ["torch.whl", "torch-2.9.1.tar.gz", "x", "", "https://x/"])
def test_what_is_no_wheel_has_no_version(file: str) -> None:
    assert wheel_of(file) == ("", "")


def test_a_build_tag_is_no_part_of_the_version() -> None:
    assert wheel_of("https://x/torch-2.9.1-1-cp311-cp311-linux_x86_64.whl#sha256=0") == ("torch", "2.9.1")


def test_files_nest_and_constraints_limit(tmp_path: Path) -> None:
    tmp_path.joinpath("sub").mkdir()
    tmp_path.joinpath("a.txt").write_text("numpy\n-r sub/b.txt\n-c c.txt\n-e ./here\n")
    tmp_path.joinpath("sub", "b.txt").write_text("torch<2.12\n-r ../a.txt\n")
    tmp_path.joinpath("c.txt").write_text("torch!=2.9.0\nscipy<2\n")

    asked = read(Given(("torchvision",), (str(tmp_path / "a.txt"),)), {})

    assert [each.name or each.place for each in asked.wanted] == ["torchvision", "numpy", "torch", "./here"]
    assert [each.name for each in asked.limits] == ["torch", "scipy"]
    assert requirements.of_family(asked, FAMILY, {}) == ("torchvision", "torch<2.12", "torch!=2.9.0")
    assert [each.text for each in requirements.outsiders(asked, FAMILY)] == ["numpy", "./here"]


def test_a_limit_on_a_companion_that_nobody_asks_for_is_none(tmp_path: Path) -> None:
    tmp_path.joinpath("c.txt").write_text("torchaudio<3\n")

    asked = read(Given(("torch",), (), (str(tmp_path / "c.txt"),)), {})

    assert requirements.of_family(asked, FAMILY, {}) == ("torch",)


def test_a_marker_that_does_not_hold_leaves_its_line_out() -> None:
    asked = read(Given(("torch<2 ; sys_platform == 'win32'", "torch<3")), {})

    (marker,) = requirements.markers(asked)
    assert requirements.of_family(asked, FAMILY, {marker: False}) == ("torch<3",)
    assert requirements.of_family(asked, FAMILY, {marker: True}) == ("torch<2", "torch<3")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_that_pip_takes(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "r.txt"
    file.write_bytes("torch<2.12  # für alle\n".encode(encoding))

    assert read(Given((), (str(file),)), {}).wanted[0].specifier == "<2.12"


@pytest.mark.parametrize("content", [b"\xff\xfetorch", b"torch\x00", b"\x80\x81", b"\xff\xfe\x00"])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "r.txt"
    file.write_bytes(content)

    with pytest.raises((UsageError, RequirementError)):
        read(Given((), (str(file),)), {})


def test_a_huge_file_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.txt"
    with file.open("wb") as stream:
        stream.truncate(requirements.MOST_BYTES + 1)

    for path, words in ((file, "larger than"), (tmp_path / "none.txt", "cannot be read"), (tmp_path, "cannot be read")):
        with pytest.raises(UsageError, match=words):
            read(Given((), (str(path),)), {})


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    for number in range(requirements.MOST_FILES + 1):
        tmp_path.joinpath(f"{number}.txt").write_text(f"-r {number + 1}.txt\n")
    tmp_path.joinpath(f"{requirements.MOST_FILES + 1}.txt").write_text("")

    with pytest.raises(UsageError, match="more than"):
        read(Given((), (str(tmp_path / "0.txt"),)), {})


def test_files_that_only_the_installer_reads_are_opaque() -> None:
    files = ("pyproject.toml", "pylock.toml", "pylock.dev.toml", "https://example.org/r.txt")

    assert read(Given((), files), {}).opaque == files


def test_torch_from_source_is_refused() -> None:
    asked = read(Given(("torch @ git+https://github.com/pytorch/pytorch",)), {})

    with pytest.raises(RequirementError, match="is no wheel"):
        requirements.of_family(asked, FAMILY, {})
