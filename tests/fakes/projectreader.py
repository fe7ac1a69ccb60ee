"""A stand-in for the reader of the user's index: what a case says is on it, else all that the table has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from torchpick.errors import TorchpickError, UsageError
from torchpick.index.pages import ProjectFile, locate
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.metadata import Metadata

INDEX = "https://index.example/simple"
Projects = Mapping[str, Mapping[str, Sequence[str]]]


class MadeUpReader:
    """Answers as `ProjectReader` does; nothing is read. `projects` is name → version → what it requires."""

    projects: ClassVar[Projects] = {}
    as_of = None

    def __init__(self, *_places: object, offline: bool = False, **_how: object) -> None:
        self._table, self._offline = KnownPackages({}, "linux-x86_64"), offline

    def __enter__(self) -> MadeUpReader:  # noqa: PYI034 # typing.Self came with Python 3.11
        return self

    def __exit__(self, *error: object) -> None: ...

    def pages(self, names: Iterable[str]) -> Mapping[str, tuple[ProjectFile, ...] | TorchpickError | None]:
        lacking = UsageError("its page was not kept", hint="run it without `--offline`")
        return {name: lacking if self._offline else self._page(name) for name in names}

    def metadata(self, files: Iterable[ProjectFile]) -> Mapping[ProjectFile, Metadata | TorchpickError]:
        return {file: self._described(file) for file in files}

    def indexes_with(self, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        return dict.fromkeys(names, (INDEX,))

    def _page(self, name: str) -> tuple[ProjectFile, ...] | None:
        known = [row.version for row in self._table[name].versions] if name in self._table else []
        versions = dict.fromkeys(self.projects.get(name, known))
        return tuple(_file(name, version) for version in versions if version) or None

    def _described(self, file: ProjectFile) -> Metadata:
        requires = self.projects.get(file.project, {}).get(file.version, ())
        return Metadata(file.project, file.version, tuple(requires), "", ())


def _file(name: str, version: str) -> ProjectFile:
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    located = locate(f"{INDEX}/{file}", "", size=1000)
    assert located is not None, file
    return located
