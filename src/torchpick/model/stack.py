"""A stack: one environment, every pin with its reason, or what prevents it."""

from __future__ import annotations

from torchpick.errors import NoBuildError
from torchpick.model.fields import envelope, html, plain, written
from torchpick.model.machine import Machine, Note
from torchpick.model.namedtuples import NamedTuple
from torchpick.model.pick import Pick
from torchpick.model.request import Wish
from torchpick.model.verdict import Objection
from torchpick.model.versions import grouped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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

    def to_json(self) -> dict[str, object]:
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

    def to_json(self) -> dict[str, object]:
        return {**self.objection.to_json(), "versions": self.versions}


class Download(NamedTuple):
    """How much is fetched where nothing is there yet; the size of what is in `unknown` is not known."""

    bytes: int
    unknown: tuple[str, ...]


class Stack(NamedTuple):
    """One environment for a machine; `packages` is empty where none fits, and `objections` then say why.

    `hints` are what would have to change, best first. `unknown` is what is asked of packages of which no known version
    meets it, by name: they were not judged.
    """

    machine: Machine
    asked: tuple[str, ...]
    packages: tuple[PinnedPackage, ...] = ()
    objections: tuple[PackageObjection, ...] = ()
    notes: tuple[Note, ...] = ()
    hints: tuple[str, ...] = ()
    index_url: str | None = None
    unknown: Mapping[str, str] = {}
    download: Download | None = None

    @property
    def ok(self) -> bool:
        return bool(self.packages)

    def require(self) -> Stack:
        """The stack itself; NoBuildError, which carries it, where nothing fits."""
        if self.ok:
            return self
        nothing = Pick((self.machine,), Wish(), (), ())
        why, hint = f"nothing fits {' '.join(self.asked)}", next(iter(self.hints), None)
        raise NoBuildError(why, pick=nothing, hint=hint, stack=self)

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(package.requirement for package in self.packages)

    def version(self, name: str) -> str | None:
        """The version of one package, where the stack has it."""
        return next((package.version for package in self.packages if package.name == name), None)

    def __repr__(self) -> str:
        inside = " ".join(self.requirements) if self.ok else "nothing fits " + " ".join(self.asked)
        return f"Stack({inside})"

    def _repr_html_(self) -> str:
        return html(written(self, "packages", "objections", "hints", "notes"))

    def _pins(self) -> dict[str, object]:
        return written(self, "requirements", "packages", "index_url", "notes", "download", optional=("download",))

    def to_json(self, command: str = "plan") -> dict[str, object]:
        """The object that `torchpick plan --json` prints."""
        by_package = grouped((each.name, each) for each in self.objections)
        return envelope(
            command,
            0 if self.ok else 3,
            machine=self.machine.to_json(),
            pick=None,
            stack=self._pins() if self.ok else None,
            objections=plain(by_package),
            **written(self, "hints", "notes"),
        )
