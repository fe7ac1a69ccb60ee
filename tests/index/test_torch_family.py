from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.errors import InstallerError, NetworkError
from torchpick.index import pages, user_index
from torchpick.index.projectfiles import IndexTarget
from torchpick.index.user_index import Host
from torchpick.model.machine import Platform

LINUX = IndexTarget("cp312", Platform("linux", "x86_64", "2.35", "glibc"))
PAGE = "https://host/whl/cu126/torchcodec/"


def find(files: list[str], specifier: str = "", place: IndexTarget = LINUX) -> str:
    body = "".join(f'<a href="../{each.replace("+", "%2B")}">x</a>\n' for each in files)
    found = user_index.best("torchcodec", specifier, pages.parse(body.encode(), PAGE), PAGE, place)
    return f"{found.url}#sha256={found.sha256}"


def wheel(version: str, tag: str = "cp312-cp312-manylinux_2_28_x86_64") -> str:
    return f"torchcodec-{version}-{tag}.whl"


def test_the_newest_that_suits_is_named_with_its_hash() -> None:
    files = [wheel("0.9.0+cu126"), wheel("0.10.0+cu126") + f"#sha256={'a' * 64}", wheel("0.10.0rc1+cu126")]

    assert (
        find(files)
        == f"https://host/whl/cu126/torchcodec-0.10.0%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl#sha256={'a' * 64}"
    )


def test_a_specifier_is_obeyed() -> None:
    assert "0.9.0" in find([wheel("0.9.0+cu126"), wheel("0.10.0+cu126")], "<0.10")


@pytest.mark.parametrize(
    ("tag", "suits"),
    [
        ("cp312-cp312-manylinux_2_28_x86_64", True),
        ("cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64", True),
        ("py3-none-manylinux_2_28_x86_64", True),
        ("py3-none-any", True),
        ("cp39-abi3-manylinux_2_28_x86_64", True),
        ("cp313-abi3-manylinux_2_28_x86_64", False),
        ("cp311-cp311-manylinux_2_28_x86_64", False),
        ("cp312-cp312t-manylinux_2_28_x86_64", False),
        ("cp312-cp312-manylinux_2_39_x86_64", False),
        ("cp312-cp312-manylinux_2_28_aarch64", False),
        ("cp312-cp312-win_amd64", False),
    ],
)
def test_only_wheels_for_the_target_count(tag: str, suits: bool) -> None:
    if suits:
        assert "1.0" in find([wheel("1.0", tag)])
        return
    with pytest.raises(InstallerError, match="it has none for this Python"):
        find([wheel("1.0", tag)])


def test_where_none_fits_it_says_what_there_is() -> None:
    with pytest.raises(InstallerError, match=r"it has 0\.9\.0\+cu126 for this Python") as caught:
        find([wheel("0.9.0+cu126")], ">1")
    assert "leave torchcodec out" in str(caught.value.hint)


def test_the_triton_of_a_torch_wheel(tmp_path: Path) -> None:
    (tmp_path / "torch.whl.metadata").write_text(
        "Name: torch\nRequires-Dist: filelock\n"
        "Requires-Dist: pytorch-triton-rocm (==3.5.1) ; platform_system == 'Linux'\n",
        "utf-8",
    )
    host = Host(tmp_path.as_uri())

    assert host.tritons(f"{tmp_path.as_uri()}/torch.whl#sha256=00") == {"pytorch-triton-rocm": "==3.5.1"}
    with pytest.raises(NetworkError, match="cannot be read"):
        host.tritons(f"{tmp_path.as_uri()}/none.whl")
