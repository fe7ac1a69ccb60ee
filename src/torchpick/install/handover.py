"""From an answer to the installer's job: what was learnt of it, its files, and the proof of what it would take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchpick.decide.answer import Answer
from torchpick.decide.demands import required
from torchpick.environment import targets
from torchpick.environment.requirementline import requirement
from torchpick.errors import InstallerError
from torchpick.install import files
from torchpick.install.asking import TargetQuestion
from torchpick.installers import copies, store
from torchpick.installers.job import Job
from torchpick.installers.run import Command
from torchpick.knowledge.locations import cache_dir
from torchpick.model.address import Address
from torchpick.model.build import TRIO, is_on_host_of
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.package import PackageFacts, doubles
from torchpick.model.redaction import redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.installers.reporting import Item
    from torchpick.installers.resolution import Resolution


class Learnt(Noun):
    """An answer, and the resolution that it agrees with, where the resolver was asked."""

    answer: Answer
    facts: Mapping[str, PackageFacts]
    resolution: Resolution | None = None
    notes: tuple[Note, ...] = ()

    @property
    def versions(self) -> Mapping[str, str]:
        """What was resolved; nothing where the resolver was not asked."""
        return {} if self.resolution is None else self.resolution.versions


def job_of(asking: TargetQuestion, learnt: Learnt) -> Job:
    """An answer as a job for the installer, without the addresses of files."""
    answer, session, target = learnt.answer, asking.session, asking.target
    stack, pick = answer.environment, answer.pick
    versions = learnt.versions
    wanted = [each.name for each in asking.wanted]
    brings = {name for name in TRIO if name in versions or stack.version(name) is not None}
    if not asking.order.no_deps:
        brings |= {"torch" for name in wanted if name in TRIO}
    pins = {name: version for name, version in answer.judged.items() if "*" not in version}
    names = [*wanted, *pins, *versions]
    twins = doubles(names, {*names, *answer.unknown}, learnt.facts)
    moved = [each for each in stack.packages if each.name not in TRIO and "; " in each.why]
    known = {note.text for note in pick.notes}
    notes = [note for note in stack.notes if note.text not in known and note.code != "SAME_MODULE"]
    there, leaves_out = target.installed, asking.installer.name == "uv"
    if twins:
        from torchpick.decide.stacknotes import same_module

        notes += [same_module(name, stays, left_out=leaves_out and name not in there) for name, stays in twins.items()]
    notes += [
        Note("PACKAGE_MOVED", f"{each.name} {each.version} is taken, {each.why.partition('; ')[2]}") for each in moved
    ]
    asked, made, left_out = copies.without_wheel_indexes(asking.asked, session.store)
    ours = (*learnt.notes, *store.notes(cache_dir(session.environ), session.store))
    return Job(
        asked=asked,
        pick=pick,
        target=target,
        place=session.store,
        own=session.own_settings(None if asking.elsewhere else target.prefix),
        pins={name: version for name, version in pins.items() if name not in twins},
        bounds={each.name: each.version for each in moved if not each.is_pinned},
        needs=frozenset(brings),
        files={each.name: Address(each.index) for each in stack.packages if "#sha256=" in each.index},
        added=(
            *(requirement(each.name, f"=={each.version}") for each in stack.packages if "*" in each.version),
            *_torch_of(learnt, wanted, there.get("torch")),
        ),
        left_out=tuple(twins) if leaves_out else (),
        upgrade=asking.order.upgrade,
        no_deps=asking.order.no_deps,
        offline=session.offline,
        passed_on=asking.order.passed_on,
        cuda_installed=targets.cuda_of(target.packages) if "+" not in pick.version else None,
        copies=made,
        elsewhere=asking.elsewhere,
        notes=tuple(dict.fromkeys((*left_out, *notes, *ours))),
    )


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
        strays = item.name in TRIO and item.name not in job.placed and index and not at_home
        if strays or (
            item.name not in {*asking.session.knowledge.family, *job.placed} and job.own.is_wheel_index(item.url)
        ):
            raise InstallerError(
                f"{item.name} {item.version} would come from {redacted(item.url)}",
                hint="remove the index that leads there; if you mean that file, ask for it by its address",
                code="WRONG_HOST",
            )
    return items
