"""From an answer to the installer's job: what was learnt of it, its files, and the proof of what it would take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchpick.decide.answer import Answer
from torchpick.decide.demands import required
from torchpick.environment import distributions
from torchpick.environment.requirementline import requirement
from torchpick.errors import InstallerError
from torchpick.install import files
from torchpick.install.asking import TargetQuestion
from torchpick.installers import own_settings, store
from torchpick.installers.job import Job
from torchpick.installers.run import Command
from torchpick.knowledge.locations import cache_dir
from torchpick.model.address import Address
from torchpick.model.build import TRIO, is_on_host_of
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.package import Catalog, PackageFacts, same_module_conflicts
from torchpick.model.redaction import redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.installers.reporting import Item


class Learnt(Noun):
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
    answer, session, target = learnt.answer, asking.session, asking.target
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
        from torchpick.decide.stacknotes import same_module

        notes += [same_module(name, stays, left_out=leaves_out and name not in there) for name, stays in twins.items()]
    ours = (*learnt.notes, *store.notes(cache_dir(session.environ), session.store))
    return Job(
        asked=asking.asked,
        pick=pick,
        target=target,
        place=session.store,
        own=asking.own,
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
        offline=session.offline,
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
    return own_settings.index_notes(asking.own, installers, lines, asking.order.passed_on, learnt.on_wheel_indexes)


def _torch_of(learnt: Learnt, asked: Iterable[str], there: str | None) -> tuple[str, ...]:
    """Torch where a package links it and none is known to require it: no resolver may bring it."""
    answer, known = learnt.answer, learnt.facts
    packages = [each for each in answer.environment.packages if each.name in known]
    taken = [row for each in packages for row in known[each.name].versions if row.version == each.version]
    needs = [need.name for row in taken for need in required(row.requires, answer.pick.machine, (), "")]
    version = answer.environment.version("torch")
    return () if TRIO & {*asked, *needs} or version in (None, there) else (requirement("torch", f"=={version}"),)


def handed_over(asking: TargetQuestion, learnt: Learnt, *, pages: bool) -> tuple[Job, Command]:
    """The answer as a job with its files, and the exact command for it; nothing is started or written."""
    installer, knowledge = asking.installer, asking.session.knowledge
    job = files.addressed(job_of(asking, learnt), installer.name, asking.machine.platform, knowledge, pages=pages)
    return job, installer.command(job)


def proved(asking: TargetQuestion, job: Job) -> tuple[Item, ...]:
    """What the command would take from where; raises where a file of the family would come from elsewhere."""
    from torchpick.installers import reporting

    items = reporting.of(asking.installer.reporter(job), asking.session.environ)
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
