"""A lock judged for a machine: what each extra and group of it installs, whether that runs, and what would."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from torchpick.decide import answer as answers
from torchpick.decide.answer import Answer
from torchpick.decide.demands import is_backend, is_leaf, narrowed
from torchpick.doctor import depends, gpusupport, installedtorch
from torchpick.doctor.installedtorch import InstalledTorch
from torchpick.doctor.subject import DescribedEnvironment, EnvironmentUnderTest, LockedEnvironment
from torchpick.environment import projectfile, shell
from torchpick.environment.distributions import Distribution, Environment
from torchpick.environment.world import text_of, uv_project
from torchpick.errors import TorchpickError
from torchpick.index import wheelnames
from torchpick.install.question import answer_request, collect_question
from torchpick.model.build import DEFAULT_INDEX, TRIO, Build
from torchpick.model.fields import written
from torchpick.model.finding import ERROR, Ailment, Finding, worst_first
from torchpick.model.machine import Machine, Note, Python
from torchpick.model.package import PackageFacts
from torchpick.model.pick import Wish
from torchpick.model.versions import admits, normal, release_key
from torchpick.projects import backends
from torchpick.projects.lockfiles import Choice, LockedPackage, LockFile, read_lock
from torchpick.run import Run

Check = Callable[[EnvironmentUnderTest], Iterator[Finding]]

# What is wrong with versions that are to be installed: nothing is missing where nothing is there yet.
_OF_LOCK: tuple[Check, ...] = (
    gpusupport.silent,
    gpusupport.foreign,
    gpusupport.unsupported,
    gpusupport.compiled_at_first_use,
    gpusupport.triton,
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
    def ok(self) -> bool:
        return all(finding.severity != ERROR for finding in self.findings)

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

    `taken` is the one that is for it; None where none runs. `instead` is the answer to what the lock names, where that
    is better for the machine than all that the lock holds.
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
        if self.ok or self.instead is None or self.instead.ok:
            return None
        return answers.refused(self.instead)[0].refusal[0]  # type: ignore[index]  # a refusal has its reason

    def to_dict(self) -> dict[str, object]:
        return {
            "machine": self.machine,
            "taken": self.taken and self.taken.choice,
            "choices": self.choices,
            "would_do": self.would_do or None,
            "notes": self.notes,
        }


def judge(run: Run, lock: LockFile, machine: Machine) -> JudgedLock:
    """Judge every choice; a TorchpickError where the file leaves open which torch it is."""
    version = lock.python_for(machine.python.version)
    notes: tuple[Note, ...] = ()
    if version != machine.python.version:
        text = f"{lock.file} is for Python {lock.requires_python}, so it is judged for {version}"
        machine, notes = machine._replace(python=Python(version)), (Note("OTHER_PYTHON", text),)
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
    taken = _best(run, machine, of_backends or running)
    return JudgedLock(machine, choices, taken, notes=notes)


def with_better(run: Run, lock: LockFile, judged: JudgedLock) -> JudgedLock:
    """The verdict with what would do where nothing in the lock does, or where the lock is behind the machine."""
    if not judged.choices or (judged.taken is not None and judged.taken.torch is None):
        return judged
    choices = [judged.taken] if judged.taken is not None else judged.choices
    answered = [
        _answer_to(run, names, judged.machine) for names in dict.fromkeys(lock.named(one.choice) for one in choices)
    ]
    instead = max(answered, key=lambda answer: (answer.ok, release_key(answer.pick.build.torch) if answer.ok else ()))
    if judged.taken is not None and not (instead.ok and _is_behind(judged, instead.pick.build)):
        return judged
    return judged._replace(instead=instead)


def _answer_to(run: Run, names: Iterable[str], machine: Machine) -> Answer:
    """The answer to these names without a version, as far as the table knows them."""
    known = run.read_catalog(machine).packages
    family = tuple(name for name in names if name in TRIO)
    asked = (*(name for name in names if name in known and not is_leaf(name)), *family) or ("torch",)
    of_names = run.with_request(run.request._replace(requirements=asked))
    return answer_request(of_names, collect_question(of_names), machines=(machine,), everything=False)


def _is_behind(judged: JudgedLock, best: Build) -> bool:
    """Whether the machine runs a newer torch by a backend that the lock has not; a newer release alone is no matter."""
    held = {one.torch.backend for one in judged.choices if one.torch is not None}
    taken = judged.taken and judged.taken.torch
    return best.backend not in held and taken is not None and is_newer(best.torch, taken.release)


def is_newer(release: str, other: str) -> bool:
    """Whether a release is newer; what cannot be read as one is the oldest."""
    try:
        return release_key(release) > release_key(other)
    except ValueError:
        return True


def described_environment(
    run: Run, machine: Machine, packages: Mapping[str, str], cuda: str | None
) -> DescribedEnvironment:
    """An environment of these versions on a machine, of which there is no file to read."""
    return DescribedEnvironment(run, _made_of(packages, machine, run.read_catalog(machine).packages), machine, cuda)


def _made_of(packages: Mapping[str, str], machine: Machine, known: Mapping[str, PackageFacts]) -> Environment:
    named_packages = tuple(_named(name, version, known) for name, version in packages.items())
    python = Python(machine.python.version, source="text")
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


def _best(run: Run, machine: Machine, running: list[JudgedChoice]) -> JudgedChoice | None:
    """The one whose torch a pick would take, were there no others."""
    builds = [build for one in running if (build := _build(run, machine, one)) is not None]
    if not builds:
        return next(iter(running), None)
    pick = backends.pick_among(run, (machine,), builds).pick
    chosen = pick.version if pick.ok else builds[0].version
    return next(one for one in running if (build := _build(run, machine, one)) and build.version == chosen)


def _build(run: Run, machine: Machine, one: JudgedChoice) -> Build | None:
    """The build of its torch: as it was judged, or the table's of the CPU, which needs no judgement."""
    torch = one.torch
    if torch is None or torch.verdict is not None:
        return torch and torch.verdict and torch.verdict.build
    return run.read_table((machine,)).find(machine.platform.name, torch.release, torch.backend)


def behind(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """A pin, or the lock of the project, for another GPU or driver than the machine has."""
    pinned, project = _pin_and_project(subject)
    if pinned is not None:
        yield from _pin_behind(subject, *pinned)
    elif project:
        yield from _lock_behind(subject, os.path.join(project, "uv.lock"))


def _pin_and_project(subject: EnvironmentUnderTest) -> tuple[tuple[str, str, tuple[str, ...]] | None, str | None]:
    from torchpick.install import job

    prefix = subject.environment.prefix
    return job.read_pin(prefix), job.project_of_environment(prefix, subject.run.environ)


def _pin_behind(subject: EnvironmentUnderTest, file: str, version: str, words: tuple[str, ...]) -> Iterator[Finding]:
    """The pinned torch against the answer to what the project requires; `words` are those requirements."""
    machine, table = subject.machine, subject.table
    release, _, backend = version.partition("+")
    build = table.find(machine.platform.name, release, backend)
    runs = build is None or backends.pick_among(subject.run, (machine,), [build]).ok
    of_words = subject.run.with_request(subject.run.request._replace(requirements=words, python=machine.python.version))
    best = answer_request(of_words, collect_question(of_words), machines=(machine,), everything=False)
    if machine.trouble is not None or not best.ok or (best.unknown and runs):
        return
    pick = best.pick
    if not runs or (pick.build.backend != backend and is_newer(pick.build.torch, release)):
        command = shell.line(["torchpick", "pin", f"torch=={pick.build.torch}"], subject.run.shell)
        how = "is newer and runs on this machine" if runs else "does run on this machine, where that one does not"
        seen = {"file": file, "pinned": version, "runs": runs, "best": pick.version}
        yield Finding(
            Ailment.BEHIND, f"{file} is pinned to torch {version}, and {pick.version} {how}", seen, cure=command
        )


def lasting(subject: EnvironmentUnderTest) -> tuple[list[str], str] | None:
    """The command that brings what runs here and that the next sync keeps, and what that is.

    None where no project keeps the environment, and where no extra or group of it is a backend.
    """
    _, project = _pin_and_project(subject)
    if project is None or subject.torch_alone or subject.machine.trouble is not None:
        return None
    file = os.path.join(project, "uv.lock")
    try:
        lock = read_lock(file, subject.run.environ)
        judged = judge(subject.run, lock, subject.machine)
        best = (judged.taken and judged.taken.choice) or next((one.choice for one in judged.choices), Choice(""))
        package = best.project if len(lock.projects) > 1 else ""
        adopted = backends.read_backends(project, package)
        if adopted is None or (judged.taken is not None and best.name not in map(normal, adopted.names)):
            return None
        if judged.taken is None:
            adding = with_better(subject.run, lock, judged).adding(file)
            return (adding, "then `torchpick run uv sync` takes it") if adding and not package else None
    except TorchpickError:  # whoever asks for the lock itself hears of it
        return None
    where = [] if uv_project(os.getcwd()) == project else ["--project", project]
    words = ["sync", *(["--package", package] if package else [])]
    request = subject.run.request._replace(python=None, platform=None, glibc=None, macos=None, backends=(), cpu=False)
    brings = f"that is {judged.taken.packages['torch'].labelled}, which {file} holds"
    return ["torchpick", "run", *request.flags, "uv", *where, *words], brings


def _lock_behind(subject: EnvironmentUnderTest, file: str) -> Iterator[Finding]:
    try:
        lock = read_lock(file, subject.run.environ)
        judged = with_better(subject.run, lock, judge(subject.run, lock, subject.machine))
    except TorchpickError:  # whoever asks for the lock itself hears of it
        return
    versions = ", ".join(f"{name} {version}" for name, version in judged.would_do.items())
    if subject.machine.trouble is None and versions:
        what = "holds no newer torch" if judged.ok else "holds nothing that runs"
        text = f"{file} {what} for this machine's GPU and driver, and {versions} would run"
        advice = f"`torchpick doctor {file}` says what of it runs"
        if adding := judged.adding(file):
            advice += f"; `{shell.line(adding, subject.run.shell)}` adds what is lacking"
        yield Finding(Ailment.BEHIND, text, {"file": file, "would_do": judged.would_do}, advice=advice)
