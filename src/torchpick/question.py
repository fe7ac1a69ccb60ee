"""Request → the question: machines, table and wish; and its answer. Here the edges are composed."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torchpick import resolve, shipped
from torchpick.detect import system
from torchpick.errors import DetectionError, NoBuildError, UsageError
from torchpick.model.build import backend_order
from torchpick.model.machine import Driver, Machine, Note, Platform, Python
from torchpick.model.table import Table
from torchpick.model.verdict import Pick, Verdict
from torchpick.model.wish import WHEEL_HOST, Wish
from torchpick.places import compat_dir
from torchpick.request import Request
from torchpick.told import Told, is_version, told


def answer(request: Request, environ: Mapping[str, str] = os.environ, *, everything: bool = True) -> Pick:
    """The pick for what was asked; where no build runs its `ok` is false.

    Without `everything` only as many builds are judged as the pick itself takes.
    """
    wish = wish_of(request, environ)
    rules = shipped.rules(environ)
    machines = machines_of(request, environ, rules)
    table = table_of(machines, environ, rules, request.channel)
    for machine in machines:
        _check_python(machine, table)
    _check_backends(wish, table, environ)
    if len(machines) == 1 and not everything:
        first = resolve.pick(machines[0], table, wish, resolve.judge(machines[0], table, wish), everything=False)
        if first.ok:
            return first
    from torchpick import fleet

    return fleet.pick(machines, table, wish)


def table_of(
    machines: tuple[Machine, ...],
    environ: Mapping[str, str] = os.environ,
    rules: Table | None = None,
    channel: str = "stable",
) -> Table:
    """The table with the builds for these machines' platforms."""
    known = shipped.rules(environ) if rules is None else rules
    return shipped.with_builds(known, (machine.platform.name for machine in machines), environ, channel)


def chosen(request: Request, environ: Mapping[str, str] = os.environ, *, everything: bool = True) -> Pick:
    """The pick, or NoBuildError where nothing runs."""
    pick = answer(request, environ, everything=everything)
    if not pick.ok:
        from torchpick.emit import refusal

        message, hint = refusal.words(pick)
        raise NoBuildError(message, pick=pick, hint=hint)
    return pick


def rest(pick: Pick, environ: Mapping[str, str]) -> tuple[Verdict, ...]:
    """What `list --all` adds: the builds of other platforms and the default index's own, which are never picked."""
    mine = {machine.platform.name for machine in pick.machines}
    return resolve.never_picked(shipped.readable(compat_dir(environ)), mine)


def wish_of(request: Request, environ: Mapping[str, str]) -> Wish:
    backends = request.backends
    if not backends and environ.get("TORCHPICK_BACKEND"):
        backends = tuple(part.strip() for part in environ["TORCHPICK_BACKEND"].split(",") if part.strip())
    if request.cpu:
        if request.backends and set(request.backends) != {"cpu"}:
            hint = "`--cpu` is `--backend cpu`; `--allow-cpu` takes it where nothing else runs"
            raise UsageError(f"`--cpu` contradicts `--backend {request.backends[0]}`", hint=hint)
        backends = ("cpu",)
    if unknown := [backend for backend in backends if not is_backend(backend)]:
        hint = "such as cu126, cpu, rocm7.2 or xpu; `torchpick list --all` shows all"
        raise UsageError(f"`{unknown[0]}` is no backend", hint=hint)
    wish = Wish(
        backends=backends,
        channel=request.channel,
        index_base=_base(request.index_base or environ.get("TORCHPICK_INDEX_BASE") or WHEEL_HOST),
        allow_cpu=request.allow_cpu,
        allow_unconfirmed=request.allow_unconfirmed,
        whole=request.whole,
    )
    if not request.requirements:
        return wish
    from torchpick import requirements

    return requirements.narrowed(wish, request.requirements, shipped.family(environ))


def is_backend(text: str) -> bool:
    """Whether the text has the form of a backend's name."""
    kind, digits = text.rstrip("0123456789."), text.lstrip("abcdefghijklmnopqrstuvwxyz")
    return text in ("cpu", "xpu") or (kind == "cu" and digits.isdigit()) or (kind == "rocm" and bool(digits))


def _base(url: str) -> str:
    scheme, mark, rest = url.removeprefix("flat+").partition("://")
    if not mark or not rest or scheme not in ("https", "http", "file") or not url.isprintable() or " " in url:
        hint = "such as https://mirror.example/whl, file:///srv/whl, or flat+https://… for one flat page"
        raise UsageError(f"`{url}` is no URL of a mirror", hint=hint)
    return url.rstrip("/")


def machines_of(request: Request, environ: Mapping[str, str], table: Table) -> tuple[Machine, ...]:
    """The machines to answer for: told by a file, by flags, or this one."""
    if request.machine is not None:
        raise UsageError("`--machine` is not there yet", hint="tell the machine with `--gpu` and `--driver`")
    facts = told(request, table.capabilities, environ)
    return (_machine(facts, table),)


def _machine(facts: Told, table: Table) -> Machine:
    here = system.this_platform()
    platform = facts.platform or here
    elsewhere = platform.name != here.name
    if facts.gpus is None:
        if elsewhere:
            hint = f"tell its GPUs: `--platform {platform.name} --gpu sm_86`, or `--gpu none`"
            raise UsageError(f"this computer is {here.name}, so it cannot say what a {platform.name} has", hint=hint)
        raise DetectionError("the machine is not told", hint='tell it: `--gpu "GTX 1080 Ti" --driver 580.95.05`')
    notes: list[Note] = []
    driver = facts.driver or _assumed(facts, table, notes)
    return Machine(_glibc(platform, facts, elsewhere, notes), _python(facts), driver, facts.gpus, tuple(notes))


def _assumed(facts: Told, table: Table, notes: list[Note]) -> Driver | None:
    """The newest driver that serves all the told GPUs, said in a note."""
    arches = tuple(gpu.arch for gpu in facts.gpus or () if gpu.vendor == "nvidia" and gpu.arch is not None)
    if not arches:
        return None
    version = table.drivers.assumed_for(arches)
    text = f"no driver was told, so the newest that serves the GPU is assumed: {version}; `--driver` tells it"
    notes.append(Note("DRIVER_ASSUMED", text))
    return Driver(version, table.drivers.speaks(Driver(version)), "assumed", "assumed")


def _glibc(platform: Platform, facts: Told, elsewhere: bool, notes: list[Note]) -> Platform:
    if facts.glibc is not None:
        return platform._replace(glibc=facts.glibc)
    if elsewhere and platform.os == "linux":
        notes.append(
            Note("GLIBC_ASSUMED", "no glibc was told for that platform, so it is not judged; `--glibc` tells it")
        )
    elif not elsewhere:
        return system.this_platform()
    return platform


def _python(facts: Told) -> Python:
    if facts.python is None:
        return system.this_python()
    if is_version(facts.python):
        return Python(facts.python.removesuffix("t"), free_threaded=facts.python.endswith("t"))
    raise UsageError(f"`{facts.python}` is no Python version", hint="such as `--python 3.12` or `--python 3.14t`")


def _check_python(machine: Machine, table: Table) -> None:
    """A told Python that no wheel was ever made for is a slip of the pen, not a machine."""
    if machine.python.source != "told":
        return
    tags = {tag for build in table.of(machine.platform.name) for tag in build.pythons}
    tag = machine.python.tag
    if tags and tag not in tags:
        from torchpick.model.pythons import python_name, python_order

        plain = sorted((each for each in tags if not each.endswith("t")), key=python_order)
        first, last = (python_name(each).removeprefix("Python ") for each in (plain[0], plain[-1]))
        hint = f"there are wheels for Python {first} to {last}, and free-threaded ones such as 3.14t"
        raise UsageError(f"no PyTorch wheel was ever made for {python_name(tag)} on {machine.platform.name}", hint=hint)


def _check_backends(wish: Wish, table: Table, environ: Mapping[str, str]) -> None:
    """A backend that no build of these platforms has is a slip too, and often one that many believe in."""
    if not wish.backends:
        return
    known = {build.backend for shelf in table.builds.values() for build in shelf}
    for backend in wish.backends:
        if backend not in known:
            reason = shipped.never_published(backend, tuple(table.builds), environ)
            hint = f"there are {', '.join(sorted(known, key=backend_order))}; `torchpick refresh` reads the live index"
            raise UsageError(f"no build for `{backend}` is known on {' or '.join(table.builds)}{reason}", hint=hint)
