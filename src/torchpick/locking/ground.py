"""Where a lock is made: what was told, the environments it is for, the installer that resolves."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from torchpick import installation
from torchpick.errors import InstallerError, UsageError
from torchpick.install import configured, environment, requirements, settings, store, tools
from torchpick.install.requirements import Asked, Given
from torchpick.installation import Scene, Tool
from torchpick.locking.resolution import Aim
from torchpick.model.lock import Environment
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.table import Table
from torchpick.model.versions import numbers
from torchpick.places import cache_dir
from torchpick.request import Request

# The first pip whose dry run takes the metadata alone (wheels/locate.py says how that was found).
OLDEST_PIP = (25, 3)
# A project's own files, of which uv reads what the project needs.
_PROJECTS = ("pyproject.toml", "setup.py", "setup.cfg")


class Order(Noun):
    """What `torchpick lock` was told; `most` is how many bytes of a file may be downloaded for its hash."""

    request: Request
    given: Given
    installer: str = "auto"
    no_deps: bool = False
    each: bool = False
    most: int = 4096 << 20


class Ground(Noun):
    """What all locks of a run share."""

    order: Order
    environ: Mapping[str, str]
    asked: Asked
    family: tuple[str, ...]
    table: Table
    offline: bool


def aims_of(machines: tuple[Machine, ...], ground: Ground) -> list[tuple[int, Aim]]:
    """Each environment once, with the oldest glibc among its machines, and the place of the first of them."""
    found: dict[Environment, tuple[int, Aim]] = {}
    for place, machine in enumerate(machines):
        python = machine.python
        env = Environment(machine.platform.name, python.version, python.free_threaded)
        aim = Aim(env, _local(machine, ground), machine.platform.glibc)
        if aim.python is None and python.free_threaded:
            hint = "name one with `--python PATH`, on a machine of that platform"
            raise UsageError(
                f"{env.label}: packages for a free-threaded Python are only found with one at hand", hint=hint
            )
        known = found.get(env)
        if known is not None:
            glibcs = [each for each in (known[1].glibc, aim.glibc) if each is not None]
            found[env] = (known[0], known[1]._replace(glibc=min(glibcs, key=numbers, default=None)))
        else:
            found[env] = (place, aim)
    return list(found.values())


def _local(machine: Machine, ground: Ground) -> str | None:
    """The interpreter to resolve with, where the machine is this computer."""
    request = ground.order.request
    elsewhere = request.machine or request.platform or request.glibc or ground.environ.get("TORCHPICK_PLATFORM")
    program = machine.python.executable
    return program if not elsewhere and program is not None and os.path.isfile(program) else None


def scene_of(ground: Ground, machines: tuple[Machine, ...], aims: list[tuple[int, Aim]]) -> Scene:
    """The installer's view: the interpreter of the only environment, or ours where it lies elsewhere."""
    _, first = aims[0]
    env, program = first.environment, first.python if len(aims) == 1 else None
    if program is not None:
        target = environment.read(program, env.python, free_threaded=env.free_threaded, environ=ground.environ)
    else:
        target = environment.Target(sys.executable, env.python, sys.prefix, ())
    home = os.path.expanduser("~")
    files = configured.pip(ground.environ, target.prefix, home)
    return Scene(
        machine=machines[0],
        table=ground.table,
        asked=ground.asked,
        family=ground.family,
        target=target,
        place=store.folder(cache_dir(ground.environ)),
        applies=_applies(ground.asked, [aim.environment for _, aim in aims]),
        pip_files=files,
        pip_settings={**files, **settings.strongest(settings.pip_of_environ(ground.environ))},
        uv_files=tuple(configured.uv(ground.environ, home, os.getcwd())),
    )


def _applies(asked: Asked, environments: list[Environment]) -> dict[str, bool]:
    """Which markers hold in any of the environments; without markers the packaging library is not loaded."""
    texts = requirements.markers(asked)
    if not texts:
        return {}
    from packaging.markers import InvalidMarker, Marker

    systems = {"linux": ("Linux", "posix"), "win32": ("Windows", "nt"), "darwin": ("Darwin", "posix")}
    answers = {}
    for text in texts:
        try:
            marker = Marker(text)
            answers[text] = any(
                marker.evaluate({
                    **each.facts,
                    "python_full_version": f"{each.python}.0",
                    "platform_system": systems[each.facts["sys_platform"]][0],
                    "os_name": systems[each.facts["sys_platform"]][1],
                    "extra": "",
                })
                for each in environments
            )  # fmt: skip
        except (InvalidMarker, KeyError, ValueError):
            answers[text] = True  # the installer will say what is wrong with it
    return answers


def tool_of(ground: Ground, scene: Scene, aims: list[tuple[int, Aim]]) -> Tool:
    """The installer that resolves: for an environment elsewhere only uv, as pip judges markers by its own Python."""
    wanted = ground.order.installer
    elsewhere = [aim for _, aim in aims if aim.python is None or len(aims) > 1]
    if elsewhere and wanted == "pip":
        hint = "leave out `--installer pip`, or run it there with `--python PATH`"
        raise UsageError(
            f"pip resolves for its own machine only, and not for {elsewhere[0].environment.label}", hint=hint
        )
    if elsewhere and tools.uv(ground.environ) is None:
        label = elsewhere[0].environment.label
        hint = "install uv (`python -m pip install uv`) or name it in $UV"
        raise InstallerError(f"only uv resolves for {label} from here, and there is none", hint=hint)
    order = installation.Order(ground.order.request, ground.order.given, "uv" if elsewhere else wanted)
    tool = installation.tool(order, scene, ground.environ)
    projects = [path for path in ground.asked.opaque if os.path.basename(path) in _PROJECTS]
    if tool.chosen.uv is None and projects:
        if wanted == "auto" and tools.uv(ground.environ) is not None:
            return installation.tool(order._replace(installer="uv"), scene, ground.environ)
        raise UsageError(f"pip does not take {projects[0]} for requirements", hint="install uv, or `--installer uv`")
    if tool.chosen.uv is None and tools.version_of(tool.chosen.its_pip.version) < OLDEST_PIP:
        if wanted == "auto" and tools.uv(ground.environ) is not None:
            return installation.tool(order._replace(installer="uv"), scene, ground.environ)
        oldest = ".".join(map(str, OLDEST_PIP))
        raise InstallerError(
            f"pip {tool.chosen.its_pip.version} downloads every wheel to name it; {oldest} and newer do not",
            hint=f"`{scene.target.python} -m pip install -U pip`, or `--installer uv`",
            code="OLD_INSTALLER",
        )
    if tool.chosen.uv is None and tool.cooldown is not None:
        hint = "unset it for this run, or `--installer uv`"
        raise InstallerError(
            f"{tool.cooldown.source} sets uploaded-prior-to, and the wheel host's pages have no dates",
            hint=hint,
            code="COOLDOWN",
        )
    return tool
