"""A CUDA package: what one wheel asks of torch, which CUDA it links, and the code it holds per library."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from torchpick.model.arch import Arch
from torchpick.model.build import Evidence
from torchpick.model.noun import Noun


class LibraryCode(Noun):
    """The GPU code of one library. `main` marks what the package cannot do without.

    `cuda` is set where the wheel has one such library for each CUDA and loads the one of torch's own (bitsandbytes).
    Where only a part was read, `whole` is false, and what is missing is not known to be missing.
    """

    path: str
    arches: tuple[Arch, ...]
    main: bool = True
    cuda: str | None = None
    whole: bool = True


class Package(Noun):
    """One version of a package, as its wheel for Linux or Windows on x86-64 is.

    `requires` holds the requirements that concern torch, NVIDIA's wheels and other CUDA packages. `pythons` are
    `cp312`, `cp38+` for every later one, or `any`. `cuda` is the CUDA it links (`12`, or `12.8` where that is known),
    None for none. `needs` are the libraries it expects the environment to provide; `preloads` says that it finds those
    of its own nvidia-* requirements by itself. `code` None means that it is not known. `place` is the page that has the
    wheel, where that is not an index of the user's, or the file itself, with its hash where that is known: it was named
    there, and not read.
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

    @property
    def who(self) -> str:
        """Its name and version, as messages say them."""
        return f"{self.name} {self.version}"

    @property
    def major(self) -> int | None:
        """The CUDA major that it links."""
        return None if self.cuda is None else int(self.cuda.partition(".")[0])

    def has_extra(self, extra: str) -> bool:
        """Whether one of its requirements is of this extra."""
        return any(f'extra == "{extra}"' in line for line in self.requires)

    @property
    def per_cuda(self) -> bool:
        """Whether it holds one library for each CUDA and loads the one of torch's own."""
        return any(library.cuda is not None for library in self.code or ())


class WheelRule(Noun):
    """What no wheel of a project says of itself. A mapping's keys are specifiers, `""` for every version.

    `main` matches the libraries it cannot do without (empty: none of them decides), `cuda` is what it links where no
    NEEDED says so, `dlopens` are libraries it loads by name, `few` architectures that next to no module holds,
    `beyond` requirements that METADATA leaves out; with `extras` the requirements of its extras count.
    """

    main: str = ".*"
    links_torch: bool | None = None
    cuda: Mapping[str, str] = {}
    dlopens: Mapping[str, tuple[str, ...]] = {}
    preloads: bool = False
    few: tuple[str, ...] = ()
    per_cuda: bool = False
    extras: bool = False
    beyond: Mapping[str, str] = {}


class OtherIndex(Noun):
    """Another place that has wheels of a package; `{version}` in the URL stands for the package's version.

    `cuda` are the CUDA majors it has; empty for any, or for none that matters. `since` and `until` bound the
    package's versions that are known there, `""` for no bound. `wheels` were seen there: version, platform, what it
    requires, torch's backends or CUDA majors (none: no CUDA code), Pythons, and what follows the URL where the file
    itself is known. Without a URL it is the default index.
    """

    url: str
    text: str
    cuda: tuple[int, ...] = ()
    since: str = ""
    until: str = ""
    wheels: tuple[tuple[str, ...], ...] = ()


class PackageFacts(Noun):
    """All that is known of a project: its versions, newest first, and where else it lies.

    `source_only` says what has to be built and with what, where the default index has no wheel; `refused` why the name
    must not be installed; `rivals` are the projects that install the same module; `wheel_host` whether PyTorch's wheel
    host has builds of it too; by `rule` another version is judged once its wheel was read.
    """

    name: str
    versions: tuple[Package, ...]
    elsewhere: tuple[OtherIndex, ...] = ()
    rivals: tuple[str, ...] = ()
    source_only: str | None = None
    refused: str | None = None
    advice: str | None = None
    wheel_host: bool = False
    rule: WheelRule = WheelRule()

    @property
    def built_with_torch(self) -> str | None:
        """What is built, and with what, where torch must be in place for it; None where plain pip installs it."""
        return self.source_only if self.rule.links_torch else None


def doubles(packages: Iterable[str], names: Container[str], known: Mapping[str, PackageFacts]) -> dict[str, str]:
    """Which of the names install the same module as one of the packages, each with the one that stays: the first."""
    rivals: dict[str, str] = {}
    for name in packages:
        if name in known and name not in rivals:
            rivals |= {rival: name for rival in known[name].rivals if rival in names and rival not in rivals.values()}
    return rivals
