"""The Python that torch is for: specified, the active environment, `.venv`, this one or PATH's; with its platform."""

from __future__ import annotations

import os
import sys
import time

from torchpick.environment.world import World, is_same, is_yours, named, parents, program_of, which
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.fields import ShapeError
from torchpick.model.machine import Platform, Python
from torchpick.model.namedtuples import NamedTuple
from torchpick.model.pythons import IMPLEMENTATIONS, version_of
from torchpick.model.versions import is_dotted, major_minor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchpick.model.fields import Fields

# Longer than a Python on a network drive takes to answer; a broken one must not hold up the user.
ANSWER_S = 30.0
_HINT = "specify one with `--python 3.12` or `--python PATH`"
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

    Where `is_others`, somebody else may have put it there: it is read as data, and nothing in it is run.
    """

    python: str
    source: str = "given"
    is_others: bool = False


class Interpreter(NamedTuple):
    """A Python and the platform its wheels are for."""

    python: Python
    platform: Platform


def choose(python: str | None, world: World, deadline: float) -> Interpreter:
    """The target interpreter. Raises UsageError for one that was specified, TorchpickError for a broken environment."""
    if python is not None:
        return _specified(python, world, deadline)
    if (choice := environment(world)) is not None:
        return _without_running(choice) if choice.is_others else _of_environment(choice, world, deadline)
    if world.real and (tool := tool_environment(sys.prefix)) is not None:
        return _on_path(tool, world, deadline)
    return own()


def _without_running(choice: EnvironmentChoice) -> Interpreter:
    """By what the files of the environment say."""
    from torchpick.environment import layout

    running = own()
    version = layout.full_version(layout.settings_of(choice.python)) or running.python.version
    return running._replace(python=Python(major_minor(version), source=choice.source))


def own(source: str = "the Python that runs torchpick") -> Interpreter:
    """The interpreter that torchpick runs in; nothing is started."""
    free_threaded = "t" in getattr(sys, "abiflags", "")
    if os.name == "nt":
        import sysconfig

        free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
        cpu = sysconfig.get_platform().rpartition("-")[2]
    else:
        cpu = os.uname().machine
    python = Python(
        version=f"{sys.version_info[0]}.{sys.version_info[1]}",
        implementation=IMPLEMENTATIONS.get(sys.implementation.name, sys.implementation.name),
        free_threaded=free_threaded,
        executable=sys.executable or None,
        source=source,
        exact=sys.version.split()[0],
    )
    libc = _c_library()
    soabi = None
    if libc is None and sys.platform.startswith("linux"):
        import sysconfig

        soabi = sysconfig.get_config_var("SOABI")
    return Interpreter(python, platform(sys.platform, cpu, libc, soabi, wide=sys.maxsize > 2**32))


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


def tool_environment(prefix: str) -> str | None:
    """The tool whose own environment this is: torch is not meant for it."""
    if os.path.exists(f"{prefix}/uv-receipt.toml"):
        return "uv tool"
    if os.path.exists(f"{prefix}/pipx_metadata.json"):
        return "pipx"
    # `uvx` runs from uv's cache: archive-v0/<hash>, or environments-v2/<name> for a script.
    parent = os.path.basename(os.path.dirname(os.path.normpath(prefix)))
    return "uvx" if parent.startswith(("archive-v", "environments-v")) else None


def _specified(python: str, world: World, deadline: float) -> Interpreter:
    if (version := version_of(python)) is not None:
        return Interpreter(version, own().platform)
    path = named(python, world.environ, world.cwd)
    if path is None:
        raise UsageError(f"--python {python}: neither a version, nor a path, nor a command on PATH", hint=_HINT)
    if os.path.isdir(path) and (path := program_of(path)) is None:
        raise UsageError(f"--python {python}: a folder without an interpreter in it", hint=_HINT)
    try:
        return _ask(path, "given", world, deadline)
    except TorchpickError as error:
        raise UsageError(f"--python {python}: {error.message}", hint=_HINT) from error


def environment(world: World) -> EnvironmentChoice | None:
    """The environment to take, if there is one; what VIRTUAL_ENV names goes before conda, as with uv."""
    folder = world.environ.get("VIRTUAL_ENV")
    # A tool's own environment may name itself as active; torch is not meant for it.
    if folder and not (world.real and is_same(folder, sys.prefix) and tool_environment(sys.prefix)):
        return EnvironmentChoice(folder, "the active virtual environment")
    if folder := world.environ.get("CONDA_PREFIX"):
        base = " base" if world.environ.get("CONDA_DEFAULT_ENV") == "base" else ""
        return EnvironmentChoice(folder, f"the active conda environment{base}")
    # In the current folder or the nearest parent that has one.
    for folder in (os.path.join(parent, ".venv") for parent in parents(world.cwd)):
        if os.path.isfile(f"{folder}/pyvenv.cfg"):
            parts = (folder, f"{folder}/pyvenv.cfg", os.path.dirname(program_of(folder) or folder))
            if all(map(is_yours, parts)):
                return EnvironmentChoice(folder, ".venv")
            source = f"{folder}, in which nothing is run, as others may write there"
            return EnvironmentChoice(folder, source, is_others=True)
    return None


def _of_environment(choice: EnvironmentChoice, world: World, deadline: float) -> Interpreter:
    folder, source = choice.python, choice.source
    if world.real and is_same(folder, sys.prefix):
        return own(source)
    try:
        return _ask(program_of(folder) or os.path.join(folder, "bin", "python"), source, world, deadline)
    except TorchpickError as error:
        hint = f"recreate it, deactivate it, or {_HINT}"
        raise TorchpickError(f"{source}: {error.message}", hint=hint, code="BROKEN_PYTHON") from error


def on_path(environ: Mapping[str, str]) -> list[str]:
    """The Pythons on PATH that are not the one that torchpick runs in."""
    return [path for name in ("python3", "python") if (path := which(name, environ, outside=sys.prefix))]


def _on_path(tool: str, world: World, deadline: float) -> Interpreter:
    """Torchpick runs in a tool's environment of its own: the first working Python on PATH that is not this one."""
    for program in on_path(world.environ):
        try:
            return _ask(program, f"{program} on PATH (torchpick itself runs in a {tool} environment)", world, deadline)
        except TorchpickError:
            continue
    running = own(f"the version of torchpick's own {tool} environment, as there is no Python on PATH")
    return running._replace(python=running.python._replace(executable=None))


def _ask(program: str, source: str, world: World, deadline: float) -> Interpreter:
    """By one short subprocess, unless it is this Python."""
    if world.real and os.path.abspath(program) == sys.executable:
        return own(source)
    from torchpick.environment import layout

    return parse(layout.ask(program, world.environ, deadline), program, source)


def parse(answer: Fields, program: str, source: str) -> Interpreter:
    """The Python that gave this answer, and its platform; raises TorchpickError where the answer lacks something."""
    from torchpick.environment import layout

    try:
        libc, soabi, wide = answer.maybe_text("libc"), answer.maybe_text("soabi"), answer.flag("wide")
        where = platform(answer.text("system"), answer.text("cpu"), libc, soabi, wide=wide)
        return Interpreter(layout.python_of(answer, program, source), where)
    except ShapeError as error:
        raise layout.broken(program, f"is broken: {error}") from error


def _c_library() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        return None
