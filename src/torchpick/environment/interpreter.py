"""The Python that torch is for: specified, active, `.venv`'s, this one or PATH's; none of its packages is run."""

from __future__ import annotations

import _imp
import os
import sys
import time

from torchpick.environment.world import (
    World,
    checkout_of,
    full_version,
    holds_torchpick_alone,
    is_same,
    is_shared,
    is_yours,
    named,
    parents,
    prefix_of,
    program_of,
    settings_of,
    tool_environment,
    uv_project,
    which,
    with_pth,
)
from torchpick.errors import TorchpickError, UsageError
from torchpick.model import NamedTuple
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.machine import IMPLEMENTATIONS, Machine, Platform, Python, version_of
from torchpick.model.versions import is_dotted, major_minor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Longer than a Python on a network drive takes to answer; a broken one must not hold up the user.
ANSWER_S = 30.0
_HINT = "specify one with `--python 3.12` or `--python PATH`"
_ACTIVE = "the active virtual environment"
_CPUS = {"amd64": "x86_64", "x86-64": "x86_64"}
_NARROW = {"x86_64": "i686", "aarch64": "armv7l"}


def installable(python: Python, wanted: str | None) -> Python:
    """The interpreter to install for; if only a version was given, the one that is here must have it."""
    if python.executable is not None:
        return python
    hint = "specify the interpreter with `--python PATH`; `torchpick url --python 3.12` answers for a version alone"
    if wanted is None:
        raise UsageError(f"no Python to install for: {python.source}", hint=hint, code="NO_TARGET")
    chosen = choose(None, World.here(), time.monotonic() + ANSWER_S).python
    if chosen.executable is None or chosen.tag != python.tag:
        message = f"`--python {wanted}` does not match the target: {chosen.source} is {chosen.version}"
        raise UsageError(message, hint=hint)
    return chosen


class EnvironmentChoice(NamedTuple):
    """An environment (or an interpreter) to look at, and how it was chosen.

    One that `lies_in_a_folder` may have come with what else lies there, a repository that was cloned: it is read as
    data for a question, and run by what acts on it alone. Where `is_others`, somebody else may write there too, and
    nothing acts on it.
    """

    python: str
    source: str = "given"
    lies_in_a_folder: bool = False
    is_others: bool = False


def choose(python: str | None, world: World, deadline: float) -> Machine:
    """The target interpreter and its platform: this computer without its GPUs.

    Raises UsageError for one that was specified, TorchpickError for a broken environment.
    """
    if python is not None:
        return _specified(python, world, deadline)
    if (choice := find_environment(world)) is not None:
        return _of_environment(choice, world, deadline)
    tool = own_tool(world) if world.real else None
    return running() if tool is None else _beside_tool(tool, world, deadline)


def _beside_tool(tool: str, world: World, deadline: float) -> Machine:
    """The first working Python on PATH that is not the tool's; none to install for where that is not meant."""
    why = no_target(tool, world)
    for program in on_path(world.environ):
        source = f"{program} on PATH (torchpick itself runs in a {tool} environment)"
        try:
            found = _ask(program, source, world, deadline)
        except TorchpickError:
            continue
        return found if why is None else found._replace(python=found.python._replace(executable=None, source=why))
    this = running(why or f"the version of torchpick's own {tool} environment, as there is no Python on PATH")
    return this._replace(python=this.python._replace(executable=None))


def no_target(tool: str, world: World) -> str | None:
    """Why no Python on PATH is meant instead of torchpick's own; None where one is."""
    if (project := uv_project(world.cwd)) is not None:
        return f"{project}/.venv is not there yet: {making_of(project)} make it with this machine's torch"
    if tool == "checkout" and world.environ.get("VIRTUAL_ENV"):
        return "what is active is torchpick's own environment: make one here with `python3 -m venv .venv`"
    return None


def making_of(project: str) -> str:
    """The commands that make the environment of a project of uv's; the first changes nothing where it was done."""
    return f"`torchpick extras --for app --write {project}/pyproject.toml` and `torchpick run uv sync`"


def on_path(environ: Mapping[str, str]) -> list[str]:
    """The Pythons on PATH that are not the one that torchpick runs in."""
    return [path for name in ("python3", "python") if (path := which(name, environ, outside=sys.prefix))]


def python_by_files(folder: str, source: str) -> Python:
    """The Python of an environment by its pyvenv.cfg and the names of its folders: nothing is run.

    Where neither says its version, it counts as the one that torchpick runs in.
    """
    settings = settings_of(folder) or {}
    exact = full_version(settings)
    try:
        names = os.listdir(os.path.join(folder, "lib"))
    except OSError:
        names = []
    made_by = settings.get("executable", "").lower().removesuffix(".exe")
    version = major_minor(exact) if exact is not None else running().python.version
    is_pypy = settings.get("implementation", "").lower() == "pypy" or any(name.startswith("pypy") for name in names)
    return Python(
        version=version,
        implementation="pp" if is_pypy else "cp",
        free_threaded=f"python{version}t" in names or made_by.endswith(f"python{version}t"),
        executable=program_of(folder),
        source=source,
        exact=exact,
    )


def running(source: str = "the Python that runs torchpick") -> Machine:
    suffix = next(iter(_imp.extension_suffixes()), "")
    major, minor = sys.version_info[:2]
    if os.name == "nt":
        import sysconfig

        cpu = sysconfig.get_platform().rpartition("-")[2]
    else:
        cpu = os.uname().machine
    python = Python(
        version=f"{major}.{minor}",
        implementation=IMPLEMENTATIONS.get(sys.implementation.name, sys.implementation.name),
        free_threaded="t" in getattr(sys, "abiflags", "") or suffix.startswith(f".cp{major}{minor}t-"),
        executable=sys.executable or None,
        source=source,
        exact=sys.version.split()[0].rstrip("+"),
    )
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        libc = None
    return Machine(platform(sys.platform, cpu, libc, suffix, wide=sys.maxsize > 2**32), python)


def platform(system: str, cpu: str, libc: str | None, soabi: str | None, *, wide: bool = True) -> Platform:
    """The contract's names from what an interpreter reports about itself."""
    os_name = {"win32": "windows", "darwin": "macos", "cygwin": "windows"}.get(system, system.rstrip("0123456789"))
    cpu = _CPUS.get(cpu.lower(), cpu.lower())
    if os_name != "linux":
        return Platform(os_name, {"aarch64": "arm64", "win32": "i686"}.get(cpu, cpu))
    cpu = "aarch64" if cpu == "arm64" else cpu
    cpu = cpu if wide else _NARROW.get(cpu, cpu)
    name, _, version = (libc or "").strip().partition(" ")
    if name == "glibc" and is_dotted(version):
        return Platform("linux", cpu, major_minor(version), "glibc")
    return Platform("linux", cpu, None, "musl" if "musl" in (soabi or "") else None)


def own_tool(world: World) -> str | None:
    """What torchpick itself runs in where that is no target here: a tool's, or its checkout's seen from elsewhere."""
    if (tool := tool_environment(sys.prefix)) is not None:
        return tool
    checkout = checkout_of(sys.prefix)
    if checkout is not None:
        return None if _is_in(world.cwd, checkout) else "checkout"
    project = uv_project(world.cwd)
    if project is None or _is_in(sys.prefix, project):
        return None
    return "torchpick" if holds_torchpick_alone(sys.prefix) else None


def _is_in(folder: str, above: str) -> bool:
    return any(is_same(parent, above) for parent in parents(folder))


def _specified(python: str, world: World, deadline: float) -> Machine:
    if (version := version_of(python)) is not None:
        return running()._replace(python=version)
    path = named(python, world.environ, world.cwd)
    if path is None:
        raise UsageError(f"--python {python}: neither a version, nor a path, nor a command on PATH", hint=_HINT)
    if os.path.isdir(path) and (path := program_of(path)) is None:
        raise UsageError(f"--python {python}: a folder without an interpreter in it", hint=_HINT)
    try:
        return _ask(path, "given", world, deadline)
    except TorchpickError as error:
        raise UsageError(f"--python {python}: {error.message}", hint=_HINT) from error


def find_environment(world: World) -> EnvironmentChoice | None:
    """The environment to take, if there is one; what VIRTUAL_ENV names goes before conda, as with uv.

    One that is torchpick's own gives way to the `.venv` of the folder.
    """
    if active := world.environ.get("VIRTUAL_ENV"):
        if not (world.real and is_same(active, sys.prefix)):
            return EnvironmentChoice(active, _ACTIVE)
        near = _in_folder(world)
        others = near if near and not near.is_others and not is_same(near.python, active) else None
        if own_tool(world) is None and not (others and holds_torchpick_alone(active)):
            own = checkout_of(active) is not None
            return EnvironmentChoice(active, f"torchpick's own environment, {active}" if own else _ACTIVE)
        if others is not None:
            return others
    if folder := world.environ.get("CONDA_PREFIX"):
        return EnvironmentChoice(folder, "the active conda environment")
    return _in_folder(world)


def _in_folder(world: World) -> EnvironmentChoice | None:
    """The `.venv` in the current folder or the nearest parent that has one."""
    for folder in (os.path.join(parent, ".venv") for parent in parents(world.cwd)):
        if os.path.isfile(f"{folder}/pyvenv.cfg"):
            program = program_of(folder)
            parts = (folder, f"{folder}/pyvenv.cfg", *((os.path.dirname(program), program) if program else ()))
            if all(is_yours(part) for part in parts if os.path.lexists(part)):
                return EnvironmentChoice(folder, ".venv", lies_in_a_folder=True)
            source = f"{folder}, in which nothing is run, as others may write there"
            return EnvironmentChoice(folder, source, lies_in_a_folder=True, is_others=True)
    return None


def _of_environment(choice: EnvironmentChoice, world: World, deadline: float) -> Machine:
    folder, source = choice.python, choice.source
    if world.real and is_same(folder, sys.prefix):
        return running(source)
    if choice.is_others or (choice.lies_in_a_folder and program_of(folder) is not None):
        python = python_by_files(folder, source)
        return running()._replace(python=python._replace(executable=None) if choice.is_others else python)
    try:
        return _ask(program_of(folder) or os.path.join(folder, "bin", "python"), source, world, deadline)
    except TorchpickError as error:
        hint = f"recreate it, deactivate it, or {_HINT}"
        raise TorchpickError(f"{source}: {error.message}", hint=hint, code="BROKEN_PYTHON") from error


def _ask(program: str, source: str, world: World, deadline: float) -> Machine:
    """By one short subprocess, unless it is this Python."""
    if world.real and os.path.abspath(program) == sys.executable:
        return running(source)
    return ask(program, world.environ, deadline, source)[0]


# `-I -S`: neither the user's settings nor sitecustomize nor the `import` lines of .pth files run, and nothing comes
# from the current folder. Runs on every Python from 3.4 on; the answer is the last line, as a wrapper script may print
# first.
#
# The argument is the environment's own folder, or empty. Without the main part of `site` sys.prefix stays at the Python
# behind the environment, and where the two are the same the `site` of Debian and Ubuntu names dist-packages alone, so
# the prefix is set before it is asked.
_QUESTION = """\
import json, os, site, sys, sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
if sys.argv[1]:
    sys.prefix = sys.exec_prefix = sys.argv[1]
try:
    libc = os.confstr("CS_GNU_LIBC_VERSION")
except (AttributeError, ValueError, OSError):
    libc = None
suffix = EXTENSION_SUFFIXES[0] if EXTENSION_SUFFIXES else ""
paths = sysconfig.get_paths()
sys.stdout.write("\\n%s\\n" % json.dumps({
    "version": sys.version_info[:2],
    "full_version": sys.version.split()[0].rstrip("+"),
    "implementation": sys.implementation.name,
    "free_threaded": "t" in getattr(sys, "abiflags", "") or suffix.startswith(".cp%d%dt-" % sys.version_info[:2]),
    "system": sys.platform,
    "cpu": sysconfig.get_platform().rpartition("-")[2] if sys.platform == "win32" else os.uname().machine,
    "wide": sys.maxsize > 2 ** 32,
    "libc": libc,
    "soabi": suffix,
    "prefix": sys.prefix,
    "stdlib": paths["stdlib"],
    "packages": [paths["purelib"], paths["platlib"]],
    "sites": site.getsitepackages([sys.prefix]),
    "base_sites": site.getsitepackages([sys.base_prefix]),
    "user": site.getusersitepackages(),
}))
"""


def ask(
    program: str, environ: Mapping[str, str], deadline: float, source: str = "given", prefix: str = ""
) -> tuple[Machine, Fields]:
    """Ask a Python about itself, and where it keeps packages: those of the environment in the folder `prefix`.

    Raises TorchpickError where there is no answer.
    """
    config = os.path.join(prefix_of(program), "pyvenv.cfg")
    if os.path.exists(config) and not os.path.isfile(config):  # Python itself would wait for a pipe
        raise broken(program, f"has {config}, which is not a file")
    from torchpick.environment import child

    argv = [program, "-I", "-S", "-c", _QUESTION, prefix]
    try:
        ended = child.run(argv, environ, deadline - time.monotonic())
    except OSError as error:
        raise broken(program, f"does not start: {error.strerror or error}") from error
    if ended.status is None:
        raise broken(program, "did not answer in time")
    try:
        return read_answer(ended.answer, program, source)
    except ShapeError as error:
        words = (ended.last_words or str(error))[:200]
        raise broken(program, f"is not a Python 3.4 or newer, or is broken: {words}") from error


def read_answer(output: bytes, program: str, source: str = "given") -> tuple[Machine, Fields]:
    """The Python that gave this answer in its last line, and its platform; ShapeError where it lacks something."""
    answer = Fields(loads(output.decode("utf-8", "replace").strip().rpartition("\n")[2]))
    version = answer.items("version")
    if len(version) != 2 or not all(isinstance(part, int) and 0 <= part < 1000 for part in version):
        raise answer.fail("version", "is not a version")
    name = answer.text("implementation")
    python = Python(
        version=".".join(map(str, version)),
        implementation=IMPLEMENTATIONS.get(name, name),
        free_threaded=answer.flag("free_threaded"),
        executable=program,
        source=source,
        exact=answer.maybe_text("full_version"),
    )
    libc, soabi, wide = answer.maybe_text("libc"), answer.maybe_text("soabi"), answer.flag("wide")
    return Machine(platform(answer.text("system"), answer.text("cpu"), libc, soabi, wide=wide), python), answer


def broken(program: str, why: str) -> TorchpickError:
    return TorchpickError(f"{program} {why}", hint=_HINT, code="BROKEN_PYTHON")


def search_path(answer: Fields, settings: Mapping[str, str] | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """As `site` builds it: PYTHONPATH, the environment's own folders, the user's, the base's, .pth lines."""
    shared = settings is None or is_shared(settings)
    sites = answer.texts("sites")
    user = (answer.text("user"),) if shared and not environ.get("PYTHONNOUSERSITE") else ()
    base = answer.texts("base_sites") if shared else ()
    # Without an environment the user's folder goes before the interpreter's; within one its own goes first.
    ordered = (*user, *sites) if settings is None else (*sites, *user, *base)
    folders = [folder for folder in environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    return with_pth((*folders, *ordered))
