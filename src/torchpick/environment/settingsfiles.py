"""Where pip and uv keep their settings, and whether any of them may bind a decision: read at every start, so light."""

from __future__ import annotations

import errno
import os
import sys

from torchpick.environment.world import content, parents
from torchpick.errors import TorchpickError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_BYTES = 1 << 20
# Where a Unix system keeps the settings that no variable can move.
ETC = "/etc"


def variables_bind(environ: Mapping[str, str]) -> bool:
    """Whether a variable of pip's or uv's could hold a constraint; behind its `PIP_` pip takes it in any spelling."""
    ours = (name.upper() for name in environ if name.startswith(("PIP_", "UV_")))
    return any(name.endswith(("CONSTRAINT", "OVERRIDE")) for name in ours)


def files_bind(environ: Mapping[str, str], prefix: str) -> bool:
    """Whether a file could hold a constraint: a look at their texts, as reading them costs a start."""
    if {"UV_CONFIG_FILE", "UV_PROJECT", "UV_WORKING_DIR"} & environ.keys():
        return True
    home = os.path.expanduser("~")
    if any("constraint" in (text_of_settings(file) or "").lower() for file in pip_files(environ, prefix, home)):
        return True
    near = (os.path.join(above, name) for above in parents(os.getcwd()) for name in ("uv.toml", "pyproject.toml"))
    texts = (text_of_settings(file) or "" for file in (*uv_files(environ, home, sys.platform), *near))
    return any(word in text for text in texts for word in ("constraint-", "override-", "\\u"))


def pip_files(environ: Mapping[str, str], prefix: str, home: str, system: str = sys.platform) -> list[str]:
    """Pip's configuration files, the weakest first, as pip orders them; they need not exist."""
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    name = "pip.ini" if system == "win32" else "pip.conf"
    if system == "win32":
        shared = [os.path.join(environ.get("PROGRAMDATA", r"C:\ProgramData"), "pip", name)]
        user = [os.path.join(home, "pip", name), os.path.join(environ.get("APPDATA", home), "pip", name)]
    elif system == "darwin":
        shared = [f"/Library/Application Support/pip/{name}"]
        application = os.path.join(home, "Library", "Application Support", "pip")
        folder = application if os.path.isdir(application) else os.path.join(home, ".config", "pip")
        user = [os.path.join(home, ".pip", name), os.path.join(folder, name)]
    else:
        folders = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
        shared = [os.path.join(folder, "pip", name) for folder in folders if folder] + [f"{ETC}/{name}"]
        base = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        user = [os.path.join(home, ".pip", name), os.path.join(base, "pip", name)]
    # pip leaves the user's file out where another one is named.
    return [*shared, *([] if os.path.exists(named) else user), os.path.join(prefix, name), *([named] if named else [])]


def uv_files(environ: Mapping[str, str], home: str, system: str) -> list[str]:
    """The user's file and the system's."""
    if system == "win32":
        user = os.path.join(environ.get("APPDATA", home), "uv", "uv.toml")
        return [user, os.path.join(environ.get("PROGRAMDATA", r"C:\ProgramData"), "uv", "uv.toml")]
    base = environ.get("XDG_CONFIG_HOME", "")
    # An absolute path alone, as its specification has it; pip takes any.
    base = base if os.path.isabs(base) else os.path.join(home, ".config")
    folders = list(filter(None, environ.get("XDG_CONFIG_DIRS", "").split(":"))) or ["/etc/xdg"]
    shared = [path for folder in folders if os.path.isfile(path := os.path.join(folder, "uv", "uv.toml"))]
    return [os.path.join(base, "uv", "uv.toml"), *(shared[:1] or [f"{ETC}/uv/uv.toml"])]


def text_of_settings(path: str) -> str | None:
    """What such a file says; None where it cannot be read, as pip and uv then have nothing of it either."""
    try:
        return content(path, MOST_BYTES).decode("utf-8-sig", "replace")
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EFBIG):
            return None
        raise TorchpickError(
            f"{path}: {error.strerror}", hint="name a file of settings", code="CONFIGURATION"
        ) from error
