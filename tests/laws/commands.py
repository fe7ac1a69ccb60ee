"""Every command asked the same question, in this process: pip's and uv's resolvers and the wheel host are stand-ins.

What a command says is brought into one form, so that the answers can be compared.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from shlex import split
from typing import Any, NamedTuple

import torchpick
from tests.commands import make_target, placed
from tests.fakes.indexes import version_of
from tests.fakes.resolver import Resolver
from tests.fakes.wheelindex import Release, Source, WheelIndex
from torchpick.cli import main
from torchpick.errors import NoBuildError, TorchpickError
from torchpick.index import pages
from torchpick.index.pages import ProjectFile
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.build import COMPANIONS, DEFAULT_INDEX, Build
from torchpick.model.package import Package, Stack
from torchpick.model.versions import leading, named, normal, parsed

TRIO = ("torch", *COMPANIONS)
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
_HOST = "https://download.pytorch.org/whl/"
# What the user's index has beside the packages of the table: plain ones, one of which brings torch by an
# extra, and releases of torch's family that came after the table.
LATER: dict[str, dict[str, list[str]]] = {
    "transformers": {"4.57.0": ["torch>=2.2; extra == 'torch'"]}, "numpy": {"2.3.0": []}, "torch": {"99.0.0": []},
    "torchvision": {"99.0.0": ["torch>=2.14.0"]}, "triton": {"3.1.0": [], "99.0.0": []},
    # what the CUDA wheels of the table are given beside a torch of another CUDA
    "nvidia-cublas-cu11": {"11.11.3.6": []}, "nvidia-cuda-runtime-cu11": {"11.8.89": []},
    "nvidia-cudnn-cu11": {"8.9.6.50": [], "9.10.2.21": []}, "nvidia-cufft-cu11": {"10.9.0.58": []},
    "nvidia-curand-cu11": {"10.3.0.86": []}, "nvidia-cublas-cu12": {"12.9.1": []},
    "nvidia-cuda-runtime-cu12": {"12.9.79": []}, "nvidia-cudnn-cu12": {"9.10.2.21": []},
    "nvidia-cufft-cu12": {"11.4.1": []}, "nvidia-curand-cu12": {"10.3.10": []}, "nvidia-cublas": {"13.1.0": []},
    "nvidia-cuda-runtime": {"13.0.96": []}, "nvidia-cudnn-cu13": {"9.10.2.21": []}, "nvidia-cufft": {"12.0.0": []},
    "nvidia-curand": {"10.4.0": []},
}  # fmt: skip


class Asked(NamedTuple):
    """A question: what is typed, and what binds unasked.

    `elsewhere` are the platform and the Python of another machine, empty for the environment here. `by` is how the
    constraint is given: a variable, or `-c` for the commands that take it.
    """

    requirements: tuple[str, ...] = ("torch",)
    gpu: str = "T4"
    driver: str = "580.95.05"
    elsewhere: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    limit: str = ""
    by: str = "PIP_CONSTRAINT"
    installer: str = "uv"

    @property
    def names(self) -> set[str]:
        return {named(text) for text in self.requirements}


class Said(NamedTuple):
    """What a command came to; None where it does not say."""

    status: int
    torch: str | None = None
    pins: Mapping[str, str] = {}
    bound: tuple[str, ...] | None = None
    words: str = ""
    judged: bool = True


Ask = Callable[[Asked], dict[str, Said]]


class World:
    """An environment with nothing in it but pip, or made by uv, and the stand-ins' knowledge."""

    def __init__(self, folder: Path, installer: str) -> None:
        target = {"pip": "26.0"} if installer == "pip" else {"by_uv": True}
        self.marks = placed(folder)
        make_target({"target": target, "uv": None if installer == "pip" else {}}, self.marks, PYTHON)
        self.folder = folder
        self.python = f"{self.marks['$TARGET']}/bin/python"
        uv = {} if installer == "pip" else {"UV": self.marks["$UV"]}
        home, cache = self.marks["$HOME"], self.marks["$CACHE"]
        self.environ = {"HOME": home, "PATH": "/nowhere", "TORCHPICK_CACHE_DIR": cache, **uv}

    def run(self, *words: str) -> tuple[int, dict[str, Any], str]:
        """The exit status of a command, its object in JSON, and its stderr."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = main([*words, "--json"])
        return status, json.loads(out.getvalue()), err.getvalue()

    def answers(self, asked: Asked) -> Iterator[tuple[str, Said]]:
        """What each command says that has a place for the question."""
        machine = ["--gpu", asked.gpu, "--driver", asked.driver]
        there = ["--platform", asked.elsewhere[0], "--python", asked.elsewhere[1]] if asked.elsewhere else []
        there = there or ["--python", self.python]
        flags = [*machine, *there, *(word for name in asked.backends for word in ("--backend", name))]
        file = str(self.folder / "limits.txt")
        Path(file).write_text(asked.limit, "utf-8")
        bound = {asked.by: file} if asked.limit and asked.by != "-c" else {}
        more = ["-c", file] if asked.limit and asked.by == "-c" else []
        os.environ.update(bound)
        try:
            yield from self._said(asked, flags, more)
        finally:
            for name in bound:
                del os.environ[name]

    def _said(self, asked: Asked, flags: list[str], more: list[str]) -> Iterator[tuple[str, Said]]:
        words = [*asked.requirements, *flags]
        output = str(self.folder / "pylock.toml")
        if not asked.elsewhere:
            yield "install", of_install(*self.run("install", *words, *more, "--dry-run"))
        if asked.installer == "uv" or not asked.elsewhere:
            yield "lock", of_lock(*self.run("lock", *words, *more, "-o", output))
        if more:  # the others take no `-c`
            return
        yield "bare", of_pick(*self.run(*flags, *asked.requirements))  # a package may come last alone
        yield "env", of_pick(*self.run("env", *words))
        yield "plan", of_plan(*self.run("plan", *words))
        yield "plan()", self._planned(asked)
        if asked.names <= {*TRIO, *Knowledge(os.environ).family}:
            yield "url", of_pick(*self.run("url", *words))
        if asked.names <= {*TRIO}:
            yield "pick()", self._picked(asked)
        if not asked.backends:
            yield "label", of_pick(*self.run("label", "--among", ",".join(backends()), *words))
        if asked.names == {"torch"}:
            yield "fleet", self._fleet(asked, flags)
        if asked.requirements == ("torch",) and not asked.elsewhere:
            yield from self._doctor(flags)
        if not asked.elsewhere:
            yield "pin", of_pick(*self.run("pin", *words))
            assert self.run("unpin", "--python", self.python)[0] == 0

    def _doctor(self, flags: list[str]) -> Iterator[tuple[str, Said]]:
        _, report, _ = self.run("doctor", *flags)
        for finding in report.get("findings", ()):
            words = split(finding["cure"] or "")
            if words[:2] == ["torchpick", "install"]:
                yield "doctor's command", of_install(*self.run(*words[1:], "--dry-run"))

    def _facts(self, asked: Asked) -> dict[str, Any]:
        platform, python = asked.elsewhere or (None, self.python)
        return {"gpus": [asked.gpu], "driver": asked.driver, "python": python, "platform": platform,
                "backends": asked.backends}  # fmt: skip

    def _picked(self, asked: Asked) -> Said:
        specifiers = {named(text): text[len(leading(text)) :] for text in asked.requirements}
        torch = specifiers.pop("torch", "")
        try:
            pick = torchpick.pick(torch=torch, companions=specifiers, **self._facts(asked)).require()
        except NoBuildError as error:
            return Said(3, words=str(error))
        return Said(0, pick.version, bound=_bound(note._asdict() for note in pick.notes))

    def _planned(self, asked: Asked) -> Said:
        try:
            stack: Stack = torchpick.plan(*asked.requirements, **self._facts(asked))
        except NoBuildError as error:
            return Said(3, words=str(error))
        except TorchpickError as error:
            return Said(error.exit_status, words=str(error))
        return of_plan(0 if stack.ok else 3, stack.to_dict(), "")

    def _fleet(self, asked: Asked, flags: list[str]) -> Said:
        file = self.folder / "nodes"
        _, found, _ = self.run("detect", *flags[: flags.index("--backend")] if asked.backends else flags)
        file.write_text(json.dumps(found) + "\n", "utf-8")
        narrow = flags[flags.index("--backend") :] if asked.backends else []
        status, answer, err = self.run("fleet", str(file), *asked.requirements, *narrow)
        torch = answer["pick"]["version"] if status == 0 else None
        return Said(status, torch, bound=_bound(answer.get("notes", ())), words=err + _error(answer))


def of_pick(status: int, answer: dict[str, Any], err: str) -> Said:
    pick = answer.get("pick") or {}
    stack = answer.get("stack") or {}
    pins = {each["name"]: each["version"] for each in stack["packages"]} if stack else {}
    words = err + _error(answer)
    if status:
        return Said(status, words=words)
    judged = all(each["code"] != "NOT_JUDGED" for each in pick["notes"])
    return Said(0, pick.get("version"), pins, _bound(pick["notes"]), words, judged)


def of_plan(status: int, answer: dict[str, Any], err: str) -> Said:
    stack = answer.get("stack")
    if status or not stack:
        return Said(status, words=err + _error(answer) + json.dumps(answer.get("objections"))[:300])
    pins = {each["name"]: each["version"] for each in stack["packages"]}
    return Said(0, pins.get("torch"), pins, _bound(stack["notes"]), err)


def of_install(status: int, answer: dict[str, Any], err: str) -> Said:
    if status:
        return Said(status, words=err + _error(answer), judged=not _must_be_built(answer))
    install = answer["install"]
    text = "\n".join([*install["argv"], *install["files"].values()]).replace("%2B", "+")
    pins = dict(re.findall(r"(?m)^([\w.-]+)==([^\s;*]+)$", text))
    pins |= {normal(name): version for name, version in re.findall(r"/([\w.]+)-([^-\s/]+)-[^\s/]+[.]whl", text)}
    return Said(0, pins.get("torch"), pins, _bound(answer["pick"]["notes"] + install["notes"]), err)


def of_lock(status: int, answer: dict[str, Any], err: str) -> Said:
    if status:
        return Said(status, words=err + _error(answer), judged=not _must_be_built(answer))
    pins = {each["name"]: each["version"] for each in answer["lock"]["packages"]}
    return Said(0, pins.get("torch"), pins, _bound(answer["pick"]["notes"] + answer["lock"]["notes"]), err)


def _error(answer: dict[str, Any]) -> str:
    return str((answer.get("error") or {}).get("text", ""))


def _must_be_built(answer: dict[str, Any]) -> bool:
    """Whether the answer stands, and a file of it lies on no index: a plan says so in a note."""
    return (answer.get("error") or {}).get("code") == "BUILT_FROM_SOURCE"


def _bound(notes: Any) -> tuple[str, ...]:
    return tuple(sorted({note["text"] for note in notes if note["code"] == "CONSTRAINED"}))


def builds() -> tuple[Build, ...]:
    return Knowledge(os.environ).every_build


def backends() -> tuple[str, ...]:
    """What `--among` may name without asking for more than the other commands: those of the wheel host."""
    found = {build.backend for build in builds() if build.family in ("cuda", "cpu")}
    return tuple(sorted(found - {DEFAULT_INDEX}))


def resolver() -> Resolver:
    """For a lock, which asks for files and hashes: it knows the table's packages with what concerns torch or CUDA."""
    return _resolver(Knowledge(os.environ).folder)


@cache
def _resolver(folder: str) -> Resolver:
    known = KnownPackages({"TORCHPICK_COMPAT_DIR": folder}, "linux-x86_64")
    # Of numpy there is one version, which nothing that the table's rows ask of it is made for.
    names = {*known, *TRIO, *LATER} - {"numpy"}
    projects = _projects(folder)
    packages: dict[str, dict[str, list[str]]] = {
        name: {version: LATER.get(name, {}).get(version, []) for version in versions}
        for name, versions in projects.items()
        if name in LATER or name not in known
    }
    for name in known:
        if name not in TRIO:
            packages[name] = {
                each.version: [line for line in each.requires if named(line) in names] for each in known[name].versions
            }
    # An index has what a package asks for by its number; the table need not know it.
    for line in [line for versions in packages.values() for lines in versions.values() for line in lines]:
        name, version = named(line), line.partition(";")[0].partition("==")[2].strip(") ")
        if version and name in packages and name not in LATER and not {"*", ","} & {*version}:
            packages[name].setdefault(version, [])
    return Resolver(packages)


@cache
def index(folder: str, place: Path) -> str:
    """The user's own index, with all that the table of this folder knows, and what packages ask for beside it."""
    return WheelIndex(_projects(folder)).write(place)


@cache
def _projects(folder: str) -> dict[str, dict[str, Sequence[str] | Release]]:
    projects: dict[str, dict[str, Sequence[str] | Release]] = {}
    for platform in ("windows-x86_64", "linux-aarch64", "linux-x86_64"):  # some wheels are known of one alone
        known = KnownPackages({"TORCHPICK_COMPAT_DIR": folder}, platform)
        for name in known:
            if name not in TRIO:
                rows = {row.version: _release(row) for row in known[name].versions if not row.place}
                projects.setdefault(name, {}).update(rows)
    projects |= {name: dict(versions) for name, versions in LATER.items()}
    # What a package asks for is there, in a version that it names or a new one.
    every = [release for versions in projects.values() for release in versions.values()]
    for line in [parsed(text) for each in every for text in (each.requires if isinstance(each, Release) else each)]:
        there = projects.setdefault(normal(line.name), {})  # of the table's projects there is what the table has
        if normal(line.name) not in known and not any(
            line.specifier.contains(version, prereleases=True) for version in there
        ):
            there[version_of(line)] = ()
    projects.setdefault("numpy", {"2.2.6": ()})  # which is asked for by its name alone
    return projects


_TAGS = {
    "any": "any", "linux-x86_64": "manylinux_2_17_x86_64", "linux-aarch64": "manylinux_2_17_aarch64",
    "windows-x86_64": "win_amd64",
}  # fmt: skip


def _release(row: Package) -> Release:
    """A wheel for each platform and Python of a row, or the sdist that it has instead."""
    if row.file is None:
        return Release(row.requires, (), Source.FINAL)
    pythons = [
        "py3-none" if tag == "any" else f"{tag.removesuffix('+')}-{'abi3' if '+' in tag else tag}"
        for tag in row.pythons
    ]
    tags = [f"{python}-{_TAGS[name]}" for python in pythons for name in row.platforms if name in _TAGS]
    return Release(
        row.requires, tags, yanked="it was" if row.yanked else None, requires_python=row.requires_python or None
    )


def page(url: str) -> tuple[ProjectFile, ...] | None:
    return _page(url, Knowledge(os.environ).folder)


@cache
def _page(url: str, folder: str) -> tuple[ProjectFile, ...] | None:
    """A project's page of the wheel host as the table has it; no index has more than that."""
    backend, project = url.rstrip("/").split("/")[-2:]
    if not url.startswith(_HOST):
        return None
    files = set()
    for build in Knowledge({"TORCHPICK_COMPAT_DIR": folder}).every_build:
        version = build.pins.get(project)
        if build.backend == backend and version is not None:
            files |= {f"{project}-{version}-{tag}-{tag}-{last}.whl" for tag in build.pythons for last in build.tags[:1]}
    body = "".join(f'<a href="{file.replace("+", "%2B")}#sha256={"0" * 64}">{file}</a>' for file in sorted(files))
    return pages.files(body.encode(), f"{url}/")
