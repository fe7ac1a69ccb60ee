"""From a question to its answer, and from that to the installer's job; or to an environment that is only planned.

What is lacking is learnt from the user's own index, and the question asked again. No installer is asked, but for what
nobody else can read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple, cast

from torchpick.decide.answer import Answer, decided
from torchpick.decide.demands import PackageDemand, required
from torchpick.environment import distributions, shell
from torchpick.environment.requirementfiles import requirement
from torchpick.errors import InstallerError, NetworkError, NoBuildError
from torchpick.install.asking import Order, TargetQuestion, read_plan_question
from torchpick.install.command import Command, store_folder, store_notes
from torchpick.install.files import Hashes, best_wheel, open_host, with_addresses
from torchpick.install.job import Job, check_pin
from torchpick.install.question import answer_request
from torchpick.install.reporting import ReportedPackage, read_report, stand_ins
from torchpick.install.user_settings import note_indexes
from torchpick.knowledge.locations import cache_dir
from torchpick.model.address import Address, is_on_host_of, redacted
from torchpick.model.arch import Fit
from torchpick.model.build import COMPANIONS, TRIO, Build, Reason
from torchpick.model.machine import Machine, Note
from torchpick.model.package import Catalog, PackageFacts, Stack
from torchpick.model.pick import Pick
from torchpick.model.versions import some_of
from torchpick.run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.machine.verify import Results


_OFFLINE = "without `--offline` their wheels are read from your index"
_NOT_READ = "check the names, the versions and the connection to your index"


class Learnt(NamedTuple):
    """An answer, and what was known of packages when it was given."""

    answer: Answer
    catalog: Catalog = Catalog({})
    notes: tuple[Note, ...] = ()
    sizes: Mapping[tuple[str, str], int | None] = {}  # of the files of a project's versions
    on_wheel_indexes: tuple[str, ...] = ()  # the projects that a wheel index of the user's own has too


# From a question to its answer.


def find_answer(question: TargetQuestion) -> Learnt:
    """The answer to what is asked, with all that is to be learnt for it; raises where none fits."""
    rules = question.run.knowledge.rules
    if question.is_of_family:
        answer = question.answer_or_needs(question.run.read_catalog(question.machine))
        return Learnt(decided(cast("Answer", answer), rules))
    from torchpick.install.learner import Learner  # reads indexes: torch's family does without

    learner = Learner(question)
    answer = learner.answer(question.answer_or_needs)
    hidden = learner.undescribed(answer) if answer.ok and not question.order.only_planned else []
    if hidden and not question.run.offline:
        question.run.report(f"asking {question.installer.name} what {some_of(hidden)} requires")
        more = ask_installer(question, answer, learner.catalog)
        answer = learner.answer(lambda catalog: question.answer_or_needs(catalog, more))
    learner.check_named(answer, hidden)
    decided(answer, rules)
    notes = (
        *check_builds(question, answer, learner.catalog.packages),
        *learner.notes(answer),
    )
    catalog = learner.catalog._replace(may_learn=False)
    return Learnt(answer, catalog, notes, learner.sizes, learner.on_wheel_indexes())


def ask_installer(question: TargetQuestion, answer: Answer, catalog: Catalog) -> tuple[PackageDemand, ...]:
    """What the installer's resolver takes of the projects on torch, where METADATA of one cannot be had."""
    best: dict[str, Build] = {}
    for verdict in answer.pick.considered:
        if verdict.reasons <= {Reason.OTHER_TORCH}:
            best.setdefault(verdict.build.torch, verdict.build)
    job = job_of(question, Learnt(answer, catalog))._replace(pins={}, files={}, added=(), for_lock=True)
    with stand_ins([*best.values()], catalog.torch_requirements) as (folder, releases):
        command = question.installer.reporter(job._replace(pages=(folder,), releases=releases))
        packages = read_report(command, question.run.environ)
    names = {"torch", *answer.judged, *(demand.name for demand in answer.question.wanted)} - {*COMPANIONS}
    by = f"{question.installer.name}'s resolution"
    return tuple(
        PackageDemand(package.name, f"=={package.version.partition('+')[0]}", by=by)
        for package in packages
        if package.name in names and package.version
    )


_FLAG = "--no-build-isolation"


def check_builds(question: TargetQuestion, answer: Answer, facts: Mapping[str, PackageFacts]) -> tuple[Note, ...]:
    """Notes for what can be built now; InstallerError for what cannot be before torch is there, in a plan notes too."""
    notes = []
    pick, installed = answer.pick, question.target.installed
    can_build = _FLAG in question.order.passed_on and installed.get("torch") == pick.version
    toolkit = f"nvcc of CUDA {pick.build.cuda}" if pick.build.cuda else "a compiler"
    first = f"`torchpick install torch=={pick.version}`, then"
    packages = {package.name: package for package in answer.environment.packages}
    for requested in question.wanted:
        name, package = requested.name, packages.get(requested.name)
        url = package.index if package else ""
        source = facts[name].built_with_torch if name in facts else None
        if requested.place or name in installed or "#sha256=" in url or url == pick.index_url:
            continue
        if package and "//" in url and name not in TRIO and not (can_build and source):
            page = url.partition("/download/")[0]
            who = f"{name} {answer.environment.version(name)} for torch {pick.version}"
            message = f"{who} is on no index of yours: {page} has it"
            hint = f"{first} `torchpick install` with the URL of its wheel"
            if url.endswith(".whl"):
                words = ["torchpick", "install", *package.from_its_page(pick.version)]
                hint = f"`{shell.line(words, question.run.shell)}`; no hash of that file is known"
        elif source and not can_build:
            message = f"{name} is built from source, with torch and {toolkit} in place: {source}"
            hint = f"{first} `torchpick install {name} -- {_FLAG}`"
        else:
            continue
        if not question.order.only_planned:
            raise InstallerError(message, hint=hint, code="BUILT_FROM_SOURCE")
        notes.append(Note("BUILT_FROM_SOURCE", f"{name}: {hint}"))
    return tuple(notes)


# From an answer to the installer.


def hand_over(question: TargetQuestion, learnt: Learnt, *, pages: bool) -> tuple[Job, Command]:
    """The answer as a job with its files, and the exact command for it; nothing is started or written."""
    installer = question.installer
    job = job_of(question, learnt)
    if installer.name == "uv" and "torch" in job.needs:
        check_pin(job.pick.version, os.getcwd())
    job = with_addresses(job, installer.name, question.run.knowledge, pages=pages)
    return job, installer.command(job)


def job_of(question: TargetQuestion, learnt: Learnt) -> Job:
    """An answer as a job for the installer, without the addresses of files."""
    answer, order, target = learnt.answer, question.order, question.target
    stack, pick = answer.environment, answer.pick
    named = [requested.name for requested in question.wanted]
    needs = {name for name in TRIO if stack.version(name) is not None}
    if "torch" in named or (not order.no_deps and not TRIO.isdisjoint(named)):
        needs.add("torch")
    pins = {name: version for name, version in answer.judged.items() if "*" not in version}
    of_pick = {note.text for note in pick.notes}
    notes = [note for note in stack.notes if note.text not in of_pick]
    asked = {(demand.name, extra) for demand in answer.question.wanted for extra in demand.extras}
    cache = cache_dir(question.run.environ)
    store = store_folder(cache)
    notes = [*index_notes(question, learnt), *notes, *learnt.notes, *store_notes(cache, store)]
    return Job(
        requirements=question.requirements,
        pick=pick,
        target=target,
        store=store,
        settings=question.settings,
        pins=pins,
        needs=frozenset(needs),
        files={package.name: Address(package.index) for package in stack.packages if "#sha256=" in package.index},
        added=(
            *(requirement(pin.name, f"=={pin.version}") for pin in stack.packages if "*" in pin.version),
            *(pin.requirement for pin in stack.packages if {(pin.name, extra) for extra in pin.extras or ()} - asked),
            *_missing_torch(learnt, named, target.installed.get("torch")),
        ),
        upgrade=order.upgrade,
        no_deps=order.no_deps,
        offline=question.run.offline,
        passed_on=order.passed_on,
        cuda_installed=distributions.torch_facts(target.packages).cuda if "+" not in pick.version else None,
        elsewhere=question.elsewhere,
        notes=tuple(dict.fromkeys(notes)),
    )


def _needs_of(name: str, learnt: Learnt) -> list[str]:
    answer, packages = learnt.answer, learnt.catalog.packages
    rows = packages[name].versions if name in packages else ()
    taken = (row for row in rows if row.version == answer.environment.version(name))
    return [need.name for row in taken for need in required(row.requires, answer.pick.machine, (), "")]


def _missing_torch(learnt: Learnt, named: Iterable[str], installed: str | None) -> tuple[str, ...]:
    """Torch where a package links it and none is known to require it: no resolver may bring it."""
    stack = learnt.answer.environment
    version = stack.version("torch")
    needs = (need for package in stack.packages for need in _needs_of(package.name, learnt))
    return () if TRIO & {*named, *needs} or version in (None, installed) else (requirement("torch", f"=={version}"),)


def index_notes(question: TargetQuestion, learnt: Learnt) -> tuple[Note, ...]:
    """What a person should know of the indexes that the settings and files name."""
    installers = ("pip", "uv") if question.binding is None else (question.binding,)
    lines = {path: entries for (path, _), entries in question.requirements.sources.items()}
    return note_indexes(question.settings, installers, lines, question.order.passed_on, learnt.on_wheel_indexes)


def prove(question: TargetQuestion, job: Job) -> tuple[ReportedPackage, ...]:
    """What the command would take from where; raises where a file of the family would come from elsewhere."""
    packages = read_report(question.installer.reporter(job), question.run.environ)
    index = job.pick.index_url
    for package in packages:
        address = job.files.get(package.name, "").partition("#")[0]
        is_expected = package.url.partition("#")[0] == address or is_on_host_of(package.url, index)
        if package.name in TRIO and package.name not in job.placed and index and not is_expected:
            raise InstallerError(
                f"{package.name} {package.version} would come from {redacted(package.url)}",
                hint="remove the index that leads there; if you mean that file, ask for it by its address",
                code="WRONG_HOST",
            )
    return packages


# After the installer.

# Options that put packages elsewhere than into the target, or nowhere.
_AWAY = frozenset({"--target", "-t", "--prefix", "--root", "--user", "--dry-run"})


def missing_torch(job: Job) -> str | None:
    """What of torch is not there after a run that needed it; None where all is as it was to be."""
    if "torch" not in job.needs or any(word.partition("=")[0] in _AWAY for word in job.passed_on):
        return None
    installed = distributions.find_installed("torch", job.target.packages)
    if installed is not None and installed.version == job.pick.version:
        return None
    return "there is no torch" if installed is None else f"there is torch {installed.version}"


def verify_pick(pick: Pick, python: str, environ: Mapping[str, str]) -> Results:
    """Run the kernels on each GPU that counts, with the torch that this interpreter has now."""
    from torchpick.machine import verify

    kind, gpus = verify.devices_to_check(pick.build.family, pick.machine)
    if kind == "cuda" and not gpus:
        kind = "cpu"  # nothing is here that it was picked for
    compiles = any(fit.fit is Fit.JIT for verdict in pick.verdicts for fit in verdict.fits)
    deadline_s = verify.JIT_DEADLINE_S if compiles else verify.DEADLINE_S
    return verify.run_kernels(python, kind, gpus, environ, deadline_s)


# Or to an environment that is only planned: every pin, and its costs.


def plan_environment(run: Run, order: Order) -> tuple[Stack, Callable[[Machine], Answer] | None]:
    """The environment for what is ordered, and the answer for another machine by what was learnt.

    Where none fits its `ok` is false.

    What the table lacks is learnt from the user's own index; InstallerError where that has nothing of what is named.
    """
    question = read_plan_question(
        run.without_requirements(), order._replace(installer=run.installer, only_planned=True)
    )
    try:
        learnt = find_answer(question)
    except NoBuildError as error:
        if error.stack is None:
            raise
        return error.stack, None
    stack = learnt.answer.environment
    stack = stack._replace(notes=tuple(dict.fromkeys((*stack.notes, *learnt.notes))))
    if not stack.packages:
        return stack._replace(hints=(*stack.hints, _OFFLINE if run.offline else _NOT_READ)), None

    def again(machine: Machine) -> Answer:
        return answer_request(
            run, learnt.answer.question, machines=(machine,), everything=False, catalog=learnt.catalog
        )

    stack = _with_vendors_files(run, stack, learnt.answer.pick)
    notes = (*stack.notes, *index_notes(question, learnt))
    folders = {project.name for project in question.placed if project.file is None}
    return stack._replace(notes=notes, download=_download(learnt, stack, folders)), again


def _with_vendors_files(run: Run, stack: Stack, pick: Pick) -> Stack:
    """The very files of a build that a vendor's own index has; one that it does not have is an error."""
    vendor = pick.build.vendor if pick.ok else None
    if vendor is None or vendor.alone or run.offline:
        return stack
    hashes = Hashes(pick, run.knowledge)
    packages = list(stack.packages)
    with open_host(pick) as host, suppress(NetworkError):
        for number, pin in enumerate(packages):
            if pin.name in pick.build.pins:
                wheel = best_wheel(pick, host, hashes, pin.name, f"=={pin.version}")
                packages[number] = pin._replace(index=wheel.with_hash)
    return stack._replace(packages=tuple(packages))


def _download(learnt: Learnt, stack: Stack, folders: Container[str]) -> tuple[int, tuple[str, ...]] | None:
    """The sizes of the files; what torch itself brings besides is not among them."""
    pins = ((pin.name, pin.version) for pin in stack.packages if pin.name not in folders)
    sizes = {name: learnt.sizes.get((name, version)) for name, version in pins}
    unknown = tuple(name for name, size in sizes.items() if size is None)
    total = sum(size for size in sizes.values() if size is not None)
    return (total, unknown) if total else None
