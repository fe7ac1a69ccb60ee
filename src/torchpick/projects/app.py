"""Exact extras or groups for a checkout: one for each backend, with its index, for all that the project needs.

And the file that holds them, which is written together with its lock.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from torchpick.decide import answer as answers
from torchpick.decide import demands, matrix
from torchpick.decide.answer import Answer
from torchpick.decide.searchfacts import Needs
from torchpick.environment import projectfile, rewrite
from torchpick.environment.projectfile import Project
from torchpick.environment.requirements import RequirementArgs
from torchpick.environment.rewrite import Text
from torchpick.environment.uvsources import MARKED_PLATFORMS, applies, marker_of
from torchpick.errors import InstallerError, UsageError
from torchpick.install.asking import Order, TargetQuestion, read_plan_question
from torchpick.install.command import Command, run_command
from torchpick.install.env import tritons_of
from torchpick.install.installers import find_uv
from torchpick.install.learner import Learner
from torchpick.model.build import COMPANIONS, Build, python_order, toolkit_order
from torchpick.model.machine import Driver, Machine, Note, Python
from torchpick.model.package import Catalog
from torchpick.model.pick import Request, Wish
from torchpick.model.table import BuildsByRelease, Table
from torchpick.model.versions import admits, marker_facts, named, numbers, release_key
from torchpick.projects.backends import lock_folder, workspace_files
from torchpick.projects.extras import (
    HOME,
    PLATFORMS,
    Extra,
    Plan,
    in_words,
    python_of,
    python_test,
    pythons,
    served,
)
from torchpick.run import Run

# How many minor releases the extras may lie apart; what a package pins for each CUDA lies further (vllm: 2.10, 2.14).
_APART, _APART_BY_PACKAGES = 2, 6
# It has plain wheels, which the default index has too.
_MAC = "macos-arm64"


class App:
    """What a project that can name its indexes gets from each backend: the answer to what it needs, as for a machine.

    Packages that are built from source against torch are left out. `own` is the run of the project's oldest Python on a
    machine without a GPU: what binds this computer does not bind it.
    """

    def __init__(self, run: Run, project: Project, table: Table) -> None:
        self.project, self.table = project, table
        version = python(project, table).version
        base = run.request.index_base
        asked = Request(platform=HOME, python=version, gpus=("none",), index_base=base, offline=run.request.offline)
        self.own = run.with_request(asked)
        self.base = self.own.index_base
        packages = self.own.read_catalog(self.machine).packages
        needs = dict.fromkeys(map(named, project.requirements))
        self.builds_with_torch = tuple(n for n in needs if n in packages and packages[n].built_with_torch)
        apart = {*self.builds_with_torch, "python"}
        texts = tuple(text for text in project.requirements if named(text) not in apart)
        self.requirements = texts if "torch" in needs else ("torch", *texts)
        self.notes: dict[Note, None] = {}

    @cached_property
    def machine(self) -> Machine:
        (machine,) = self.own.find_machines()
        return machine

    @cached_property
    def _question(self) -> TargetQuestion:
        order = Order(RequirementArgs(self.requirements), installer="uv", only_planned=True)
        return read_plan_question(self.own, order)

    @cached_property
    def _learner(self) -> Learner:
        return Learner(self._question)

    def answer(self, backend: str) -> Answer:
        question = self._question.question
        question = question._replace(wish=question.wish._replace(backends=(backend,), limits=()))

        def ask(catalog: Catalog) -> Answer | Needs:
            return answers.answer(question, (self.machine,), lambda _: self.table, lambda: catalog)

        answer = self._learner.answer(ask)
        self.notes |= dict.fromkeys(self._learner.notes(answer))
        return answer

    def build(self, backend: str) -> tuple[Build, list[str]]:
        """The newest build of this backend, and the packages of torch's family that go with it."""
        answer = self.answer(backend)
        if not answer.ok:
            hint = "`torchpick list --all` shows every build"
            raise UsageError(f"no build of `{' '.join(self.requirements)}` for {backend} is known", hint=hint)
        needs, stack = {*map(named, self.requirements)}, answer.stack
        names = [name for name in COMPANIONS if name in needs or (stack and stack.version(name))]
        return answer.pick.build, ["torch", *names]

    def marker(self, build: Build) -> str:
        """The systems for which this very build of torch is published."""
        platforms = _versions(self.table, build, "torch").get(build.version, ())
        return marker_of(platform for platform in platforms if platform != _MAC)

    def backends(self) -> tuple[str, ...]:
        """cpu, and what the kinds of GPU would be given, by their newest driver and by the oldest of each CUDA major.

        What only an old release has is left out: an app has one torch, and its extras should not be years apart.
        """
        possible: dict[str, int] = {}
        for build in self.table.of(HOME):
            if build.family in ("cpu", "cuda"):
                possible[build.backend] = max(_minor(build), possible.get(build.backend, 0))
        answers_: dict[str, Answer] = {}
        newest = 0
        for backend in sorted(possible, key=lambda backend: possible[backend], reverse=True):
            if possible[backend] > newest - _APART_BY_PACKAGES and (answer := self.answer(backend)).ok:
                answers_[backend] = answer
                newest = max(newest, _minor(answer.pick.build))
        builds = [answers_[backend].pick.build for backend in sorted(answers_, key=toolkit_order)]
        apart = _APART_BY_PACKAGES if any(answer.judged for answer in answers_.values()) else _APART
        picked = self._picked(build for build in builds if _minor(build) > newest - apart)
        # Where nothing fits, cpu's refusal says what was asked for.
        return tuple(build.backend for build in builds if build.backend in picked) or ("cpu",)

    def _picked(self, builds: Iterable[Build]) -> set[str]:
        few = self.table._replace(builds={HOME: BuildsByRelease.of(builds)})
        kinds = [kind for kind in self.table.nvidia if kind.found_on(HOME)]
        machine = self.machine._replace(gpus=matrix.gpus_of(kinds))
        drivers = (None, *(Driver(major["linux"]) for major in self.table.drivers.majors.values()))
        rows = (row for driver in drivers for row in matrix.rows(machine._replace(driver=driver), few, Wish()))
        return {"cpu", *(best.build.backend for row in rows if (best := row.best()) is not None)}


def plan(
    app: App,
    backends: Mapping[str, str],
    names: Sequence[str] = (),
    *,
    groups: bool = False,
    sources_before: Mapping[str, object] | None = None,
) -> Plan:
    """An extra (or group) for each of these backends, by its name.

    `names` are those that the author has already, and the author's own sources keep what is no Linux.
    """
    kind = "group" if groups else "extra"
    extras: list[Extra] = []
    sources: dict[str, list[Mapping[str, str]]] = {}
    for name, backend in backends.items():
        build, packages = app.build(backend)
        lines: list[str] = []
        for package in packages:
            of_index = []
            for version, platforms in _versions(app.table, build, package).items():
                own = (sources_before or {}).get(package)
                left = [platform for platform in platforms if not _keeps(own, platform, app.machine.python)]
                of_index += [platform for platform in left if platform != _MAC]
                lines += [f"{package}=={version} ; {marker_of(left)}"] if left else []
            if of_index:
                entry = {"index": f"pytorch-{backend}", kind: name, "marker": marker_of(of_index)}
                sources.setdefault(package, []).append(entry)
                # What torch requires of its own index has to be named for it, too.
                for triton in tritons_of(build) if package == "torch" and build.family in ("rocm", "xpu") else ():
                    lines.append(f"{triton} ; {entry['marker']}")
                    sources.setdefault(triton, []).append(entry)
        extras.append(Extra(name, tuple(lines), tuple(_comment(app.table, build)), backend))
    indexes = {f"pytorch-{backend}": index_url(backend, app.base) for backend in backends.values()}
    conflicts = (*names, *(name for name in backends if name not in names))
    return Plan(tuple(extras), groups, indexes, sources, app.builds_with_torch, conflicts)


def _keeps(source: object, platform: str, python: Python) -> bool:
    """Whether uv takes a package from the author's source on a platform that is left to it."""
    is_left = source is not None and not platform.startswith("linux")
    return is_left and applies(source, marker_facts(python.version, platform=platform))


def index_url(backend: str, base: str) -> str:
    if base.startswith("flat+"):
        hint = "name a mirror with a folder for each backend"
        raise UsageError("a flat mirror is one page, and a project needs an index for each backend", hint=hint)
    return f"{base.rstrip('/')}/{backend}"


def _minor(build: Build) -> int:
    major, minor = numbers(build.torch)[:2]
    return 100 * major + minor


def _versions(table: Table, build: Build, package: str) -> dict[str, list[str]]:
    """The platforms that have the release for this backend, by the version that it has there."""
    versions: dict[str, list[str]] = {}
    for platform in MARKED_PLATFORMS:
        row = _build_on(platform, table, build)
        if row is not None and row.pins.get(package):
            versions.setdefault(row.pins[package], []).append(platform)
    return versions


def _build_on(platform: str, table: Table, build: Build) -> Build | None:
    key = build.torch, build.backend
    return next((row for row in table.of(platform) if (row.torch, row.backend) == key and row.published), None)


def _comment(table: Table, build: Build) -> list[str]:
    labels = [label for platform, label in PLATFORMS.items() if _build_on(platform, table, build) is not None]
    gpus = f": {in_words(served(build, table))}" if build.family == "cuda" else ""
    return [f"torch {build.torch}{gpus}", f"{pythons(build.pythons)} on {', '.join(labels)}"]


def python(project: Project, table: Table) -> Python:
    """The oldest Python that the project is for: what that one can have, every newer one can.

    Where the project does not say, the oldest that the newest release has a wheel for.
    """
    builds = [*table.of(HOME)]
    asked = demands.narrowed(Wish(), project.requirements).torch
    if not project.requires_python:
        admitted = admits(asked)
        builds = [build for build in builds if build.published and admitted(build.torch)]
        newest = max((release_key(build.torch) for build in builds), default=None)
        builds = [build for build in builds if release_key(build.torch) == newest]
    fits = python_test(project.requires_python)
    tags = {tag for build in builds for tag in build.pythons if tag[:2] == "cp" and tag[-1] != "t" and fits(tag)}
    if not tags:
        range_ = f"Python {project.requires_python}" if project.requires_python else f"torch{asked}"
        raise UsageError(f"no PyTorch wheel is for {range_}", hint="widen `requires-python`, or the range of torch")
    return python_of(min(tags, key=python_order))


def member_requirements(file: str) -> tuple[str, ...]:
    """What the other members of its workspace require, as one lock holds all of them."""
    own = os.path.abspath(file)
    others = (path for path in workspace_files(os.path.dirname(own)) if path != own)
    words = (word for path in others for word in projectfile.read_requirements(rewrite.read_file(path).text, path))
    return tuple(dict.fromkeys(words))


def write_project(there: Text, text: str, environ: Mapping[str, str]) -> bool:
    """Write the file, and its lock with it where there is one: whether that was done."""
    folder, uv = lock_folder(os.path.dirname(os.path.abspath(there.file))), find_uv(environ)
    if folder is None or uv is None:
        rewrite.write_file(there, text)
        return False
    before = rewrite.contents(map(os.path.abspath, (there.file, os.path.join(folder, "uv.lock"))))
    terminate = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with rewrite.put_back_where_it_fails(before):
            rewrite.write_file(there, text)
            command = Command("uv", (uv, "lock", "--project", folder))
            status, interrupted = run_command(command, environ, talk_only=True)
            if interrupted:
                raise KeyboardInterrupt
            if status:
                hint = f"nothing was changed; what uv says above is about what {there.file} requires"
                raise InstallerError("`uv lock` fails with these backends", hint=hint, code="LOCK")
    finally:
        signal.signal(signal.SIGTERM, terminate)
    return True
