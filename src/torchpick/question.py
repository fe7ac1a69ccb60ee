"""Request → the question: machines, table and wish; and its answer. Here the edges are composed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from torchpick import resolve, shipped
from torchpick.errors import DetectionError, NoBuildError, UsageError
from torchpick.model.build import backend_order
from torchpick.model.machine import PLATFORMS, Driver, Machine, Note, Platform, Python
from torchpick.model.pythons import version_of
from torchpick.model.table import Table
from torchpick.model.verdict import Pick, Verdict
from torchpick.model.wish import WHEEL_HOST, Wish
from torchpick.places import compat_dir
from torchpick.request import Request
from torchpick.told import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.model.arch import Arch
    from torchpick.model.pciids import PciIds

Tell = Callable[[str], None] | None


def answer(
    request: Request,
    environ: Mapping[str, str] = os.environ,
    *,
    everything: bool = True,
    decide: bool = True,
    tell: Tell = None,
) -> Pick:
    """The pick for what was asked; where no build runs its `ok` is false.

    Without `everything` only as many builds are judged as the pick itself takes. Without `decide` a GPU that gives no
    answer is a note, and the builds are judged by all else. `tell` hears what a slow look waits for.
    """
    wish = wish_of(request, environ)
    rules = shipped.rules(environ)
    try:
        machines = machines_of(request, environ, rules, tell)
    except DetectionError as error:
        if decide or error.machine is None:
            raise
        note = Note(error.code, f"{error.message}, so no GPU was judged; {error.hint}")
        machines = (error.machine._replace(gpus=(), trouble=None, notes=(*error.machine.notes, note)),)
        wish = wish if wish.backends else wish._replace(backends=_backends_for_gpus(machines, environ, rules))
    table = table_of(machines, environ, rules, request.channel)
    return weighed(machines, wish, table, environ, everything=everything)


def weighed(
    machines: tuple[Machine, ...],
    wish: Wish,
    table: Table,
    environ: Mapping[str, str] = os.environ,
    *,
    everything: bool = True,
) -> Pick:
    """The pick for machines that are known already; where no build runs its `ok` is false."""
    for machine in machines:
        _check_python(machine, table)
    _check_backends(wish, table, environ)
    if len(machines) == 1 and not everything:
        first = resolve.pick(machines[0], table, wish, resolve.judge(machines[0], table, wish), everything=False)
        if first.ok:
            return first
    from torchpick import fleet

    return fleet.pick(machines, table, wish)


def _backends_for_gpus(machines: tuple[Machine, ...], environ: Mapping[str, str], rules: Table) -> tuple[str, ...]:
    shelves = table_of(machines, environ, rules).builds.values()
    return tuple(sorted({build.backend for shelf in shelves for build in shelf if build.family == "cuda"}))


def table_of(
    machines: tuple[Machine, ...],
    environ: Mapping[str, str] = os.environ,
    rules: Table | None = None,
    channel: str = "stable",
) -> Table:
    """The table with the builds for these machines' platforms."""
    known = shipped.rules(environ) if rules is None else rules
    return shipped.with_builds(known, (machine.platform.name for machine in machines), environ, channel)


def chosen(
    request: Request, environ: Mapping[str, str] = os.environ, *, everything: bool = True, tell: Tell = None
) -> Pick:
    """The pick, or NoBuildError where nothing runs."""
    return decided(answer(request, environ, everything=everything, tell=tell))


def decided(pick: Pick) -> Pick:
    """The pick where a build runs; else NoBuildError."""
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
        index_base=_base(_index_base(request, environ)),
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


def _index_base(request: Request, environ: Mapping[str, str]) -> str:
    return request.index_base if request.index_base is not None else environ.get("TORCHPICK_INDEX_BASE") or WHEEL_HOST


def _base(url: str) -> str:
    scheme, mark, rest = url.removeprefix("flat+").partition("://")
    if not mark or not rest or scheme not in ("https", "http", "file") or not url.isprintable() or " " in url:
        from torchpick.model.envelope import redacted

        hint = "such as https://mirror.example/whl, file:///srv/whl, or flat+https://… for one flat page"
        raise UsageError(f"`{redacted(url)}` is no URL of a mirror", hint=hint)
    return url.rstrip("/")


def machines_of(request: Request, environ: Mapping[str, str], table: Table, tell: Tell = None) -> tuple[Machine, ...]:
    """The machines to answer for: told by a file, by flags, or this one. DetectionError where a GPU gives no answer."""
    if request.machine is not None:
        return tuple(_with_assumed_driver(machine, table) for machine in listed(request))
    machine = machine_of(request, environ, table, tell)
    if machine.trouble is not None:
        code, text, hint = machine.trouble
        raise DetectionError(text, hint=hint, code=code, machine=machine)
    return (machine,)


def machine_of(request: Request, environ: Mapping[str, str], table: Table, tell: Tell = None) -> Machine:
    """The one machine that flags and this computer make, its trouble included. What is told is not looked up."""
    from torchpick.detection import computer

    facts = told(request, table.capabilities, environ)
    machine = computer.detect(
        gpus=facts.gpus,
        driver=facts.driver,
        platform=facts.platform,
        glibc=facts.glibc,
        python=facts.python,
        visible_only=facts.visible_only,
        only=facts.only or (),
        trust_pci=facts.trust_pci,
        timeout=facts.timeout,
        pci_capability=lambda device: _pci_ids(environ).arch(device),
        last_branch=lambda arch: table.drivers.last_branch.get(arch.capability),
        serves_amd=lambda arch: _any_rocm_serves(arch, environ),
        waiting=tell,
    )
    if facts.gpus is None:
        return machine
    if len({gpu.vendor for gpu in machine.gpus}) > 1:
        from torchpick.detection import narrow

        gpus, notes = narrow.one_vendor(machine.gpus)
        machine = machine._replace(gpus=gpus, notes=(*machine.notes, *notes))
    return _with_assumed_driver(machine, table)


def listed(request: Request) -> tuple[Machine, ...]:
    """The machines of `--machine`; flags that would tell another one contradict it."""
    from torchpick import machines
    from torchpick.detection import interpreter
    from torchpick.detection.world import World

    flags = {
        "--gpu": request.gpus,
        "--driver": request.driver,
        "--cuda-driver": request.cuda_driver,
        "--platform": request.platform,
        "--glibc": request.glibc,
        "--gpus visible": request.visible_only or None,
        "--only": request.only,
    }
    for flag, value in flags.items():
        if value is not None:
            hint = f"leave out `{flag}`, or change the fact in the file"
            raise UsageError(f"`--machine` and `{flag}` both tell the machine", hint=hint)
    python = _told_python(request.python)
    found = machines.read(str(request.machine), python or interpreter.own(World.here()).python)
    return tuple(machine if python is None else machine._replace(python=python) for machine in found)


def _told_python(text: str | None) -> Python | None:
    if text is None:
        return None
    version = version_of(text)
    if version is None:
        hint = "with `--machine` say a version, such as `--python 3.12`"
        raise UsageError(f"`--python {text}` names an interpreter of this computer", hint=hint)
    return Python(version[0], free_threaded=version[1])


def _any_rocm_serves(arch: Arch, environ: Mapping[str, str]) -> bool:
    """Whether any build was made for this AMD target; ROCm builds are for Linux on x86_64 alone."""
    linux = Platform("linux", "x86_64")
    table = shipped.with_builds(shipped.rules(environ), (linux.name,), environ)
    return any(build.family == "rocm" and arch in (build.arches or ()) for build in table.of(linux.name))


def _pci_ids(environ: Mapping[str, str]) -> PciIds:
    from torchpick.model.pciids import PciIds

    return shipped.read(os.path.join(compat_dir(environ), "index", "gpus.json"), PciIds.from_json)


def _with_assumed_driver(machine: Machine, table: Table) -> Machine:
    """Where no driver is known: the newest that serves all of the machine's GPUs, said in a note."""
    if machine.driver is not None:
        return machine
    arches = tuple(gpu.arch for gpu in machine.counted if gpu.vendor == "nvidia" and gpu.arch is not None)
    if not arches:
        return machine
    version = table.drivers.assumed_for(arches)
    text = f"no driver was told, so the newest that serves the GPU is assumed: {version}; `--driver` tells it"
    driver = Driver(version, table.drivers.speaks(Driver(version)), "assumed", "assumed")
    return machine._replace(driver=driver, notes=(*machine.notes, Note("DRIVER_ASSUMED", text)))


def _check_python(machine: Machine, table: Table) -> None:
    """A told version that no wheel was ever made for is a slip of the pen, not a machine."""
    if machine.python.source != "told" or machine.python.executable is not None:
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
    unknown = [backend for backend in wish.backends if backend not in known]
    if not unknown:
        return
    # One list of names may serve a whole team: what another platform has is no slip where something else is left.
    others = shipped.with_builds(table, PLATFORMS, environ, wish.channel)
    elsewhere = {build.backend for shelf in others.builds.values() for build in shelf}
    for backend in unknown:
        if backend not in elsewhere or len(unknown) == len(wish.backends):
            reason = shipped.never_published(backend, tuple(table.builds), environ)
            hint = f"there are {', '.join(sorted(known, key=backend_order))}; `torchpick refresh` reads the live index"
            raise UsageError(f"no build for `{backend}` is known on {' or '.join(table.builds)}{reason}", hint=hint)
