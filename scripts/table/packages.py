"""evidence/packages.jsonl and the rules beside it → compat/packages/NAME.json.

A version whose wheel was read whole is `measured`. One of which METADATA and links alone were read is `declared`: its
code is what the nearest read versions on both sides have in common.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.version import Version

from scripts.table import layout
from scripts.table.package_rules import RULES, Rule, Source
from torchpick.index import wheelnames
from torchpick.wheels import wheelfiles
from torchpick.wheels.wheelfiles import OwnCuda, Row

ROOT = Path(__file__).parents[2]
COMPAT = ROOT / "compat"
EVIDENCE = ROOT / "evidence" / "packages.jsonl"
BESIDE = ROOT / "evidence" / "beside.json"


def main(words: Sequence[str]) -> int:
    """Write compat/packages/ anew."""
    if words:
        print("usage: scripts/build-packages", file=sys.stderr)
        return 2
    files = build(read_evidence(EVIDENCE), COMPAT)
    for name, value in files.items():
        layout.write(COMPAT / "packages" / f"{name}.json", value)
    print(f"{len(files)} packages, {sum(len(value['versions']) for value in files.values())} versions", file=sys.stderr)
    return 0


def read_evidence(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def platform_read(row: Row) -> str:
    """The platform of the wheel that a line is about; of one for every platform, that of the readings."""
    wheel = wheelnames.parse(row["file"])
    return (wheelnames.platform_of(wheel.platform) if wheel is not None else None) or "linux-x86_64"


def build(evidence: Iterable[Row], compat: Path) -> dict[str, Row]:
    """Every file of compat/packages, by its package's name."""
    torch = default_torch(compat)
    own_cuda = {row["version"]: row["cuda"] for row in torch}
    found: dict[str, Row] = {"torch": {"schema": 1, "name": "torch", "versions": torch}}
    beside = json.loads(BESIDE.read_text(encoding="utf-8"))["packages"]
    by_project: dict[str, list[Row]] = {}
    for row in evidence:
        by_project.setdefault(row["project"], []).append(row)
    for name, rule in sorted(RULES.items()):
        rows = sorted(by_project.get(name, ()), key=lambda row: Version(row["version"]), reverse=True)
        versions = [_version(row, rule, own_cuda) for row in rows if platform_read(row) != "windows-x86_64"]
        _fill_unread(versions)
        _add_windows(versions, {row["version"]: row for row in rows if platform_read(row) == "windows-x86_64"}, rule)
        versions += [_from_source(name.replace("-", "_"), source, rule) for source in rule.sources]
        value: Row = {"schema": 1, "name": name}
        if said := rule.told:
            value["rule"] = said
        for key in ("source_only", "refused", "advice"):
            if (text := getattr(rule, key)) is not None:
                value[key] = text
        if rule.rivals:
            value["rivals"] = list(rule.rivals)
        places: list[Row] = [
            {key: list(each) if isinstance(each, tuple) else each for key, each in place._asdict().items() if each}
            for place in rule.places
        ]
        places += [{key: place[key] for key in ("url", "text", "wheels")} for place in beside.get(name, ())]
        if places:
            value["elsewhere"] = places
        found[name] = {**value, "versions": versions}
    return found


def _version(line: Row, rule: Rule, own_cuda: OwnCuda) -> Row:
    """A line as a version; one that was read for its links alone says nothing of code."""
    line = {**line, "needed": [*line["needed"], *line.get("needed_cuda", ())]}
    found = wheelfiles.make_row({"code": [], **line}, rule.wheel, own_cuda)
    if "code" not in line:
        ref = found["evidence"]["ref"]
        found.update(code=None, evidence={"kind": "declared", "ref": f"METADATA and links of {ref}"})
    return found


def _add_windows(versions: list[Row], lines: dict[str, Row], rule: Rule) -> None:
    """What differs for Windows: its wheel and the code in it. What that links its libraries do not say."""
    for row in versions:
        if (line := lines.get(row["version"])) is not None:
            found = wheelfiles.make_row(line, rule.wheel, {})
            row["windows"] = {key: found[key] for key in ("file", "sha256", "pythons", "code", "evidence")}
            needs = [name for name in row["needs"] if not name.startswith("libnccl")]  # there is none for Windows
            if not found["code"]:
                row["windows"] |= {"cuda": None, "needs": []}
            elif needs != row["needs"]:
                row["windows"]["needs"] = needs


def default_torch(compat: Path) -> list[Row]:
    """The default index's own torch for Linux on x86_64, newest first: the CUDA that packages of its time link."""
    found = []
    for path in compat.glob("torch-*.json"):
        for build_ in json.loads(path.read_text(encoding="utf-8"))["builds"]:
            if build_["backend"] == "default" and build_["platform"] == "linux-x86_64":
                row = wheelfiles.empty_row(
                    build_["version"], {"kind": build_["evidence"]["kind"], "ref": build_["evidence"]["ref"]}
                )
                found.append({**row, "cuda": build_["cuda"], "platforms": ["linux-x86_64"]})
    return sorted(found, key=lambda row: Version(row["version"]), reverse=True)


def _from_source(rule_name: str, source: Source, rule: Rule) -> Row:
    code = [{"path": rule_name, "main": True, "cuda": None, "arches": " ".join(source.arches)}]
    return {
        **wheelfiles.empty_row(source.version, {"kind": "declared", "ref": source.source}),
        "requires": list(source.requires),
        "links_torch": bool(rule.links_torch),
        "code": code if source.arches else None,
    }


def _fill_unread(versions: list[Row]) -> None:
    """Give an unread version what its nearest read neighbours, the newer and the older, have in common."""
    read = [place for place, row in enumerate(versions) if row["code"]]
    for place, row in enumerate(versions):
        newer = max((each for each in read if each < place), default=None)
        older = min((each for each in read if each > place), default=None)
        near = [versions[each] for each in (newer, older) if each is not None]
        if row["cuda"] is None and row["code"] is None and near and not any(_per_cuda(each) for each in near):
            majors = {each["cuda"].partition(".")[0] for each in near if each["cuda"]}
            row["cuda"] = majors.pop() if len(majors) == 1 else None
            row["needs"] = [name for name in near[0]["needs"] if all(name in each["needs"] for each in near)]
        if row["code"] is not None or newer is None or older is None:
            continue
        common = _common(versions[newer], versions[older])
        if common:
            row["code"] = common
            names = f"{versions[older]['version']} and {versions[newer]['version']}"
            row["evidence"]["ref"] += f"; its code is what {names} have in common, which were read"


def _per_cuda(row: Row) -> bool:
    return any(library["cuda"] for library in row["code"] or ())


def _common(newer: Row, older: Row) -> list[Row]:
    if _per_cuda(newer) or _per_cuda(older):
        return []
    mains = [set(library["arches"].split()) for row in (newer, older) for library in row["code"] if library["main"]]
    held = set.intersection(*mains) if mains else set()
    if not held:
        return []
    order = newer["code"][0]["arches"].split() + older["code"][0]["arches"].split()
    arches = " ".join(dict.fromkeys(arch for arch in order if arch in held))
    found = [
        {
            "path": next(library["path"] for library in newer["code"] if library["main"]),
            "main": True,
            "cuda": None,
            "arches": arches,
        }
    ]
    before = {library["path"]: library for library in older["code"]}
    for library in newer["code"]:
        other = before.get(library["path"])
        if other is not None and not library["main"]:
            both = [arch for arch in library["arches"].split() if arch in other["arches"].split()]
            found.append({**library, "arches": " ".join(both)})
    return found
