"""A project that uv does not lock: one backend's build in the form of Poetry or pip-tools, or what to write by hand."""

from __future__ import annotations

import os

from torchpick.environment import projectfile, toml, uvsources
from torchpick.environment.projectfile import ProjectSetting, ProjectSettings
from torchpick.environment.requirements import RequirementArgs, read_requirements
from torchpick.environment.rewrite import Text
from torchpick.errors import TorchpickError
from torchpick.model.build import TRIO
from torchpick.model.versions import named
from torchpick.projects.app import App, index_url

# Files of one tool alone.
_BY_NAME = {"pixi.toml": "pixi", "environment.yml": "conda", "environment.yaml": "conda"}
_TABLES = ("poetry", "pdm", "pixi")


def tool_of(there: Text) -> str:
    """Whose the project is: a file of another tool's name, or with its table, and nothing of uv's in it."""
    name = os.path.basename(there.file)
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.endswith((".in", ".txt")):
        return "pip-tools"
    tools = toml.table_at(toml.read(there.text, there.file), "tool")
    folder = os.path.dirname(there.file)
    if "uv" in tools or os.path.isfile(os.path.join(folder, "uv.lock")):
        return "uv"
    if lock := next((tool for tool in _TABLES if os.path.isfile(os.path.join(folder, f"{tool}.lock"))), None):
        return lock
    # A table with the mode alone says nothing of what it is locked with.
    return next((tool for tool in _TABLES if {*toml.table_at(tools, tool)} - {"package-mode"}), "uv")


def needs_of(there: Text, tool: str) -> tuple[str, ...]:
    """What a file of requirements asks for; a project's own file is read as any other."""
    if tool != "pip-tools":
        return ()
    read = read_requirements(RequirementArgs(files=(there.file,)), os.environ)
    return tuple(requested.text for requested in read.wanted if not requested.place)


def write(there: Text, tool: str, app: App, backend: str) -> tuple[str, str]:
    """The file of this backend's build and its text; for a tool that has no form of ours an error with the lines."""
    build, names = app.build(backend)
    url, marker = index_url(backend, app.base), app.marker(build)
    pins = {name: build.pins[name] for name in names}
    if tool == "pip-tools":
        stem = os.path.splitext(there.file)[0]
        pages = (f"--find-links {url}/{name}/" for name in names)
        lines = (f"{name}=={version} ; {marker}" for name, version in pins.items())
        above = f"# Written whole by `torchpick extras`.\n-r {os.path.basename(there.file)}\n"
        return f"{stem}-{backend}.in", above + "".join(f"{line}\n" for line in (*pages, *lines))
    if tool == "poetry":
        return there.file, projectfile.add_settings(
            there.text, _of_poetry(there, pins, url, backend, marker), there.file
        )
    by_hand = "\n".join(_by_hand(tool, pins, url))
    hint = f"`torchpick url --backend {backend}` names the same build"
    raise TorchpickError(
        f"{there.file} is for {tool}, which is written by hand:\n{by_hand}", hint=hint, code="OTHER_TOOL"
    )


def _of_poetry(there: Text, pins: dict[str, str], url: str, backend: str, marker: str) -> ProjectSettings:
    """An explicit source, with the version on the systems that have it; elsewhere what the project says."""
    elsewhere = " and ".join(uvsources.outside([marker]))
    path, settings = ("tool", "poetry", "dependencies"), []
    about = toml.table_at(toml.read(there.text, there.file), "project")
    texts = [text for text in toml.texts(about.get("dependencies")) if named(text) in TRIO]
    for name, version in pins.items():
        own = [str(projectfile.parse_requirement(text).specifier) for text in texts if named(text) == name]
        value = [
            {"version": version, "source": f"pytorch-{backend}", "markers": marker},
            {"version": ",".join(filter(None, own)) or "*", "markers": elsewhere},
        ]
        settings.append(ProjectSetting((*path, name), value, amends=True))
    source = {"name": f"pytorch-{backend}", "url": url, "priority": "explicit"}
    return ProjectSettings(tuple(settings), (ProjectSetting(("tool", "poetry", "source"), source),))


def _by_hand(tool: str, pins: dict[str, str], url: str) -> list[str]:
    names, lines = toml.inline([*pins]), [f"{name}=={version}" for name, version in pins.items()]
    if tool == "pixi":
        entries = (f'{name} = {{ version = "=={version}", index = "{url}" }}' for name, version in pins.items())
        return ["# in its table of dependencies on PyPI", *entries]
    if tool == "conda":
        pages = (f"    - --find-links {url}/{name}/" for name in pins)
        return ["dependencies:", "  - pip", "  - pip:", *pages, *(f"    - {line}" for line in lines)]
    source = ("[[tool.pdm.source]]", 'name = "pytorch"', f'url = "{url}"', f"include_packages = {names}")
    return [f"dependencies = {toml.inline(lines)}", *source, 'exclude_packages = ["*"]']
