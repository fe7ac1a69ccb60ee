"""`install mylib --extra auto`: the extra that fits, by what the installer's own resolver says each of them pins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchpick.decide.requested import named
from torchpick.environment import requirements
from torchpick.environment.requirements import Requested
from torchpick.errors import NoBuildError, UsageError
from torchpick.install import plan
from torchpick.install.plan import Order
from torchpick.installers import run
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.versions import normal
from torchpick.session import Session

AUTO = "auto"
# pip: `mylib 1.0 does not provide the extra 'new'`; uv: "The package `mylib==1.0` does not have an extra named `new`".
_NO_EXTRA = re.compile(r"(?:provide the extra|an extra named) [`'\"]?([A-Za-z0-9][\w.-]*)")


class Candidate(Noun):
    """An extra, and what its pins come to: the pick, which may be none that runs."""

    name: str
    pick: Pick
    why: str = ""


def names(text: str) -> tuple[str, ...]:
    """`nvidia,nvidia-old,cpu` as names, in the order given."""
    found = [part.strip() for part in text.split(",")]
    for name in found:
        if not name or named(name) != normal(name):
            raise UsageError(f"`{name}` is not a valid extra", hint="such as `--among nvidia,nvidia-old,cpu`")
    return tuple(dict.fromkeys(normal(name) for name in found))


def with_extra(session: Session, order: Order, extra: str) -> Order:
    """The order with this extra of the one package it is about."""
    place = _place(session, order)
    words = list(order.given.words)
    words[place] = _with(requirements.parse(words[place]), extra)
    return order._replace(given=order.given._replace(words=tuple(words)))


def chosen(session: Session, order: Order, among: tuple[str, ...]) -> str:
    """The extra that fits this machine; NoBuildError, with what each of them came to, where none does."""
    word = order.given.words[_place(session, order)]
    (machine,) = session.machines
    tried = eligible(among, gpu=bool(machine.counted), allow_cpu=session.request.allow_cpu)
    if not tried:
        hint = "`--allow-cpu` takes it"
        raise UsageError("there is a GPU, and only cpu is among the extras", hint=hint)
    session.report(f"asking what {', '.join(tried)} of {word} pin{'' if len(tried) > 1 else 's'}")
    found = [_candidate(session, with_extra(session, order, name), name) for name in tried]
    chosen = best(found)
    if chosen is None:
        message = f"no extra of {word} fits: " + "; ".join(f"{each.name}: {each.why}" for each in found)
        hint = f"leave out `--extra`: `torchpick install {word}` finds a build that runs without one, if there is one"
        raise NoBuildError(message, pick=found[0].pick._replace(verdicts=()), hint=hint)
    _check_provided(session, order, chosen.name)
    session.report(f"{chosen.name} fits: it takes torch {chosen.pick.version}")
    return chosen.name


def _place(session: Session, order: Order) -> int:
    """Which of the words is the library."""
    family = set(session.knowledge.family)
    places = [
        place
        for place, word in enumerate(order.given.words)
        if requirements.parse(word).name not in family and not requirements.parse(word).place
    ]
    if len(places) != 1:
        what = "no library is named" if not places else "several libraries are named"
        raise UsageError(f"`--extra` is about one library, and {what}", hint="such as `install mylib --extra auto …`")
    return places[0]


def _with(wanted: Requested, extra: str) -> str:
    extras = ",".join(dict.fromkeys((*wanted.extras, extra)))
    marker = f" ; {wanted.marker}" if wanted.marker else ""
    bare = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", wanted.text.strip())
    return f"{bare[0] if bare else wanted.name}[{extras}]{wanted.specifier}{marker}"


def _check_provided(session: Session, order: Order, name: str) -> None:
    """Both installers only warn of an extra that a library does not have, and install it without."""
    installation = plan.look(session, with_extra(session, order, name))
    resolver = installation.installer.resolver(installation.job(installation.pick()))
    aloud = resolver._replace(argv=tuple(word for word in resolver.argv if word != "--quiet"))
    heard = run.capture(aloud, session.environ)
    if name in map(normal, _NO_EXTRA.findall(f"{heard.out}\n{heard.words}")):
        word = order.given.words[_place(session, order)]
        raise UsageError(f"{word} has no extra `{name}`", hint="name extras that it has with `--among`")


def _candidate(session: Session, order: Order, name: str) -> Candidate:
    """What this extra would bring here."""
    installation = plan.look(session, order)
    try:
        return Candidate(name, installation.narrowed(installation.job(installation.pick())).pick)
    except NoBuildError as error:
        return Candidate(name, error.pick._replace(verdicts=()), error.message)


def eligible(names: Sequence[str], *, gpu: bool, allow_cpu: bool) -> tuple[str, ...]:
    """The names that may be chosen: `cpu` only without a GPU, where it goes first, or where it is allowed."""
    if "cpu" not in names:
        return tuple(names)
    others = tuple(name for name in names if name != "cpu")
    if gpu:
        return (*others, "cpu") if allow_cpu else others
    return ("cpu", *others)


def best(candidates: Sequence[Candidate]) -> Candidate | None:
    """The one whose build ranks highest, the first of equals; a `cpu` that goes first and runs is taken."""
    running = [each for each in candidates if each.pick.ok]
    if running and running[0] is candidates[0] and running[0].name == "cpu":
        return running[0]
    return max(running, key=lambda each: each.pick.verdicts[0].rank, default=None)
