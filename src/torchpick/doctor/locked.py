"""A lock judged for a machine: what each extra and group of it installs, whether that runs, and what would."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from torchpick.decide import answer as answers
from torchpick.decide.answer import Answer
from torchpick.decide.demands import is_backend, is_leaf, narrowed
from torchpick.doctor import depends, gpusupport, installedtorch
from torchpick.doctor.installedtorch import InstalledTorch
from torchpick.doctor.subject import DescribedEnvironment, EnvironmentUnderTest, LockedEnvironment
from torchpick.environment import projectfile
from torchpick.environment.distributions import Distribution, Environment
from torchpick.environment.world import text_of
from torchpick.errors import NoBuildError, TorchpickError
from torchpick.index import wheelnames
from torchpick.install.question import answer_request, collect_question
from torchpick.model.build import DEFAULT_INDEX, TRIO, Build
from torchpick.model.fields import written
from torchpick.model.finding import ERROR, Ailment, Finding, worst_first
from torchpick.model.machine import Machine, Note, Python
from torchpick.model.package import PackageFacts
from torchpick.model.pick import Pick, Wish
from torchpick.model.versions import admits, normal, release_key, some_of
from torchpick.projects import backends
from torchpick.projects.backends import BackendNames
from torchpick.projects.lockfiles import Choice, LockedPackage, LockFile, read_lock
from torchpick.run import Run

_CPU = Ailment.CPU_ONLY_BUILD
Check = Callable[[EnvironmentUnderTest], Iterator[Finding]]

# What is wrong with versions that are to be installed: nothing is missing where nothing is there yet.
_OF_LOCK: tuple[Check, ...] = (
    gpusupport.silent,
    gpusupport.foreign,
    gpusupport.unsupported,
    gpusupport.compiled_at_first_use,
    gpusupport.other_cuda,
    depends.together,
    depends.numpy,
)


class JudgedChoice(NamedTuple):
    """What a choice installs, and what is wrong with it on the machine."""

    choice: Choice
    packages: Mapping[str, LockedPackage]
    torch: InstalledTorch | None
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity == ERROR]

    @property
    def ok(self) -> bool:
        return not self.errors

    def to_dict(self) -> dict[str, object]:
        torch, locked = self.torch, self.packages.get("torch")
        return {
            **written(self.choice, "project", "kind", "name"),
            "torch": torch and torch.version,
            "backend": torch and torch.backend,
            "index": (locked and locked.index) or None,
            **written(self, "ok", "findings"),
        }


class JudgedLock(NamedTuple):
    """The choices of a lock that hold torch, or a package that stands on CUDA, on one machine.

    `taken` is the one that is for it; None where none runs. `instead` is then the answer to what the lock names.
    """

    machine: Machine
    choices: tuple[JudgedChoice, ...]
    taken: JudgedChoice | None = None
    instead: Answer | None = None
    notes: tuple[Note, ...] = ()

    @property
    def ok(self) -> bool:
        return self.taken is not None or not self.choices

    @property
    def would_do(self) -> dict[str, str]:
        """What would run in place of what the lock holds: name → version, torch last."""
        if self.instead is None or not self.instead.ok:
            return {}
        asked = [demand.name for demand in self.instead.question.wanted]
        taken = self.instead.taken
        return {name: taken[name] for name in (*asked, "torch") if name in taken}

    def adding(self, file: str) -> list[str]:
        """The command that puts the build that would run beside the backends of the project.

        Empty where there is none, and where the project asks for another torch.
        """
        if os.path.basename(file) != "uv.lock" or self.instead is None or not {*self.would_do} <= TRIO:
            return []
        names, build = (backends.backend_of(one.choice.name) for one in self.choices), self.instead.pick.build
        held = [*dict.fromkeys(filter(is_backend, names))]
        project = os.path.join(os.path.dirname(file), "pyproject.toml")
        text = text_of(project)
        try:
            asked = narrowed(Wish(), projectfile.read_requirements(text, project)).torch
        except TorchpickError:  # uv says what is wrong with it
            return []
        if not text or build.backend in held or not admits(asked)(build.torch):
            return []
        words = (word for backend in ((*held, build.backend) if held else ()) for word in ("--backend", backend))
        return ["torchpick", "extras", "--for", "app", *words, "--write", project]

    @property
    def why_nothing_would(self) -> str | None:
        """Why there is nothing for the machine at all."""
        if self.instead is None or self.instead.ok:
            return None
        nothing, _ = answers.refused(self.instead)
        why, _ = nothing.refusal or (None, None)
        return why

    def to_dict(self) -> dict[str, object]:
        return {
            "machine": self.machine,
            "taken": self.taken and self.taken.choice,
            "choices": self.choices,
            "would_do": self.would_do or None,
            "notes": self.notes,
        }


def judge(run: Run, lock: LockFile, machine: Machine) -> JudgedLock:
    """Judge every choice, and where none runs what would; a TorchpickError where it is open which torch it is."""
    machine, notes = _with_its_python(lock, machine)
    judged = [_judge_choice(run, lock, choice, machine) for choice in lock.choices()]
    of_project = {one.choice.project: one for one in judged if not one.choice.kind}
    # What changes nothing of this is no choice of a torch.
    choices = tuple(
        one
        for one in judged
        if _stands_on_gpus(one) and (not one.choice.kind or _relevant(one) != _relevant(of_project[one.choice.project]))
    )
    if not choices and TRIO & {*lock.loose}:
        raise TorchpickError(
            f"{lock.file} leaves open which torch it is",
            hint=f"`torchpick plan -r {lock.file}` says what would run; `torchpick lock -r {lock.file}` locks it",
            code="NOT_LOCKED",
        )
    # Names that are backends are what `label` and `run` choose among; of two with one torch that with a name is meant.
    running = sorted((one for one in choices if one.ok), key=lambda one: not one.choice.kind)
    of_backends = [one for one in running if is_backend(backends.backend_of(one.choice.name))]
    meant = of_backends or running
    best, _ = _best(run, (machine,), [_build(run, machine, one.torch) for one in meant])
    if meant or not choices:
        return JudgedLock(machine, choices, meant[best] if meant else None, notes=notes)
    answered = [_answer_to(run, names, machine) for names in dict.fromkeys(lock.named(one.choice) for one in choices)]
    instead = max(answered, key=lambda answer: (answer.ok, release_key(answer.pick.build.torch) if answer.ok else ()))
    return JudgedLock(machine, choices, instead=instead, notes=notes)


def choose(run: Run, project: BackendNames, machines: tuple[Machine, ...]) -> tuple[str, Pick] | None:
    """The name under which the lock of the project has the best of what runs on all these machines, and that.

    What is not locked yet is judged as the newest of its backend. None where there is no lock of the project,
    NoBuildError where nothing in it runs.
    """
    lock = read_lock(project.lock, run.environ) if project.lock else None
    if lock is None or project.project not in lock.projects:
        return None
    machines = tuple(of_lock for of_lock, _ in (_with_its_python(lock, machine) for machine in machines))
    builds: dict[str, Build | None] = {}
    errors: dict[str, list[Finding]] = {}
    for name, backend in project.names.items():
        choice = Choice(project.project, project.kind, normal(name))
        first, *others = (_judge_choice(run, lock, choice, machine) for machine in machines)
        builds[name] = _build(run, machines[0], first.torch, backend)
        # A name of a build for the CPU is among them where that may be taken.
        errors[name] = [finding for one in (first, *others) for finding in one.errors if finding.ailment is not _CPU]
    names = [name for name in builds if not errors[name]] or [*builds]
    best, pick = _best(run, machines, [builds[name] for name in names])
    if pick.ok and not errors[names[best]]:
        return names[best], pick
    against = (f"torch {row.build.version}: {why.text}" for row in pick.considered for why in row.objections)
    texts = (*(finding.text for name in names for finding in errors[name]), *against)
    why = next(iter(texts), f"no build is known for {some_of(names)}")
    raise NoBuildError(
        f"nothing that {project.lock} holds runs here: {why}",
        pick=pick._replace(verdicts=(), changes=()),
        hint=f"`torchpick doctor {project.lock}` says of each what is against it, and what would do",
    )


def _with_its_python(lock: LockFile, machine: Machine) -> tuple[Machine, tuple[Note, ...]]:
    """The machine with a Python that the lock is for, and what is said of that."""
    version = lock.python_for(machine.python.version)
    if version == machine.python.version:
        return machine, ()
    text = f"{lock.file} is for Python {lock.requires_python}, so it is judged for {version}"
    return machine._replace(python=Python(version)), (Note("OTHER_PYTHON", text),)


def _answer_to(run: Run, names: Iterable[str], machine: Machine) -> Answer:
    """The answer to these names without a version, as far as the table knows them."""
    known = run.read_catalog(machine).packages
    family = tuple(name for name in names if name in TRIO)
    asked = (*(name for name in names if name in known and not is_leaf(name)), *family) or ("torch",)
    of_names = run.with_request(run.request._replace(requirements=asked))
    return answer_request(of_names, collect_question(of_names), machines=(machine,), everything=False)


def described_environment(
    run: Run, machine: Machine, packages: Mapping[str, str], cuda: str | None, program: str | None = None
) -> DescribedEnvironment:
    """An environment of these versions on a machine, of which there is no file to read; `program` is its Python."""
    known = run.read_catalog(machine).packages
    return DescribedEnvironment(run, _made_of(packages, machine, known, program), machine, cuda)


def _made_of(
    packages: Mapping[str, str], machine: Machine, known: Mapping[str, PackageFacts], program: str | None = None
) -> Environment:
    named_packages = tuple(_named(name, version, known) for name, version in packages.items())
    python = Python(machine.python.version, executable=program, source="text")
    return Environment(python, "the machine of the text", distributions=named_packages)


def _named(name: str, version: str, catalog: Mapping[str, PackageFacts]) -> Distribution:
    """A package of which a text has the version; what it requires is the table's, where one wheel is all there is."""
    package = Distribution(name, version, os.devnull, "")
    row = gpusupport.row_of(package, catalog)
    return package if row is None or row.place else package._replace(requires=row.requires)


def _judge_choice(run: Run, lock: LockFile, choice: Choice, machine: Machine) -> JudgedChoice:
    packages = lock.installed(choice, machine)
    torch = packages.get("torch")
    versions = {name: package.version for name, package in packages.items()}
    if torch is not None:
        versions["torch"] = torch.labelled
    catalog = run.read_catalog(machine).packages
    rows = {name: catalog[name].row(one.version, one.index) for name, one in packages.items() if name in catalog}
    known = {name: catalog[name]._replace(versions=(row,) if row else ()) for name, row in rows.items()}
    cuda = _cuda(run, machine, packages)
    subject = LockedEnvironment(run, _made_of(versions, machine, known), machine, cuda, known)
    findings = [*_wheelless(torch, machine), *(finding for check in _OF_LOCK for finding in check(subject))]
    return JudgedChoice(choice, packages, subject.torch, worst_first(findings))


def _cuda(run: Run, machine: Machine, packages: Mapping[str, LockedPackage]) -> str | None:
    """The CUDA of a torch without a label: of the runtime that is locked with it, else of the default index's own."""
    lines = (f"{package.name}=={package.version}" for package in packages.values())
    if (cuda := installedtorch.cuda_of_runtime(lines)) is not None:
        return cuda
    version = packages["torch"].version if "torch" in packages else ""
    name = machine.platform.name
    builds = run.knowledge.table((name,), DEFAULT_INDEX).of(name).builds(version) if "+" not in version else ()
    return next((build.cuda for build in builds), None)


def _wheelless(torch: LockedPackage | None, machine: Machine) -> Iterable[Finding]:
    """That none of the files that the lock has of torch is for the platform."""
    names = list(filter(None, map(wheelnames.parse, torch.wheels))) if torch is not None else []
    if torch is not None and names and all(not _is_for(name.platform, machine) for name in names):
        facts = {"platform": machine.platform.name, "torch": torch.version}
        yield Finding(
            Ailment.NO_WHEEL_FOR_PLATFORM,
            f"torch {torch.version}: the lock has no wheel of it for {machine.platform.name}",
            facts,
        )


def _is_for(tag: str, machine: Machine) -> bool:
    return wheelnames.platform_of(tag) in (machine.platform.name, None)


def _stands_on_gpus(one: JudgedChoice) -> bool:
    return one.torch is not None or bool(one.findings)


def _relevant(one: JudgedChoice) -> dict[str, str]:
    """What of a choice is torch's, or was found to be wrong."""
    named = {str(finding.seen.get("package", "")).partition(" ")[0] for finding in one.findings}
    names = (name for name in one.packages if name in TRIO or name in named)
    return {name: one.packages[name].labelled for name in names}


def _best(run: Run, machines: tuple[Machine, ...], builds: Sequence[Build | None]) -> tuple[int, Pick]:
    """The place of the build that a pick would take, were there no others, and that pick; 0 where it is none."""
    pick = backends.pick_among(run, machines, [*filter(None, builds)]).pick
    versions = [build and build.version for build in builds]
    return versions.index(pick.version) if pick.ok else 0, pick


def _build(run: Run, machine: Machine, torch: InstalledTorch | None, backend: str = "") -> Build | None:
    """The table's build of a torch; the newest of its backend where the table does not know it, or there is none."""
    release, backend = (torch.release, torch.backend) if torch is not None else ("", backend)
    table, platform = run.read_table((machine,)), machine.platform.name
    if (build := table.find(platform, release, backend)) is not None:
        return build
    of_backend = (build for build in table.of(platform) if build.backend == backend)
    newest = max(of_backend, key=lambda build: release_key(build.torch), default=None)
    return newest or (torch and torch.verdict and torch.verdict.build)
