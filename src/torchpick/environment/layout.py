"""What a Python reports about itself and where it keeps packages, without running anything that is installed for it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from torchpick.environment import child
from torchpick.environment.world import prefix_of, text_of
from torchpick.errors import TorchpickError
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.machine import Python
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


def ask(program: str, environ: Mapping[str, str], deadline: float, prefix: str | None = None) -> Fields:
    """Ask a Python about itself, and with `prefix` (its environment's folder, or empty) where it keeps packages.

    The version is checked, which every answer has; raises TorchpickError where there is no answer.
    """
    config = os.path.join(prefix_of(program), "pyvenv.cfg")
    if os.path.exists(config) and not os.path.isfile(config):  # Python itself would wait for a pipe
        raise broken(program, f"has {config}, which is not a file")
    argv = [program, "-I", "-S", "-c", _QUESTION, *([] if prefix is None else [prefix])]
    try:
        ended = child.run(argv, environ, deadline - time.monotonic())
    except OSError as error:
        raise broken(program, f"does not start: {error.strerror or error}") from error
    if ended.status is None:
        raise broken(program, "did not answer in time")
    try:
        return parse(ended.answer)
    except ShapeError as error:
        words = f": {ended.last_words[:200]}" if ended.last_words else ""
        raise broken(program, f"is not a Python 3.4 or newer, or is broken{words}") from error


def parse(output: bytes) -> Fields:
    """The last line of what a Python printed; raises ShapeError where it is no answer."""
    answer = Fields(loads(output.decode("utf-8", "replace").strip().rpartition("\n")[2]))
    version = answer.items("version")
    if len(version) != 2 or not all(isinstance(part, int) and 0 <= part < 1000 for part in version):
        raise answer.fail("version", "is not a version")
    return answer


def broken(program: str, why: str) -> TorchpickError:
    hint = "specify one with `--python 3.12` or `--python PATH`"
    return TorchpickError(f"{program} {why}", hint=hint, code="BROKEN_PYTHON")


def python_of(answer: Fields, program: str, source: str = "given") -> Python:
    """The Python that gave this answer; raises ShapeError where it lacks something."""
    major, minor = answer.items("version")
    name = answer.text("implementation")
    return Python(
        version=f"{major}.{minor}",
        implementation=IMPLEMENTATIONS.get(name, name),
        free_threaded=answer.flag("free_threaded"),
        executable=program,
        source=source,
        exact=answer.maybe_text("full_version"),
    )


def settings_of(prefix: str) -> dict[str, str] | None:
    """The keys of pyvenv.cfg; None where the folder is no virtual environment."""
    file = os.path.join(prefix, "pyvenv.cfg")
    if not os.path.isfile(file):
        return None
    pairs = (line.partition("=") for line in text_of(file).splitlines())
    return {key.strip().lower(): value.strip() for key, mark, value in pairs if mark}


def full_version(settings: Mapping[str, str] | None) -> str | None:
    """As venv (`version`) and virtualenv and uv (`version_info`, which may go on with .final.0) write it."""
    settings = settings or {}
    parts = (settings.get("version_info") or settings.get("version") or "").split(".")[:3]
    return ".".join(parts) if len(parts) == 3 else None


def search_path(answer: Fields, settings: Mapping[str, str] | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """As `site` builds it: PYTHONPATH, the environment's own folders, the user's, the base's, .pth lines."""
    shared = settings is None or settings.get("include-system-site-packages", "").lower() == "true"
    sites = answer.texts("sites")
    user = (answer.text("user"),) if shared and not environ.get("PYTHONNOUSERSITE") else ()
    base = answer.texts("base_sites") if shared else ()
    # Without an environment the user's folder goes before the interpreter's; within one its own goes first.
    ordered = (*user, *sites) if settings is None else (*sites, *user, *base)
    folders = [folder for folder in environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    paths = dict.fromkeys(path for folder in (*folders, *ordered) for path in (folder, *_pth_folders(folder)))
    return tuple(filter(os.path.isdir, paths))


def _pth_folders(folder: str) -> list[str]:
    """The folders that .pth files add; their `import` lines are left alone."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".pth"))[:200]
    except OSError:
        return []
    lines = (line.strip() for name in names for line in text_of(os.path.join(folder, name)).splitlines()[:1000])
    return [
        os.path.normpath(os.path.join(folder, line))
        for line in lines
        if line and not line.startswith(("#", "import ", "import\t")) and "\0" not in line
    ]
