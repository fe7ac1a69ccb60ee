"""evidence/packages.jsonl and the rules beside it → compat/packages/NAME.json.

A version whose wheel was read whole is `measured`. One of which METADATA and links alone were read is `declared`: its
code is what the nearest read versions on both sides have in common.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from scripts.table import layout
from scripts.table.package_rules import RULES, Rule, Source
from torchpick.model.names import normal

ROOT = Path(__file__).parents[2]
COMPAT = ROOT / "compat"
EVIDENCE = ROOT / "evidence" / "packages.jsonl"
Row = dict[str, Any]
T = TypeVar("T")

_FAMILY = ("torch", "torchvision", "torchaudio", "triton")
# Pure Python that is pinned to the last digit: which one is no question of CUDA.
_NOT_KEPT = ("flashinfer-python", "accelerate", "timm", "torchdata")
_NVIDIA = re.compile(
    r"nvidia-(cuda-runtime|cublas|cufft|curand|cusolver|cusparse|cuda-nvrtc|nccl|cudnn|nvjitlink)(-cu\d\d)?"
)
_CUDA_LIBRARY = re.compile(
    r"lib(cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|nvrtc|nccl|cudnn|nvJitLink)\.so\.\d+(\.0)?"
)
_MAJOR = re.compile(r"lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.(\d+)")
_VARIANT = re.compile(r"cuda(\d\d)(\d)")


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


def build(evidence: Iterable[Row], compat: Path) -> dict[str, dict[str, Any]]:
    """Every file of compat/packages, by its package's name."""
    torch = default_torch(compat)
    own = {row["version"]: row["cuda"] for row in torch}
    found: dict[str, dict[str, Any]] = {"torch": {"schema": 1, "name": "torch", "versions": torch}}
    by_project: dict[str, list[Row]] = {}
    for row in evidence:
        by_project.setdefault(row["project"], []).append(row)
    for name, rule in sorted(RULES.items()):
        rows = sorted(by_project.get(name, ()), key=lambda row: Version(row["version"]), reverse=True)
        versions = [_version(row, rule, own) for row in rows]
        _fill_unread(versions)
        versions += [_from_source(name.replace("-", "_"), source, rule) for source in rule.sources]
        value: dict[str, Any] = {"schema": 1, "name": name}
        for key in ("source_only", "refused", "advice"):
            if (text := getattr(rule, key)) is not None:
                value[key] = text
        if rule.wheel_host:
            value["wheel_host"] = True
        if rule.rivals:
            value["rivals"] = list(rule.rivals)
        if rule.places:
            value["elsewhere"] = [{**place._asdict(), "cuda": list(place.cuda)} for place in rule.places]
        found[name] = {**value, "versions": versions}
    return found


def default_torch(compat: Path) -> list[Row]:
    """The default index's own torch for Linux on x86_64, newest first: the CUDA that packages of its time link."""
    found = []
    for path in compat.glob("torch-*.json"):
        for build_ in json.loads(path.read_text(encoding="utf-8"))["builds"]:
            if build_["backend"] == "default" and build_["platform"] == "linux-x86_64":
                row = _empty(build_["version"], {"kind": build_["evidence"]["kind"], "ref": build_["evidence"]["ref"]})
                found.append({**row, "cuda": build_["cuda"], "platforms": ["linux-x86_64"]})
    return sorted(found, key=lambda row: Version(row["version"]), reverse=True)


def _empty(version: str, evidence: dict[str, str]) -> Row:
    return {
        "version": version,
        "file": None,
        "sha256": None,
        "requires_python": "",
        "pythons": ["any"],
        "platforms": ["any"],
        "glibc": None,
        "requires": [],
        "cuda": None,
        "links_torch": False,
        "needs": [],
        "preloads": False,
        "yanked": False,
        "code": [],
        "evidence": evidence,
    }


def _version(row: Row, rule: Rule, own: dict[str, str | None]) -> Row:
    version = row["version"]
    linked = [*row["needed"], *row.get("needed_cuda", ())]
    dlopens = _within(rule.dlopens, version) or ()
    code = _code(row, rule)
    requires = _requires(row["requires"], rule, version)
    needs = sorted({*(name for name in linked if _CUDA_LIBRARY.fullmatch(name)), *dlopens})
    majors = {int(match[1]) for name in linked if (match := _MAJOR.fullmatch(name))}
    cuda = _within(rule.cuda, version) or (str(min(majors)) if majors and not rule.per_cuda else None)
    torch = any(name.startswith(("libtorch", "libc10")) for name in linked)
    whole = "code" in row
    if whole and not row["code"] and not majors and not rule.cuda:
        code = []
    if (
        not whole
        and not row["libraries_unread"]
        and not any(name.startswith("lib") for name in linked if "torch" not in name)
    ):
        code = []  # every library was read for what it links, and none links CUDA
    ref = f"{row['file']} sha256:{row['sha256']}"
    kind = "measured" if code is not None and (whole or not code) else "declared"
    return {
        **_empty(version, {"kind": kind, "ref": ref if kind == "measured" else f"METADATA and links of {ref}"}),
        "file": row["file"],
        "sha256": row["sha256"],
        "requires_python": row["requires_python"] or "",
        "pythons": row["pythons"],
        "platforms": row["platforms"],
        "glibc": row["glibc"],
        "requires": requires,
        "cuda": _with_minor(cuda, requires, own),
        "links_torch": torch if torch or rule.links_torch is None else rule.links_torch,
        "needs": [] if rule.per_cuda else needs,
        "preloads": rule.preloads,
        "yanked": row["yanked"],
        "code": code,
    }


def _within(by_specifier: Mapping[str, T], version: str) -> T | None:
    """The value of the first specifier that has the version."""
    return next(
        (value for text, value in by_specifier.items() if SpecifierSet(text).contains(version, prereleases=True)), None
    )


def _code(row: Row, rule: Rule) -> list[Row] | None:
    if "code" not in row:
        return None if row["libraries_unread"] or row["needed"] else []
    found: dict[str, Row] = {}
    for library in row["code"]:
        path = library["path"]
        arches = [arch for arch in (*library["sass"], *library["ptx"]) if arch not in rule.few]
        match = _VARIANT.search(path) if rule.per_cuda else None
        name = path.rpartition("/")[2]
        if "mscclpp" in name or ".libs/libnvjpeg" in path or not arches:
            continue  # collectives and decoders that the package does without
        found[path] = {
            "path": path,
            "main": bool(rule.main) and re.fullmatch(rule.main, path) is not None,
            "cuda": f"{match[1]}.{match[2]}" if match else None,
            "arches": " ".join(arches),
        }
    return list(found.values())


def _requires(texts: Iterable[str], rule: Rule, version: str) -> list[str]:
    """The requirements that say something about CUDA."""
    found = []
    for text in texts:
        requirement = Requirement(text)
        name = normal(requirement.name)
        ours = (name in _FAMILY or name in RULES or _NVIDIA.fullmatch(name)) and name not in _NOT_KEPT
        if not ours and name not in ("cuda-toolkit", "cuda-pathfinder", "onnxruntime"):
            continue
        if requirement.marker is not None and "extra" in str(requirement.marker) and not rule.extras:
            continue
        found.append(str(requirement))
    found += [
        each.requirement for each in rule.beyond if SpecifierSet(each.versions).contains(version, prereleases=True)
    ]
    return found


def _with_minor(cuda: str | None, requires: list[str], own: dict[str, str | None]) -> str | None:
    """The toolkit's minor, where the package is pinned to a torch: that of the default index's own."""
    if cuda is None or "." in cuda:
        return cuda
    for text in requires:
        requirement = Requirement(text)
        if requirement.name == "torch":
            for clause in requirement.specifier:
                known = own.get(_release(clause.version)) if clause.operator in ("==", ">=") else None
                if known is not None and known.partition(".")[0] == cuda:
                    return known
    return cuda


def _release(version: str) -> str:
    return version if version.count(".") >= 2 else f"{version}.0"


def _from_source(rule_name: str, source: Source, rule: Rule) -> Row:
    code = [{"path": rule_name, "main": True, "cuda": None, "arches": " ".join(source.arches)}]
    return {
        **_empty(source.version, {"kind": "declared", "ref": source.source}),
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
