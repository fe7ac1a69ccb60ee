"""Virtual environments with pip, made without ensurepip, which Debian's and Ubuntu's Python lack."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pip


def with_pip(folder: Path) -> Path:
    """Make an environment of this Python in the folder, with a copy of this environment's own pip; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=180)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    source = Path(str(pip.__file__)).parent
    (info,) = source.parent.glob("pip-*.dist-info")
    for each in (source, info):
        shutil.copytree(each, site / each.name)
    program = folder / "bin" / "pip"
    program.write_text(f'#!/bin/sh\nexec "{python}" -m pip "$@"\n', "utf-8")
    program.chmod(0o755)
    return python
