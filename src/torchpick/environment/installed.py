"""What is installed for one Python, as values. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.model.noun import Noun


class Distribution(Noun):
    """An installed project: where it lies, what it requires, and what of its metadata could not be read."""

    name: str
    version: str
    folder: str
    info: str
    requires: tuple[str, ...] = ()
    installer: str | None = None
    faults: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


class CondaPackage(Noun):
    name: str
    version: str
    build: str


class Fault(Noun):
    """Something that could not be read, and why."""

    where: str
    what: str


class Environment(Noun):
    """What is installed for one Python; `sites` in the order of its search path, `distributions` likewise.

    `gone` says what is wrong where the interpreter does not run. `torches` are the folders that hold a torch package.
    """

    executable: str | None
    prefix: str
    version: str
    implementation: str = "cp"
    free_threaded: bool = False
    sites: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    conda: tuple[CondaPackage, ...] = ()
    torches: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    gone: str | None = None
    source: str = "given"
    full_version: str | None = None

    @property
    def program(self) -> str:
        """What to call its Python by in a command."""
        return self.executable or "python"

    def find(self, name: str) -> Distribution | None:
        """The one that an import would meet first."""
        return next((each for each in self.distributions if each.name == name), None)

    def named(self, start: str) -> Iterator[Distribution]:
        """Every first one whose name begins so."""
        seen: set[str] = set()
        for each in self.distributions:
            if each.name.startswith(start) and each.name not in seen:
                seen.add(each.name)
                yield each


class TorchSetting(Noun):
    """A setting of pip or uv that names a PyTorch index or backend: what, where, its value, the backend it means.

    `beside_pin` says that `torchpick pin` wrote into the same file.
    """

    name: str
    where: str
    value: str
    backend: str | None
    beside_pin: bool = False


class ProjectLock(Noun):
    """A lock of the project that the environment belongs to, and the torch versions it names."""

    file: str
    versions: tuple[str, ...]
