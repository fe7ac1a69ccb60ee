"""What the user asks an installer for: words of the command line and the files they name, read as pip reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from torchpick.errors import RequirementError, UsageError
from torchpick.install import lines
from torchpick.model.noun import Noun
from torchpick.requirements import normal

# Bounds on files from outside; the largest lock in pip's format that was met has 6 MB of hashes.
MOST_BYTES = 16 << 20
MOST_FILES = 200
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_FRONT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?\s*")
_WHEEL = re.compile(r"([A-Za-z0-9_.]+)-([^-]+)(?:-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl", re.ASCII)
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
# Files that only uv or a new pip can read; what they ask of torch is learnt from the installer.
_OPAQUE = ("pyproject.toml", "setup.py", "setup.cfg", "pylock.toml")


class Given(Noun):
    """The command line's own words."""

    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    editables: tuple[str, ...] = ()


class Wanted(Noun):
    """One requirement. `place` is a URL or a path; `name` is empty where only the place can tell it."""

    text: str
    where: str
    name: str = ""
    extras: tuple[str, ...] = ()
    specifier: str = ""
    marker: str = ""
    place: str = ""
    editable: bool = False
    hashed: bool = False

    @property
    def source(self) -> str:
        """How a message calls it."""
        return f"`{self.text}` ({self.where})" if self.where else f"`{self.text}`"


class Source(Noun):
    """One requirements or constraints file: its text, the entries in it, and the files it names."""

    path: str
    text: str
    entries: tuple[lines.Entry, ...]


class Asked(Noun):
    """Everything asked for. `opaque` are files that only the installer can read; `sources` every file that was read."""

    given: Given
    wanted: tuple[Wanted, ...] = ()
    limits: tuple[Wanted, ...] = ()
    opaque: tuple[str, ...] = ()
    sources: Mapping[str, Source] = {}

    @property
    def hashed(self) -> bool:
        """Whether the files pin by hash, so that pip would refuse any requirement without one."""
        return any(each.hashed for each in self.wanted)


def read(given: Given, environ: Mapping[str, str]) -> Asked:
    """Read the words and every file; raises UsageError for a file that cannot be read or a word that means nothing."""
    reader = _Reader(environ)
    wanted = [parse(word) for word in given.words]
    wanted += [editable(path) for path in given.editables]
    for file in given.files:
        reader.file(file, "-r", limits=False)
    for file in given.constraints:
        reader.file(file, "-c", limits=True)
    return Asked(given, (*wanted, *reader.wanted), tuple(reader.limits), tuple(reader.opaque), reader.sources)


class _Reader:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.wanted: list[Wanted] = []
        self.limits: list[Wanted] = []
        self.opaque: list[str] = []
        self.sources: dict[str, Source] = {}

    def file(self, path: str, by: str, *, limits: bool) -> None:
        if "://" in path or os.path.basename(path) in _OPAQUE or os.path.basename(path).startswith("pylock."):
            self.opaque.append(path)
            return
        key = os.path.abspath(path)
        if key in self.sources:  # named twice, or in a circle
            return
        if len(self.sources) >= MOST_FILES:
            raise UsageError(f"more than {MOST_FILES} requirements files", hint="put them into fewer files")
        text = text_of(path, by)
        entries = lines.parse(text, self.environ)
        self.sources[key] = Source(key, text, entries)
        for entry in entries:
            self._entry(
                entry, key, os.path.relpath(key) if len(os.path.relpath(key)) < len(key) else key, limits=limits
            )

    def _entry(self, entry: lines.Entry, path: str, shown: str, *, limits: bool) -> None:
        where = f"{shown} line {entry.first}"
        if entry.option in ("--requirement", "--constraint"):
            self.file(beside(path, entry.value), where, limits=limits or entry.option == "--constraint")
        elif entry.option == "--editable":
            self.wanted.append(editable(entry.value, where))
        elif not entry.option:
            found = parse(entry.value, where)._replace(hashed=entry.hashed)
            (self.limits if limits else self.wanted).append(found)


def beside(path: str, other: str) -> str:
    """The file that a requirements file names: relative to that file, unless it is a URL."""
    return other if "://" in other else os.path.join(os.path.dirname(path), other)


def text_of(path: str, by: str) -> str:
    """The text of a requirements file in the encodings pip takes."""
    hint = f"check the path behind `{by}`"
    try:
        with open(path, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    if len(data) > MOST_BYTES:
        raise UsageError(f"{path}: is larger than {MOST_BYTES >> 20} MiB, so it is no requirements file", hint=hint)
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: is no text ({error.reason} at byte {error.start})", hint="save it as UTF-8"
        ) from error
    if "\0" in text:
        raise UsageError(f"{path}: is no text, it holds zero bytes", hint=hint)
    return text


# The longer mark first: UTF-32's little-endian mark begins with UTF-16's.
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def editable(path: str, where: str = "") -> Wanted:
    bare, extras = _extras_off(path)
    return Wanted(path, where, extras=extras, place=bare, editable=True)


def parse(text: str, where: str = "") -> Wanted:
    """One requirement as pip takes it: a name with its specifier, a wheel, a folder, a URL, `name @ URL`."""
    stripped = text.strip()
    if _NAME.fullmatch(stripped) and not _is_place(stripped):
        return Wanted(stripped, where, normal(stripped))
    front = _FRONT.match(stripped)
    if front and stripped[front.end() :].startswith("@"):
        return _at_place(stripped, where, front)
    if _is_place(stripped):
        bare, marker = _marker_off(stripped)
        bare, extras = _extras_off(bare)
        name, version = wheel_of(bare)
        return Wanted(stripped, where, name, extras, f"=={version}" if version else "", marker, bare)
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(stripped)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0] if str(error) else "it cannot be parsed"
        at = f"{where}: " if where else ""
        hint = 'such as `"torch<2.12"`, in quotes, or a path that exists'
        raise RequirementError(f"{at}`{stripped}` is no requirement: {reason}", hint=hint) from error
    extras = tuple(sorted(requirement.extras))
    marker = str(requirement.marker) if requirement.marker else ""
    return Wanted(stripped, where, normal(requirement.name), extras, str(requirement.specifier), marker)


def _at_place(text: str, where: str, front: re.Match[str]) -> Wanted:
    place, marker = _marker_off(text[front.end() + 1 :].strip())
    extras = tuple(sorted(each.strip() for each in (front[2] or "").split(",") if each.strip()))
    _, version = wheel_of(place)
    return Wanted(text, where, normal(front[1]), extras, f"=={version}" if version else "", marker, place)


def _marker_off(text: str) -> tuple[str, str]:
    """A URL or path, and the marker after ` ;`."""
    place, _, marker = text.partition(" ;")
    return place.strip(), marker.strip()


def _extras_off(text: str) -> tuple[str, tuple[str, ...]]:
    """`./here[a,b]` → the path and its extras."""
    if not text.endswith("]") or "[" not in text:
        return text, ()
    path, _, inside = text[:-1].rpartition("[")
    return path, tuple(sorted(each.strip() for each in inside.split(",") if each.strip()))


def _is_place(text: str) -> bool:
    """As pip decides: a URL, a path, or an archive; a bare name is a project even where such a folder stands."""
    bare, _ = _extras_off(_marker_off(text)[0])
    if "://" in bare or bare.startswith(("git+", "hg+", "svn+", "bzr+", "file:")):
        return True
    looks_like_path = os.sep in bare or "/" in bare or bare.startswith(".")
    return looks_like_path or bare.lower().endswith(_ARCHIVES)


def wheel_of(place: str) -> tuple[str, str]:
    """Name and version of the wheel that a URL or path leads to; empty where it leads to none."""
    file = place.partition("#")[0].partition("?")[0].replace("\\", "/").rpartition("/")[2]
    match = _WHEEL.fullmatch(file.replace("%2B", "+").replace("%2b", "+"))
    return (normal(match[1]), match[2]) if match else ("", "")


def of_family(asked: Asked, family: Iterable[str], applies: Mapping[str, bool]) -> tuple[str, ...]:
    """What is asked of the torch family, as requirements without marker, extra or place: what a Wish can hold.

    `applies` says of each marker whether it holds in the target environment.
    """
    names = set(family)
    found = []
    for each in asked.wanted:
        if each.name in names and applies.get(each.marker, True):
            _check(each)
            found.append(each.name + each.specifier)
    asked_for = {each.name for each in asked.wanted}
    for each in asked.limits:
        # A limit on a companion that nobody asks for must not make the pick look for it.
        if each.name in names and applies.get(each.marker, True) and each.name in {"torch", *asked_for}:
            _check(each)
            found.append(each.name + each.specifier)
    return tuple(found)


def _check(each: Wanted) -> None:
    if each.place and not each.specifier:
        hint = "ask for a release, such as `torch==2.14.1`, or run pip yourself; `torchpick list` shows what runs"
        raise RequirementError(f"{each.source} is no wheel, so nobody can say which GPUs it will serve", hint=hint)
    if each.hashed and each.name == "torch" and "+" not in each.specifier:
        hint = "pin the exact build there, such as `torch==2.14.1+cu126` with its hash, or leave torch out of that file"
        raise RequirementError(f"{each.where} pins the bytes of another torch by their hash", hint=hint)


def outsiders(asked: Asked, family: Iterable[str]) -> tuple[Wanted, ...]:
    """What is not of the family: each may ask for a torch of its own."""
    names = set(family)
    return tuple(each for each in asked.wanted if each.name not in names)


def markers(asked: Asked) -> tuple[str, ...]:
    return tuple(sorted({each.marker for each in (*asked.wanted, *asked.limits) if each.marker}))
