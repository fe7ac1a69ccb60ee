"""The user's settings of pip and uv, in variables and files: each with the place where it stands. Nothing is run.

Whether any of them may bind a decision is looked at in every start, so this is light.
"""

from __future__ import annotations

import errno
import os
import sys

from torchpick.environment.world import content, nearest_with, parents
from torchpick.errors import TorchpickError
from torchpick.model import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    # One of uv's files that count here, and its table.
    UvFile = tuple[str, Mapping[str, Any]]

MOST_BYTES = 1 << 20
# Where a Unix system keeps the settings that no variable can move.
ETC = "/etc"
# What pip and uv take for true in a setting that is written as text.
YES = ("1", "true", "yes", "on", "y", "t")
# pip's options that name where packages come from; the variables and the keys of pip.conf have the same names.
PIP_PLACES = ("index-url", "extra-index-url", "find-links")
_PIP_OTHERS = (
    "constraint", "uploaded-prior-to", "no-index", "trusted-host", "pre", "all-releases", "only-binary", "no-binary",
    "no-deps",
)  # fmt: skip
# Pip's sections that count for `pip install`, the weakest first; the last one it has for its variables.
_PIP_SECTIONS = ("global", "install", ":env:")
# uv's variables that name where packages come from, and what stands between their values.
UV_PLACES = {
    "UV_INDEX": None,
    "UV_DEFAULT_INDEX": None,
    "UV_INDEX_URL": None,
    "UV_EXTRA_INDEX_URL": None,
    "UV_FIND_LINKS": ",",
}
_UV_TABLES = (("uv.toml", ()), ("pyproject.toml", ("tool", "uv")))


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


class Setting(NamedTuple):
    """One option as pip or uv would see it, split into words, and where it was said.

    `rank`: the section of one command is stronger than the general one of any file. `label`: uv's name of an index.
    """

    name: str
    words: tuple[str, ...]
    source: str
    rank: int = 0
    label: str = ""

    @property
    def is_on(self) -> bool:
        """Of a switch."""
        return self.words[:1] != () and self.words[0].lower() in YES


def _scopes(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """That of `uv pip` in a table of uv's, which is stronger, and the table."""
    inner = table.get("pip")
    return [*([inner] if isinstance(inner, dict) else []), table]


def strongest(settings: Iterable[Setting]) -> dict[str, Setting]:
    """What holds in the end: the last one said."""
    return {setting.name: setting for setting in settings}


def _pip_name(key: str) -> str:
    """The option behind a key of pip.conf or a variable: pip takes any case, `_` for `-`, and an old name."""
    name = key.lower().replace("_", "-").removeprefix("--")
    return "index-url" if name == "pypi-url" else name


def pip_variables(environ: Mapping[str, str]) -> list[Setting]:
    """The variables in any spelling, the last of which wins; an empty one is as good as unset, as with pip."""
    names = {*PIP_PLACES, *_PIP_OTHERS}
    return [
        Setting(name, tuple(value.split()), variable)
        for variable, value in environ.items()
        if variable[:4] == "PIP_" and value and (name := _pip_name(variable[4:])) in names
    ]


def read_pip_settings(environ: Mapping[str, str], prefix: str, home: str) -> dict[str, Setting]:
    """What pip's files say to `pip install` in this environment, each with the place it was said in."""
    settings = [setting for file in pip_files(environ, prefix, home) for setting in read_pip_file(file)]
    # pip applies every file's `[global]` before any file's section of the command.
    return strongest(sorted(settings, key=lambda setting: setting.rank))


def read_pip_file(file: str) -> list[Setting]:
    """What one of pip's files says to `pip install`, the strongest last; nothing where there is no such file."""
    from configparser import Error, RawConfigParser

    text = text_of_settings(file)
    if text is None:
        return []
    parser = RawConfigParser()
    try:
        parser.read_string(text)
    except Error as error:
        hint = "`pip config debug` shows the same file"
        raise TorchpickError(f"{file}: {str(error).splitlines()[0]}", hint=hint, code="CONFIGURATION") from error
    return [
        Setting(_pip_name(key), tuple(value.split()), file, rank)
        for rank, section in enumerate(_PIP_SECTIONS)
        if parser.has_section(section)
        for key, value in parser.items(section)
        if value
    ]


def own_pip_file(prefix: str) -> str:
    return os.path.join(prefix, "pip.ini" if sys.platform == "win32" else "pip.conf")


def store_in(cache: str) -> str:
    return os.path.join(cache, "install")


def store_of(prefix: str) -> str:
    """Where an environment keeps what the settings in it name."""
    return os.path.join(prefix, "share", "torchpick")


def project_of(prefix: str) -> str | None:
    """The pyproject.toml that uv would take this environment for; it need not exist."""
    folder, name = os.path.split(os.path.abspath(prefix))
    return os.path.join(folder, "pyproject.toml") if name == ".venv" else None


def uv_variables(environ: Mapping[str, str]) -> list[Setting]:
    return [
        Setting(name, tuple(part for part in value.split(separator) if part), name)
        for name, separator in UV_PLACES.items()
        if (value := environ.get(name, "").strip())
    ]


def uv_settings(file: UvFile) -> list[Setting]:
    """The places that a uv.toml or `[tool.uv]` names; an `explicit` index is only for those that request it by name."""
    settings, (path, table) = [], file
    for scope in _scopes(table):
        listed = ((name, _words(scope.get(name, []))) for name in PIP_PLACES)
        settings += [Setting(name, words, path) for name, words in listed if words]
        indexes = scope.get("index")
        for index in indexes if isinstance(indexes, list) else ():
            if isinstance(index, dict) and isinstance(index.get("url"), str) and not index.get("explicit"):
                name = "default-index" if index.get("default") else "index"
                settings.append(Setting(name, (index["url"],), path, label=str(index.get("name", ""))))
    return settings


def uv_places(environ: Mapping[str, str], files: Iterable[UvFile]) -> list[Setting]:
    """What names indexes and pages to uv: its variables, then its files."""
    return [*uv_variables(environ), *(setting for file in files for setting in uv_settings(file))]


def uv_key(files: Iterable[UvFile], name: str) -> Setting | None:
    """A key of uv's: the first file that sets it wins."""
    values = ((scope[name], path) for path, table in files for scope in _scopes(table) if name in scope)
    return next((Setting(name, _words(value), path) for value, path in values), None)


def _words(value: object) -> tuple[str, ...]:
    """A value as words; a table as pairs."""
    if isinstance(value, dict):
        return tuple(f"{key}={text}" for key, text in value.items())
    return tuple(map(str, value if isinstance(value, list) else [value]))


def read_uv_files(environ: Mapping[str, str], home: str, folder: str, system: str = sys.platform) -> list[UvFile]:
    """Uv's configuration files that hold in this folder, the strongest first."""
    if only := environ.get("UV_CONFIG_FILE"):
        return [(only, table) for table in (toml_of(only),) if table is not None]
    if environ.get("UV_NO_CONFIG", "").lower() in YES:
        return []
    folder = os.path.join(folder, environ.get("UV_WORKING_DIR", ""), environ.get("UV_PROJECT", ""))
    # The nearest uv.toml or `[tool.uv]` from there upwards; uv.toml hides the pyproject.toml beside it.
    near = ((os.path.join(above, name), keys) for above in parents(_root(folder)) for name, keys in _UV_TABLES)
    files = ((path, table) for path, keys in near if (table := toml_of(path, *keys)) is not None)
    nearest = next(files, None)
    others = ((path, table) for path in uv_files(environ, home, system) if (table := toml_of(path)))
    return [*([nearest] if nearest else []), *others]


def _root(folder: str) -> str:
    """Where uv begins to look: at the root of the workspace or else of the project that the folder is in."""
    workspaces = (
        above
        for above in parents(folder)
        if toml_of(os.path.join(above, "pyproject.toml"), "tool", "uv", "workspace") is not None
    )
    return next(workspaces, None) or nearest_with(folder, "pyproject.toml") or folder


def toml_of(path: str, *keys: str) -> Mapping[str, Any] | None:
    """The table in the file, or one inside it; None where there is no such file or table."""
    text = text_of_settings(path)
    # Most projects say nothing to uv, and a TOML parser costs a start; a key may hide behind an escape alone.
    if text is None or (keys and keys[-1] not in text and "\\" not in text):
        return None
    from torchpick.environment import projectfile, toml

    try:  # what `torchpick pin` wrote is nobody's will
        table: object = toml.loads(projectfile.remove_settings(text.replace("\r\n", "\n"), projectfile.PIN))
    except ValueError as error:
        hint = "fix the file; uv would stop at it too"
        raise TorchpickError(f"{path}: {error}", hint=hint, code="CONFIGURATION") from error
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None
