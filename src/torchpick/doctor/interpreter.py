"""Where a Python keeps what is installed for it: its own search path, asked of it without running any of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from torchpick.errors import TorchpickError, UsageError
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.noun import Noun

# `-I -S`: neither the user's settings nor sitecustomize nor the `import` lines of .pth files run. `site` is only
# imported for its folder names, Debian's included. Python 3.4 and later.
_QUESTION = """\
import json, site, sys, sysconfig
prefix = sys.argv[1] or sys.prefix
sys.stdout.write("\\n" + json.dumps({
    "version": "%d.%d" % sys.version_info[:2],
    "implementation": sys.implementation.name,
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "prefix": prefix,
    "sites": site.getsitepackages([prefix]),
    "base_sites": site.getsitepackages([sys.base_prefix]),
    "user": site.getusersitepackages(),
}) + "\\n")
"""
_IMPLEMENTATIONS = {"cpython": "cp", "pypy": "pp"}
_SECONDS = 30


class Layout(Noun):
    """An interpreter, its environment's folder, and the folders of its search path that hold packages, in order."""

    executable: str | None
    prefix: str
    version: str
    implementation: str = "cp"
    free_threaded: bool = False
    sites: tuple[str, ...] = ()
    gone: str | None = None


def layout(python: str, environ: Mapping[str, str]) -> Layout:
    """Of an interpreter or of an environment's folder; where the interpreter is gone, what its folder still tells."""
    program, prefix = _located(python)
    config = _config(prefix)
    if program is None or not os.path.exists(program):
        if config is None:
            raise UsageError(f"`{python}` is no Python and no environment", hint="name an interpreter with `--python`")
        home = config.get("home") or "which is not said"
        return _by_folder(prefix, config, f"its interpreter is gone; it was made by the Python in {home}")
    own = _same(prefix, sys.prefix) and os.path.exists(sys.executable)
    answer: Fields | None
    if own:
        answer = Fields(_own())
    else:
        # Without a pyvenv.cfg the interpreter itself knows its folder, whichever link or wrapper led to it.
        answer, problem = _asked(program, "" if config is None else prefix)
        if answer is None:
            if config is None:
                raise TorchpickError(
                    f"{program} does not answer like a Python: {problem}", hint="name another with `--python`"
                )
            return _by_folder(prefix, config, f"its interpreter does not run: {problem}")
    try:
        return Layout(
            executable=sys.executable if own else program,
            prefix=answer.text("prefix"),
            version=answer.text("version"),
            implementation=_IMPLEMENTATIONS.get(answer.text("implementation"), answer.text("implementation")),
            free_threaded=answer.flag("free_threaded"),
            sites=_sites(answer, config, environ),
        )
    except ShapeError as error:
        raise TorchpickError(f"{program}: {error}", hint="name another interpreter with `--python`") from error


def _located(python: str) -> tuple[str | None, str]:
    """The interpreter, not resolved (an environment's is a link to another's), and the folder it belongs to."""
    path = os.path.abspath(os.path.expanduser(python))
    if os.path.isdir(path):
        names = ("Scripts/python.exe", "python.exe") if os.name == "nt" else ("bin/python", "bin/python3")
        programs = [os.path.join(path, *name.split("/")) for name in names]
        return next((each for each in programs if os.path.exists(each)), None), path
    folder = os.path.dirname(path)
    if os.name == "nt" and os.path.basename(folder).lower() != "scripts":
        return path, folder
    return path, os.path.dirname(folder)


def _config(prefix: str) -> dict[str, str] | None:
    """pyvenv.cfg; None where the folder is no virtual environment."""
    try:
        with open(os.path.join(prefix, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
            lines = file.read(1 << 16).splitlines()
    except OSError:
        return None
    pairs = (line.partition("=") for line in lines)
    return {key.strip().lower(): value.strip() for key, mark, value in pairs if mark}


def _by_folder(prefix: str, config: Mapping[str, str], gone: str) -> Layout:
    """What the folders tell of an environment whose interpreter does not answer."""
    lib = os.path.join(prefix, "Lib" if os.name == "nt" else "lib")
    try:
        names = sorted(os.listdir(lib))
    except OSError:
        names = []
    sites = [os.path.join(lib, name, "site-packages") for name in names if name.startswith(("python3.", "pypy3."))]
    if os.name == "nt":
        sites = [os.path.join(lib, "site-packages")]
    said = config.get("version_info") or config.get("version") or ""
    version = ".".join(said.split(".")[:2])
    if not version and sites:
        version = os.path.basename(os.path.dirname(sites[0])).removeprefix("python").rstrip("t")
    parts = version.split(".")
    known = len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts)
    free = any("python" in site and site.rstrip("/").split("/")[-2].endswith("t") for site in sites)
    found = tuple(site for site in sites if os.path.isdir(site))
    return Layout(None, prefix, version if known else "3.12", free_threaded=free, sites=found, gone=gone)


def _own() -> dict[str, object]:
    """What our own interpreter would answer."""
    import site

    return {
        "version": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "implementation": sys.implementation.name,
        "free_threaded": "t" in getattr(sys, "abiflags", ""),
        "prefix": sys.prefix,
        "sites": site.getsitepackages([sys.prefix]),
        "base_sites": site.getsitepackages([sys.base_prefix]),
        "user": site.getusersitepackages(),
    }


def _asked(program: str, prefix: str) -> tuple[Fields | None, str]:
    """The answer of another interpreter, or why there is none."""
    import subprocess

    try:
        done = subprocess.run(
            [program, "-I", "-S", "-c", _QUESTION, prefix],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer in {_SECONDS} s"
    except (OSError, ValueError) as error:
        return None, getattr(error, "strerror", None) or str(error)
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    if done.returncode:
        return None, said[-1][:200] if said else f"exit status {done.returncode}"
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    try:
        return Fields(loads(lines[-1] if lines else "")), ""
    except ShapeError as error:
        return None, str(error)[:200]


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
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                lines = file.read(1 << 16).splitlines()[:1000]
        except OSError:
            continue
        for line in lines:
            text = line.strip()
            if text and not text.startswith(("#", "import ", "import\t")) and "\0" not in text:
                found.append(os.path.normpath(os.path.join(folder, text)))
    return found


def _same(one: str, other: str) -> bool:
    return os.path.normcase(os.path.abspath(one)) == os.path.normcase(os.path.abspath(other))
