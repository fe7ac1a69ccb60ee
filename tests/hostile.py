"""Settings that would spoil a run, for every place that pip, uv and XDG read: the suite runs beside them, always.

What no test can move (/etc/xdg) a workflow plants: `python -m tests.hostile DIR` writes what it copies there. That
names no index, as the tests fetch real tools from the one that such files name.
"""

from __future__ import annotations

import sys
from pathlib import Path

NOWHERE = "http://127.0.0.1:9/simple"
_PIP = """[global]
constraint = /nowhere/constraints.txt
no-binary = :all:
[install]
user = true
"""
_UV = """constraint-dependencies = ["torch==0.0.1", "numpy==0.0.1"]
override-dependencies = ["torch==0.0.1"]
exclude-newer = "2001-01-01T00:00:00Z"
"""
_PIP_INDEX = f"[global]\nindex-url = {NOWHERE}\n"
_UV_INDEX = f'[[index]]\nurl = "{NOWHERE}"\ndefault = true\n'
_VARIABLES = {
    "PIP_CONSTRAINT": "/nowhere/constraints.txt", "PIP_INDEX_URL": NOWHERE, "PIP_NO_INDEX": "1",
    "PIP_TARGET": "/nowhere",
    "PIP_REQUIRE_VIRTUALENV": "1", "PIP_EXTRA_INDEX_URL": NOWHERE, "PIP_ONLY_BINARY": ":none:", "PIP_PRE": "1",
    "UV_CONSTRAINT": "/nowhere/constraints.txt", "UV_INDEX_URL": NOWHERE, "UV_OFFLINE": "1", "UV_TORCH_BACKEND": "cpu",
    "UV_EXCLUDE_NEWER": "2001-01-01", "UV_PROJECT_ENVIRONMENT": "/nowhere", "UV_SYSTEM_PYTHON": "1",
    "TORCHPICK_BACKEND": "cu1", "TORCHPICK_GPU": "nonesuch", "TORCHPICK_DRIVER": "1", "TORCHPICK_OFFLINE": "1",
    "TORCHPICK_INDEX_BASE": NOWHERE, "VIRTUAL_ENV": "/nowhere", "CONDA_PREFIX": "/nowhere",
    "PYTHONUSERBASE": "/nowhere",
    "CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": "/nowhere", "no_proxy": "*",
}  # fmt: skip


def plant(folder: Path, pip: str = _PIP, uv: str = _UV) -> None:
    """What lies in a folder of XDG_CONFIG_DIRS."""
    for name, text in {"pip/pip.conf": pip, "uv/uv.toml": uv}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def variables(folder: Path) -> dict[str, str]:
    """The variables, with a home and XDG folders that are planted."""
    home = folder / "home"
    for place in (home / ".config", folder / "user", folder / "shared"):
        plant(place, _PIP.replace("[global]\n", _PIP_INDEX), _UV + _UV_INDEX)
    for name in (".pip/pip.conf", "Library/Application Support/pip/pip.conf"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(_PIP, "utf-8")
    (home / ".netrc").write_text("machine 127.0.0.1 login hostile password hostile\n", "utf-8")
    places = {"HOME": home, "NETRC": home / ".netrc", "PIP_CONFIG_FILE": home / ".pip/pip.conf",
              "UV_CONFIG_FILE": folder / "user/uv/uv.toml", "XDG_CONFIG_HOME": folder / "user",
              "XDG_CONFIG_DIRS": folder / "shared", "XDG_CACHE_HOME": folder / "user/pip/pip.conf"}  # fmt: skip
    return {**_VARIABLES, **{name: str(place) for name, place in places.items()}}


if __name__ == "__main__":
    plant(Path(sys.argv[1]))
