"""What the variables of a shell lead programs to."""

from __future__ import annotations

from pathlib import Path

from torchpick.environment import shellvariables


def test_the_cuda_files_of_library_path_are_listed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("libcudart.so.12", "libcudnn_ops.so.9", "libnvJitLink.so.12.1.105", "libz.so.1", "libcudart.so", "x"):
        (tmp_path / name).write_text("")

    found = shellvariables.read(
        {"LD_LIBRARY_PATH": f":{tmp_path}:/nowhere:{tmp_path / 'x'}", "PATH": "/bin", "LD_PRELOAD": ""}
    )

    assert found.folders == ((str(tmp_path), ("libcudart.so.12", "libcudnn_ops.so.9", "libnvJitLink.so.12.1.105")),)
    assert set(found.variables) == {"LD_LIBRARY_PATH", "LD_PRELOAD"}
    assert found.driver_library is None


def test_behind_the_driver_s_own_libcuda_no_other_is_loaded(tmp_path: Path) -> None:
    driver, stubs = tmp_path / "driver", tmp_path / "stubs"
    for folder in (driver, stubs):
        folder.mkdir()
        (folder / "libcuda.so.1").write_text("")

    own_first = shellvariables.read({"LD_LIBRARY_PATH": f"{driver}:{stubs}"})
    stub_first = shellvariables.read({"LD_LIBRARY_PATH": f"{stubs}:{driver}"})

    assert own_first.driver_library is None
    assert stub_first.driver_library is not None
    assert stub_first.driver_library.kind == "stub"
