"""What a project file says of torch. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchpick.errors import TorchpickError
from torchpick.model.build import COMPANIONS
from torchpick.projects.plan import Project
from torchpick.projects.settings import TOOLS
from torchpick.requirements import named

# tomlkit's documents and items have no type worth the name: what a key holds is asked of each.
Node = Any


def parse(text: str) -> Node:
    """The document, for editing."""
    import tomlkit
    from tomlkit.exceptions import ParseError, TOMLKitError

    try:
        found = tomlkit.parse(text)
        found.unwrap()  # only now are the parts of a table that is spread over the file seen together
    except ParseError as error:
        raise TorchpickError(f"it is not TOML: {error}", hint="mend that line first", code="TOML") from error
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise TorchpickError(f"it is not TOML: {error}", hint="mend the file first", code="TOML") from error
    return found


def project(text: str) -> Project:
    """What the file says of itself; whatever is not of the form it must have counts as not said."""
    data = parse(text).unwrap()
    about = table_at(data, "project")
    poetry = table_at(data, "tool", "poetry")
    requirements = [each for each in list_of(about.get("dependencies")) if isinstance(each, str)]
    optional = [each for extra in table_at(about, "optional-dependencies").values() for each in list_of(extra)]
    tool = next((name for name in TOOLS if name in table_at(data, "tool")), "")
    uv = table_at(data, "tool", "uv")
    names = {named(str(each)) for each in (*requirements, *optional)}
    return Project(
        name=str(about.get("name") or poetry.get("name") or "mylib"),
        torch=_range(requirements),
        companions=tuple(name for name in COMPANIONS if name in names),
        requires_python=str(about.get("requires-python") or ""),
        tool=tool,
        packaged="build-system" in data and uv.get("package") is not False,
    )


def _range(requirements: list[str]) -> str:
    """The specifier of the project's own torch; requirements with markers say it for some machines only."""
    from packaging.requirements import InvalidRequirement, Requirement

    found = []
    for text in requirements:
        if named(text) != "torch":
            continue
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise TorchpickError(f"`{text}` is no requirement: {error}", hint="mend it first") from error
        if requirement.url or requirement.marker:
            what = "URL" if requirement.url else "marker"
            hint = 'say the range with `--torch ">=2.5"`'
            raise TorchpickError(f"`{text}` has a {what}, so it is no range for every machine", hint=hint)
        found.append(",".join(sorted(map(str, requirement.specifier), key=lambda each: (each.startswith("<"), each))))
    return ",".join(each for each in found if each)


def table_at(data: object, *path: str) -> Mapping[str, Node]:
    """The table there; empty where there is none."""
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data if isinstance(data, Mapping) else {}


def list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def inline(value: object) -> str:
    """The value as it stands on one line."""
    import tomlkit

    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return str(tomlkit.item(value).as_string())


def plain(item: Node) -> object:
    """The value without its looks."""
    return item.unwrap() if hasattr(item, "unwrap") else item
