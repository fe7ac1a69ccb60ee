"""What the requirements outside torch's family need of torch, learnt by the installer's own resolver.

First a resolution in which every build there is may be taken: it tells the versions of all else. Then, with those
versions held, one in which only the builds that run here may be taken: so a library's pin narrows the pick, and the
pick never moves a library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from torchpick.errors import InstallerError
from torchpick.install import store, stubs
from torchpick.install.command import Command
from torchpick.install.store import File
from torchpick.model.build import COMPANIONS, Build
from torchpick.model.noun import Noun
from torchpick.model.specifiers import admits
from torchpick.model.versions import release_key
from torchpick.requirements import normal

# A resolution of hundreds of packages over a slow line; what takes longer hangs.
ASK_S = 900.0
_MOST_BYTES = 64 << 20
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
_ASKS = re.compile(r"([A-Za-z0-9][\w.\-]*(?:\[[^\]]*\])?(?:==|[ ])\S+) depends on (torch(?:vision|audio)?\b[^\n,;]*)")


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
    """The torch to ask for (None: leave the pick as it is), or who asks for what where nothing fits."""

    torch: str | None = None
    conflict: tuple[str, ...] = ()


class Resolver(Noun):
    """An installer as a resolver: its command up to the requirements, and how its answer is read."""

    command: Command
    reads: str  # "report" for pip, "pins" for uv


def resolve(
    resolver: Resolver, found: tuple[stubs.Stub, ...], limits: str, place: str, environ: Mapping[str, str]
) -> Answer:
    """One resolution with these stand-ins for torch's family and these constraints."""
    import subprocess

    shelf = stubs.shelf(place, found)
    limit_file = store.file(place, "limits", ".txt", limits)
    store.keep([*resolver.command.files, limit_file])
    argv = [*resolver.command.argv, "--find-links", shelf, "-c", limit_file.path]
    try:
        done = subprocess.run(
            argv,
            env=resolver.command.environ(environ),
            capture_output=True,
            timeout=ASK_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise InstallerError(
            f"{resolver.command.installer} did not resolve the requirements within {ASK_S:.0f} s",
            hint="`--no-deps` leaves out what they need",
        ) from error
    except OSError as error:
        raise InstallerError(
            f"{argv[0]} does not start: {error.strerror}", hint="`--installer` names the other"
        ) from error
    words = done.stderr[-_MOST_BYTES:].decode("utf-8", "replace").strip()
    if done.returncode != 0:
        return Answer(trouble=words or f"{resolver.command.installer} exited with status {done.returncode}")
    text = done.stdout[:_MOST_BYTES].decode("utf-8", "replace")
    return of_report(text) if resolver.reads == "report" else of_pins(text)


def of_pins(text: str) -> Answer:
    """Uv's `name==version` lines."""
    found = {}
    for line in text.splitlines():
        match = _PINNED.match(line.strip())
        if match:
            found[normal(match[1])] = match[2]
    return Answer(found)


def of_report(text: str) -> Answer:
    """Pip's installation report, which also tells what each package requires."""
    start = text.find("{")
    try:
        items = json.loads(text[start:] if start >= 0 else text)["install"]
        versions = {normal(item["metadata"]["name"]): str(item["metadata"]["version"]) for item in items}
        asked = []
        for item in items:
            if normal(item["metadata"]["name"]) in ("torch", *COMPANIONS):
                continue
            for line in item["metadata"].get("requires_dist") or ():
                asked += _of_family(str(line))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InstallerError("pip's report is not what it should be", hint="`--installer uv`") from error
    return Answer(versions, tuple(asked))


def _of_family(line: str) -> list[tuple[str, str]]:
    match = re.match(r"(torch(?:vision|audio)?)(?![\w.-])\s*(?:\[[^\]]*\])?\s*\(?([^;)@]*)(@?)", line, re.IGNORECASE)
    if match is None:
        return []
    return [(match[1].lower(), "@" if match[3] else match[2].strip())]


def learn(  # noqa: PLR0913 # facts of the run, each from another place
    resolver: Resolver,
    builds: Sequence[Build],
    runnable: Sequence[Build],
    pins: Mapping[str, str],
    place: str,
    environ: Mapping[str, str],
) -> Learnt:
    """All builds, those that run here (best first), and the pins of the pick as it is without the libraries."""
    free = resolve(resolver, stubs.of_builds(builds), _bounds(builds), place, environ)
    if not free.ok or "torch" not in free.versions:
        return Learnt()  # the installer will say what is wrong; or nothing here needs torch
    if free.versions["torch"] == pins["torch"] or _content(free, pins):
        return Learnt()
    held = [
        f"{name}=={version}" for name, version in sorted(free.versions.items()) if name not in ("torch", *COMPANIONS)
    ]
    answer = free
    for offered in _offers(runnable):
        limits = "\n".join([*held, _bounds(offered, builds)])
        answer = resolve(resolver, stubs.of_builds(offered), limits, place, environ)
        if answer.ok:
            return Learnt(answer.versions.get("torch"))
    return Learnt(conflict=who_asks(answer.trouble) or _last_lines(answer.trouble))


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


def _offers(runnable: Sequence[Build]) -> Iterable[Sequence[Build]]:
    """The best build of each release; then all, for a library that pins a local label."""
    best: dict[str, Build] = {}
    for build in runnable:
        best.setdefault(build.torch, build)
    yield tuple(best.values())
    if len(best) < len(runnable):
        yield tuple(runnable)


def _bounds(offered: Sequence[Build], known: Sequence[Build] = ()) -> str:
    """Keep the resolver to the releases offered: another index may hold others, plain."""
    ours = sorted({build.torch for build in offered}, key=release_key)
    if not ours:
        return "torch==0+nothing.runs.here\n"
    mine = set(ours)
    barred = sorted({build.torch for build in known} - mine, key=release_key)
    barred = [each for each in barred if release_key(each) < release_key(ours[-1])]
    return ",".join([f"torch<={ours[-1]}", *(f"!={each}" for each in barred)]) + "\n"


def who_asks(trouble: str) -> tuple[str, ...]:
    """`mylib 1.0 depends on torch>=2.15`, out of pip's or uv's explanation."""
    joined = re.sub(r"\s*\n\s+(?=\S)", " ", trouble) + "\n" + trouble
    found = (f"{match[1]} asks for {match[2].strip()}" for match in _ASKS.finditer(joined))
    return tuple(dict.fromkeys(found))


def _last_lines(trouble: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in trouble.splitlines()[-5:] if line.strip())


def requirements_file(place: str, lines: Iterable[str]) -> File:
    return store.file(place, "needs", ".txt", "".join(f"{line}\n" for line in lines), private=True)
