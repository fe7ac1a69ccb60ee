"""What a request asks, with everything that binds it, and its answer by what is known: light, for `url` asks here."""

from __future__ import annotations

from torchpick.decide import answer as answers
from torchpick.decide import demands
from torchpick.decide.answer import Answer, Question
from torchpick.environment import world
from torchpick.errors import TorchpickError
from torchpick.knowledge.locations import cache_dir
from torchpick.model.machine import Machine
from torchpick.model.pick import Limit, Pick, Wish
from torchpick.run import Run, one_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.user_settings import UserSettings
    from torchpick.model.package import Catalog


def read_wish(run: Run) -> Wish:
    """What the request and everything that binds it want of torch and its companions."""
    wish = demands.wish_of(run.request, run.environ)
    wish = wish._replace(limits=read_limits(run, wish.index_base))
    if not run.request.requirements:
        return wish
    return demands.narrowed(wish, run.request.requirements, lambda: run.find_machines()[0])


def collect_question(run: Run) -> Question:
    wish = read_wish(run)
    if not run.request.requirements:
        return Question(wish)
    return Question(wish, demands.package_demands(run.request.requirements, lambda: run.find_machines()[0]))


def unknown_packages(run: Run, question: Question) -> list[str]:
    """What is asked for that does not lie on torch's index."""
    return [demand.text for demand in question.wanted if demand.name not in run.knowledge.family]


def read_limits(run: Run, base: str) -> tuple[Limit, ...]:
    """The constraints that bind unasked: of variables, and of the settings of the environment where it is here."""
    from torchpick.environment import toolsettings

    here = find_prefix(run)
    prefix = here if here and toolsettings.files_bind(run.environ, here) else None
    if prefix is None and not toolsettings.variables_bind(run.environ):
        return ()
    from torchpick.install.user_settings import as_limits, read_settings, unasked_constraints

    settings = read_settings(run, prefix)
    installer = run.installer if prefix is None or run.installer != "auto" else _choose_installer(run, settings)
    python = "" if run.request.machine is not None else run.find_machine().python.version
    ours = (toolsettings.store_in(cache_dir(run.environ)), *((toolsettings.store_of(here),) if here else ()))
    return as_limits(unasked_constraints(settings, installer, python, ours), base)


def _choose_installer(run: Run, settings: UserSettings) -> str | None:
    """Which installer would install here; None where nothing could be installed."""
    from torchpick.install.installers import choose_installer, find_target, find_uv

    try:
        return choose_installer("auto", find_target(run), find_uv(run.environ), settings).name
    except TorchpickError:
        return None


def answer_request(
    run: Run,
    question: Question | None = None,
    *,
    machines: tuple[Machine, ...] | None = None,
    everything: bool = True,
    catalog: Catalog | None = None,
) -> Answer:
    """The answer to a question (the request's own) for these machines (those of the request), by what is known.

    Without `everything` only as many builds are judged as it takes.
    """
    question = question or collect_question(run)
    fleet = run.read_fleet() if machines is None and run.request.machine is not None else None
    machines = fleet.machines if fleet is not None else run.find_machines() if machines is None else machines

    def catalogs() -> Catalog:
        return run.read_catalog(one_of(machines)) if catalog is None else catalog

    answer = run.answer_or_needs(question, catalogs, machines, everything=everything)
    if not isinstance(answer, Answer):
        raise TypeError("the table's catalog asks for nothing")
    if fleet is not None:
        return answer._replace(pick=answer.pick._replace(fleet=fleet, notes=(*fleet.notes, *answer.pick.notes)))
    if not answer.unknown:
        return answer
    from torchpick.environment import shell

    return answers.saying_unjudged(answer, shell.line(["torchpick", "plan", *run.request.requirements], run.shell))


def pick_build(run: Run, question: Question | None = None, *, everything: bool = True) -> Pick:
    """The pick, or NoBuildError where nothing runs."""
    return answers.decided(answer_request(run, question, everything=everything), run.knowledge.rules).pick


def find_prefix(run: Run) -> str | None:
    """The environment of this computer that the request is about; None where it is about another machine."""
    request = run.request
    if request.machine is not None or request.platform or run.environ.get("TORCHPICK_PLATFORM"):
        return None
    try:
        program = run.find_machine().python.executable
    except TorchpickError:  # an interpreter that does not run has no settings
        return None
    if program is None:
        return None
    return world.prefix_of(program)
