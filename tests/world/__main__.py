"""One question, one answer: asks every command the same, on the live index beside a stand-in for the wheel host.

`scripts/test --world` runs it; `python -m tests.world WORD` asks the questions alone that have this word in them, with
README for its commands. It ends with 0 where all commands gave the same torch and the right exit status.
"""

from __future__ import annotations

import json
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

from tests import usersettings
from tests.fakes import venvs
from tests.fakes.indexes import FILE_HOST, WHEEL_HOST
from tests.fakes.loopback import Authority, Loopback
from tests.world import wheelhost
from tests.world.questions import QUESTIONS, WorldQuestion

ROOT = Path(__file__).parents[2]
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
THERE = ("--platform", wheelhost.PLATFORM, "--python", PYTHON)
# Settings that would lead to other files than those of the index.
_BESIDE = ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_EXTRA_INDEX_URL")
# Commands of the README that write, wait, or are about something else.
_NOT_RUN = ("refresh", "run ", "doctor --fix", "pin", "explain", "extras", "inspect")
_USAGE = 2


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

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder, self.environ = folder, environ
        self.target = str(venvs.with_pip(folder / "target"))

    def run(self, *words: str, seconds: int = 600) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "torchpick", *words]
        try:
            return subprocess.run(
                line, env=self.environ, cwd=self.folder, capture_output=True, text=True, timeout=seconds, check=False
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


def ask(world: World, question: WorldQuestion) -> bool:
    """Whether all commands agree."""
    start = time.monotonic()
    said = dict(world.answers(question))
    counted = {who: each for who, each in said.items() if each.counts}
    torches = {(each.moved, each.torch) for each in counted.values()}
    agree = len(torches) == len({moved for moved, _ in torches})
    fine = agree and all(each.status == question.status for each in counted.values())
    gpu = f"{question.gpu} {question.driver}".strip()
    behind = ", and another where this index lacks what it needs" if len(torches) > 1 and fine else ""
    print(f"{'ok  ' if fine else 'FAIL'} {gpu}: {question.text}{behind} ({time.monotonic() - start:.0f} s)", flush=True)
    if not fine:
        for who, each in said.items():
            skipped = "" if each.counts else " (not counted)"
            print(f"       {who}: {each.torch or '-'}, exit {each.status}{skipped}  {each.words}", flush=True)
    return fine


def readme(world: World) -> int:
    """How many of the README's commands fail."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    failed = 0
    for command in dict.fromkeys(re.findall(r"(?:`|^\$ )torchpick( [^`\n]*)?(?=`|$)", text, re.MULTILINE)):
        words = split(command)
        if command.strip().startswith(_NOT_RUN) or "…" in command:
            continue
        if "--gpu" not in words and words[:1] != ["matrix"]:  # whose page is for every machine
            words += ["--gpu", "RTX 3090", "--driver", "580.95.05"]
        words += ["--python", world.target] if words[0] in ("install", "lock", "doctor") else []
        done = world.run(*words, *(["--dry-run"] if words[0] == "install" else []))
        good = (0, 3) if words[0] == "doctor" else (0,)  # the target has no torch
        fine = done.returncode in good and "Traceback" not in done.stderr
        failed += not fine
        print(f"{'ok  ' if fine else 'FAIL'} torchpick{command}", flush=True)
        if not fine:
            print(f"       exit {done.returncode}  {' '.join(done.stderr.split())[-400:]}", flush=True)
    return failed


def variables(folder: Path, server: Loopback, authority: Authority) -> dict[str, str]:
    """The user's index, with the stand-in before the wheel host and nothing else of the user's."""
    own = usersettings.fetching()
    trusted = own.get("PIP_CERT") or own.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    bundle = folder / "trusted.pem"
    system = Path(trusted).read_text(encoding="utf-8") if trusted else ""
    bundle.write_text(system + authority.certificate.read_text(encoding="utf-8"), encoding="utf-8")
    certificates = dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"), str(bundle))
    ours = {"UV_CACHE_DIR": str(folder / "uv"), "UV_PYTHON_DOWNLOADS": "never", "PIP_NO_CACHE_DIR": "1"}
    ours |= {"TORCHPICK_CACHE_DIR": str(folder / "cache"), "NO_PROXY": "127.0.0.1", "HTTPS_PROXY": server.url}
    own = {name: value for name, value in own.items() if name not in _BESIDE and not name.lower().endswith("_proxy")}
    return {**own, **usersettings.nothing(folder), **certificates, **ours}


def main(words: list[str]) -> int:
    questions = [each for each in QUESTIONS if not words or any(word in each.text for word in words)]
    with TemporaryDirectory(prefix="torchpick-world-") as name:
        folder = Path(name)
        authority = Authority.make(folder, (WHEEL_HOST, FILE_HOST))
        site = wheelhost.stocked(f"cp{PYTHON.replace('.', '')}")
        sites = {WHEEL_HOST: site, FILE_HOST: site}
        with Loopback(sites, authority.tls, leads_on=True).running() as server:
            world = World(folder, variables(folder, server, authority))
            failed = sum(not ask(world, question) for question in questions)
            failed += readme(world) if not words or "README" in words else 0
    print(f"{failed} failed: more than one answer, or a wrong exit status")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
