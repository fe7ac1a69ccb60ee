"""The packages of the table, joined by the versions whose wheels were read in this run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from torchpick.install.sought import ReadPackages, SoughtWheels
from torchpick.model.machine import Machine
from torchpick.model.package import Package, PackageFacts
from torchpick.model.stack import Stack
from torchpick.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.unread import UnreadWheels

# CUDA wheels are read for these alone.
READ = ("linux-x86_64", "windows-x86_64")
# Readings until nothing more is met that the table lacks; what one wheel asks for may be such a version too.
_ROUNDS = 4


class JoinedPackages(Mapping[str, PackageFacts]):
    """The packages of the table, and the versions that were read in this run."""

    def __init__(self, table: Mapping[str, PackageFacts], read: Iterable[Package]) -> None:
        from packaging.version import Version

        self._table = table
        self._read: dict[str, PackageFacts] = {}
        for package in read:
            facts = self._read.get(package.name) or table.get(package.name) or PackageFacts(package.name, ())
            others = (each for each in facts.versions if each.version != package.version)
            versions = sorted((package, *others), key=lambda each: Version(each.version), reverse=True)
            self._read[package.name] = facts._replace(versions=tuple(versions))

    def __getitem__(self, name: str) -> PackageFacts:
        return self._read.get(name) or self._table[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self._table), **self._read})

    def __len__(self) -> int:
        return len({*self._table, *self._read})


class WheelReader:
    """Reads wheels from the user's own index, in one run; what that takes is loaded where a wheel is to be read."""

    def __init__(self, session: Session, python: str | None) -> None:
        self._session, self._python = session, python

    @cached_property
    def _wheels(self) -> UnreadWheels:
        from torchpick.install.unread import UnreadWheels

        return UnreadWheels(self._python, self._session.environ, self._session.report)

    def packages(self, known: LearntPackages, sought: SoughtWheels) -> ReadPackages:
        """What can be read of these."""
        from torchpick.index.user_index import IndexTarget

        machine = known.machine
        return self._wheels.packages(
            sought, known.facts, IndexTarget(machine.python.tag, machine.platform, known.full_version)
        )


class LearntPackages:
    """What is known of packages for one environment; it grows where wheels are read, and says what could not be.

    `full_version` is that of the machine's Python, where it is known to its last part.
    """

    def __init__(
        self,
        table: Mapping[str, PackageFacts],
        machine: Machine,
        reader: WheelReader | None,
        full_version: str | None = None,
    ) -> None:
        self.facts, self.machine, self.full_version = table, machine, full_version
        self.readable = machine.platform.name in READ
        self.lacking: dict[str, str] = {}
        self._reader = reader
        self._sought: set[tuple[str, str]] = set()

    def read(self, wanted: Mapping[str, str], placed: Mapping[str, str] = {}, *, pure: bool = False) -> bool:
        """Read the wheels of these projects, each by its specifier or at its place; whether anything was tried.

        A wheel without code says what it needs, which is news only where no installer's resolver was asked (`pure`).
        """
        wanted = {
            name: specifier
            for name, specifier in wanted.items()
            if name not in self.lacking and (name, specifier) not in self._sought
        }
        if not wanted or not self.readable or self._reader is None:
            return False
        self._sought |= wanted.items()
        read = self._reader.packages(self, SoughtWheels(wanted, placed, pure))
        self.facts = JoinedPackages(self.facts, read.packages) if read.packages else self.facts
        self.lacking |= read.lacking
        return True

    def judged(self, judge: Callable[[], Stack]) -> Stack:
        """The environment as it is judged once every package that it lacked was read, as far as it can be."""
        stack = judge()
        for _ in range(_ROUNDS):
            if not self.read(stack.unknown, pure=True):
                break
            stack = judge()
        return stack
