"""What a Python reports about itself: one short process that runs nothing of what is installed in it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from torchpick.environment import child
from torchpick.model.fields import Fields, loads
from torchpick.model.noun import Noun
from torchpick.model.pythons import IMPLEMENTATIONS

# `-I -S`: neither the user's settings nor sitecustomize nor the `import` lines of .pth files run, and nothing comes
# from the current folder. Runs on every Python from 3.4 on; the answer is the last line, as a wrapper script may print
# first. Without folders it is written by hand, and asks sysconfig on Windows alone: json and sysconfig take longer to
# import than Python takes to start.
#
# For folders an argument follows, the environment's own or nothing. Without the main part of `site` sys.prefix stays at
# the Python behind the environment, and where the two are the same the `site` of Debian and Ubuntu names dist-packages
# alone, so the prefix is set before it is asked.
_QUESTION = """\
import os, sys
from importlib.machinery import EXTENSION_SUFFIXES
if sys.argv[1:] and sys.argv[1]:
    sys.prefix = sys.exec_prefix = sys.argv[1]
try:
    libc = os.confstr("CS_GNU_LIBC_VERSION")
except (AttributeError, ValueError, OSError):
    libc = None
if sys.platform == "win32":
    import sysconfig
    cpu = sysconfig.get_platform().rpartition("-")[2]
else:
    cpu = os.uname().machine
suffix = EXTENSION_SUFFIXES[0] if EXTENSION_SUFFIXES else ""
folders = ""
if sys.argv[1:]:
    import json, site, sysconfig
    paths = sysconfig.get_paths()
    folders = ", " + json.dumps({
        "prefix": sys.prefix,
        "stdlib": paths["stdlib"],
        "packages": [paths["purelib"], paths["platlib"]],
        "sites": site.getsitepackages([sys.prefix]),
        "base_sites": site.getsitepackages([sys.base_prefix]),
        "user": site.getusersitepackages(),
    })[1:-1]
def text(value):
    return "null" if value is None else '"%s"' % "".join(c for c in value if c not in '"\\\\' and " " <= c <= "~")
def flag(value):
    return "true" if value else "false"
sys.stdout.write('\\n{"version": [%d, %d], "full_version": %s, "implementation": %s, "free_threaded": %s, '
    '"system": %s, "cpu": %s, "wide": %s, "libc": %s, "soabi": %s%s}\\n' % (
    sys.version_info[0], sys.version_info[1], text(sys.version.split()[0].rstrip("+")), text(sys.implementation.name),
    flag("t" in getattr(sys, "abiflags", "") or suffix.startswith(".cp%d%dt-" % sys.version_info[:2])),
    text(sys.platform), text(cpu), flag(sys.maxsize > 2 ** 32), text(libc), text(suffix), folders))
"""


class Said(Noun):
    """The result: the answer's bytes and the last line of what else was printed, or why there is no answer."""

    answer: bytes = b""
    talk: str = ""
    problem: str = ""


def ask(program: str, environ: Mapping[str, str], deadline: float, folders: str | None = None) -> Said:
    """Ask a Python about itself, and with `folders` (its environment's, or empty) where it keeps packages."""
    argv = [program, "-I", "-S", "-c", _QUESTION, *([] if folders is None else [folders])]
    try:
        ended = child.run(argv, environ, deadline - time.monotonic())
    except OSError as error:
        return Said(problem=f"does not start: {error.strerror or error}")
    if ended.status is None:
        return Said(problem="did not answer in time")
    return Said(ended.answer, ended.last_words[:200])


def fields(said: Said) -> Fields:
    """The answer's last line, checked in what every answer has; raises ShapeError."""
    lines = said.answer.decode("utf-8", "replace").strip().splitlines()
    found = Fields(loads(lines[-1] if lines else ""))
    pair = found.items("version")
    if len(pair) != 2 or not all(isinstance(part, int) and 0 <= part < 1000 for part in pair):
        raise found.fail("version", "is not a version")
    return found


def version(found: Fields) -> str:
    major, minor = found.items("version")
    return f"{major}.{minor}"


def implementation(found: Fields) -> str:
    name = found.text("implementation")
    return IMPLEMENTATIONS.get(name, name)


def own_folders() -> dict[str, object]:
    """What the Python that runs torchpick would answer about its folders."""
    import site
    import sys
    import sysconfig

    paths = sysconfig.get_paths()
    return {
        "version": list(sys.version_info[:2]),
        "full_version": sys.version.split()[0].rstrip("+"),
        "implementation": sys.implementation.name,
        "free_threaded": "t" in getattr(sys, "abiflags", "")
        or (os.name == "nt" and bool(sysconfig.get_config_var("Py_GIL_DISABLED"))),
        "prefix": sys.prefix,
        "stdlib": paths["stdlib"],
        "packages": [paths["purelib"], paths["platlib"]],
        "sites": site.getsitepackages([sys.prefix]),
        "base_sites": site.getsitepackages([sys.base_prefix]),
        "user": site.getusersitepackages(),
    }
