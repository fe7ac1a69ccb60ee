"""The files in which pip and uv keep their settings: where they lie, and what is in them."""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Iterable, Iterator, Mapping

from torchpick.environment import rewrite, settings, toml
from torchpick.environment.settings import YES, Setting
from torchpick.errors import TorchpickError
from torchpick.model.noun import Noun

MOST_BYTES = 1 << 20
# Where a Unix system keeps the settings that no variable can move.
ETC = "/etc"


def pip_files(environ: Mapping[str, str], prefix: str, home: str, system: str = sys.platform) -> list[str]:
    """Pip's configuration files, the weakest first, as pip orders them; they need not exist."""
    told = environ.get("PIP_CONFIG_FILE")
    if told == os.devnull:
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
    hidden = bool(told) and os.path.exists(told or "")
    return [*shared, *([] if hidden else user), os.path.join(prefix, name), *([told] if told else [])]


def own_pip_file(prefix: str) -> str:
    """Pip's file of the environment itself."""
    return os.path.join(prefix, "pip.ini" if sys.platform == "win32" else "pip.conf")


def store_of(prefix: str) -> str:
    """Where an environment keeps what the settings in it name."""
    return os.path.join(prefix, "share", "torchpick")


def project_of(prefix: str) -> str | None:
    """The pyproject.toml that uv would take this environment for; it need not exist."""
    folder, name = os.path.split(os.path.abspath(prefix))
    return os.path.join(folder, "pyproject.toml") if name == ".venv" else None


def pip(environ: Mapping[str, str], prefix: str, home: str) -> dict[str, Setting]:
    """What pip's files say to `pip install` in this environment, each with the place it was said in."""
    found = [said for file in pip_files(environ, prefix, home) for said in pip_file(file)]
    # pip applies every file's `[global]` before any file's section of the command.
    return settings.strongest(sorted(found, key=lambda said: said.rank))


def pip_file(file: str) -> list[Setting]:
    """What one of pip's files says to `pip install`; nothing where there is no such file."""
    from configparser import Error, RawConfigParser

    text = _text(file)
    if text is None:
        return []
    parser = RawConfigParser()
    try:
        parser.read_string(text)
    except Error as error:
        hint = "`pip config debug` shows the same file"
        raise TorchpickError(f"{file}: {str(error).splitlines()[0]}", hint=hint, code="CONFIGURATION") from error
    return settings.pip_of_sections({name: dict(parser.items(name)) for name in parser.sections()}, file)


class UvFile(Noun):
    """One of uv's files that count here, and its table."""

    path: str
    table: Mapping[str, object]


def uv(environ: Mapping[str, str], home: str, folder: str, system: str = sys.platform) -> list[UvFile]:
    """Uv's configuration files that hold in this folder, the strongest first."""
    if told := environ.get("UV_CONFIG_FILE"):
        return [UvFile(told, table) for table in (_toml(told),) if table is not None]
    if environ.get("UV_NO_CONFIG", "").lower() in YES:
        return []
    found = [*_project(_beginning(os.path.join(folder, environ.get("UV_PROJECT", ""))))]
    for path in uv_files(environ, home, system):
        table = _toml(path)
        if table is not None:
            found.append(UvFile(path, table))
    return found


def uv_files(environ: Mapping[str, str], home: str, system: str) -> list[str]:
    """The user's file and the system's."""
    if system == "win32":
        user = os.path.join(environ.get("APPDATA", home), "uv", "uv.toml")
        return [user, os.path.join(environ.get("PROGRAMDATA", r"C:\ProgramData"), "uv", "uv.toml")]
    told = environ.get("XDG_CONFIG_HOME", "")
    base = told if os.path.isabs(told) else os.path.join(home, ".config")  # as its specification has it; pip takes any
    folders = [each for each in environ.get("XDG_CONFIG_DIRS", "").split(":") if each] or ["/etc/xdg"]
    system_file = next(
        (path for path in (os.path.join(each, "uv", "uv.toml") for each in folders) if os.path.isfile(path)),
        f"{ETC}/uv/uv.toml",
    )
    return [os.path.join(base, "uv", "uv.toml"), system_file]


def _project(folder: str) -> Iterable[UvFile]:
    """The nearest uv.toml or `[tool.uv]` from this folder upwards; uv.toml hides the pyproject.toml beside it."""
    for here in _upwards(folder):
        path = os.path.join(here, "uv.toml")
        table = _toml(path)
        if table is not None:
            return [UvFile(path, table)]
        path = os.path.join(here, "pyproject.toml")
        table = _toml(path, "tool", "uv")
        if table is not None:
            return [UvFile(path, table)]
    return []


def _beginning(folder: str) -> str:
    """Where uv begins to look: at the root of the workspace or of the project that the folder is in (uv 0.13.9)."""
    passed = list(_upwards(folder))
    projects = [place for place, here in enumerate(passed) if os.path.isfile(os.path.join(here, "pyproject.toml"))]
    if not projects:
        return folder
    project = passed[projects[0]]
    file = os.path.join(project, "pyproject.toml")
    above = passed[projects[1]] if len(projects) > 1 else None
    workspace = None if above is None else _toml(os.path.join(above, "pyproject.toml"), "tool", "uv", "workspace")
    hidden = any(os.path.isfile(os.path.join(here, "uv.toml")) for here in passed[: projects[0]])
    if workspace is None and not hidden:
        return project
    if (_toml(file, "tool", "uv") or {}).get("managed") is False:
        return folder
    if _toml(file, "tool", "uv", "workspace") is not None:
        return project
    if _toml(file, "project") is None:
        return folder
    is_member = above is not None and workspace is not None and _is_member(os.path.relpath(project, above), workspace)
    return above if above is not None and is_member else project


def _is_member(path: str, workspace: Mapping[str, object]) -> bool:
    """Whether the patterns of a workspace take in the project at this path below it; `*` may stand for folders too."""

    def matches(name: str) -> bool:
        patterns = workspace.get(name)
        listed = patterns if isinstance(patterns, list) else []
        return any(fnmatchcase(path, posixpath.normpath(str(each)).replace("**/", "*")) for each in listed)

    from fnmatch import fnmatchcase

    path = path.replace(os.sep, "/")
    return matches("members") and not matches("exclude")


def _upwards(folder: str) -> Iterator[str]:
    """The folder and those above it, as far as anybody nests them."""
    here = os.path.abspath(folder)
    for _ in range(100):
        yield here
        here, below = os.path.dirname(here), here
        if here == below:
            return


def _toml(path: str, *keys: str) -> Mapping[str, object] | None:
    """The table in the file, or one inside it; None where there is no such file or table."""
    text = _text(path)
    # Most projects say nothing to uv, and a TOML parser costs a start; a key may hide behind an escape alone.
    if text is None or (keys and keys[-1] not in text and "\\" not in text):
        return None
    try:
        table: object = toml.loads(text)
    except ValueError as error:
        hint = "fix the file; uv would stop at it too"
        raise TorchpickError(f"{path}: {error}", hint=hint, code="CONFIGURATION") from error
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else None


def _text(path: str) -> str | None:
    if rewrite.is_pipe(path):
        hint = "what is read from a pipe once is lost to pip and uv: name a file"
        raise TorchpickError(f"{path} is a pipe", hint=hint, code="CONFIGURATION")
    try:
        with open(path, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError:
        return None
    if len(data) > MOST_BYTES:
        hint = "take out of it what is no setting"
        message = f"{path}: is larger than {MOST_BYTES >> 20} MiB, which no file of settings is"
        raise TorchpickError(message, hint=hint, code="CONFIGURATION")
    return data.decode("utf-8-sig", "replace")


# What `[tool.uv]` of a project may hold and uv refuses in a uv.toml (tried with uv 0.13.9).
_PROJECT_ONLY = frozenset({
    "build-backend", "conflicts", "default-groups", "dependency-groups", "dev-dependencies", "environments", "managed",
    "package", "required-environments", "sources", "workspace",
})  # fmt: skip


def merged(files: Iterable[UvFile]) -> dict[str, object]:
    """One table as uv sees the files together: the first that says a thing wins, lists add up."""
    found: dict[str, object] = {}
    for file in files:
        _merge(found, {name: value for name, value in file.table.items() if name not in _PROJECT_ONLY})
    return found


def _merge(into: dict[str, object], table: Mapping[str, object]) -> None:
    for name, value in table.items():
        known = into.get(name)
        if isinstance(known, dict) and isinstance(value, Mapping):
            _merge(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            known.extend(value)
        elif name not in into:
            into[name] = {} if isinstance(value, Mapping) else list(value) if isinstance(value, list) else value
            if isinstance(value, Mapping):
                _merge(into[name], value)  # type: ignore[arg-type]  # the dict of the line above
