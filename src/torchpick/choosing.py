"""`install mylib --extra auto`: the extra that fits, by what the installer's own resolver says each of them pins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from torchpick import installation, shipped
from torchpick.errors import NoBuildError, UsageError
from torchpick.install import pip, requirements, run, uv
from torchpick.install.requirements import Wanted
from torchpick.installation import Order
from torchpick.model.verdict import Pick
from torchpick.projects import choice
from torchpick.projects.choice import Candidate
from torchpick.requirements import named, normal

Say = Callable[[str], None]
AUTO = "auto"
# pip: `mylib 1.0 does not provide the extra 'new'`; uv: "The package `mylib==1.0` does not have an extra named `new`".
_NO_EXTRA = re.compile(r"(?:provide the extra|an extra named) [`'\"]?([A-Za-z0-9][\w.-]*)")


def names(text: str) -> tuple[str, ...]:
    """`nvidia,nvidia-old,cpu` as names, in the order given."""
    found = [part.strip() for part in text.split(",")]
    for name in found:
        if not name or named(name) != normal(name):
            raise UsageError(f"`{name}` is no name of an extra", hint="such as `--among nvidia,nvidia-old,cpu`")
    return tuple(dict.fromkeys(normal(name) for name in found))


def with_extra(order: Order, extra: str, environ: Mapping[str, str]) -> Order:
    """The order with this extra of the one package it is about."""
    place = _place(order, environ)
    words = list(order.given.words)
    words[place] = _with(requirements.parse(words[place]), extra)
    return order._replace(given=order.given._replace(words=tuple(words)))


def chosen(order: Order, among: tuple[str, ...], environ: Mapping[str, str], say: Say) -> str:
    """The extra that fits this machine; NoBuildError, with what each of them came to, where none does."""
    word = order.given.words[_place(order, environ)]
    scene = installation.look(order, environ)
    gpu = bool(scene.machine.counted)
    tried = choice.eligible(among, gpu=gpu, allow_cpu=order.request.allow_cpu)
    if not tried:
        hint = "`--allow-cpu` takes it"
        raise UsageError("there is a GPU, and only cpu is among the extras", hint=hint)
    say(f"asking what {', '.join(tried)} of {word} pin{'' if len(tried) > 1 else 's'}")
    found = [_candidate(with_extra(order, name, environ), name, environ) for name in tried]
    best = choice.best(found)
    if best is None:
        message = f"no extra of {word} fits: " + "; ".join(f"{each.name}: {each.why}" for each in found)
        hint = f"leave out `--extra`: `torchpick install {word}` finds a build that runs without one, if there is one"
        raise NoBuildError(message, pick=found[0].pick._replace(verdicts=()), hint=hint)
    _check_provided(order, best.name, environ)
    say(f"{best.name} fits: it takes torch {best.pick.version}")
    return best.name


def _place(order: Order, environ: Mapping[str, str]) -> int:
    """Which of the words is the library."""
    family = set(shipped.family(environ))
    places = [
        place
        for place, word in enumerate(order.given.words)
        if requirements.parse(word).name not in family and not requirements.parse(word).place
    ]
    if len(places) != 1:
        what = "no library is named" if not places else "several libraries are named"
        raise UsageError(f"`--extra` is about one library, and {what}", hint="such as `install mylib --extra auto …`")
    return places[0]


def _with(wanted: Wanted, extra: str) -> str:
    extras = ",".join(dict.fromkeys((*wanted.extras, extra)))
    marker = f" ; {wanted.marker}" if wanted.marker else ""
    bare = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", wanted.text.strip())
    return f"{bare[0] if bare else wanted.name}[{extras}]{wanted.specifier}{marker}"


def _check_provided(order: Order, name: str, environ: Mapping[str, str]) -> None:
    """Both installers only warn of an extra that a library does not have, and install it without."""
    asked = with_extra(order, name, environ)
    scene = installation.look(asked, environ)
    tool = installation.tool(asked, scene, environ)
    job = installation.job_of(asked, scene, installation.decide(asked, scene, environ), environ)
    if tool.chosen.uv is not None:
        made = uv.resolver(job, tool.chosen.uv, tool.dropped, tool.clean, environ)
    else:
        made = pip.resolver(job, tool.chosen.its_pip, tool.dropped, tool.clean)
    heard = run.capture(made._replace(argv=tuple(word for word in made.argv if word != "--quiet")), environ)
    if name in map(normal, _NO_EXTRA.findall(f"{heard.out}\n{heard.words}")):
        word = order.given.words[_place(order, environ)]
        raise UsageError(f"{word} has no extra `{name}`", hint="name extras that it has with `--among`")


def _candidate(order: Order, name: str, environ: Mapping[str, str]) -> Candidate:
    """What this extra would bring here."""
    scene = installation.look(order, environ)
    pick: Pick
    try:
        pick = installation.decide(order, scene, environ)
        tool = installation.tool(order, scene, environ)
        job = installation.job_of(order, scene, pick, environ)
        return Candidate(name, installation.narrowed(order, scene, job, tool, environ).pick)
    except NoBuildError as error:
        return Candidate(name, error.pick._replace(verdicts=()), error.message)
