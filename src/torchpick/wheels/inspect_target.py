"""What is installed for a Python, read in place, and whatever else is inspected: files, folders, URLs, packages."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from torchpick.environment import distributions, interpreter, world
from torchpick.environment.requirementfiles import located
from torchpick.environment.world import opened
from torchpick.errors import NetworkError, RequirementError, TorchpickError, UsageError, WheelError, silent
from torchpick.index import index_places, pages
from torchpick.index.index_places import IndexPlaces
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import IndexTarget
from torchpick.index.projects import NO_LIMITS, ProjectReader, Web
from torchpick.index.ranges import Archive, FileSource, open_source
from torchpick.model.address import is_sha256, redacted
from torchpick.model.arch import Arch
from torchpick.model.fields import MOST_ITEMS
from torchpick.model.machine import TIMEOUT_S, Driver, Machine, Platform, version_of
from torchpick.model.table import DriverTable
from torchpick.model.versions import normal, parsed
from torchpick.wheels import fatbin, judging, librarycode, readings, wheelfiles
from torchpick.wheels.judging import GpuCodeFit, ReadingVerdict
from torchpick.wheels.readings import (
    WHOLE,
    Reading,
    Readings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from torchpick.errors import Report


def read_file(path: str, shown: str) -> Reading:
    """A library by its path, which no package has to hold."""
    is_library = librarycode.look_into(
        path, lambda buffer: bool(fatbin.library_format(buffer[:4])) or buffer[:4] == fatbin.MAGIC
    )
    library = librarycode.read_library(path, os.path.basename(path)) if is_library else None
    if library is None:
        raise WheelError(f"{shown} is neither a wheel nor a library", hint="give a .whl, .so, .dll, .pyd or .cubin")
    size = library.size
    return Reading(shown, WHOLE, library.complete, size, size, 0, file=library.path, libraries=(library,))


def torch_cuda(python: str | None) -> str | None:
    """The CUDA of the torch that is installed for a Python, from its version file; None without one."""
    environment = distributions.read_environment(python or sys.executable, os.environ, metadata=False)
    return distributions.torch_facts(environment.torches).cuda


def judge_machines(
    reading: Reading, machines: Sequence[Machine], drivers: DriverTable, python: str | None = None
) -> tuple[ReadingVerdict, ...]:
    """Whether it runs: one verdict for each kind of GPU and driver among the machines."""
    cuda = None
    loaded, _ = judging.choose_variants(reading.libraries, None)
    if loaded != reading.libraries:
        cuda = torch_cuda(python)  # which library is loaded depends on the torch beside it
    judged: dict[GpuCodeFit, ReadingVerdict] = {}
    for machine in machines:
        for gpu in machine.counted:
            if gpu.arch:
                judge = _judge(reading, gpu.arch, machine, drivers)
                judged[judge] = judged.get(judge) or judging.judge_reading(reading, judge, cuda)
    return tuple(judged.values())


def _judge(reading: Reading, gpu: Arch, machine: Machine, drivers: DriverTable) -> GpuCodeFit:
    driver = machine.driver
    judge = GpuCodeFit.of(gpu, driver, drivers, unified=reading.is_unified)
    if driver is None:
        return judge
    return judge._replace(refusal=_refusal(reading, gpu, driver, driver.os or machine.platform.os, drivers))


def _refusal(reading: Reading, gpu: Arch, driver: Driver, os_: str, drivers: DriverTable) -> str | None:
    """Why this driver runs none of it, if that is known."""
    if gpu.kind == "gfx":
        return None
    if no := drivers.unsupported(driver, gpu, os_):
        return f"driver {driver.label} does not support {gpu}: {no['why']}; it needs {no['mends']}"
    cuda = reading.torch.cuda if reading.torch is not None else None
    if cuda is None or drivers.supports_cuda(driver, cuda, os_):
        return None
    return f"it is built with CUDA {cuda}, which needs driver {drivers.floor(cuda, os_) or 'of a newer branch'}"


# All wheels of an index come from one host: so many readers at most ask it at the same time.
MOST_JOBS = 16
_MOST_FILE = 16 << 20
# Each target with its reading, or why there is none.
Answers = Generator[tuple[str, "Reading | TorchpickError"], None, None]

_LOCAL = (".whl", ".so", ".dll", ".pyd", ".cubin", ".fatbin", ".zip")


class ReadOptions(NamedTuple):
    """How deep, what a wheel is for (None is what the interpreter itself is), and what is allowed."""

    depth: str | None = None
    python: str | None = None  # what `--python` takes: a version, or an interpreter
    platform: str | None = None  # one of the contract's names
    glibc: str | None = None
    offline: bool = False
    most: int | None = None  # bytes of one wheel on the web
    main: str = ""  # what matches the libraries that matter most
    report: Report = silent
    readings: Readings | None = None  # what was read before
    web: Web | None = None  # what reads the web, where many are read
    elsewhere: Callable[[str, ReadOptions], Reading] | None = None  # how another computer reads an address
    here: Machine | None = None  # whose interpreter is meant where none is given

    @property
    def program(self) -> str | None:
        """The interpreter; None where only a version is given."""
        if self.python is None:
            return self.here and self.here.python.executable
        return None if version_of(self.python) is not None else self.python


def read_target(target: str, how: ReadOptions) -> Reading:
    """Read what a user names; raises a TorchpickError that names it."""
    if how.web is None:
        with closing(Web(os.environ, NO_LIMITS)) as web:
            return read_target(target, how._replace(web=web))
    if not target or "\0" in target:
        raise UsageError("an empty name cannot be inspected", hint="give a wheel, a package or a library")
    if "://" in target:
        return _read_url(target, how)
    path = Path(target)
    try:
        exists = path.is_file()
    except OSError:  # longer than a path can be
        exists = False
    if exists:
        return _read_path(path, target, how)
    if os.sep in target or (os.altsep and os.altsep in target) or target.lower().endswith(_LOCAL):
        hint = "check the path; `--from FOLDER` reads a folder's wheels"
        raise WheelError(f"no such file: {target}", hint=hint, code="NOT_FOUND")
    return _read_package(target, how)


def _read_package(target: str, how: ReadOptions) -> Reading:
    """A bare name is what is installed, else what the index has; with a version, the index's."""
    elsewhere = how.platform is not None or (how.python is not None and how.program is None)
    if normal(target).replace("-", "").isalnum() and not elsewhere:
        python = how.program or sys.executable
        installed = distributions.read_environment(python, os.environ, metadata=False).find(normal(target))
        if installed is not None:
            return readings.read_distribution(installed, target)
        how.report(f"{target} is not installed: looking it up on the index")
    required = _checked(target)
    if how.offline:
        raise UsageError(f"`{target}` must be looked up on an index", hint="remove `--offline`, or give a wheel file")
    wheel_ = locate(required, how)
    how.report(f"the newest wheel that fits is {redacted(wheel_.url)}")
    return _read_url(wheel_.with_hash, how, target)


def _checked(requirement: str) -> Requirement:
    """Read a requirement; refuse what is not one, or more than a name and its versions."""
    hint = "write it as `name`, `name==1.2.3` or `name>=1.2`"
    shown = redacted(requirement[:200])
    with suppress(ValueError):
        read = parsed(requirement)
        if not (read.url or read.marker):
            return read
    raise RequirementError(f"`{shown}` is neither a file nor a name with its versions", hint=hint)


def locate(required: Requirement, how: ReadOptions, environ: Mapping[str, str] = os.environ) -> ProjectFile:
    """The newest wheel of the user's own index that meets the requirement and fits the target."""
    places = index_places.of_user(environ, how.program)
    hint = (
        f"that is from {places.source}'s settings, and `PIP_INDEX_URL=URL` specifies another index; "
        f"`{required.name}==VERSION` another version, `--python`, `--platform` and `--glibc` another machine"
    )
    with ProjectReader(places, environ, anew=True, web=how.web) as reader:
        return reader.best_wheel(required.name, str(required.specifier), target_of(how), hint, "NOT_FOUND")


def target_of(how: ReadOptions) -> IndexTarget:
    here = how.here or interpreter.running()
    if how.python is not None:
        here = interpreter.choose(how.python, world.World.here(), time.monotonic() + TIMEOUT_S)
    platform = here.platform if how.platform is None else Platform.parse(how.platform)
    if how.glibc is not None and platform.os == "linux":
        platform = platform._replace(glibc=how.glibc)
    return IndexTarget(here.python.tag, platform)


def _read_url(url: str, how: ReadOptions, target: str | None = None) -> Reading:
    try:
        parts = urlsplit(url)
        path = unquote(parts.path)
    except ValueError as error:
        raise UsageError(f"`{redacted(url)}` is not a valid URL", hint="check its spelling") from error
    shown = target or redacted(url).partition("#")[0]
    file = path.rpartition("/")[2]
    wheelfiles.check_is_wheel(file)
    if parts.scheme == "file":
        return _read_path(Path(located(url)), shown, how)
    if parts.scheme not in ("http", "https"):
        raise UsageError(f"`{shown}`: only http, https and file addresses can be read", hint="download it yourself")
    if how.offline:
        raise UsageError(f"`{shown}` is on the web", hint="remove `--offline`, or give a file")
    sha256 = sha256_of(parts.fragment)
    if how.readings is not None and (before := how.readings.find(url, sha256, how.depth, how.most)) is not None:
        return before._replace(target=shown, bytes_read=0, requests=0)  # it costs nothing now
    if how.elsewhere is not None:
        reading = how.elsewhere(url, how)._replace(target=shown)
    else:
        web = how.web or Web(os.environ, NO_LIMITS)
        with open_source(url, lambda: web.client, how.report) as source, pages.named(shown):
            reading = wheelfiles.read_wheel(Archive(source), file, how.depth, how.most, how.main)
        reading = reading._replace(target=shown, sha256=sha256)
    if how.readings is not None:
        how.readings.keep(url, reading)
    return reading


def sha256_of(text: str) -> str | None:
    """The hash that an index puts behind a file's address."""
    kind, _, digest = text.partition("=")
    return digest.lower() if kind == "sha256" and is_sha256(digest) else None


def _read_path(path: Path, shown: str, how: ReadOptions) -> Reading:
    if not path.is_file():
        raise WheelError(f"{shown} is not a file", hint="give a wheel or a library; `--from FOLDER` reads its wheels")
    wheelfiles.check_is_wheel(path.name)
    with closing(FileSource(path, how.report)) as source, pages.named(shown):
        if source.read(0, min(2, source.size)) == b"PK":
            source.bytes_read = 0
            return wheelfiles.read_wheel(Archive(source), path.name, how.depth)._replace(target=shown)
        return read_file(str(path), shown)


def list_targets(source: str, how: ReadOptions) -> list[str]:
    """The targets of a file, a line each; or of a page or a folder, one wheel of each version for the platform."""
    if "://" in source or Path(source).is_dir():
        return _wheels_of_page(source if "://" in source else Path(source).absolute().as_uri(), how)
    lines = [line.partition(" #")[0].strip() for line in _text(source).splitlines()]
    targets = [line for line in dict.fromkeys(lines) if line and not line.startswith("#")]
    if not targets:
        raise UsageError(f"{source} names nothing to inspect", hint="write a THING a line")
    if len(targets) > MOST_ITEMS:
        raise UsageError(f"{len(targets)} things are more than {MOST_ITEMS}", hint="inspect them in parts")
    return targets


def _text(source: str) -> str:
    try:
        if source == "-":
            return sys.stdin.read(_MOST_FILE)
        with opened(source, pipes=True) as stream:
            return stream.read(_MOST_FILE).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror}", hint="check the path") from error


def _wheels_of_page(url: str, how: ReadOptions) -> list[str]:
    places = IndexPlaces((), (url,))
    with ProjectReader(places, os.environ, offline=how.offline, anew=True, limits=NO_LIMITS) as reader:
        links = reader.linked_wheels()
    platform = target_of(how).platform.name
    wheels = wheelfiles.wheels_of_versions(links, platform)
    if not wheels:
        raise NetworkError(f"{redacted(url)} lists no wheel for {platform}", hint="`--platform` asks for others")
    return [file.with_hash for file, _, _ in wheels]


def read_targets(targets: Iterable[str], how: ReadOptions, jobs: int, *, in_order: bool) -> Answers:
    """The targets with their readings, in their order or as they come; one that fails is its error."""
    over, web = threading.Event(), Web(os.environ, NO_LIMITS)

    def report(news: str | int) -> None:
        if over.is_set():
            raise TorchpickError("it was given up", hint="run the command again")
        how.report(news)

    def read(target: str) -> Reading | TorchpickError:
        try:
            return read_target(target, how._replace(report=report, web=web))
        except TorchpickError as error:
            return error

    pool, ended = ThreadPoolExecutor(jobs), SimpleQueue[Future[Reading | TorchpickError]]()
    running: dict[Future[Reading | TorchpickError], str] = {}
    todo = iter(targets)
    try:
        while True:
            for target in islice(todo, 2 * jobs - len(running)):  # more at once is memory alone
                job = pool.submit(read, target)
                running[job] = target
                if not in_order:
                    job.add_done_callback(ended.put)
            if not running:
                return
            job = next(iter(running)) if in_order else ended.get()
            yield running.pop(job), job.result()
    finally:  # what is being read is given up
        over.set()
        pool.shutdown(cancel_futures=True)
        web.close()
