"""A request → locks: the pick, what it needs on each environment, every file with its hash."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import closing

from torchpick import installation, question, shipped
from torchpick.emit import pylock
from torchpick.errors import NoBuildError
from torchpick.install import needs, pip, requirements, uv
from torchpick.install.command import Command
from torchpick.install.plan import Job
from torchpick.install.requirements import Asked
from torchpick.installation import Scene, Tool
from torchpick.locking import family, resolution
from torchpick.locking.family import Listener, Want
from torchpick.locking.ground import Ground, Order, aims_of, scene_of, tool_of
from torchpick.locking.host import Host, shown
from torchpick.locking.resolution import Aim
from torchpick.model.build import Build
from torchpick.model.lock import Lock, Package, Part, merged
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.verdict import Pick

# Other builds of torch that a library's pins may lead to, before it is called a conflict.
_ROUNDS = 8


class Made(Noun):
    """One lock: its name among several (empty where it is the only one), its text, and what it came from."""

    name: str
    pick: Pick
    lock: Lock
    text: str
    computed: tuple[str, ...]
    notes: tuple[Note, ...]


def make(order: Order, environ: Mapping[str, str], listener: Listener, waiting: question.Tell = None) -> list[Made]:
    """One lock for all the machines, or one for each; nothing is written."""
    asked = requirements.read(order.given, environ)
    if not asked.wanted and not asked.opaque:
        order = order._replace(given=order.given._replace(words=("torch",)))
        asked = requirements.read(order.given, environ)
    _check(asked)
    rules = shipped.rules(environ)
    machines = question.machines_of(order.request, environ, rules, waiting)
    ground = Ground(
        order=order,
        environ=environ,
        asked=asked,
        family=shipped.family(environ),
        table=question.table_of(machines, environ, rules, order.request.channel),
        offline=order.request.offline or bool(environ.get("TORCHPICK_OFFLINE")),
    )
    with closing(Host(offline=ground.offline)) as host:
        if not order.each:
            return [_one(ground, machines, host, listener)]
        called = names(machines)
        known: dict[object, Made] = {}
        found = []
        for name, machine in zip(called, machines, strict=True):
            key = _kind(machine)
            if key not in known:
                known[key] = _one(ground, (machine,), host, listener)
            made = known[key]
            found.append(made._replace(name=name, pick=made.pick._replace(machines=(machine,))))
        return found


def _kind(machine: Machine) -> object:
    """Machines that are alike get the same lock, which is made once."""
    gpus = tuple((gpu.vendor, gpu.arch, gpu.counted, gpu.integrated) for gpu in machine.gpus)
    driver = machine.driver
    return machine.platform, machine.python.tag, None if driver is None else (driver.version, driver.cuda), gpus


def _check(asked: Asked) -> None:
    """A folder has no hash; a file or a URL of an archive has."""
    for each in asked.wanted:
        local = each.place and "://" not in each.place and not each.place.startswith("git+")
        if each.editable or (local and os.path.isdir(each.place)):
            raise resolution.folder_refused(f"`{each.text}`")


def names(machines: Sequence[Machine]) -> list[str]:
    """A name for each that a lock's file can bear: no dot in it, none twice."""
    found: list[str] = []
    for place, machine in enumerate(machines, 1):
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", machine.name or "").strip("-")[:80] or f"machine-{place}"
        name, number = plain, place
        while name.lower() in {each.lower() for each in found}:
            name, number = f"{plain}-{number}", number + 1
        found.append(name)
    return found


def _one(ground: Ground, machines: tuple[Machine, ...], host: Host, listener: Listener) -> Made:
    aims = aims_of(machines, ground)
    scene = scene_of(ground, machines, aims)
    texts = requirements.of_family(ground.asked, ground.family, scene.applies)
    pick = _picked(ground, machines, texts)
    tool = tool_of(ground, scene, aims)
    order = installation.Order(ground.order.request, ground.order.given, no_deps=ground.order.no_deps)
    if strangers := installation.strangers(order, scene):
        listener.say(f"asking {tool.chosen.name} what {_shortened(strangers)} needs of torch")
        pick = _narrowed(ground, scene, tool, pick, aims, texts)
    job = installation.job_of(order, scene, pick, ground.environ)
    parts: list[Part] = []
    computed: list[str] = []
    notes = [*tool.chosen.notes, *tool.dropped.notes, *tool.clean.notes]
    for place, aim in aims:
        build = pick.verdicts[place].build
        aim_ = aim._replace(macos=_macos(build))
        listener.say(f"resolving for {aim.environment.label}")
        resolver = resolution.aimed(_resolver(job, tool, ground.environ), aim_)
        want = Want(ground.asked, ground.family, build, pick, machines[place], scene.place, ground.order.most)
        taken = family.resolve(want, aim_, resolver, host, ground.environ, listener)
        parts.append(Part(aim.environment, tuple(_public(each, notes) for each in taken.packages)))
        computed += [each for each in taken.computed if each not in computed]
        notes += taken.notes
    lock = merged(parts)
    if not any(entry.package.name == "torch" for entry in lock.entries):
        notes.append(Note("NO_TORCH", "nothing here needs torch, so the lock has none"))
    told = {"torch": pick.version, "backend": pick.build.backend, "index": shown(pick.index_url).url}
    notes = list(dict.fromkeys(notes))
    return Made("", pick, lock, pylock.text(lock, told), tuple(computed), tuple(notes))


def _picked(ground: Ground, machines: tuple[Machine, ...], texts: tuple[str, ...]) -> Pick:
    try:
        return question.decided(_weighed(ground, machines, texts))
    except NoBuildError as error:
        if len(machines) == 1:
            raise
        hint = f"`--each` writes one lock for each machine; {error.hint}"
        raise NoBuildError(error.message, pick=error.pick, hint=hint) from error


def _weighed(ground: Ground, machines: tuple[Machine, ...], texts: tuple[str, ...]) -> Pick:
    wish = question.wish_of(ground.order.request._replace(requirements=texts), ground.environ)
    return question.weighed(machines, wish, ground.table, ground.environ)


def _resolver(job: Job, tool: Tool, environ: Mapping[str, str]) -> Command:
    if tool.chosen.uv is not None:
        return uv.resolver(job, tool.chosen.uv, tool.dropped, tool.clean, environ)
    made = pip.resolver(job, tool.chosen.its_pip, tool.dropped, tool.clean)
    # Where an index has no metadata file beside a wheel, pip would fetch the whole wheel to learn what it needs.
    made = made._replace(argv=(*made.argv, "--use-feature=fast-deps"))
    if job.no_deps:
        made = made._replace(argv=(*made.argv, "--no-deps"))
    return made if job.pick.wish.channel == "stable" else made._replace(argv=(*made.argv, "--pre"))


def _narrowed(  # noqa: PLR0913 # facts of the run, each from another place
    ground: Ground, scene: Scene, tool: Tool, pick: Pick, aims: list[tuple[int, Aim]], texts: tuple[str, ...]
) -> Pick:
    """The pick with what the other requirements need of torch, in every environment."""
    order = installation.Order(ground.order.request, ground.order.given, no_deps=ground.order.no_deps)
    everything = _weighed(ground, pick.machines, texts)
    left = [*aims]
    for _ in range(_ROUNDS):
        if not left:
            break
        place, aim = left.pop(0)
        env = aim.environment
        tag = pick.machines[place].python.tag
        mine = [each for each in everything.considered if each.build.platform == env.platform]
        mine = [each for each in mine if tag in each.build.pythons]
        job = installation.job_of(order, scene, pick, ground.environ)
        resolver = resolution.aimed(_resolver(job, tool, ground.environ), aim._replace(macos=_macos(mine[0].build)))
        runnable = [each.build for each in mine if each.ok]
        build = pick.verdicts[place].build
        learnt = needs.learn(resolver, [each.build for each in mine], runnable, build, scene.place, ground.environ)
        if learnt.conflict:
            raise installation.conflict(learnt.conflict, everything)
        if learnt.torch is not None:
            pick = _picked(ground, pick.machines, (*texts, f"torch=={learnt.torch}"))
            left = [each for each in aims if each[0] != place]
    return pick


def _macos(build: Build) -> str | None:
    """The oldest macOS that the build runs on, by its tag: `macosx_14_0_arm64` → `14.0`."""
    found = [re.match(r"macosx_(\d+)_(\d+)_", tag) for tag in build.tags]
    return next((f"{match[1]}.{match[2]}" for match in found if match), None)


def _public(package: Package, notes: list[Note]) -> Package:
    """The package as a file that is passed around may hold it: no credentials in its URLs."""
    hidden = []

    def clean(url: str) -> str:
        found = shown(url)
        if found.had_credentials:
            hidden.append(found.url)
        return found.url

    made = package._replace(
        wheels=tuple(each._replace(url=clean(each.url)) for each in package.wheels),
        sdist=None if package.sdist is None else package.sdist._replace(url=clean(package.sdist.url)),
        archive=None if package.archive is None else package.archive._replace(url=clean(package.archive.url)),
        index_url=None if package.index_url is None else clean(package.index_url),
        vcs=None if package.vcs is None else {**package.vcs, "url": clean(package.vcs["url"])},
    )
    if hidden:
        host = hidden[0].split("/")[2]
        text = f"the credentials for {host} are not in the lock: who installs it needs them in netrc or a keyring"
        notes.append(Note("CREDENTIALS_LEFT_OUT", text))
    return made


def _shortened(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
