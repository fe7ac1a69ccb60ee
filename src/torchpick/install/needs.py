"""What the requirements outside torch's family need of torch, learnt by the installer's own resolver.

First a resolution in which every build there is may be taken: it tells the versions of all else. Then, with those
versions held, one in which only the builds that run here may be taken: so a library's pin narrows the pick, and the
pick never moves a library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from torchpick.install import reporting, run, store, stubs
from torchpick.install.command import Command
from torchpick.model.build import COMPANIONS, Build
from torchpick.model.noun import Noun
from torchpick.model.specifiers import admits
from torchpick.model.verdict import companions
from torchpick.model.versions import release_key
from torchpick.requirements import normal

_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
# pip: `mylib[new] 1.0 depends on torch>=2.15; extra == "new"`
# uv: `Because mylib[new]==1.0 depends on torch>=2.15 and …`, `… all versions of mylib[new] depend on torch>=2.15 …`
_ASKS = re.compile(
    r"([A-Za-z0-9][\w.\-]*(?:\[[^\]]*\])?(?: ?[=<>!~]=?\S+| \d\S*)?) depends? on (torch(?:vision|audio)?\b.*?)"
    r"(?= and |[,;]| The |$| [\w.\-]+(?:\[[^\]]*\])? \d\S* depends)"
)


class Answer(Noun):
    """What a resolution came to: a version each, or the resolver's own words why there is none.

    `asked` are the specifiers that the resolved packages have for torch's family, where the resolver tells them.
    """

    versions: Mapping[str, str] = {}
    asked: tuple[tuple[str, str], ...] | None = None
    trouble: str = ""

    @property
    def ok(self) -> bool:
        return not self.trouble


class Learnt(Noun):
    """What of the family is needed, which torch to ask for (None: the pick), who asks for what where nothing fits."""

    needs: frozenset[str] = frozenset()
    torch: str | None = None
    conflict: tuple[str, ...] = ()


def resolve(
    resolver: Command, found: tuple[stubs.Stub, ...], limits: str, place: str, environ: Mapping[str, str]
) -> Answer:
    """One resolution with these stand-ins for torch's family and these constraints."""
    limit_file = store.file(place, "limits", ".txt", limits)
    argv = (*resolver.argv, "--find-links", stubs.shelf(place, found), "-c", limit_file.path)
    asked = resolver._replace(argv=argv, files=(*resolver.files, limit_file))
    if resolver.installer == "uv":
        heard = run.capture(asked, environ)
        return Answer(trouble=_trouble(heard)) if heard.status else of_pins(heard.out)
    with reporting.file() as report:
        heard = run.capture(asked._replace(argv=(*argv, "--report", report)), environ)
        return Answer(trouble=_trouble(heard)) if heard.status else of_report(reporting.text(report))


def _trouble(heard: run.Heard) -> str:
    """Pip explains a conflict on stdout."""
    return f"{heard.out}\n{heard.words}".strip() or f"it exited with status {heard.status}"


def of_pins(text: str) -> Answer:
    """Uv's `name==version` lines."""
    found = {}
    for line in text.splitlines():
        match = _PINNED.match(line.strip())
        if match:
            found[normal(match[1])] = match[2]
    return Answer(found)


def of_report(text: str) -> Answer:
    """The report of pip, which also tells what each package requires."""
    items = reporting.items(text)
    asked = [
        specifier
        for item in items
        if item.name not in ("torch", *COMPANIONS)
        for line in item.requires
        for specifier in _of_family(line)
    ]
    return Answer({item.name: item.version for item in items}, tuple(asked))


def _of_family(line: str) -> list[tuple[str, str]]:
    match = re.match(r"(torch(?:vision|audio)?)(?![\w.-])\s*(?:\[[^\]]*\])?\s*\(?([^;)@]*)(@?)", line, re.IGNORECASE)
    if match is None:
        return []
    return [(match[1].lower(), "@" if match[3] else match[2].strip())]


def learn(  # noqa: PLR0913 # facts of the run, each from another place
    resolver: Command,
    builds: Sequence[Build],
    runnable: Sequence[Build],
    pick: Build,
    place: str,
    environ: Mapping[str, str],
) -> Learnt:
    """All builds there are, those that run here (best first), and the pick as it is without the libraries."""
    free = resolve(resolver, stubs.of_builds(builds), _bounds(builds), place, environ)
    if not free.ok:
        # Such as a release that was never made for this Python; what else is wrong the installer will say.
        return Learnt(conflict=_said(_unmet(who_asks(free.trouble, f"torch<={_newest(builds)}"), runnable)))
    if "torch" not in free.versions:
        return Learnt()
    needs = frozenset(name for name in ("torch", *COMPANIONS) if name in free.versions)
    if free.versions["torch"] == pick.version or _content(free, {"torch": pick.version, **companions(pick)}):
        return Learnt(needs)
    held = [
        f"{name}=={version}" for name, version in sorted(free.versions.items()) if name not in ("torch", *COMPANIONS)
    ]
    answer = free
    for offered in _offers(pick, runnable):
        limits = "\n".join([*held, _bounds(offered, builds)])
        answer = resolve(resolver, stubs.of_builds(offered), limits, place, environ)
        if answer.ok:
            torch = answer.versions.get("torch")
            return Learnt(needs, torch=None if torch == pick.version else torch)
    return Learnt(needs, conflict=_conflict(answer.trouble, runnable))


def _conflict(trouble: str, runnable: Sequence[Build]) -> tuple[str, ...]:
    """Who asks for what nothing here can give; where that cannot be told apart, everything that was said."""
    asks = who_asks(trouble, f"torch<={_newest(runnable)}")
    return _said(_unmet(asks, runnable) or asks) or _last_lines(trouble)


def _unmet(asks: Iterable[Ask], runnable: Sequence[Build]) -> list[Ask]:
    versions = [{"torch": build.version, **companions(build)} for build in runnable]
    return [ask for ask in asks if not any(_meets(ask, each) for each in versions)]


def _said(asks: Iterable[Ask]) -> tuple[str, ...]:
    return tuple(f"{ask.who} asks for {ask.what}" for ask in asks)


def _meets(ask: Ask, versions: Mapping[str, str]) -> bool:
    match = re.fullmatch(r"([\w-]+)\s*(.*)", ask.what)
    try:
        return match is not None and match[1] in versions and admits(match[2])(versions[match[1]])
    except ValueError:
        return False


def _content(answer: Answer, pins: Mapping[str, str]) -> bool:
    """Whether every specifier that was met, whatever its marker, is content with the pick."""
    if answer.asked is None:
        return False
    for name, specifier in answer.asked:
        if name not in pins or specifier == "@":
            return False
        try:
            if specifier and not admits(specifier)(pins[name]):
                return False
        except ValueError:
            return False
    return True


def _offers(pick: Build, runnable: Sequence[Build]) -> Iterator[Sequence[Build]]:
    """The pick alone; the best build of each release; then all, for a library that pins a local label."""
    yield (pick,)
    best: dict[str, Build] = {}
    for build in runnable:
        best.setdefault(build.torch, build)
    yield tuple(best.values())
    if len(best) < len(runnable):
        yield tuple(runnable)


def _newest(builds: Iterable[Build]) -> str:
    return max((build.torch for build in builds), key=release_key, default="0")


def _bounds(offered: Sequence[Build], known: Sequence[Build] = ()) -> str:
    """Keep the resolver to the releases offered: another index may hold others, plain."""
    ours = sorted({build.torch for build in offered}, key=release_key)
    if not ours:
        return "torch==0+nothing.runs.here\n"
    mine = set(ours)
    barred = sorted({build.torch for build in known} - mine, key=release_key)
    barred = [each for each in barred if release_key(each) < release_key(ours[-1])]
    return ",".join([f"torch<={ours[-1]}", *(f"!={each}" for each in barred)]) + "\n"


class Ask(Noun):
    """One package's word on torch's family."""

    who: str
    what: str


def who_asks(trouble: str, bound: str) -> tuple[Ask, ...]:
    """`mylib 1.0` and `torch>=2.15`, out of pip's or uv's explanation; our own `bound` is nobody's wish."""
    found = []
    for match in _ASKS.finditer(re.sub(r"\s+", " ", trouble)):
        who, what = match[1], match[2].strip().rstrip(".")
        if bound not in what.replace(" ", "") and not who.startswith("torch"):
            found.append(Ask(who, what))
    return tuple(dict.fromkeys(found))


def _last_lines(trouble: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in trouble.splitlines()[-5:] if line.strip())
