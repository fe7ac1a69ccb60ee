"""Stands in for the resolvers of pip and uv: it weighs a handful of packages, in this process, in no time.

It takes the commands that torchpick gives to either, and answers in their words: a pylock.toml, pip's
report. It obeys requirements, constraints (those of the variable too), links,
`--torch-backend` and `--no-deps`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import unescape
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from torchpick.environment import toml
from torchpick.environment.requirementfiles import located
from torchpick.install.command import Command, write_files

HOST = "https://download.pytorch.org/whl"
INDEX = "https://user.example/simple"
SHA = "5" * 64
# Links that were read: by the name of their page or folder, which says what is in it.
_SEEN: dict[str, dict[str, list[Candidate]]] = {}
# Options of theirs that take a word, and those that take none: another one's word would be taken for a requirement.
_WITH_WORD = {
    "--python", "--config-file", "--python-version", "--python-platform",
    "--format", "--report", "--find-links", "-c", "-r", "--exclude-newer", "--index-url",
    "--no-sources-package",
}  # fmt: skip
_ALONE = {
    "-I", "-P", "-m", "--dry-run", "--ignore-installed", "--no-build-isolation", "--no-deps", "--no-header",
    "--no-index", "--offline", "--quiet", "--upgrade", "--use-feature=fast-deps",
}  # fmt: skip


class Candidate(NamedTuple):
    name: str
    version: Version
    url: str
    requires: tuple[str, ...] = ()
    direct: bool = False


class _Words(NamedTuple):
    """What of a command counts."""

    wanted: list[Requirement]
    limits: list[Requirement]
    links: list[str]
    options: dict[str, str]
    switches: set[str]


class Resolver:
    """Called as `capture_command` is."""

    def __init__(self, packages: Mapping[str, Any], places: Mapping[str, Any] = {}) -> None:
        """`places` are where a project comes from instead of where it should."""
        self._packages, self._places = packages, places

    def __call__(self, command: Command, environ: Mapping[str, str]) -> CompletedProcess[str]:
        write_files(command.files)
        words = _words(command)
        bound = command.environ(environ).get("UV_CONSTRAINT" if "compile" in command.argv else "PIP_CONSTRAINT", "")
        words.limits.extend(line for file in bound.split() for line in _lines(file))
        found = self._resolved(words)
        if found is None:
            return CompletedProcess((), 1, "", self._trouble(words))
        report = words.options.get("--report")
        if report is not None:
            Path(report).write_text(json.dumps({"install": [self._item(each) for each in found]}), "utf-8")
            return CompletedProcess((), 0, "", "")
        return CompletedProcess((), 0, _lock(found), "")

    def _resolved(self, words: _Words) -> list[Candidate] | None:
        """The newest of everything that suits; None where nothing does."""
        deep = "--no-deps" not in words.switches
        taken = self._weighed({}, words.wanted, words, deep=deep)
        return None if taken is None else sorted(taken.values())

    def _weighed(
        self, taken: Mapping[str, Candidate], left: list[Requirement], words: _Words, *, deep: bool
    ) -> Mapping[str, Candidate] | None:
        """What is taken, and what suits the requirements that are left: what has the least choice goes first."""
        choices: dict[str, list[Candidate]] = {}
        for name in {_name(each) for each in left}:
            mine = [each for each in left if _name(each) == name]
            among = [taken[name]] if name in taken else self._candidates(mine[0], words)
            choices[name] = [each for each in among if all(_admits(one, each) for one in mine)]
            if not choices[name]:
                return None
        if not choices:
            return taken
        name = min(choices, key=lambda name: (len(choices[name]), name))
        mine, others = [each for each in left if _name(each) == name], [each for each in left if _name(each) != name]
        extras = {extra for each in mine for extra in each.extras}
        for candidate in choices[name]:
            more = self._needs(candidate, extras, words) if deep and (extras or name not in taken) else []
            found = self._weighed({**taken, name: candidate}, [*more, *others], words, deep=deep)
            if found is not None:
                return found
        return None

    def _needs(self, candidate: Candidate, extras: set[str], words: _Words) -> list[Requirement]:
        known = self._packages.get(candidate.name, {}).get(str(candidate.version), candidate.requires)
        machine = words.options.get("--python-platform", "").partition("-")[0]
        return [each for each in map(_parsed, known) if any(_holds(each, extra, machine) for extra in ("", *extras))]

    def _candidates(self, wanted: Requirement, words: _Words) -> list[Candidate]:
        """The newest first; a link before the index."""
        name = _name(wanted)
        limits = [each for each in words.limits if _name(each) == name]
        placed = next((each.url for each in (wanted, *limits) if each.url), None)
        if placed is not None:
            return [_of_url(placed, direct=True)]
        linked = [(each.version, True, each) for link in words.links for each in _linked(link).get(name, ())]
        backend = words.options.get("--torch-backend", "")
        host, index = f"{HOST}/{backend}", f"{INDEX}/{name}"
        own = [
            Candidate(name, Version(version), f"{self._places.get(name) or (host if label else index)}/{file}")
            for version in self._packages.get(name, {})
            if (label := version.partition("+")[2]) in ("", backend)
            for file in (f"{name.replace('-', '_')}-{version.replace('+', '%2B')}-py3-none-any.whl",)
        ]
        found = sorted([*linked, *((each.version, False, each) for each in own)], reverse=True)
        return [each for _, _, each in found if all(_admits(one, each) for one in (wanted, *limits))]

    def _item(self, each: Candidate) -> dict[str, object]:
        """A package as pip reports it, with all that it may require."""
        where = {"url": each.url.partition("#")[0], "archive_info": {"hashes": _hashes(each)}}
        requires = self._packages.get(each.name, {}).get(str(each.version), each.requires)
        metadata = {"name": each.name, "version": str(each.version), "requires_dist": [*requires]}
        return {"metadata": metadata, "download_info": where, "is_direct": each.direct}

    def _trouble(self, words: _Words) -> str:
        """As uv explains it: what asks for torch, in its newest version."""
        lines = []
        for wanted in words.wanted:
            for candidate in self._candidates(wanted, words)[:1]:
                extras = f"[{','.join(wanted.extras)}]" if wanted.extras else ""
                who = f"Because {candidate.name}{extras}=={candidate.version} depends on"
                needs = self._needs(candidate, wanted.extras, words)
                lines += [f"{who} {need.name}{need.specifier} and" for need in needs]
        return "\n".join([*lines, "your requirements are unsatisfiable."])


def _words(command: Command) -> _Words:
    words = iter(command.argv)
    found = _Words([], [], [], {}, set())
    behind = False
    for word in words:
        if word in _WITH_WORD:
            value = next(words)
            found.options[word] = value
            if word in ("-c", "-r"):
                (found.limits if word == "-c" else found.wanted).extend(_lines(value))
            elif word == "--find-links":
                found.links.append(value)
        elif word.startswith("-"):
            assert word in _ALONE, f"whether {word} takes a word is not known"
            found.switches.add(word)
        elif word in ("install", "compile"):
            behind = True
        elif behind:
            asked = _lines(word) if Path(word).is_file() else [Requirement(word)]
            found.wanted.extend(each for each in asked if _holds(each, ""))
    return found


def _lines(file: str) -> list[Requirement]:
    text = Path(located(file) if file.startswith("file:") else file).read_text("utf-8")
    if file.endswith("pyproject.toml"):
        return [Requirement(each) for each in toml.loads(text)["project"]["dependencies"]]
    lines = [line.partition(" #")[0].split(" --")[0].strip() for line in text.splitlines()]
    found = [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]
    return [each for each in found if _holds(each, "")]


@lru_cache
def _parsed(text: str) -> Requirement:
    return Requirement(text)


def _name(requirement: Requirement) -> str:
    return str(canonicalize_name(requirement.name))


def _admits(requirement: Requirement, candidate: Candidate) -> bool:
    return requirement.specifier.contains(candidate.version, prereleases=True)


def _holds(requirement: Requirement, extra: str, machine: str = "") -> bool:
    where = {"extra": extra, **({"platform_machine": machine} if machine else {})}
    return requirement.marker is None or requirement.marker.evaluate(where)


def _of_url(url: str, *, direct: bool = False) -> Candidate:
    file = unquote(urlsplit(url).path.rpartition("/")[2])
    name, version, *_ = parse_wheel_filename(file)
    return Candidate(name, version, url, direct=direct)


def _linked(place: str) -> Mapping[str, list[Candidate]]:
    """The wheels of a page, or of a folder; these say what they need. Both are named by what they hold."""
    name = Path(place).name
    if name not in _SEEN:
        found = _of_page(Path(place)) if name.endswith(".html") else _of_folder(Path(place))
        _SEEN[name] = {}
        for each in found:
            _SEEN[name].setdefault(each.name, []).append(each)
    return _SEEN[name]


def _of_page(page: Path) -> Iterator[Candidate]:
    return (_of_url(unescape(href)) for href in re.findall(r'href="([^"]+)"', page.read_text("utf-8")))


def _of_folder(folder: Path) -> Iterator[Candidate]:
    """The address is that of any such folder: whoever asks knows it by its name."""
    for wheel in sorted(folder.glob("*.whl")):
        with ZipFile(wheel) as archive:
            metadata = next(archive.read(each).decode() for each in archive.namelist() if each.endswith("METADATA"))
        url = f"file:///cache/{folder.name}/{wheel.name}"
        yield _of_url(url)._replace(requires=tuple(re.findall(r"Requires-Dist: (.+)", metadata)))


def _hashes(each: Candidate) -> dict[str, str]:
    """Nobody knows the hash of what is named by its address alone, unless it is fetched."""
    found = re.search(r"#sha256=([0-9a-f]{64})", each.url)
    return {} if each.direct and not found else {"sha256": found[1] if found else SHA}


def _lock(found: list[Candidate]) -> str:
    lines = ['lock-version = "1.0"', 'created-by = "uv"']
    for each in found:
        hashes = ", ".join(f'{name} = "{digest}"' for name, digest in _hashes(each).items())
        file = f'{{ url = "{each.url.partition("#")[0]}", hashes = {{ {hashes} }} }}'
        lines += ["", "[[packages]]", f'name = "{each.name}"']
        lines += [f"archive = {file}"] if each.direct else [f'version = "{each.version}"', f"wheels = [{file}]"]
    return "\n".join(lines) + "\n"
