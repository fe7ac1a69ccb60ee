"""The user's requirements: words of the command line and the files they name, read as pip reads them."""

from __future__ import annotations

import os
from itertools import islice

from torchpick.environment import requirementfiles
from torchpick.environment.requirementfiles import RequirementLine, beside, decoded, located, read_group, text_of
from torchpick.errors import RequirementError, UsageError
from torchpick.model import NamedTuple
from torchpick.model.address import Address, redacted
from torchpick.model.versions import everyday, leading, normal, parsed, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    # Gives the bytes behind the URL of a requirements file, bounded in size and time.
    Fetch = Callable[[str], bytes]

# Bounds on files from outside; the largest lock in pip's format that was met has 6 MB of hashes.
MOST_FILES = 200
_MOST_ENTRIES = 20_000
_FRONT = r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?\s*"
_WHEEL = r"(?a)([A-Za-z0-9_.]+)-([^-]+)(?:-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl"
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
# Files that only uv or a new pip can read; of these a pyproject.toml may say what it requires.
_OPAQUE = ("pyproject.toml", "setup.py", "setup.cfg")
# Inline metadata (PEP 723): comments to pip, requirements and settings to uv.
_SCRIPT = "# /// script"


class RequirementArgs(NamedTuple):
    """The command line's own words."""

    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    editables: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class Requested(NamedTuple):
    """One requirement. `place` is a URL or a path; `name` is empty where only the place contains it."""

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


class Requirements(NamedTuple):
    """Everything asked for.

    `opaque` are files that stand for a project, which the installer reads itself; `sources` are the lines of every file
    that was read, by its path or URL and whether it was read as constraints.
    """

    given: RequirementArgs
    wanted: tuple[Requested, ...] = ()
    limits: tuple[Requested, ...] = ()
    opaque: tuple[str, ...] = ()
    sources: Mapping[tuple[str, bool], tuple[RequirementLine, ...]] = {}

    @property
    def hashed(self) -> bool:
        """Whether the files pin by hash, so that pip would refuse any requirement without one."""
        return any(requirement.hashed for requirement in self.wanted)


def read_requirements(args: RequirementArgs, environ: Mapping[str, str], fetch: Fetch | None = None) -> Requirements:
    """Read the words and every file; raises UsageError for a file that cannot be read or a word that means nothing.

    A file behind a URL is read by `fetch`, and refused where there is none: an installer that fetches it itself would
    take whatever index it names.
    """
    reader = _Reader(environ, fetch)
    wanted = [parse(word) for word in args.words]
    wanted += [editable(path) for path in args.editables]
    for file in args.files:
        reader.file(file, "-r", limits=False)
    for file in args.constraints:
        reader.file(file, "-c", limits=True)
    for group in args.groups:
        reader.wanted += [parse(text, where) for text, where in read_group(group)]
    return Requirements(args, (*wanted, *reader.wanted), tuple(reader.limits), tuple(reader.opaque), reader.sources)


def read_limits(
    paths: Iterable[str], setting: str, environ: Mapping[str, str], fetch: Fetch | None = None
) -> tuple[Requested, ...]:
    """What the constraints files hold that a setting names."""
    reader = _Reader(environ, fetch)
    for path in paths:
        reader.file(path, setting, limits=True)
    return tuple(limit._replace(where=f"{setting}: {limit.where}") for limit in reader.limits)


class _Reader:
    def __init__(self, environ: Mapping[str, str], fetch: Fetch | None) -> None:
        self.environ = environ
        self.fetch = fetch
        self.wanted: list[Requested] = []
        self.limits: list[Requested] = []
        self.opaque: list[str] = []
        self.sources: dict[tuple[str, bool], tuple[RequirementLine, ...]] = {}

    def file(self, path: str, by: str, *, limits: bool) -> None:
        name = os.path.basename(path)
        if name in _OPAQUE:
            self.opaque.append(path)
            if name == "pyproject.toml" and not limits:
                self.wanted += [parse(text, path) for text in requirementfiles.read_dependencies(path, by) or ()]
            return
        if name.startswith("pylock.") and name.endswith(".toml"):
            hint = f"`pip install -r {name}` or `uv pip sync {name}` installs it"
            raise UsageError(f"{redacted(path)} is a lock, which leaves no torch to pick", hint=hint)
        key = located(path)
        # Named twice, or in a circle; a file may be read as constraints and, by another name of it, as requirements.
        if (key, limits) in self.sources:
            return
        if len(self.sources) >= MOST_FILES:
            raise UsageError(f"more than {MOST_FILES} requirements files", hint="put them into fewer files")
        shown = redacted(key) if "://" in key else min(os.path.relpath(key), key, key=len)
        text = self._remote(key, by) if "://" in key else text_of(key, by)
        if any(line.rstrip() == _SCRIPT for line in text.splitlines()):
            hint = f"`torchpick pin {shown}` writes the pick into it, and `uv run` obeys that"
            raise UsageError(f"{shown} is a script with requirements of its own ({by})", hint=hint)
        self.sources[key, limits] = (*islice(requirementfiles.parse(text, self.environ), _MOST_ENTRIES + 1),)
        if len(self.sources[key, limits]) > _MOST_ENTRIES:
            hint = "leave out what is not asked for"
            raise UsageError(f"{shown} has more than {_MOST_ENTRIES:,} requirements ({by})", hint=hint)
        for entry in self.sources[key, limits]:
            self._entry(entry, key, shown, limits=limits)

    def _remote(self, url: str, by: str) -> str:
        if self.fetch is None or not url.lower().startswith(("http://", "https://")):
            raise UsageError(f"{redacted(url)} ({by}) cannot be read here", hint="download it, and name the file")
        return decoded(self.fetch(url), redacted(url), by)

    def _entry(self, entry: RequirementLine, path: str, shown: str, *, limits: bool) -> None:
        where = f"{shown} line {entry.first}"
        if entry.option == requirementfiles.UNREADABLE:
            raise RequirementError(f"{where}: {entry.value}", hint="write the option out, one on a line")
        if entry.option in ("--requirement", "--constraint"):
            other = beside(path, entry.value)
            if "://" in path and "://" not in located(other):
                raise UsageError(f"{where} names a file of this computer: {redacted(entry.value)}", hint="leave it out")
            self.file(other, where, limits=limits or entry.option == "--constraint")
        elif entry.option == "--editable":
            self.wanted.append(editable(entry.value, where))
        elif not entry.option:
            requirement = parse(entry.value, where)._replace(hashed=entry.hashed)
            (self.limits if limits else self.wanted).append(requirement)


def editable(path: str, where: str = "") -> Requested:
    bare, extras = _extras_off(path)
    _check_address(path, where, bare)
    return Requested(path, where, extras=extras, place=bare, editable=True)


def parse(text: str, where: str = "") -> Requested:
    """One requirement as pip takes it: a name with its specifier, a wheel, a folder, a URL, `name @ URL`."""
    stripped = text.strip()
    name = leading(stripped)
    is_path = _is_path_or_url(stripped)
    if name and not is_path and (specifier := everyday(stripped[len(name) :])) is not None:
        return Requested(stripped, where, normal(name), specifier=specifier)
    front = pattern(_FRONT).match(stripped)
    if front and stripped[front.end() :].startswith("@"):
        url, marker = _marker_off(stripped[front.end() + 1 :].strip())
        return _located(Requested(stripped, where, normal(front[1]), _extras(front[2] or ""), marker=marker, place=url))
    if is_path:
        path, marker = _marker_off(stripped)
        path, extras = _extras_off(path)
        return _located(Requested(stripped, where, extras=extras, marker=marker, place=path))
    try:
        requirement = parsed(stripped)
    except ValueError as error:
        hint = 'such as `torch==2.6.0`, `"torch<2.12"` in quotes, or a path that exists'
        message = f"{_front(where)}`{stripped}` is not a valid requirement: {error}"
        raise RequirementError(message, hint=hint) from error
    extras = tuple(sorted(requirement.extras))
    marker = str(requirement.marker) if requirement.marker else ""
    return Requested(stripped, where, normal(requirement.name), extras, str(requirement.specifier), marker)


def _located(requested: Requested) -> Requested:
    """What lies at a path or URL: of a wheel with what its name says."""
    _check_address(requested.text, requested.where, requested.place)
    name, version = wheel_of(requested.place)
    return requested._replace(name=requested.name or name, specifier=f"=={version}" if version else "")


def _check_address(text: str, where: str, path_or_url: str) -> None:
    """Refuse a URL that pip and uv would read otherwise in a file than alone; a path may have all of it."""
    if "://" not in path_or_url and path_or_url[:5].lower() != "file:":
        return

    try:
        Address(path_or_url)
    except ValueError as error:
        hint = "percent-encode it: a blank is %20, and what follows ` #` would be a comment"
        message = f"{_front(where)}the URL of `{redacted(text)}` is not valid: {error}"
        raise RequirementError(message, hint=hint) from error


def _front(where: str) -> str:
    return f"{where}: " if where else ""


def _marker_off(text: str) -> tuple[str, str]:
    """A URL or path, and the marker after ` ;`; after a URL pip takes `; ` too."""
    path_or_url, mark, marker = text.partition(" ;")
    if not mark and "://" in text:
        path_or_url, _, marker = text.partition("; ")
    return path_or_url.strip(), marker.strip()


def _extras_off(text: str) -> tuple[str, tuple[str, ...]]:
    """`./here[a,b]` → the path and its extras."""
    if not text.endswith("]") or "[" not in text:
        return text, ()
    path, _, inside = text[:-1].rpartition("[")
    return path, _extras(inside)


def _extras(text: str) -> tuple[str, ...]:
    return tuple(sorted(extra.strip() for extra in text.split(",") if extra.strip()))


def _is_path_or_url(text: str) -> bool:
    """As pip decides: a URL, a path, or an archive; a bare name is a project even where such a folder stands."""
    bare, _ = _extras_off(_marker_off(text)[0])
    is_path = os.sep in bare or "/" in bare or bare.startswith((".", "file:"))
    return is_path or bare.lower().endswith(_ARCHIVES)


def wheel_of(path_or_url: str) -> tuple[str, str]:
    """Name and version of the wheel that a URL or path leads to; empty where it leads to none."""
    file = path_or_url.partition("#")[0].partition("?")[0].replace("\\", "/").rpartition("/")[2]
    match = pattern(_WHEEL).fullmatch(file.replace("%2B", "+").replace("%2b", "+"))
    return (normal(match[1]), match[2]) if match else ("", "")
