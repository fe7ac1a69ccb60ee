"""What the requirements outside torch's family need of torch, found by the installer's own resolver.

First a resolution in which every build may be taken: it gives the versions of everything else. Then, with those
versions pinned, one in which only the builds that run here may be taken: so a library's pin narrows the pick, and the
pick never moves a library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from torchpick.environment.requirements import wheel_of
from torchpick.installers import reporting, run, store, stubs, tools
from torchpick.installers.command import Command
from torchpick.installers.reporting import Item
from torchpick.model.build import COMPANIONS, Build
from torchpick.model.noun import Noun
from torchpick.model.versions import admits, normal, release_key

_PLACED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])? @ (\S+)")
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
# pip: `mylib[new] 1.0 depends on torch>=2.15; extra == "new"`
# uv: `Because mylib[new]==1.0 depends on torch>=2.15 and …`, `… all versions of mylib[new] depend on torch>=2.15 …`
_MOST_TROUBLE = 1 << 17
_ASKS = re.compile(
    r"(?<![\w.\-])([A-Za-z0-9][\w.\-]{0,100}(?:\[[^\]]{0,200}\])?(?: ?[=<>!~]=?\S{1,100}| \d\S{0,100})?)"
    r" depends? on (torch(?:vision|audio)?\b.{0,300}?)"
    r"(?= and |[,;]| The |$| [\w.\-]{1,100}(?:\[[^\]]{0,200}\])? \d\S{0,100} depends)"
)


class Answer(Noun):
    """The result of a resolution: a version each, or the resolver's own message if there is none.

    `asked` are the specifiers that the resolved packages have for torch's family, if the resolver reports them;
    `users` the packages that need torch or one of CUDA's own wheels; `items` the files, if it names them.
    """

    versions: Mapping[str, str] = {}
    asked: tuple[tuple[str, str], ...] | None = None
    trouble: str = ""
    users: frozenset[str] = frozenset()
    items: tuple[Item, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.trouble


class Learnt(Noun):
    """What of the family is needed, which torch to ask for (None: the pick), who asks for what where nothing fits.

    `versions` are those of everything that was resolved, `users` what of it needs torch or one of CUDA's own wheels,
    `items` the files of it that the resolver named.
    """

    needs: frozenset[str] = frozenset()
    torch: str | None = None
    conflict: tuple[str, ...] = ()
    versions: Mapping[str, str] = {}
    users: frozenset[str] = frozenset()
    items: tuple[Item, ...] = ()


def resolve(  # noqa: PLR0913 # facts of the run, each from another place
    resolver: Command,
    found: tuple[stubs.Stub, ...],
    limits: str,
    place: str,
    environ: Mapping[str, str],
    before: Answer | None = None,
) -> Answer:
    """One resolution with these stand-ins for torch's family and these constraints.

    With what was found `before`, of the same packages, uv is asked for its files: its lock names them, and not who
    needs what.
    """
    limit_file = store.file(place, "limits", ".txt", limits)
    shelf = stubs.shelf(place, found)
    argv = (*resolver.argv, "--find-links", shelf, "-c", limit_file.path)
    asked = resolver._replace(argv=argv, files=(*resolver.files, limit_file))
    if resolver.installer == "uv":
        named = before if tools.locks(resolver.argv[0]) else None
        more = () if named is None else tools.LOCK
        heard = run.capture(asked._replace(argv=(*argv, *more)), environ)
        if heard.status:
            return Answer(trouble=_trouble(heard))
        return of_pins(heard.out) if named is None else _of_lock(heard.out, named, shelf)
    with reporting.file() as report:
        heard = run.capture(asked._replace(argv=(*argv, "--report", report)), environ)
        return Answer(trouble=_trouble(heard)) if heard.status else of_report(reporting.text(report), shelf)


def _trouble(heard: run.Heard) -> str:
    """Pip explains a conflict on stdout."""
    return f"{heard.out}\n{heard.words}".strip() or f"it exited with status {heard.status}"


def of_pins(text: str) -> Answer:
    """Uv's `name==version` lines, and below each `# via NAME`, or a line for each name; the family's `name @ URL`."""
    found: dict[str, str] = {}
    items: list[Item] = []
    users: set[str] = set()
    name = ""
    for line in text.splitlines():
        match = _PINNED.match(line.strip())
        if match:
            name = normal(match[1])
            found[name] = match[2]
        elif placed := _PLACED.match(line.strip()):
            name = normal(placed[1])
            if name in ("torch", *COMPANIONS):
                items.append(Item(name, wheel_of(placed[2])[1], placed[2]))
        elif _brings_cuda(name) and line.lstrip().startswith("#"):
            users |= {normal(each) for each in line.strip("# \t").removeprefix("via").split()[:1]}
    return Answer(found, users=frozenset(users & found.keys()), items=tuple(items))


def _brings_cuda(name: str) -> bool:
    """Whether a package that needs this one may be built for CUDA."""
    return name == "torch" or name.startswith(("nvidia-", "cuda-"))


def _of_lock(text: str, before: Answer, shelf: str) -> Answer:
    """Uv's lock of packages of which another resolution said who needs what."""
    items = reporting.locked(text)
    versions = {item.name: item.version for item in items if item.version and item.name in before.versions}
    return Answer(versions, users=before.users & versions.keys(), items=_elsewhere(items, shelf))


def _elsewhere(items: Iterable[Item], shelf: str) -> tuple[Item, ...]:
    """The files that are no stand-ins of ours."""
    ours = f"/{os.path.basename(shelf)}/"
    return tuple(item for item in items if ours not in item.url.replace("\\", "/"))


def of_report(text: str, shelf: str = "") -> Answer:
    """The report of pip, which also has what each package requires, and the files that are not on our `shelf`."""
    items = reporting.items(text)
    asked = [
        specifier
        for item in items
        if item.name not in ("torch", *COMPANIONS)
        for line in item.requires
        for specifier in _of_family(line)
    ]
    users = {item.name for item in items if any(_brings_cuda(_name(line)) for line in item.requires)}
    versions = {item.name: item.version for item in items}
    return Answer(versions, tuple(asked), users=frozenset(users), items=_elsewhere(items, shelf))


def _name(line: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", line)
    return normal(match[0]) if match else ""


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
        return Learnt(versions=free.versions, users=free.users, items=free.items)
    needs = frozenset(name for name in ("torch", *COMPANIONS) if name in free.versions)
    if free.versions["torch"] == pick.version or _content(free, pick.pins):
        # Pip's answer has the newest of the family, with which as with the pick everything is content.
        of_pick = {name: version for name, version in pick.pins.items() if name in needs}
        return Learnt(needs, versions={**free.versions, **of_pick}, users=free.users, items=free.items)
    held = [
        f"{name}=={version}" for name, version in sorted(free.versions.items()) if name not in ("torch", *COMPANIONS)
    ]
    answer = free
    for offered in _offers(pick, runnable):
        limits = "\n".join([*held, _bounds(offered, builds)])
        answer = resolve(resolver, stubs.of_builds(offered), limits, place, environ, free)
        if answer.ok:
            torch = answer.versions.get("torch")
            asked_for = None if torch == pick.version else torch
            return Learnt(needs, asked_for, versions=answer.versions, users=answer.users, items=answer.items)
    return Learnt(needs, conflict=_conflict(answer.trouble, runnable))


def held_to(
    resolver: Command, build: Build, limits: Mapping[str, str], place: str, environ: Mapping[str, str]
) -> Learnt:
    """The resolution with this torch and these versions alone."""
    lines = [f"{name}=={version}" for name, version in sorted(limits.items())]
    answer = resolve(resolver, stubs.of_builds((build,)), "\n".join([*lines, _bounds((build,))]), place, environ)
    needed = frozenset(name for name in ("torch", *COMPANIONS) if name in answer.versions)
    conflict = _conflict(answer.trouble, (build,)) if answer.trouble else ()
    return Learnt(needed, conflict=conflict, versions=answer.versions, users=answer.users, items=answer.items)


def _conflict(trouble: str, runnable: Sequence[Build]) -> tuple[str, ...]:
    """Who asks for what nothing here can give; where that cannot be told apart, everything that was said."""
    asks = who_asks(trouble, f"torch<={_newest(runnable)}")
    return _said(_unmet(asks, runnable) or asks) or _last_lines(trouble)


def _unmet(asks: Iterable[Need], runnable: Sequence[Build]) -> list[Need]:
    versions = [build.pins for build in runnable]
    return [ask for ask in asks if not any(_meets(ask, each) for each in versions)]


def _said(asks: Iterable[Need]) -> tuple[str, ...]:
    return tuple(f"{ask.who} asks for {ask.what}" for ask in asks)


def _meets(ask: Need, versions: Mapping[str, str]) -> bool:
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


class Need(Noun):
    """One package's word on torch's family."""

    who: str
    what: str


def who_asks(trouble: str, bound: str) -> tuple[Need, ...]:
    """`mylib 1.0` and `torch>=2.15`, out of pip's or uv's explanation; our own `bound` is not counted."""
    found = []
    for match in _ASKS.finditer(re.sub(r"\s+", " ", trouble[-_MOST_TROUBLE:])):
        who, what = match[1], match[2].strip().rstrip(".")
        if bound not in what.replace(" ", "") and not who.startswith("torch"):
            found.append(Need(who, what))
    return tuple(dict.fromkeys(found))


def _last_lines(trouble: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in trouble.splitlines()[-5:] if line.strip())
