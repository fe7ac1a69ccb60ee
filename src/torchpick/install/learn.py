"""From a question to its answer: what is lacking is learnt from the user's own index, and the question asked again.

Pages come first, then METADATA, last the GPU code of the wheels that the answer would take; each side by side, each
once. No installer is asked.
"""

from __future__ import annotations

from typing import cast

from torchpick.decide.answer import Answer, decided
from torchpick.decide.demands import PackageDemand
from torchpick.install import handover
from torchpick.install.asking import TargetQuestion
from torchpick.install.handover import Learnt
from torchpick.model.build import COMPANIONS, Build
from torchpick.model.package import Catalog
from torchpick.model.verdict import Reason
from torchpick.model.versions import some_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.learner import Learner


def learn(asking: TargetQuestion) -> Learnt:
    """The answer to what is asked, with all that is to be learnt for it; raises where none fits."""
    rules = asking.session.knowledge.rules
    if asking.is_of_family:
        answer = asking.answer_or_needs(asking.session.catalog(asking.machine))
        return Learnt(decided(cast("Answer", answer), rules))
    from torchpick.decide import cudaextras
    from torchpick.install import building, places

    learner = of_question(asking)
    answer = learner.answer(asking.answer_or_needs)
    more: tuple[PackageDemand, ...] = ()
    hidden = learner.undescribed(answer) if answer.ok and not asking.order.only_planned else []
    if hidden and not asking.session.offline:
        asking.session.report(f"asking {asking.installer.name} what {some_of(hidden)} requires")
        more = resolved(asking, answer, learner.catalog)
        answer = learner.answer(lambda catalog: asking.answer_or_needs(catalog, more))
    extras = cudaextras.of(answer, learner.catalog.packages) if answer.ok else {}
    if extras:
        wanted = (*more, *(PackageDemand(name, "", (extra,)) for name, extra in extras.items()))
        other = learner.answer(lambda catalog: asking.answer_or_needs(catalog, wanted))
        fits = other.ok and other.pick.version == answer.pick.version
        answer, extras = (other, extras) if fits else (answer, {})
    learner.check_named(answer, hidden)
    decided(answer, rules)
    facts = learner.catalog.packages
    notes = (
        *building.check(asking, answer, facts),
        *places.unread(asking.asked, asking.placed),
        *learner.notes(answer),
        *cudaextras.notes(extras),
    )
    catalog = learner.catalog._replace(may_learn=False)
    return Learnt(answer, catalog, notes, extras, learner.sizes, learner.on_wheel_indexes())


def resolved(asking: TargetQuestion, answer: Answer, catalog: Catalog) -> tuple[PackageDemand, ...]:
    """What the installer's resolver takes of the projects on torch, where METADATA of one cannot be had."""
    from torchpick.installers import resolution  # few projects hide what they require

    job = handover.job_of(asking, Learnt(answer, catalog))
    best: dict[str, Build] = {}
    for verdict in answer.pick.considered:
        if verdict.reasons <= {Reason.OTHER_TORCH}:
            best.setdefault(verdict.build.torch, verdict.build)
    installer, environ = asking.installer, asking.session.environ
    free = job._replace(pins={}, files={}, added=())
    versions = resolution.resolve(installer.resolver(free), free, [*best.values()], catalog.torch_requirements, environ)
    names = {"torch", *answer.judged, *(demand.name for demand in answer.question.wanted)}
    by = f"{installer.name}'s resolution"
    taken = ((name, version.partition("+")[0]) for name, version in versions.items() if name in names)
    return tuple(PackageDemand(name, f"=={version}", by=by) for name, version in taken if name not in COMPANIONS)


def of_question(asking: TargetQuestion) -> Learner:
    """Learns for a target, from the indexes that its settings name."""
    from torchpick.index.user_index import IndexTarget
    from torchpick.install.installed import Installed
    from torchpick.install.learner import Learner  # which reads indexes: torch's family does without

    machine, target = asking.machine, asking.target
    index_target = IndexTarget(machine.python.tag, machine.platform, target.full_version)
    learner = Learner(asking.session, machine, index_target, target.program, asking.policies, asking.asked)
    learner.take_placed(asking.placed)
    if not (asking.order.upgrade or asking.elsewhere):
        learner.installed = Installed(target.installed, target.packages)
    learner.installer, learner.passed_on = asking.binding, asking.order.passed_on
    there, overrides = learner.installed.normal_versions, asking.policies.specifiers(asking.holds)
    learner.catalog = learner.catalog._replace(overrides=overrides, installed=there)
    return learner
