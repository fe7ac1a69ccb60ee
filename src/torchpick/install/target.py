"""Which Python to install for: the one told, else the one that runs torchpick."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from torchpick.errors import UsageError
from torchpick.model.machine import Python

_QUESTION = "import sys, sysconfig; print(*sys.version_info[:2], sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"


def python(told: str | None) -> Python:
    """The target interpreter; UsageError where what was told is none, or a version that is not this Python's."""
    own = f"{sys.version_info[0]}.{sys.version_info[1]}{'t' if 't' in getattr(sys, 'abiflags', '') else ''}"
    if told is None or told == own:
        source = "told" if told else "the Python that runs torchpick"
        return Python(own.rstrip("t"), "cp", own.endswith("t"), sys.executable, source)
    if re.fullmatch(r"\d+\.\d+t?", told):
        hint = "name the interpreter with `--python PATH`; `torchpick url --python` answers for any"
        raise UsageError(f"`--python {told}` names no interpreter, and this one is {own}", hint=hint)
    path = os.path.abspath(told)
    if os.path.isdir(path):
        inside = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
        path = os.path.join(path, *inside)
    try:
        done = subprocess.run([path, "-I", "-c", _QUESTION], capture_output=True, text=True, timeout=30, check=True)
        major, minor, free = done.stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise UsageError(f"`--python {told}` is no Python that starts", hint="name one with `--python PATH`") from error
    return Python(f"{major}.{minor}", "cp", free == "1", path, "told")
