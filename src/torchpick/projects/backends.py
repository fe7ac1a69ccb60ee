"""A project whose extras or groups are backends: their names, and a command of uv's with the one for this machine."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from torchpick.decide import answer as answers
from torchpick.decide.answer import Answer, Question
from torchpick.decide.demands import is_backend
from torchpick.environment import rewrite, toml
from torchpick.environment.world import nearest_with, uv_project
from torchpick.model.build import TRIO, Build
from torchpick.model.machine import Machine
from torchpick.model.package import Catalog
from torchpick.model.pick import Wish
from torchpick.model.table import BuildsByRelease
from torchpick.model.versions import named, normal
from torchpick.run import Run

# The commands of uv's that install what the project says, those that change that first, and what installs nothing.
_INSTALLING, _CHANGING, _LOCKING = ("sync", "run"), ("add", "remove"), ("lock",)
# Where one of these is given, the user says what is installed, or the project is not meant.
_OWN_CHOICE = ("--all-extras", "--all-groups", "--no-project", "--script", "--only-group", "--no-sync", "--isolated")
_TABLES = {"extra": ("project", "optional-dependencies"), "group": ("dependency-groups",)}
# Members of a workspace that are read.
_MOST_MEMBERS = 200
_MOST_PARTS, _MOST_FOLDERS = 16, 1000
# uv's options with a value of their own that may stand before its command, and others of `uv run`.
_WITH_VALUE = {
    "--directory", "--project", "--config-file", "--cache-dir", "--color", "--python-preference", "--python-fetch",
    "--allow-insecure-host", "--preview-features", "--extra", "--group", "--no-group", "--only-group", "--no-extra",
    "--with", "--with-editable", "--with-requirements", "--package", "--python", "-p", "--env-file", "--index",
    "--default-index", "--index-url", "-i", "--extra-index-url", "--find-links", "-f", "--upgrade-package", "-P",
    "--refresh-package", "--reinstall-package", "--link-mode", "--resolution", "--prerelease", "--exclude-newer",
}  # fmt: skip


class BackendNames(NamedTuple):
    """The names of a project's file that are backends and hold torch: all of them extras, or all of them groups.

    `lock` is the uv.lock that has them, of the project itself or of its workspace; empty where there is none. `above`:
    they are of the root of the workspace, and the folder's own project has none.
    """

    file: str
    kind: str
    names: Mapping[str, str]
    project: str = ""
    lock: str = ""
    above: bool = False


class UvCommand(NamedTuple):
    """A command line of uv's: what stands before its command, that, and its words; the folder of its project.

    `package` is the member of a workspace that is named.
    """

    front: tuple[str, ...]
    command: str
    words: tuple[str, ...]
    folder: str
    package: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """The words that are uv's own: not those of a program that it runs."""
        return self.words[: _options_end(self.words)] if self.command == "run" else self.words


def read_backends(folder: str, package: str = "") -> BackendNames | None:
    """Those of the package that is named, else of the project in this folder or above, else of its workspace's root.

    None where no extra or group is one.
    """
    project = nearest_with(folder, "pyproject.toml")
    if project is None:
        return None
    root, own = lock_folder(project), os.path.join(project, "pyproject.toml")
    above, files = os.path.join(root, "pyproject.toml") if root else own, workspace_files(project) if package else ()
    found = []
    for file in dict.fromkeys((own, above, *files)):
        data = toml.read(rewrite.read_file(file).text, file)
        kind, names = backend_names(data)
        name = normal(str(toml.table_at(data, "project").get("name", "")))
        if names and (file in (own, above) or name == package):
            found.append(BackendNames(file, kind, names, name, f"{root}/uv.lock" if root else "", file != own))
    return next((one for one in found if package and one.project == package), next(iter(found), None))


def lock_folder(project: str) -> str | None:
    """Where the lock of the project in this folder lies: here, or at the root of its workspace; None without one."""
    root = uv_project(project)
    return root if root == project or workspace_files(project) else None


def workspace_files(project: str) -> list[str]:
    """The files of the projects of its workspace, the root's first; none where it is a member of none."""
    above = uv_project(project) or project
    root, own = (os.path.join(folder, "pyproject.toml") for folder in (above, project))
    workspace = toml.table_at(toml.read(rewrite.read_file(root).text, root), "tool", "uv", "workspace")
    files, left_out = (
        [file for pattern in toml.texts(workspace.get(key))[:_MOST_MEMBERS] for file in _matching(above, pattern)]
        for key in ("members", "exclude")
    )
    every = [path for path in dict.fromkeys((root, *files) if workspace else ()) if path not in left_out]
    return every[:_MOST_MEMBERS] if own in every else []


def _matching(root: str, pattern: str) -> Iterable[str]:
    """The projects' files in the folders of a pattern: each folder is entered once, so that none leads in circles."""
    parts = pattern.split("/")
    folders: Iterable[str] = (root,) if len(parts) <= _MOST_PARTS else ()
    for part in parts:
        below = (folder for above in folders for folder in glob.iglob(f"{glob.escape(above)}/{part}/"))
        folders = dict.fromkeys(map(os.path.normpath, islice(below, _MOST_FOLDERS)))
    files = (os.path.join(folder, "pyproject.toml") for folder in folders)
    return islice(filter(os.path.lexists, files), _MOST_MEMBERS)


def backend_names(data: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    """Those of a project's file, and whether they are extras or groups; where there are none, no names."""
    for kind, keys in _TABLES.items():
        table = toml.table_at(data, *keys)
        by_index = _backends_of_indexes(toml.table_at(data, "tool", "uv"), kind)
        names = {name: backend_of(name) for name, texts in table.items() if "torch" in map(named, toml.texts(texts))}
        names = {name: backend if is_backend(backend) else by_index.get(name, "") for name, backend in names.items()}
        backends = {name: backend for name, backend in names.items() if is_backend(backend)}
        if backends:
            return kind, backends
    return "extra", {}


def family_of_all(data: Mapping[str, Any]) -> tuple[str, ...]:
    """What every one of them asks of torch's family: as all have it, by name alone where they differ."""
    kind, names = backend_names(data)
    table = toml.table_at(data, *_TABLES[kind])
    asked = [{named(text): text for text in toml.texts(table[name])} for name in names]
    shared = {name: [texts.get(name) for texts in asked] for name in sorted(TRIO) if asked}
    return tuple(
        str(texts[0]) if len(texts) > 1 and len({*texts}) == 1 else name for name, texts in shared.items() if all(texts)
    )


def backend_of(name: str) -> str:
    """`rocm7-2`, as uv writes an extra with a dot in its name."""
    return name.replace("-", ".").replace("_", ".") if name.startswith("rocm") else name


def _backends_of_indexes(uv: Mapping[str, object], kind: str) -> dict[str, str]:
    """Of extras (or groups) with a name of their own, such as `gpu`: the folder of the index torch is taken from."""
    urls = {row.get("name"): str(row.get("url", "")) for row in toml.tables(uv.get("index"))}
    sources = toml.tables(toml.table_at(uv, "sources").get("torch"))
    return {
        str(source[kind]): urls.get(source.get("index"), "").rstrip("/").rpartition("/")[2]
        for source in sources
        if kind in source
    }


def pick_among(run: Run, machines: tuple[Machine, ...], builds: Sequence[Build]) -> Answer:
    """The answer where there are no other builds than these."""
    table = run.read_table(machines)._replace(builds={machines[0].platform.name: BuildsByRelease.of(builds)})
    backends = tuple(dict.fromkeys(build.backend for build in builds))
    wish = Wish(backends=backends, channel="nightly", allow_cpu=True, allow_unconfirmed=True)
    answer = answers.answer(Question(wish), machines, lambda _: table, lambda: Catalog({}), everything=False)
    if not isinstance(answer, Answer):
        raise TypeError("builds alone ask for nothing")
    return answer


def parse_uv(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> UvCommand | None:
    """The command, where it is uv's for a project, with the choice left open."""
    name = os.path.basename(argv[0]).lower().removesuffix(".exe")
    place = 1 + _options_end(argv[1:])
    if name != "uv" or place >= len(argv) or argv[place] not in (*_INSTALLING, *_CHANGING, *_LOCKING):
        return None
    uv = UvCommand((*argv[:place],), argv[place], (*argv[place + 1 :],), cwd)
    given = {"--project": environ.get("UV_PROJECT", ""), "--directory": environ.get("UV_WORKING_DIR", "")}
    given["--package"] = ""
    words = iter((*uv.front, *uv.options))
    for word in words:
        option, mark, value = word.partition("=")
        if option in given:
            given[option] = value if mark else next(words, "")
    folder = os.path.join(cwd, given["--directory"], given["--project"])
    return uv._replace(folder=folder, package=normal(given["--package"]))


def _without_package(uv: UvCommand) -> tuple[str, ...]:
    left, options = list[str](), iter(uv.options)
    for word in options:
        if word == "--package":
            next(options, None)
        elif not word.startswith("--package="):
            left.append(word)
    return (*left, *uv.words[len(uv.options) :])


def _options_end(words: Sequence[str]) -> int:
    """Where the first word stands that is neither an option of uv's nor the value of one."""
    place = 0
    while place < len(words) and words[place].startswith("-") and words[place] != "--":
        place += 2 if words[place] in _WITH_VALUE else 1
    return min(place, len(words))


def commands(uv: UvCommand, project: BackendNames, name: str) -> tuple[tuple[str, ...], ...] | None:
    """What to run in its place, one after the other; None where the command says itself what it wants."""
    options = {word.partition("=")[0] for word in uv.options}
    given = {value for word in uv.options for value in (word, word.partition("=")[2])}
    if options & {*_OWN_CHOICE} or ("--" + project.kind in options and given & {*project.names}):
        return None
    others = [other for other in project.names if other != name] if project.kind == "group" else []
    choice = (*(word for other in others for word in ("--no-group", other)), f"--{project.kind}", name)
    words = uv.words
    if uv.package != project.project if uv.package else project.above:
        # A name of another member's counts only where every member is installed.
        choice, words = ("--all-packages", *choice), _without_package(uv)
    elif uv.package and uv.command in _CHANGING:
        choice = ("--package", uv.package, *choice)
    if uv.command in _INSTALLING:
        return ((*uv.front, uv.command, *choice, *words),)
    if uv.command in _LOCKING:
        return ((*uv.front, uv.command, *uv.words),)
    # Of `uv add` an extra is one of what is added.
    return ((*uv.front, uv.command, "--no-sync", *uv.words), (*uv.front, "sync", "--inexact", *choice))
