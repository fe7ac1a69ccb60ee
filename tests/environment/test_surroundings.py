"""What the shell, pip's and uv's settings do to an environment; both are read from a folder and given variables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchpick.environment import marks, shellvariables, torchsettings


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


def test_settings_are_found_in_variables_and_in_every_file(tmp_path: Path) -> None:
    config, prefix, project = tmp_path / "config", tmp_path / "env", tmp_path / "project" / "sub"
    for folder in (config / "pip", config / "uv", prefix, project):
        folder.mkdir(parents=True)
    (config / "pip" / "pip.conf").write_text(
        "[install]\nfind_links = https://download.pytorch.org/whl/torch_stable.html\n"
    )
    (prefix / "pip.conf").write_text("[global]\nindex-url=https://u:p@download.pytorch.org/whl/cu126/\ntimeout = 60\n")
    (config / "uv" / "uv.toml").write_text('[[index]]\nurl = "https://download.pytorch.org/whl/nightly/cu130"\n')
    (tmp_path / "project" / "pyproject.toml").write_text(
        '[tool.uv]\ntorch-backend = "cpu"\nx = "https://download.pytorch.org/whl/cu118"\n'
    )
    environ = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(config),
        "XDG_CONFIG_DIRS": str(tmp_path),
        "UV_INDEX": "pt=file:///srv/whl/xpu x",
    }

    found = torchsettings.read(environ, str(prefix), str(project), "file:///srv/whl")

    assert [(each.name, each.backend) for each in found] == [
        ("UV_INDEX", "xpu"),
        ("find-links", None),
        ("index-url", "cu126"),
        ("index", "cu130"),
        ("torch-backend", "cpu"),
    ]


def test_settings_that_are_switched_off_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nindex-url=https://download.pytorch.org/whl/cu126\n")
    (tmp_path / "uv.toml").write_text('torch-backend = "cpu"\n')
    environ = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_DIRS": str(tmp_path),
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_CONFIG": "1",
    }

    assert torchsettings.read(environ, str(tmp_path), str(tmp_path)) == ()


def test_a_file_that_pip_does_not_read_is_not_named(tmp_path: Path) -> None:
    """PIP_CONFIG_FILE hides the user's own, and a section of another command is nothing to `pip install`."""
    mine, named = tmp_path / ".config" / "pip" / "pip.conf", tmp_path / "named.conf"
    mine.parent.mkdir(parents=True)
    mine.write_text("[global]\nindex-url = https://download.pytorch.org/whl/cu126\n")
    named.write_text("[download]\nindex-url = https://download.pytorch.org/whl/cu128\n")
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path)}

    (alone,) = torchsettings.read(environ, str(tmp_path), str(tmp_path))

    assert alone.where == str(mine)
    assert torchsettings.read({**environ, "PIP_CONFIG_FILE": str(named)}, str(tmp_path), str(tmp_path)) == ()


def test_a_broken_file_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("index-url\n")
    (tmp_path / "uv.toml").write_text('torch-backend = "cpu"\n')

    (found,) = torchsettings.read({"HOME": str(tmp_path)}, str(tmp_path), str(tmp_path))

    assert (found.name, found.where) == ("torch-backend", str(tmp_path / "uv.toml"))


@pytest.mark.parametrize(
    "text", ["https://example.com/simple", "https://example.com/whl/cu126", "not a url /whl/cu126", ""]
)
def test_other_indexes_are_nobody_s_business(text: str, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path), "PIP_EXTRA_INDEX_URL": text}

    assert torchsettings.read(environ, str(tmp_path), str(tmp_path)) == ()


def test_a_hostile_configuration_file_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("index-url = " + "https://x" * 100_000)
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path)}

    assert torchsettings.read(environ, str(tmp_path), str(tmp_path)) == ()


def test_a_lock_belongs_to_the_project_s_own_environment_alone(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_bytes(
        b'\xff[[package]]\nname = "torch"\nversion = "2.9.1+cu128"\n[[package]]\nname = "torch"\n'
    )
    for name in (".venv", "other"):
        (tmp_path / name).mkdir()

    found = torchsettings.lock(str(tmp_path / ".venv"))

    assert found is not None
    assert found.versions == ("2.9.1+cu128",)
    assert torchsettings.lock(str(tmp_path / "other")) is None
    (tmp_path / "uv.lock").write_text("version = 1\n")
    assert torchsettings.lock(str(tmp_path / ".venv")) is None


def test_a_setting_beside_a_pin_is_told_from_another(tmp_path: Path) -> None:
    index = "extra-index-url = https://download.pytorch.org/whl/cu126\n"

    def beside(text: str) -> list[bool]:
        (tmp_path / "pip.conf").write_text(text)
        return [each.beside_pin for each in torchsettings.read({"HOME": str(tmp_path)}, str(tmp_path), str(tmp_path))]

    assert beside(f"[global]\n{index}") == [False]
    assert beside(marks.pinned_conf(f"[global]\n{index}", {"constraint": ("a.txt",)})) == [True]
