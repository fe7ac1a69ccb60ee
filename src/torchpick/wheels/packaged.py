"""Which wheel of a version is read, what is read of it as a line of evidence, and the line as compat/packages has it.

One form for the table, which is made of evidence/packages.jsonl, and for a wheel that is read while installing. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from email.parser import HeaderParser
from typing import Any, NamedTuple, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchpick.index import wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.model.fields import written
from torchpick.model.metadata import MOST_REQUIRES
from torchpick.model.package import Package, WheelRule
from torchpick.model.versions import grouped, parsed
from torchpick.wheels.librarycode import Library, texts
from torchpick.wheels.readings import Reading

Row = dict[str, Any]
# The CUDA of each of the default index's own torches.
OwnCuda = Mapping[str, str | None]
T = TypeVar("T")

_CUDA_LIBRARY = re.compile(
    r"lib(cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|nvrtc|nccl|cudnn|nvJitLink)\.so\.\d+(\.0)?"
)
_MAJOR = re.compile(r"lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.(\d+)")
_VARIANT = re.compile(r"cuda(\d\d)(\d)")


# A row's keys beside its evidence, in the order of the files.
_KEYS = (
    *("version", "file", "sha256", "requires_python", "pythons", "platforms", "glibc", "requires", "cuda"),
    *("links_torch", "needs", "preloads", "yanked", "code"),
)


def empty_row(version: str, evidence: dict[str, str]) -> Row:
    """A version of which nothing is known."""
    return {**written(Package("", version), *_KEYS), "evidence": evidence}


def make_row(line: Mapping[str, Any], rule: WheelRule, own_cuda: OwnCuda) -> Row:
    """A line of evidence as a version of its package."""
    number = line["version"]
    linked = line["needed"]
    dlopens = next(_within(rule.dlopens, number), ())
    code = _code(line, rule)
    requires = _requires(line["requires"], rule, number)
    needs = sorted({*(name for name in linked if _CUDA_LIBRARY.fullmatch(name)), *dlopens})
    majors = {int(match[1]) for name in linked if (match := _MAJOR.fullmatch(name))}
    linked_cuda = str(min(majors)) if majors and not rule.per_cuda else None
    cuda = next(_within(rule.cuda, number), linked_cuda)
    torch = any(name.startswith(("libtorch", "libc10")) for name in linked)
    whole = all(library.get("whole", True) for library in line["code"])
    ref = f"{line['file']} sha256:{line['sha256']}"
    kind = "measured" if whole or not code else "declared"
    return {
        **empty_row(number, {"kind": kind, "ref": ref if kind == "measured" else f"METADATA and links of {ref}"}),
        **{key: line[key] for key in ("file", "sha256", "pythons", "platforms", "glibc", "yanked")},
        "requires_python": line["requires_python"] or "",
        "requires": requires,
        "cuda": _with_minor(cuda, requires, own_cuda),
        "links_torch": torch if torch or rule.links_torch is None else rule.links_torch,
        "needs": [] if rule.per_cuda else needs,
        "preloads": rule.preloads,
        "code": code,
        **_said_by(rule, number),
    }


def _said_by(rule: WheelRule, number: str) -> Row:
    """What the rule says of few packages, where it says it of this version."""
    floor = rule.jit_for(number)
    falls_back = rule.minor_fallback is not None and next(_within({rule.minor_fallback: True}, number), False)
    row = {"minor_fallback": falls_back or None, "optional": rule.optional or None, "jit": floor}
    return {key: value for key, value in row.items() if value is not None}


def _within(by_specifier: Mapping[str, T], number: str) -> Iterator[T]:
    """The value of each specifier that has the version."""
    return (value for text, value in by_specifier.items() if SpecifierSet(text).contains(number, prereleases=True))


def _code(line: Mapping[str, Any], rule: WheelRule) -> list[Row]:
    rows: dict[str, Row] = {}
    for library in line["code"]:
        path = library["path"]
        arches = [arch for arch in (*library["sass"], *library["ptx"]) if arch not in rule.few]
        match = _VARIANT.search(path) if rule.per_cuda else None
        name = path.rpartition("/")[2]
        if "mscclpp" in name or ".libs/libnvjpeg" in path or not arches:
            continue  # collectives and decoders that the package does without
        rows[path] = {
            "path": path,
            "main": bool(rule.main) and re.fullmatch(rule.main, path) is not None,
            "cuda": f"{match[1]}.{match[2]}" if match else None,
            "arches": " ".join(arches),
            **({} if library.get("whole", True) else {"whole": False}),
        }
    return list(rows.values())


def _requires(texts: Iterable[str], rule: WheelRule, number: str) -> list[str]:
    """What METADATA requires, each line in the usual form, and what it leaves out."""
    requires = []
    for text in texts:
        with suppress(ValueError):  # the installer has its own opinion of such a line
            requires.append(str(parsed(text)))
    return [*dict.fromkeys(requires), *rule.beyond_for(number)]


def _with_minor(cuda: str | None, requires: list[str], own_cuda: OwnCuda) -> str | None:
    """The toolkit's minor, where the package is pinned to a torch: that of the default index's own."""
    if cuda is None or "." in cuda:
        return cuda
    for text in requires:
        requirement = parsed(text)
        if requirement.name == "torch":
            for clause in requirement.specifier:
                release = clause.version if clause.version.count(".") >= 2 else f"{clause.version}.0"
                toolkit = own_cuda.get(release) if clause.operator in ("==", ">=") else None
                if toolkit is not None and toolkit.partition(".")[0] == cuda:
                    return toolkit
    return cuda


# What says which CUDA is linked, and whether torch is.
TELLS = re.compile(r"lib(torch|c10|cu[a-z]|nv|nccl|npp)")


class SurveyWheel(NamedTuple):
    """One version of a project on one platform: the wheel to read, and what its page says of all of them."""

    link: ProjectFile
    pythons: tuple[str, ...]
    platforms: tuple[str, ...]


def wheel_of_version(links: Iterable[ProjectFile], version: str, platform: str = "linux-x86_64") -> SurveyWheel | None:
    """The wheel of this version for the platform (or for any), CPython 3.12 first; None where there is none."""
    return _best([link for link in links if Version(link.name.version) == Version(version)], platform)


def _best(links: Sequence[ProjectFile], platform: str) -> SurveyWheel | None:
    """The wheel to read among those of one version."""
    able = [link for link in links if wheelnames.platform_of(link.name.platform) == platform or _of_any(link)]
    if not able:
        return None
    platforms = {"any" if _of_any(link) else wheelnames.platform_of(link.name.platform) for link in links}
    pythons = {_python(link) for link in able}
    return SurveyWheel(min(able, key=_order), tuple(sorted(pythons)), tuple(sorted(name for name in platforms if name)))


def _of_any(link: ProjectFile) -> bool:
    return link.name.platform == "any"


def wheels_of_versions(links: Iterable[ProjectFile], platform: str) -> tuple[SurveyWheel, ...]:
    """The wheel to read of each version for the platform, the newest version first."""
    versions = grouped(((link.name.project, Version(link.name.version)), link) for link in links if link.yanked is None)
    return tuple(filter(None, (_best(versions[key], platform) for key in sorted(versions, reverse=True))))


def _python(link: ProjectFile) -> str:
    """`cp312`; `cp38+` for one that every later CPython loads (abi3, py3)."""
    wheel = link.name
    if wheel.abi == "abi3":
        return f"{wheel.python}+"
    if wheel.abi == "none":
        return "any"
    return f"{wheel.python}t" if wheel.abi.endswith("t") else wheel.python


def _order(link: ProjectFile) -> tuple[bool, bool, bool, str]:
    """A wheel of this platform before one for any, the usual CPython before the free-threaded one.

    One wheel of a version is read, for this Python where there is one: all are built from the same kernels.
    """
    wheel = link.name
    return _of_any(link), wheel.abi.endswith("t"), wheel.python != "cp312", link.file


def evidence_line(wheel: SurveyWheel, reading: Reading) -> Row:
    """What is known of the wheel beside its code, as a line of evidence has it."""
    link = wheel.link
    headers = HeaderParser().parsestr(reading.metadata or "")
    return {
        "file": link.file,
        "sha256": link.sha256,
        "project": link.name.project,
        "version": link.name.version,
        "requires_python": headers.get("Requires-Python"),
        "requires": (headers.get_all("Requires-Dist") or [])[:MOST_REQUIRES],
        "pythons": list(wheel.pythons),
        "platforms": list(wheel.platforms),
        "glibc": wheelnames.glibc_of(link.name.platform),
        "needed": [name for name in reading.needed if TELLS.match(name)],
        "libraries_unread": reading.unread,
        "yanked": link.yanked is not None,
    }


def code_line(library: Library) -> Row:
    return {"path": library.path, "sass": texts(library.sass), "ptx": texts(library.ptx)}
