"""What is known of packages beside torch; a stack: one environment, each pin with its reason, or what prevents it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum

from torchpick.errors import NoBuildError
from torchpick.model import NamedTuple
from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence, Objection
from torchpick.model.fields import dumps, envelope, html, plain, written
from torchpick.model.machine import Machine, Note
from torchpick.model.pick import Pick, Wish
from torchpick.model.versions import admits, grouped, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


class Stage(Enum):
    """How much of a version is known: that an index has a file of it; its METADATA too; and its GPU code."""

    LISTED = "listed"
    DESCRIBED = "described"
    READ = "read"


class LibraryCode(NamedTuple):
    """The GPU code of one library. `main` marks what the package cannot do without.

    `cuda` is set where the wheel has one such library for each CUDA and loads the one of torch's own (bitsandbytes).
    Where only a part was read, `whole` is false, and what is missing is not known to be missing.
    """

    path: str
    arches: tuple[Arch, ...]
    main: bool = True
    cuda: str | None = None
    whole: bool = True


class Package(NamedTuple):
    """One version of a package, as its wheel for Linux or Windows on x86-64 is.

    `requires` is its whole Requires-Dist, and what that leaves out. `pythons` are `cp312`, `cp38+` for every later one,
    or `any`. `cuda` is the CUDA it links (`12`, or `12.8` where that is known),
    None for none. `needs` are the libraries it expects the environment to provide; `preloads` says that it finds those
    of its own nvidia-* requirements by itself. `code` None means that it is not known. `place` is the page that has the
    wheel, where that is not an index of the user's, or the file itself, with its hash where that is known: it was named
    there, and not read.

    `minor_fallback` says that a wheel with one library for each CUDA loads the nearest one of torch's CUDA major where
    it has none for torch's own: the newest that is not newer, else the oldest. With `optional` its libraries are loaded
    where they can be and done without elsewhere. `jit` is the oldest GPU (`sm_90`) for which it compiles its kernels at
    run time, empty where that is not known; None where none are.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    requires_python: str = ""
    pythons: tuple[str, ...] = ("any",)
    platforms: tuple[str, ...] = ("any",)
    glibc: str | None = None
    cuda: str | None = None
    links_torch: bool = False
    needs: tuple[str, ...] = ()
    preloads: bool = False
    code: tuple[LibraryCode, ...] | None = ()
    file: str | None = None
    sha256: str | None = None
    place: str = ""
    yanked: bool = False
    evidence: Evidence = Evidence("declared", "")
    stage: Stage = Stage.READ
    undescribed: str = ""  # why its requirements are not known
    guessed: bool = False  # whether its requirements are those of an egg-info, which a build may change
    minor_fallback: bool = False
    optional: bool = False
    jit: str | None = None

    @property
    def who(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def major(self) -> int | None:
        return None if self.cuda is None else int(self.cuda.partition(".")[0])

    def has_extra(self, extra: str) -> bool:
        return any(f'extra == "{extra}"' in line.replace("'", '"') for line in self.requires)

    @property
    def per_cuda(self) -> bool:
        """Whether it holds one library for each CUDA and loads the one of torch's own."""
        return any(library.cuda is not None for library in self.code or ())


class WheelRule(NamedTuple):
    """What no wheel of a project says of itself. A mapping's keys are specifiers, `""` for every version.

    `main` matches the libraries it cannot do without (empty: none of them decides), `cuda` is what it links where no
    NEEDED says so, `dlopens` are libraries it loads by name, `spares` how those begin that it goes on without, `few`
    architectures that next to no module holds, `beyond` requirements that METADATA leaves out. `minor_fallback` are the
    versions with that, `optional` and `jit` what they are of a `Package`. `cuda_extras` are the extras that choose a
    CUDA major and do not name it.
    """

    main: str = ".*"
    links_torch: bool | None = None
    cuda: Mapping[str, str] = {}
    dlopens: Mapping[str, tuple[str, ...]] = {}
    preloads: bool = False
    spares: tuple[str, ...] = ()
    few: tuple[str, ...] = ()
    per_cuda: bool = False
    extras: bool = False
    beyond: Mapping[str, str] = {}
    minor_fallback: str | None = None
    optional: bool = False
    jit: Mapping[str, str] = {}
    cuda_extras: Mapping[str, str] = {}


def within(by_specifier: Mapping[str, T], version: str) -> Iterator[T]:
    """The value of each specifier that has the version."""
    return (value for text, value in by_specifier.items() if admits(text, prereleases=True)(version))


class OtherIndex(NamedTuple):
    """Another place that has wheels of a package; `{version}` in the URL stands for the package's version.

    `cuda` are the CUDA majors it has; empty for any, or for none that matters. `since` and `until` bound the
    package's versions that are known there, `""` for no bound. `wheels` were seen there: version, platform, what it
    requires, torch's backends or CUDA majors (none: no CUDA code), Pythons, and what follows the URL where the file
    itself is known, with the architectures that it was built for where its build says so. Without a URL it is the
    default index.
    """

    url: str
    text: str
    cuda: tuple[int, ...] = ()
    since: str = ""
    until: str = ""
    wheels: tuple[tuple[str, ...], ...] = ()


class PackageFacts(NamedTuple):
    """All that is known of a project: its versions, newest first, and where else it lies.

    `source_only` says what has to be built and with what, where the default index has no wheel; `refused` why the name
    must not be installed; `rivals` are the projects that install the same module; by `rule` another version is judged
    once its wheel was read. `listed` says that its pages on the user's indexes were looked at, `unlisted` why nothing
    is there, `newer` the newest version that is no candidate, and why not.
    """

    name: str
    versions: tuple[Package, ...]
    elsewhere: tuple[OtherIndex, ...] = ()
    rivals: tuple[str, ...] = ()
    source_only: str | None = None
    refused: str | None = None
    advice: str | None = None
    rule: WheelRule = WheelRule()
    in_table: bool = True
    listed: bool = False
    unlisted: str = ""
    newer: tuple[str, str] | None = None

    def row(self, version: str, index: str) -> Package | None:
        """What is known of a version from an index: of its folder there, else what has no place of its own."""
        rows = [package for package in self.versions if package.version == version]
        folder = index.rstrip("/").rpartition("/")[2]
        at_index = (package for package in rows if folder and f"/{folder}/" in package.place)
        return next(at_index, None) or next((package for package in rows if not package.place), None)

    def cuda_extra(self, package: Package, torch: Build, asked: Iterable[str]) -> str | None:
        """The extra for torch's CUDA, where without one a version is for another or for none; who asks has chosen."""
        major = torch.cuda_major
        is_chosen = package.per_cuda or any(cuda_of_extra(extra, self) is not None for extra in asked)
        if not self.in_table or major in (None, package.major) or is_chosen:
            return None
        own = [extra for extra, value in self.rule.cuda_extras.items() if int(value) == major]
        return next((extra for extra in (f"cuda{major}", f"cu{major}", *own) if package.has_extra(extra)), None)

    @property
    def built_with_torch(self) -> str | None:
        """What is built, and with what, where torch must be in place for it; None where plain pip installs it."""
        return self.source_only if self.rule.links_torch else None


class Catalog(NamedTuple):
    """All that a search knows of packages; `roots` are projects that older versions require.

    `may_learn` says that more can be learnt: whatever is lacking is then asked for. `torch_requirements` gives what a
    release of torch itself requires of plain projects, `shared_files` how many files two of NVIDIA's wheels both write.
    With `pre` pre-releases count, with `no_deps` nothing that a package requires; `overrides` are the specifiers that
    take the place of whatever is asked of a project, none of them where it is left out; what is `installed` comes
    before newer versions.
    """

    packages: Mapping[str, PackageFacts]
    torch_requirements: Callable[[str], tuple[str, ...]] = lambda _release: ()
    shared_files: Callable[[str, str], int] = lambda _one, _other: 0
    may_learn: bool = False
    roots: tuple[tuple[str, str], ...] = ()
    pre: bool = False
    no_deps: bool = False
    overrides: Mapping[str, tuple[str, ...]] = {}
    installed: Mapping[str, str] = {}


_CUDA_EXTRA = r"(?:^|[-_.])(?:cu|cuda)(1\d)\d?(?:$|[-_.a-z])"


def cuda_of_extra(extra: str, facts: PackageFacts | None = None) -> int | None:
    """The CUDA major that an extra chooses (`cu12`, `cuda13`, `cu126-torch280`), if any."""
    own = {} if facts is None else facts.rule.cuda_extras
    if extra in own:
        return int(own[extra])
    match = pattern(_CUDA_EXTRA).search(extra)
    return None if match is None else int(match[1])


# Never an approval: a note says so too.
NOT_READ = "not read"


class PinnedPackage(NamedTuple):
    """One pin: what it is, where it comes from, whether it runs, and why it was chosen."""

    name: str
    version: str
    cuda: str | None
    links_torch: bool
    index: str  # type: ignore[assignment]  # the contract's name
    verdict: str
    why: str
    evidence: str
    pinned: bool = True  # whether an installer has to take this very version; a plain package is its own business
    extras: tuple[str, ...] | None = None

    @property
    def requirement(self) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.name}{extras}=={self.version}"

    def from_its_page(self, torch: str) -> tuple[str, ...]:
        """The requirements that take it from where it lies outside any index: torch, and its file if that is known."""
        return (f"torch=={torch}", *([f"{self.name} @ {self.index}"] if self.index.endswith(".whl") else []))

    def to_dict(self) -> dict[str, object]:
        return written(self, optional=("extras",))


class PackageObjection(NamedTuple):
    """What prevents these versions of a package, newest first; the text is one for all of them."""

    name: str
    versions: tuple[str, ...]
    objection: Objection

    @property
    def span(self) -> str:
        """`0.20.0 to 0.33.0`, or the one version."""
        return "".join(self.versions) if len(self.versions) < 2 else f"{self.versions[-1]} to {self.versions[0]}"

    def to_dict(self) -> dict[str, object]:
        return {**self.objection.to_dict(), "versions": self.versions}


class Stack(NamedTuple):
    """One environment for a machine; `packages` is empty where none fits, and `objections` then say why.

    `hints` are what would have to change, best first. `unknown` is what is asked of packages of which no known version
    meets it, by name: they were not judged. `download` is how many bytes are fetched where nothing is there yet, and of
    which packages the size is not known.
    """

    machine: Machine
    asked: tuple[str, ...]
    packages: tuple[PinnedPackage, ...] = ()
    objections: tuple[PackageObjection, ...] = ()
    notes: tuple[Note, ...] = ()
    hints: tuple[str, ...] = ()
    index_url: str | None = None
    unknown: Mapping[str, str] = {}
    download: tuple[int, tuple[str, ...]] | None = None

    @property
    def ok(self) -> bool:
        return bool(self.packages)

    def require(self) -> Stack:
        """The stack itself; NoBuildError, which carries it, where nothing fits.

        DetectionError where a GPU does not answer, so that nothing was searched for.
        """
        if self.ok:
            return self
        self.machine.require()
        nothing = Pick((self.machine,), Wish(), (), ())
        why, hint = f"nothing fits {' '.join(self.asked)}", next(iter(self.hints), None)
        raise NoBuildError(why, pick=nothing, hint=hint, stack=self)

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(package.requirement for package in self.packages)

    def version(self, name: str) -> str | None:
        return next((package.version for package in self.packages if package.name == name), None)

    def __repr__(self) -> str:
        inside = " ".join(self.requirements) if self.ok else "nothing fits " + " ".join(self.asked)
        return f"Stack({inside})"

    def _repr_html_(self) -> str:
        return html(written(self, "packages", "objections", "hints", "notes"))

    def _pins(self) -> dict[str, object]:
        pins = written(self, "requirements", "packages", "index_url", "notes")
        if self.download is not None:
            size, unknown = self.download
            pins["download"] = {"bytes": size, "unknown": unknown}
        return pins

    def to_dict(self, command: str = "plan") -> dict[str, object]:
        """The object that `torchpick plan --json` prints."""
        by_package = grouped((objection.name, objection) for objection in self.objections)
        return envelope(
            command,
            0 if self.ok else 3 if self.machine.ok else 4,
            machine=self.machine.to_dict(),
            pick=None,
            stack=self._pins() if self.ok else None,
            objections=plain(by_package),
            **written(self, "hints", "notes"),
        )

    def to_json(self) -> str:
        return dumps(self.to_dict())
