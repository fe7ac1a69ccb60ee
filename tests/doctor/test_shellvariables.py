"""What the variables of a shell lead programs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.doctor import shellvariables


def test_the_cuda_files_of_library_path_are_listed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("libcudart.so.12", "libcudnn_ops.so.9", "libnvJitLink.so.12.1.105", "libz.so.1", "libcudart.so", "x"):
        (tmp_path / name).write_text("", "utf-8")

    found = shellvariables.read_shell(
        {"LD_LIBRARY_PATH": f":{tmp_path}:/nowhere:{tmp_path / 'x'}", "PATH": "/bin", "LD_PRELOAD": ""}
    )

    assert found.folders == ((str(tmp_path), ("libcudart.so.12", "libcudnn_ops.so.9", "libnvJitLink.so.12.1.105")),)
    assert set(found.variables) == {"LD_LIBRARY_PATH", "LD_PRELOAD"}
    assert found.driver_library is None


@pytest.mark.parametrize(
    ("folder", "file", "found"),
    [
        ("cuda/compat", "libcuda.so.575.51.03", ("575.51.03", False)),
        ("cuda-compat-13-0", "libcuda.so.580", (None, False)),
        ("lib64/stubs", "libcuda.so", (None, True)),
        ("compatible", "libcuda.so.575.51.03", None),
    ],
)
def test_a_libcuda_before_the_drivers_own_is_named_by_the_folder_it_lies_in(
    folder: str, file: str, found: tuple[str | None, bool] | None, tmp_path: Path
) -> None:
    real = tmp_path / folder
    real.mkdir(parents=True)
    (real / file).touch()
    (real / "libcuda.so.1").symlink_to(file)
    (tmp_path / "link").symlink_to(real)

    for there in (real, tmp_path / "link"):
        library = shellvariables.read_shell({"LD_LIBRARY_PATH": f"/nowhere;{there}"}).driver_library
        assert library == (found and (str(there), *found))
