from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.errors import NetworkError
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
