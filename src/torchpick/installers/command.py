"""What is to be run, as a value: the same object is shown by a dry run and started by a real one."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.installers.store import StoredFile
from torchpick.model.fields import plain, written
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted


class Command(Noun):
    """An installer's exact arguments, what changes in its environment, and the files it is given."""

    installer: str
    argv: tuple[str, ...]
    set: Mapping[str, str] = {}
    unset: tuple[str, ...] = ()
    files: tuple[StoredFile, ...] = ()
    notes: tuple[Note, ...] = ()

    def environ(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment to start it in."""
        return {**{name: value for name, value in base.items() if name not in self.unset}, **self.set}

    def shown(self) -> Command:
        """The same without the passwords that URLs in it may hold; what is run keeps them."""
        return self._replace(
            argv=tuple(map(redacted, self.argv)),
            set={name: redacted(value) for name, value in self.set.items()},
            files=tuple(each._replace(content=redacted(each.content)) for each in self.files),
        )

    def to_json(self) -> dict[str, object]:
        return {
            **written(self, "installer", "argv"),
            "environ": written(self, "set", "unset"),
            "files": {each.path: each.content for each in self.files},
            "notes": plain(self.notes),
        }
