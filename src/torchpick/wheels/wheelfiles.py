"""Which wheel of a version is read, how much of it, and what was read as a line of evidence and of the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile
from typing import Any
from zipfile import ZipInfo

from torchpick.environment.distributions import VERSION_FILE, TorchFacts, parse_version_file
from torchpick.errors import WheelError, WheelLayoutError
from torchpick.index import wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.index.ranges import Archive, metadata_of
from torchpick.index.wheelnames import parsed_version
from torchpick.model.fields import written
from torchpick.model.metadata import MOST_REQUIRES, read_headers
from torchpick.model.package import Package, WheelRule, within
from torchpick.model.versions import grouped, parsed
from torchpick.wheels import fatbin, librarycode
from torchpick.wheels.fatbin import Buffer
from torchpick.wheels.librarycode import Library
from torchpick.wheels.readings import (
    DEFAULT_WHOLE,
    FLAGS,
    PYTHON_LIBRARIES,
    SAMPLE,
    WHOLE,
    Reading,
    compiled_flags,
)

# A sample may cost so much of the wheel, its directory included.
SAMPLE_SHARE = 0.05
_APART = 64 << 10  # libraries of a sample that lie closer than this come in one request
_MOST_TEXT = 1 << 20
MOST_IN_MEMORY = 32 << 20
# The libraries beside libtorch_cuda that hold kernels of their own, read where they are no larger than this (packed).
_SMALL = re.compile(r"torch/lib/(lib)?torch_(cuda_linalg|nvshmem)\.(so|dll)")
_MOST_PACKED = 96 << 20


def read_wheel(
    archive: Archive, file: str, depth: str | None = None, most: int | None = None, main: str = ""
) -> Reading:
    """Read a wheel as deep as asked; by default as deep as is cheap and enough, or as so many bytes allow.

    `main` matches the libraries that matter most to a sample.
    """
    named = wheelnames.parse(file)
    if depth is None and named is not None and named.project == "torch":
        torch = torch_of(archive)
        if torch and (torch.flags or torch.cuda is None):
            return _reading(archive, file, FLAGS, torch)
    members = archive.members()
    archive.check_overlap()
    wanted = [member for member in members if wheelnames.may_hold_code(member.filename)]
    wanted.sort(key=lambda member: member.header_offset)
    packed = sum(member.compress_size for member in wanted)
    if depth is None:
        is_remote = archive.source.requests > 0
        depth = SAMPLE if is_remote and packed > (most or DEFAULT_WHOLE) else WHOLE
    present = {member.filename for member in members}
    torch = torch_of(archive) if depth == WHOLE and not present.isdisjoint(PYTHON_LIBRARIES) else None
    compilers = () if torch is not None else wheelnames.compilers(present)
    metadata = metadata_of(archive)
    needed: set[str] = set()
    most = most or int(archive.source.size * SAMPLE_SHARE)
    libraries = _whole(archive, wanted, needed) if depth == WHOLE else _sample(archive, wanted, needed, most, main)
    telling = tuple(library for library in libraries if library.holds_code or library.notes or not library.complete)
    unread = len(wanted) - len(libraries)
    return _reading(archive, file, depth, torch)._replace(
        libraries=telling,
        compilers=compilers,
        complete=depth == WHOLE and all(library.complete for library in telling),
        notes=(f"{unread} of {len(wanted)} libraries were not read",) if unread else (),
        needed=tuple(sorted(needed)),
        unread=unread,
        metadata=metadata,
    )


def _reading(archive: Archive, file: str, depth: str, torch: TorchFacts | None) -> Reading:
    """What is known without any library; what it cost so far."""
    source = archive.source
    named = wheelnames.parse(file)
    version = torch.version if torch and torch.version else named.version if named else None
    return Reading(
        target=file,
        depth=depth,
        complete=True,
        size=source.size,
        bytes_read=source.bytes_read,
        requests=source.requests,
        name=named.project if named else None,
        version=version,
        file=file,
        torch=torch,
    )


def read_release(archive: Archive, link: ProjectFile) -> Reading:
    """A torch wheel as far as the table needs it: its flags, what it requires, and its small libraries."""
    torch = torch_of(archive)
    if torch is None:
        hint = "it is not a PyTorch wheel that torchpick knows"
        raise WheelLayoutError(f"{link.file} contains no torch/version.py", hint=hint)
    if not torch.flags and (torch.cuda is not None or torch.hip is not None):
        # It counts as a build without GPU code only if it says so.
        hint = "run `torchpick inspect --deep` to read its libraries"
        raise WheelLayoutError(f"{link.file} names no architectures", hint=hint)
    metadata = metadata_of(archive)
    small = [member for member in archive.members() if _SMALL.fullmatch(member.filename) and torch.cuda is not None]
    small = [member for member in small if member.compress_size <= _MOST_PACKED]
    libraries = _whole(archive, sorted(small, key=lambda member: member.header_offset), set())
    with_code = tuple(library for library in libraries if library.holds_code)
    return _reading(archive, link.file, FLAGS, torch)._replace(libraries=with_code, metadata=metadata)


def torch_of(archive: Archive) -> TorchFacts | None:
    """What a torch wheel reports about itself; None if it is not torch."""
    members = archive.find(VERSION_FILE, *PYTHON_LIBRARIES)
    if VERSION_FILE not in members:
        return None
    text = archive.read(members.pop(VERSION_FILE), _MOST_TEXT).decode("utf-8", "replace")
    torch = parse_version_file(text)
    if not members or (torch.cuda is None and torch.hip is None):
        return torch  # a CPU build has no flags: nothing to search for in its library
    library = next(iter(members.values()))
    return torch._replace(flags=compiled_flags(archive.stream(library)) or ())


def _whole(archive: Archive, members: list[ZipInfo], needed: set[str]) -> tuple[Library, ...]:
    archive.expect(members)
    return tuple(_linked(archive, member, needed) for member in members)


@contextmanager
def unpack(chunks: Iterable[bytes], size: int) -> Iterator[Buffer]:
    """The bytes of a library that comes as a stream: in memory where they are few, else mapped from a nameless file."""
    if size <= MOST_IN_MEMORY:
        yield b"".join(chunks)
        return
    with TemporaryFile() as file:
        try:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
        except OSError as error:
            hint = "free some space, or name another folder with TMPDIR"
            raise WheelError(f"cannot be unpacked: {error.strerror}", hint=hint) from error
        if not file.tell():
            yield b""
            return
        with mmap(file.fileno(), 0, access=ACCESS_READ) as mapped:
            yield mapped


def _linked(archive: Archive, member: ZipInfo, needed: set[str]) -> Library:
    """A library read whole; what it links is added to `needed`."""
    with unpack(archive.stream(member), member.file_size) as buffer:
        needed.update(fatbin.read_links(buffer)[0])
        return librarycode.read_buffer(buffer, member.filename)


def _sample(archive: Archive, members: list[ZipInfo], needed: set[str], most: int, main: str) -> tuple[Library, ...]:
    """Small libraries whole, and of the main ones, or the largest, what the rest buys: never the union of all."""
    source = archive.source
    allowance = most - source.bytes_read
    rest = sorted(members, key=lambda member: member.compress_size)
    small: list[ZipInfo] = []
    while rest and rest[0].compress_size <= (allowance // 2 if len(rest) > 1 else allowance):
        allowance -= rest[0].compress_size + _APART
        small.append(rest.pop(0))
    small.sort(key=lambda member: member.header_offset)
    archive.expect(small, _APART)
    libraries = [_linked(archive, member, needed) for member in small]
    # Nothing more fits whole: the largest is the one that tells most, where no other is known to.
    telling = [member for member in rest if main and re.fullmatch(main, member.filename)] or rest[-1:]
    for left, member in zip(range(len(telling), 0, -1), telling, strict=True):
        end = source.bytes_read + (most - source.bytes_read) // left
        with unpack(_until(archive, member, end), member.file_size) as buffer:
            libraries.append(librarycode.read_start(buffer, member.file_size, member.filename))
    return tuple(libraries)


def _until(archive: Archive, member: ZipInfo, most: int) -> Iterator[bytes]:
    """The start of a member, as long as the source has read no more than so many bytes."""
    for chunk in archive.stream(member):
        yield chunk
        if archive.source.bytes_read + (64 << 10) >= most:
            return


def check_is_wheel(file: str) -> None:
    """Refuse, with the reason, a file that is not a wheel by its name."""
    if re.search(r"\.(tar\.(gz|bz2|xz|zst)|tgz)$", file):
        message = f"{file} is source: its GPU code depends on how it is built"
        raise WheelLayoutError(message, hint="build it (`pip wheel`) and inspect the wheel")


# One form for the table, which is made of evidence/packages.jsonl, and for a wheel that is read while installing.

Row = dict[str, Any]
# The CUDA of each of the default index's own torches.
OwnCuda = Mapping[str, str | None]

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
    return {**written(Package("", version), *_KEYS), "evidence": evidence}


def make_row(line: Mapping[str, Any], rule: WheelRule, own_cuda: OwnCuda) -> Row:
    """A line of evidence as a version of its package."""
    number = line["version"]
    linked = [name for name in line["needed"] if not name.startswith(rule.spares)]
    dlopens = next(within(rule.dlopens, number), ())
    code = _code(line, rule)
    requires = _requires(line["requires"], rule, number)
    needs = sorted({*(name for name in linked if _CUDA_LIBRARY.fullmatch(name)), *dlopens})
    majors = {int(match[1]) for name in linked if (match := _MAJOR.fullmatch(name))}
    linked_cuda = str(min(majors)) if majors and not rule.per_cuda else None
    cuda = next(within(rule.cuda, number), linked_cuda)
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
    floor = next(within(rule.jit, number), None)
    falls_back = rule.minor_fallback is not None and next(within({rule.minor_fallback: True}, number), False)
    row = {"minor_fallback": falls_back or None, "optional": rule.optional or None, "jit": floor}
    return {key: value for key, value in row.items() if value is not None}


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
    return [*dict.fromkeys(requires), *within(rule.beyond, number)]


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


# The wheel of one version to read, and the Pythons and platforms that its page has wheels for.
SurveyWheel = tuple[ProjectFile, tuple[str, ...], tuple[str, ...]]


def wheel_to_read(links: Sequence[ProjectFile], platform: str) -> SurveyWheel | None:
    """The wheel to read among those of one version: for the platform or any, CPython 3.12 first."""
    able = [link for link in links if wheelnames.platform_of(link.name.platform) == platform or _of_any(link)]
    if not able:
        return None
    platforms = {"any" if _of_any(link) else wheelnames.platform_of(link.name.platform) for link in links}
    pythons = {_python(link) for link in able}
    return min(able, key=_order), tuple(sorted(pythons)), tuple(sorted(name for name in platforms if name))


def _of_any(link: ProjectFile) -> bool:
    return link.name.platform == "any"


def wheels_of_versions(links: Iterable[ProjectFile], platform: str) -> tuple[SurveyWheel, ...]:
    """The wheel to read of each version for the platform, the newest version first."""
    versions = grouped(
        ((link.name.project, parsed_version(link.name.version)), link) for link in links if link.yanked is None
    )
    return tuple(filter(None, (wheel_to_read(versions[key], platform) for key in sorted(versions, reverse=True))))


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
    link, pythons, platforms = wheel
    headers = grouped(read_headers(reading.metadata or ""))
    # What a library links stands at its end: one that was read in part has not told it.
    partly = 0 if reading.depth == WHOLE else sum(not library.complete for library in reading.libraries)
    return {
        "file": link.file,
        "sha256": link.sha256,
        "project": link.name.project,
        "version": link.name.version,
        "requires_python": next(iter(headers.get("requires-python", [])), None),
        "requires": headers.get("requires-dist", [])[:MOST_REQUIRES],
        "pythons": list(pythons),
        "platforms": list(platforms),
        "glibc": wheelnames.glibc_of(link.name.platform),
        "needed": [name for name in reading.needed if TELLS.match(name)],
        "libraries_unread": reading.unread + partly,
        "yanked": link.yanked is not None,
    }
