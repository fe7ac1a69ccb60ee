"""Which files two wheels both write: those of one path whose contents differ."""

from __future__ import annotations

from scripts.table import shared_files


def test_what_lies_at_one_path_alike_is_no_loss() -> None:
    first = {"nvidia/__init__.py": 0, "nvidia/cudnn/lib/libcudnn.so.9": 1, "nvidia/cudnn/lib/only.so": 2}
    second = {"nvidia/__init__.py": 0, "nvidia/cudnn/lib/libcudnn.so.9": 7, "nvidia/cu13/lib/other.so": 2}

    assert shared_files.shared(first, second) == ["nvidia/cudnn/lib/libcudnn.so.9"]
