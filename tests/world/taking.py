"""What the real pip and the real uv take under the command of an answer, compared with what the answer says."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename

from tests.fakes.indexes import FILE_HOST, WHEEL_HOST

# With an address; behind the version, where the wheel is in uv's cache.
_UV_LINE = re.compile(r"^ \+ ([\w.-]+)(?:==| @ )(\S+)(?: \(from (\S+)\))?", re.MULTILINE)
# From the wheel host alone, whatever else has a project of this name; triton is the same file on the default index.
_FAMILY = ("torch", "torchvision", "torchaudio")
_SECONDS = 600


class Taking(NamedTuple):
    """What an installer would install: each project's version, and the address where its report has one."""

    versions: Mapping[str, str]
    addresses: Mapping[str, str]
    refusal: str = ""


def take(command: Mapping[str, Any], environ: Mapping[str, str], folder: Path) -> Taking:
    """Run an answer's command, as `install --json` has it, as a dry run."""
    place = command["argv"].index("install") + 1
    report = folder / "report.json"
    more = ["--ignore-installed", "--report", str(report)] if command["installer"] == "pip" else ["--no-progress"]
    argv = [*command["argv"][:place], "--dry-run", *more, *command["argv"][place:]]
    changed = {**environ, **command["environ"]["set"]}
    variables = {name: value for name, value in changed.items() if name not in command["environ"]["unset"]}
    done = subprocess.run(
        argv, env=variables, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode:
        return Taking({}, {}, " ".join(f"{done.stdout} {done.stderr}".split())[-600:])
    return of_pip(report.read_text("utf-8")) if command["installer"] == "pip" else of_uv(done.stderr)


def of_pip(report: str) -> Taking:
    """What pip's `--report` lists."""
    items = json.loads(report)["install"]
    names = [canonicalize_name(item["metadata"]["name"]) for item in items]
    versions = [item["metadata"]["version"] for item in items]
    addresses = [item["download_info"]["url"] for item in items]
    return Taking(dict(zip(names, versions, strict=True)), dict(zip(names, addresses, strict=True)))


def of_uv(printed: str) -> Taking:
    """The changes that `uv pip install --dry-run` lists: of what comes from an index the version, else the address."""
    versions: dict[str, str] = {}
    addresses: dict[str, str] = {}
    for name, what, origin in _UV_LINE.findall(printed):
        place = origin or what
        file = unquote(urlsplit(place).path).rpartition("/")[2]
        versions[canonicalize_name(name)] = str(parse_wheel_filename(file)[1]) if file.endswith(".whl") else place
        if "://" in place:
            addresses[canonicalize_name(name)] = place
    return Taking(versions, addresses)


def of_environment(python: Path) -> Taking:
    """What lies in an environment, with the addresses that were installed by their address."""
    (site,) = (python.parent.parent / "lib").glob("python*/site-packages")
    found = {str(canonicalize_name(each.name)): each for each in distributions(path=[str(site)])}
    origins = {name: each.read_text("direct_url.json") for name, each in found.items()}
    addresses = {name: str(json.loads(origin)["url"]) for name, origin in origins.items() if origin}
    return Taking({name: each.version for name, each in found.items()}, addresses)


def differences(pins: Mapping[str, str], taking: Taking) -> list[str]:
    """Where an installer takes something else than an answer pins, or a build of torch's family from elsewhere."""
    if taking.refusal:
        return [taking.refusal]
    wrong = [
        f"{name} {version} is planned and {taking.versions.get(name, 'no version')} is taken"
        for name, version in pins.items()
        if name not in taking.versions or not SpecifierSet(f"=={version}").contains(taking.versions[name], True)
    ]
    hosts = {name: urlsplit(taking.addresses.get(name, "")).hostname for name in _FAMILY if name in taking.versions}
    return wrong + [f"{name} comes from {host}" for name, host in hosts.items() if host not in (WHEEL_HOST, FILE_HOST)]
