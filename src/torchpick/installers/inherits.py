"""The settings of pip and uv in the user's files and variables, read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from torchpick.environment import toolsettings
from torchpick.environment.toolsettings import Setting, UvFile
from torchpick.model.noun import Noun


class OwnSettings(Noun):
    """The settings of one environment. `pip` is what holds, `pip_files` what would hold without the variables."""

    environ: Mapping[str, str] = {}
    pip_files: Mapping[str, Setting] = {}
    pip: Mapping[str, Setting] = {}
    uv_files: tuple[UvFile, ...] = ()
    offline: bool = False

    @property
    def fetch(self) -> Callable[[str], bytes]:
        """What reads a file on another computer that a setting names."""
        from torchpick.index.pages import fetcher

        return fetcher(self.environ, offline=self.offline)

    @property
    def uv(self) -> list[Setting]:
        """What names places to uv: its variables, then its files."""
        in_files = (said for file in self.uv_files for said in toolsettings.uv_of_file(file))
        return [*toolsettings.uv_of_environ(self.environ), *in_files]

    @property
    def uv_cooldown(self) -> Setting | None:
        """How old a file must be for uv to take it, where the user set that."""
        if value := self.environ.get("UV_EXCLUDE_NEWER"):
            return Setting("exclude-newer", (value,), "UV_EXCLUDE_NEWER")
        return toolsettings.uv_key(self.uv_files, "exclude-newer")


def read(environ: Mapping[str, str], prefix: str, *, offline: bool = False) -> OwnSettings:
    """Read the files of the user, of the system and of the environment at `prefix`."""
    home = os.path.expanduser("~")
    files = toolsettings.pip(environ, prefix, home)
    return OwnSettings(
        environ=environ,
        pip_files=files,
        pip={**files, **toolsettings.strongest(toolsettings.pip_of_environ(environ))},
        uv_files=tuple(toolsettings.uv(environ, home, os.getcwd())),
        offline=offline,
    )
