from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.errors import NetworkError
from torchpick.index.user_index import Host


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
