"""One question, one answer: asks every command the same, on the live index beside a stand-in for the wheel host.

`scripts/test --world` runs it; `python -m tests.world WORD` asks the questions alone that have this word in them. It
ends with 0 where all commands gave the same torch and the right exit status, where the plan is the same with uv, with
pip alone and with a company's settings, and where pip and uv take what it pins.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import split
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests import usersettings
from tests.fakes import venvs
from tests.fakes.indexes import FILE_HOST, WHEEL_HOST, table_without_hashes
from tests.fakes.loopback import Answer, Authority, Loopback, Site
from tests.world import taking, wheelhost
from tests.world.questions import QUESTIONS, WorldQuestion
from tests.world.taking import Taking
from torchpick.index import index_places

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
THERE = ("--platform", wheelhost.PLATFORM, "--python", PYTHON)
# Settings that would lead to other files than those of the index.
_BESIDE = ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_EXTRA_INDEX_URL")
# Commands of the README that write, wait, or are about something else.
_USAGE = 2
_MODULE = ("-m", "torchpick")
# As where no uv package lies beside torchpick.
_WITHOUT_UV = (
    "-c",
    "import runpy, sys; sys.modules['uv'] = None; runpy.run_module('torchpick', run_name='__main__', alter_sys=True)",
)


class Said(NamedTuple):
    """What one command came to, and whether it counts: not where it did not judge, or has no place for the question.

    `moved` is said of one that asked the index, which lacks what the table's answer needs: there another is right.
    """

    status: int
    torch: str | None
    words: str
    counts: bool = True
    moved: bool = False


class World:
    """The servers, an environment of variables that leads to them, and an empty virtual environment."""

    def __init__(self, folder: Path, environ: Mapping[str, str], companys: Mapping[str, str]) -> None:
        self.folder, self.environ, self.companys = folder, environ, companys
        self.target = str(venvs.with_pip(folder / "target"))

    def run(
        self, *words: str, how: tuple[str, ...] = _MODULE, more: Mapping[str, str] | None = None, seconds: int = 600
    ) -> subprocess.CompletedProcess[str]:
        line, environ = [sys.executable, *how, *words], {**self.environ, **(more or {})}
        try:
            return subprocess.run(
                line, env=environ, cwd=self.folder, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(line, 124, "", f"no end after {seconds} s")

    def answers(self, question: WorldQuestion) -> Iterator[tuple[str, Said]]:
        """What each command says to the same question."""
        machine = ("--gpu", question.gpu, *(("--driver", question.driver) if question.driver else ()))
        asked = (*question.requirements, *machine)
        here = ("--python", self.target)
        yield "bare", self._said(self.run(*machine, *question.requirements, *THERE, "--json"))
        yield "url", self._said(self.run("url", *asked, *THERE))
        yield "env", self._said(self.run("env", *asked, *THERE, "--json"))
        yield "plan", self._said(self.run("plan", *asked, *THERE, "--json"))
        for tool in ("uv", "pip"):
            given = (*asked, *here, "--installer", tool)
            yield f"install, {tool}", self._said(self.run("install", *given, "--dry-run", "--json"))
            yield f"lock, {tool}", self._said(self.run("lock", *given, "--json"))
        if question.requirements == ("torch",):
            found = self.run("doctor", *machine, *here, "--json")
            for command in _commands(found.stdout):
                yield "doctor's command", self._said(self.run(*command, "--dry-run", "--json"))

    def contradictions(self, question: WorldQuestion) -> Iterator[str]:
        """Where the plan is another with other tools or settings, and what pip and uv take that it does not pin."""
        driver = ("--driver", question.driver) if question.driver else ()
        asked = (*question.requirements, "--gpu", question.gpu, *driver, "--python", self.target, "--json")
        plans = {
            "uv": self.run("plan", *asked),
            "pip alone": self.run("plan", *asked, how=_WITHOUT_UV, more={"PATH": _path_without_uv(self.environ)}),
            "a company's settings": self.run("plan", *asked, more=self.companys),
        }
        first, *others = ((who, _environment_of(done.stdout)) for who, done in plans.items())
        for who, environment in others:
            if environment != first[1]:
                yield f"with {first[0]} {first[1]}, with {who} {environment}"
        if question.status:
            return
        pins = _pins_of(plans["uv"].stdout)
        for tool in ("uv", "pip"):
            taken = self.installed(question, tool) if question.is_of_family else self.rehearsed(asked, tool)
            yield from (f"{tool}: {each}" for each in taking.differences(pins, taken))

    def rehearsed(self, asked: tuple[str, ...], tool: str) -> Taking:
        """What an installer would take under the answer's command."""
        handed = self.run("install", *asked, "--installer", tool, "--dry-run")
        command = json.loads(handed.stdout).get("install")
        return taking.take(command, self.environ, self.folder) if command else Taking({}, {}, handed.stdout[-400:])

    def installed(self, question: WorldQuestion, tool: str) -> Taking:
        """What a real run leaves in a fresh environment: the wheels of the family are small here."""
        with TemporaryDirectory(dir=self.folder) as name:
            python = venvs.with_pip(Path(name) / "venv")
            machine = ("--gpu", question.gpu, "--driver", question.driver, "--python", str(python))
            words = (*question.requirements, *machine, "--installer", tool)
            done = self.run("install", *words)
            return taking.of_environment(python) if done.returncode == 0 else Taking({}, {}, done.stderr[-400:])

    @staticmethod
    def _said(done: subprocess.CompletedProcess[str]) -> Said:
        words = " ".join(done.stderr.split())[-400:]
        command = done.args[3] if len(done.args) > 3 else ""
        has_no_place = done.returncode == _USAGE and command in ("url", "env")
        judged = "NOT_JUDGED" not in done.stdout and "not judged" not in done.stderr
        torch = _torch_of(done.stdout) if done.returncode == 0 else None
        status = 1 if "Traceback" in done.stderr else done.returncode
        moved = "TORCH_MOVED" in done.stdout
        return Said(status, torch, words, counts=judged and not has_no_place, moved=moved)


def _torch_of(text: str) -> str | None:
    """The version of torch in an answer: the environment's, the pick's, or the one in a line."""
    if text.startswith("{"):
        answer = json.loads(text)
        stack = answer.get("stack")
        text = " ".join(stack["requirements"]) if stack else f"torch=={(answer.get('pick') or {}).get('version', '')}"
    found = re.search(r"(?<![\w.-])torch==([0-9][^\s'\"]*)|/torch-([0-9][^-\s]*?)-", text.replace("%2B", "+"))
    return (found[1] or found[2]) if found else None


def _commands(report: str) -> Iterator[list[str]]:
    """The commands of ours that a doctor's report gives."""
    findings = json.loads(report).get("findings", ()) if report.startswith("{") else ()
    for finding in findings:
        if (finding["cure"] or "").startswith("torchpick install"):
            yield split(finding["cure"])[1:]


def _environment_of(answer: str) -> list[str] | str:
    """The pins of a plan, or why there is none."""
    said = json.loads(answer) if answer.startswith("{") else {}
    return said["stack"]["requirements"] if said.get("stack") else str(said.get("objections") or said.get("error"))


def _pins_of(answer: str) -> dict[str, str]:
    return {each["name"]: each["version"] for each in json.loads(answer)["stack"]["packages"] if each["pinned"]}


def _path_without_uv(environ: Mapping[str, str]) -> str:
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not Path(folder, "uv").exists())


def ask(world: World, question: WorldQuestion) -> bool:
    """Whether all commands agree."""
    start = time.monotonic()
    said = dict(world.answers(question))
    counted = {who: each for who, each in said.items() if each.counts}
    torches = {(each.moved, each.torch) for each in counted.values()}
    agree = len(torches) == len({moved for moved, _ in torches})
    contradictions = list(world.contradictions(question))
    fine = agree and not contradictions and all(each.status == question.status for each in counted.values())
    gpu = f"{question.gpu} {question.driver}".strip()
    behind = ", and another where this index lacks what it needs" if len(torches) > 1 and fine else ""
    print(f"{'ok  ' if fine else 'FAIL'} {gpu}: {question.text}{behind} ({time.monotonic() - start:.0f} s)", flush=True)
    if not fine:
        for who, each in said.items():
            skipped = "" if each.counts else " (not counted)"
            print(f"       {who}: {each.torch or '-'}, exit {each.status}{skipped}  {each.words}", flush=True)
        for line in contradictions:
            print(f"       {line}", flush=True)
    return fine


def _trusted() -> str | None:
    own = usersettings.fetching()
    return own.get("PIP_CERT") or own.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile


def mirror() -> Site:
    """A company's mirror of the user's index: the same pages, below `/simple/`."""
    own = usersettings.fetching()
    upstream = index_places.of_user({name: value for name, value in own.items() if name not in _BESIDE}).indexes[0]
    trust = ssl.create_default_context(cafile=_trusted())

    def page(path: str) -> Answer:
        address = f"{upstream.rstrip('/')}/{path.removeprefix('/simple/')}"
        wanted = Request(address, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
        try:
            with urlopen(wanted, timeout=60, context=trust) as response:
                return Answer(200, response.read(), {"Content-Type": response.headers["Content-Type"]})
        except HTTPError as error:
            return Answer(error.code)

    return page


def companys(folder: Path, server: Loopback) -> dict[str, str]:
    """What leads pip and uv to the company's mirror, under its constraints."""
    constraints = folder / "constraints.txt"
    constraints.write_text("idna>=2\n", encoding="utf-8")
    place = f"{server.url}/simple/"
    settings = {"PIP_INDEX_URL": place, "UV_DEFAULT_INDEX": place}
    return settings | dict.fromkeys(("PIP_CONSTRAINT", "UV_CONSTRAINT"), str(constraints))


def variables(folder: Path, server: Loopback, authority: Authority) -> dict[str, str]:
    """The user's index, with the stand-in before the wheel host and nothing else of the user's."""
    own = usersettings.fetching()
    trusted = _trusted()
    bundle = folder / "trusted.pem"
    system = Path(trusted).read_text(encoding="utf-8") if trusted else ""
    bundle.write_text(system + authority.certificate.read_text(encoding="utf-8"), encoding="utf-8")
    certificates = dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"), str(bundle))
    ours = {"UV_CACHE_DIR": str(folder / "uv"), "UV_PYTHON_DOWNLOADS": "never", "PIP_NO_CACHE_DIR": "1"}
    ours["TORCHPICK_COMPAT_DIR"] = str(table_without_hashes(folder))
    ours |= {"TORCHPICK_CACHE_DIR": str(folder / "cache"), "NO_PROXY": "127.0.0.1", "HTTPS_PROXY": server.url}
    own = {name: value for name, value in own.items() if name not in _BESIDE and not name.lower().endswith("_proxy")}
    return {**own, **usersettings.nothing(folder), **certificates, **ours}


def main(words: list[str]) -> int:
    questions = [each for each in QUESTIONS if not words or any(word in each.text for word in words)]
    with TemporaryDirectory(prefix="torchpick-world-") as name:
        folder = Path(name)
        authority = Authority.make(folder, (WHEEL_HOST, FILE_HOST))
        site = wheelhost.stocked(f"cp{PYTHON.replace('.', '')}")
        sites: dict[str, Site] = {WHEEL_HOST: site, FILE_HOST: site, "127.0.0.1": mirror()}
        with Loopback(sites, authority.tls, leads_on=True).running() as server:
            world = World(folder, variables(folder, server, authority), companys(folder, server))
            failed = sum(not ask(world, question) for question in questions)
    print(f"{failed} failed: more than one answer, a wrong exit status, or another installation than the plan's")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
