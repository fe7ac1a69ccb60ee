"""From a question to its answer, and from that to the installer's job; or to an environment that is only planned.

What is lacking is learnt from the user's own index, and the question asked again. No installer is asked, but for what
nobody else can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from torchpick.decide.answer import Answer, cuda_extra_notes, cuda_extras, decided
from torchpick.decide.demands import PackageDemand, required
from torchpick.environment import distributions
from torchpick.environment.requirementfiles import requirement
from torchpick.errors import InstallerError
from torchpick.index.projectfiles import IndexTarget
from torchpick.install.asking import TargetQuestion
from torchpick.install.command import Command, store_folder, store_notes
from torchpick.install.files import with_addresses
from torchpick.install.job import Job
from torchpick.install.user_settings import note_indexes
from torchpick.knowledge.locations import cache_dir
from torchpick.model.address import Address
from torchpick.model.build import COMPANIONS, TRIO, Build, is_on_host_of
from torchpick.model.machine import Note
from torchpick.model.package import Catalog, PackageFacts, same_module_conflicts
from torchpick.model.pick import Pick
from torchpick.model.redaction import redacted
from torchpick.model.verdict import Reason
from torchpick.model.versions import some_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.learner import Learner
    from torchpick.install.reporting import ReportedPackage


class Learnt(NamedTuple):
    """An answer, and what was known of packages when it was given."""

    answer: Answer
    catalog: Catalog = Catalog({})
    notes: tuple[Note, ...] = ()
    cuda_extras: Mapping[str, str] = {}  # the extras that were taken unasked, by their packages
    sizes: Mapping[tuple[str, str], int | None] = {}  # of the files of a project's versions
    on_wheel_indexes: tuple[str, ...] = ()  # the projects that a wheel index of the user's own has too

    @property
    def facts(self) -> Mapping[str, PackageFacts]:
        return self.catalog.packages


def job_of(asking: TargetQuestion, learnt: Learnt) -> Job:
    """An answer as a job for the installer, without the addresses of files."""
    answer, run, target = learnt.answer, asking.run, asking.target
    stack, pick = answer.environment, answer.pick
    wanted = [each.name for each in asking.wanted]
    brings = {name for name in TRIO if stack.version(name) is not None}
    if not asking.order.no_deps:
        brings |= {"torch" for name in wanted if name in TRIO}
    pins = {name: version for name, version in answer.judged.items() if "*" not in version}
    names = [*wanted, *pins]
    twins = same_module_conflicts(names, {*names, *answer.unknown, *_brought(learnt, wanted)}, learnt.facts)
    known = {note.text for note in pick.notes}
    notes = [note for note in stack.notes if note.text not in known and note.code != "SAME_MODULE"]
    there, leaves_out = target.installed, asking.installer.name == "uv"
    if twins:
        from torchpick.decide.environments import same_module

        notes += [same_module(name, stays, left_out=leaves_out and name not in there) for name, stays in twins.items()]
    cache = cache_dir(run.environ)
    folder = store_folder(cache)
    ours = (*learnt.notes, *store_notes(cache, folder))
    return Job(
        requirements=asking.asked,
        pick=pick,
        target=target,
        store=folder,
        settings=asking.own,
        pins={name: version for name, version in pins.items() if name not in twins},
        needs=frozenset(brings),
        files={each.name: Address(each.index) for each in stack.packages if "#sha256=" in each.index},
        added=(
            *(requirement(each.name, f"=={each.version}") for each in stack.packages if "*" in each.version),
            *(each.requirement for each in stack.packages if each.name in learnt.cuda_extras),
            *_torch_of(learnt, wanted, there.get("torch")),
        ),
        left_out=tuple(twins) if leaves_out else (),
        upgrade=asking.order.upgrade,
        no_deps=asking.order.no_deps,
        offline=run.offline,
        passed_on=asking.order.passed_on,
        cuda_installed=distributions.cuda_of(target.packages) if "+" not in pick.version else None,
        elsewhere=asking.elsewhere,
        notes=tuple(dict.fromkeys((*index_notes(asking, learnt), *notes, *ours))),
    )


def _brought(learnt: Learnt, wanted: Iterable[str]) -> set[str]:
    """Whatever comes with these, as far as it was read: by the version that was taken, else by the newest."""
    answer, found, todo = learnt.answer, set[str](), [*wanted]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        rows = learnt.facts[name].versions if name in learnt.facts else ()
        taken = [row for row in rows if row.version == answer.environment.version(name)]
        for row in (taken or rows)[:1]:
            todo += [need.name for need in required(row.requires, answer.pick.machine, (), "")]
    return found


def index_notes(asking: TargetQuestion, learnt: Learnt) -> tuple[Note, ...]:
    """What a person should know of the indexes that the settings and files name."""
    installers = ("pip", "uv") if asking.binding is None else (asking.binding,)
    lines = {path: mine for (path, _), mine in asking.asked.sources.items()}
    return note_indexes(asking.own, installers, lines, asking.order.passed_on, learnt.on_wheel_indexes)


def _torch_of(learnt: Learnt, asked: Iterable[str], there: str | None) -> tuple[str, ...]:
    """Torch where a package links it and none is known to require it: no resolver may bring it."""
    answer, known = learnt.answer, learnt.facts
    packages = [each for each in answer.environment.packages if each.name in known]
    taken = [row for each in packages for row in known[each.name].versions if row.version == each.version]
    needs = [need.name for row in taken for need in required(row.requires, answer.pick.machine, (), "")]
    version = answer.environment.version("torch")
    return () if TRIO & {*asked, *needs} or version in (None, there) else (requirement("torch", f"=={version}"),)


def hand_over(asking: TargetQuestion, learnt: Learnt, *, pages: bool) -> tuple[Job, Command]:
    """The answer as a job with its files, and the exact command for it; nothing is started or written."""
    installer, knowledge = asking.installer, asking.run.knowledge
    job = with_addresses(job_of(asking, learnt), installer.name, asking.machine.platform, knowledge, pages=pages)
    return job, installer.command(job)


def prove(asking: TargetQuestion, job: Job) -> tuple[ReportedPackage, ...]:
    """What the command would take from where; raises where a file of the family would come from elsewhere."""
    from torchpick.install.reporting import read_report

    items = read_report(asking.installer.reporter(job), asking.run.environ)
    index = job.pick.index_url
    for item in items:
        named = job.files.get(item.name, "").partition("#")[0]
        at_home = item.url.partition("#")[0] == named or is_on_host_of(item.url, index)
        if item.name in TRIO and item.name not in job.placed and index and not at_home:
            raise InstallerError(
                f"{item.name} {item.version} would come from {redacted(item.url)}",
                hint="remove the index that leads there; if you mean that file, ask for it by its address",
                code="WRONG_HOST",
            )
    return items


def find_answer(asking: TargetQuestion) -> Learnt:
    """The answer to what is asked, with all that is to be learnt for it; raises where none fits."""
    rules = asking.run.knowledge.rules
    if asking.is_of_family:
        answer = asking.answer_or_needs(asking.run.read_catalog(asking.machine))
        return Learnt(decided(cast("Answer", answer), rules))
    from torchpick.install.places import unread_notes

    learner = learner_for(asking)
    answer = learner.answer(asking.answer_or_needs)
    more: tuple[PackageDemand, ...] = ()
    hidden = learner.undescribed(answer) if answer.ok and not asking.order.only_planned else []
    if hidden and not asking.run.offline:
        asking.run.report(f"asking {asking.installer.name} what {some_of(hidden)} requires")
        more = ask_installer(asking, answer, learner.catalog)
        answer = learner.answer(lambda catalog: asking.answer_or_needs(catalog, more))
    extras = cuda_extras(answer, learner.catalog.packages) if answer.ok else {}
    if extras:
        wanted = (*more, *(PackageDemand(name, "", (extra,)) for name, extra in extras.items()))
        other = learner.answer(lambda catalog: asking.answer_or_needs(catalog, wanted))
        fits = other.ok and other.pick.version == answer.pick.version
        answer, extras = (other, extras) if fits else (answer, {})
    learner.check_named(answer, hidden)
    decided(answer, rules)
    facts = learner.catalog.packages
    notes = (
        *check_builds(asking, answer, facts),
        *unread_notes(asking.asked, asking.placed),
        *learner.notes(answer),
        *cuda_extra_notes(extras),
    )
    catalog = learner.catalog._replace(may_learn=False)
    return Learnt(answer, catalog, notes, extras, learner.sizes, learner.on_wheel_indexes())


def ask_installer(asking: TargetQuestion, answer: Answer, catalog: Catalog) -> tuple[PackageDemand, ...]:
    """What the installer's resolver takes of the projects on torch, where METADATA of one cannot be had."""
    from torchpick.install.reporting import resolve_freely  # few projects hide what they require

    job = job_of(asking, Learnt(answer, catalog))
    best: dict[str, Build] = {}
    for verdict in answer.pick.considered:
        if verdict.reasons <= {Reason.OTHER_TORCH}:
            best.setdefault(verdict.build.torch, verdict.build)
    installer, environ = asking.installer, asking.run.environ
    free = job._replace(pins={}, files={}, added=())
    versions = resolve_freely(installer.resolver(free), free, [*best.values()], catalog.torch_requirements, environ)
    names = {"torch", *answer.judged, *(demand.name for demand in answer.question.wanted)}
    by = f"{installer.name}'s resolution"
    taken = ((name, version.partition("+")[0]) for name, version in versions.items() if name in names)
    return tuple(PackageDemand(name, f"=={version}", by=by) for name, version in taken if name not in COMPANIONS)


def learner_for(asking: TargetQuestion) -> Learner:
    """Learns for a target, from the indexes that its settings name."""
    from torchpick.install.learner import Learner, normal_versions  # reads indexes: torch's family does without

    machine, target = asking.machine, asking.target
    index_target = IndexTarget(machine.python.tag, machine.platform, target.full_version)
    learner = Learner(asking.run, machine, index_target, target.program, asking.policies, asking.asked)
    learner.take_placed(asking.placed)
    learner.folders = target.packages
    learner.installer, learner.passed_on = asking.binding, asking.order.passed_on
    installed = {} if asking.order.upgrade or asking.elsewhere else normal_versions(target.installed)
    overrides = asking.policies.specifiers(asking.holds)
    learner.catalog = learner.catalog._replace(overrides=overrides, installed=installed)
    return learner


_FLAG = "--no-build-isolation"


def check_builds(asking: TargetQuestion, answer: Answer, facts: Mapping[str, PackageFacts]) -> tuple[Note, ...]:
    """Notes for what can be built now; InstallerError for what cannot be before torch is there, in a plan notes too."""
    notes = []
    pick, installed = answer.pick, asking.target.installed
    builds = _FLAG in asking.order.passed_on and installed.get("torch") == pick.version
    places = {one.name: one.index for one in answer.environment.packages}
    for each in asking.wanted:
        source = facts[each.name].built_with_torch if each.name in facts else None
        place = places.get(each.name, "")
        if each.place or each.name in installed or "#sha256=" in place or place == pick.index_url:
            continue
        if "//" in place and each.name not in TRIO and not (builds and source):
            page = place.partition("/download/")[0]
            who = f"{each.name} {answer.environment.version(each.name)} for torch {pick.version}"
            message = f"{who} is on no index of yours: {page} has it"
            hint = f"`torchpick install torch=={pick.version}`, then `torchpick install` with the URL of its wheel"
            if place.endswith(".whl"):
                hint = (
                    f"`torchpick install torch=={pick.version} '{each.name} @ {place}'`; no hash of that file is known"
                )
        elif source:
            toolkit = f"nvcc of CUDA {pick.build.cuda}" if pick.build.cuda else "a compiler"
            variable = _arch_list(pick)
            if builds:
                text = f"{each.name} is built from source, which needs {toolkit}; `{variable}`"
                notes.append(Note("BUILT_FROM_SOURCE", text))
                continue
            message = f"{each.name} is built from source, with torch and {toolkit} in place: {source}"
            command = f"{variable} torchpick install {each.name} -- {_FLAG}".lstrip()
            hint = f"`torchpick install torch=={pick.version}`, then `{command}`"
        else:
            continue
        if not asking.order.only_planned:
            raise InstallerError(message, hint=hint, code="BUILT_FROM_SOURCE")
        notes.append(Note("BUILT_FROM_SOURCE", f"{each.name}: {hint}"))
    return tuple(notes)


def _arch_list(pick: Pick) -> str:
    """The variable by which a build with nvcc is for these GPUs alone."""
    arches = sorted({gpu.arch for gpu in pick.machine.nvidia if gpu.arch})
    return f'TORCH_CUDA_ARCH_LIST="{";".join(f"{arch.major}.{arch.minor}" for arch in arches)}"' if arches else ""
