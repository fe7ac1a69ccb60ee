"""What a Python reports about itself and where it keeps packages, asked of it without running what is installed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from torchpick.environment import child, world
from torchpick.environment.world import prefix_of, text_of
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.noun import Noun
from torchpick.model.pythons import IMPLEMENTATIONS
from torchpick.model.versions import major_minor

# Longer than a Python on a network drive takes; a broken one must not hold up the user.
SECONDS = 30.0

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


def ask(program: str, environ: Mapping[str, str], deadline: float, folders: str | None = None) -> Fields:
    """Ask a Python about itself, and with `folders` (its environment's, or empty) where it keeps packages.

    The answer is checked in what every answer has; raises TorchpickError where there is none.
    """
    config = os.path.join(prefix_of(program), "pyvenv.cfg")
    if os.path.exists(config) and not os.path.isfile(config):  # Python itself would wait for a pipe
        raise broken(program, f"has {config}, which is not a file")
    argv = [program, "-I", "-S", "-c", _QUESTION, *([] if folders is None else [folders])]
    try:
        ended = child.run(argv, environ, deadline - time.monotonic())
    except OSError as error:
        raise broken(program, f"does not start: {error.strerror or error}") from error
    if ended.status is None:
        raise broken(program, "did not answer in time")
    try:
        return answer(ended.answer)
    except ShapeError as error:
        words = f": {ended.last_words[:200]}" if ended.last_words else ""
        raise broken(program, f"is not a Python 3.4 or newer, or is broken{words}") from error


def answer(said: bytes) -> Fields:
    """The last line of what a Python said; raises ShapeError where it is no answer."""
    found = Fields(loads(said.decode("utf-8", "replace").strip().rpartition("\n")[2]))
    pair = found.items("version")
    if len(pair) != 2 or not all(isinstance(part, int) and 0 <= part < 1000 for part in pair):
        raise found.fail("version", "is not a version")
    return found


def broken(program: str, why: str) -> TorchpickError:
    hint = "specify one with `--python 3.12` or `--python PATH`"
    return TorchpickError(f"{program} {why}", hint=hint, code="BROKEN_PYTHON")


def version(found: Fields) -> str:
    major, minor = found.items("version")
    return f"{major}.{minor}"


def implementation(found: Fields) -> str:
    name = found.text("implementation")
    return IMPLEMENTATIONS.get(name, name)


class Layout(Noun):
    """An interpreter, its environment's folder, and the folders that hold packages for it.

    `sites` are those of its search path, in order; `packages` those that an installer fills. `settings` are the keys
    of pyvenv.cfg, None outside a virtual environment.
    """

    executable: str | None
    prefix: str
    version: str
    implementation: str = "cp"
    free_threaded: bool = False
    sites: tuple[str, ...] = ()
    full_version: str | None = None
    packages: tuple[str, ...] = ()
    stdlib: str | None = None
    settings: Mapping[str, str] | None = None


def of(python: str, environ: Mapping[str, str]) -> Layout:
    """Of an interpreter or of an environment's folder; raises TorchpickError where it does not run."""
    program, prefix = _located(python, environ)
    config = _config(prefix)
    if program is None or not os.path.exists(program):
        if config is None:
            raise UsageError(
                f"`{python}` is neither a Python nor an environment", hint="specify an interpreter with `--python`"
            )
        message = f"the interpreter of {prefix} is gone; it was made by the Python in {config.get('home', 'no folder')}"
        raise TorchpickError(message, hint="create the environment again", code="BROKEN_PYTHON")
    # Without a pyvenv.cfg the interpreter itself knows its folder, whichever link or wrapper led to it.
    said = ask(program, environ, time.monotonic() + SECONDS, "" if config is None else prefix)
    try:
        return Layout(
            executable=program,
            prefix=said.text("prefix"),
            version=version(said),
            implementation=implementation(said),
            free_threaded=said.flag("free_threaded"),
            sites=_sites(said, config, environ),
            full_version=said.text("full_version"),
            packages=tuple(dict.fromkeys(said.texts("packages"))),
            stdlib=said.text("stdlib"),
            settings=config,
        )
    except ShapeError as error:
        raise broken(program, str(error)[:200]) from error


def of_environment(python: str, version: str, *, free_threaded: bool) -> Layout | None:
    """Of an environment whose folders show where its packages are, so that its interpreter need not be started."""
    prefix = prefix_of(python)
    config = _config(prefix)
    if config is None and not os.path.isdir(os.path.join(prefix, "conda-meta")):
        return None
    name = f"python{version}{'t' if free_threaded else ''}"
    library = os.path.join(prefix, "Lib") if os.name == "nt" else os.path.join(prefix, "lib", name)
    packages = os.path.join(library, "site-packages")
    if not os.path.isdir(packages):
        return None
    return Layout(
        executable=python,
        prefix=prefix,
        version=version,
        free_threaded=free_threaded,
        sites=(packages,),
        full_version=_full_version(config or {}),
        packages=(packages,),
        stdlib=library,
        settings=config,
    )


def written(prefix: str) -> Layout:
    """What an environment's files say of it, in which nothing is run."""
    version = major_minor(written_version(prefix) or "")
    here = of_environment(os.path.join(prefix, "bin", "python"), version, free_threaded=False)
    return (here or Layout(None, prefix, version))._replace(executable=None)


def written_version(prefix: str) -> str | None:
    """The version that an environment's own file says."""
    return _full_version(_config(prefix) or {})


def _full_version(config: Mapping[str, str]) -> str | None:
    """As venv (`version`) and virtualenv and uv (`version_info`, which may go on with .final.0) write it."""
    parts = (config.get("version_info") or config.get("version") or "").split(".")[:3]
    return ".".join(parts) if len(parts) == 3 else None


def _located(python: str, environ: Mapping[str, str]) -> tuple[str | None, str]:
    """The interpreter, not resolved (an environment's is a link to another's), and the folder it belongs to."""
    path = world.named(python, environ, os.getcwd())
    if path is None:
        return None, os.devnull
    if os.path.isdir(path):
        return world.program_of(path), path
    return path, prefix_of(path)


def _config(prefix: str) -> dict[str, str] | None:
    """pyvenv.cfg; None where the folder is no virtual environment."""
    file = os.path.join(prefix, "pyvenv.cfg")
    if not os.path.isfile(file):
        return None
    pairs = (line.partition("=") for line in text_of(file).splitlines())
    return {key.strip().lower(): value.strip() for key, mark, value in pairs if mark}


def _sites(answer: Fields, config: Mapping[str, str] | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The search path as `site` builds it: PYTHONPATH, the environment's own, the user's, the base's, .pth lines."""
    shared = config is None or config.get("include-system-site-packages", "").lower() == "true"
    own = [*answer.texts("sites")]
    user = [answer.text("user")] if shared and not environ.get("PYTHONNOUSERSITE") else []
    base = [*answer.texts("base_sites")] if shared else []
    # Without an environment the user's folder goes before the interpreter's; within one its own goes first.
    ordered = [*user, *own] if config is None else [*own, *user, *base]
    told = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    found: list[str] = []
    for folder in [*told, *ordered]:
        for path in (folder, *_pth(folder)):
            if path not in found and os.path.isdir(path):
                found.append(path)
    return tuple(found)


def _pth(folder: str) -> list[str]:
    """The folders that .pth files add; their `import` lines are left alone."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".pth"))[:200]
    except OSError:
        return []
    found = []
    for name in names:
        for line in text_of(os.path.join(folder, name)).splitlines()[:1000]:
            text = line.strip()
            if text and not text.startswith(("#", "import ", "import\t")) and "\0" not in text:
                found.append(os.path.normpath(os.path.join(folder, text)))
    return found
