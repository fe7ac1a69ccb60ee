"""What a project file says of torch. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torchpick.decide.requested import named
from torchpick.environment.project import poetry
from torchpick.environment.project.plan import OwnExtra, Project
from torchpick.environment.project.settings import MARK, TOOLS
from torchpick.errors import TorchpickError
from torchpick.model.build import COMPANIONS
from torchpick.model.requirement import parsed

# tomlkit's documents and items have no type worth the name: what a key holds is asked of each.
Node = Any


def parse(text: str, what: str = "it") -> Node:
    """The document, for editing; `what` is its name in an error."""
    import tomlkit
    from tomlkit.exceptions import ParseError, TOMLKitError

    try:
        found = tomlkit.parse(text)
        found.unwrap()  # only now are the parts of a table that is spread over the file seen together
    except ParseError as error:
        raise TorchpickError(f"{what} is not TOML: {error}", hint="fix that line first", code="TOML") from error
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise TorchpickError(f"{what} is not TOML: {error}", hint="fix the file first", code="TOML") from error
    return found


def project(text: str, what: str = "it") -> Project:
    """What the file says of itself; whatever is not of the form it must have counts as not said."""
    document = parse(text, what)
    data = document.unwrap()
    about = table_at(data, "project")
    classic = table_at(data, "tool", "poetry") if "project" not in data else {}
    by_poetry = poetry.dependencies(classic)
    requirements = _texts(about.get("dependencies"))
    optional = table_at(data, "project", "optional-dependencies")
    groups = table_at(data, "dependency-groups")
    more = [text for table in (optional, groups) for values in table.values() for text in _texts(values)]
    uv = table_at(document, "tool", "uv")
    more += _texts(uv.get("dev-dependencies"))
    names = {*map(named, (*requirements, *more)), *by_poetry}
    own = (*_own(document, optional, group=False), *_own(document, groups, group=True))
    return Project(
        name=str(about.get("name") or table_at(data, "tool", "poetry").get("name") or "mylib"),
        torch=_poetry_range(by_poetry, "torch") or _range(requirements) or _range_of_groups(own),
        companions=tuple(name for name in COMPANIONS if name in names),
        requires_python=_poetry_range(by_poetry, "python") or str(about.get("requires-python") or ""),
        tool=next((name for name in TOOLS if name in table_at(data, "tool")), ""),
        packaged="build-system" in data and uv.get("package") is not False,
        needs=tuple(sorted(names - {"", "python", "torch", *COMPANIONS})),
        always=tuple(sorted(named(each) for each in requirements if ";" not in each)),
        limit=",".join(_limits(uv)),
        own=own,
        classic=bool(classic),
        kept=poetry.kept(classic, ("torch", *COMPANIONS)),
    )


def _texts(value: object) -> list[str]:
    """The requirements of a list; a group may hold tables that include other groups."""
    return [each for each in list_of(value) if isinstance(each, str)]


def _limits(uv: Mapping[str, Node]) -> Iterator[str]:
    """What the author's constraints allow of torch on every machine; what `pin` wrote is not the author's."""
    listed = uv.get("constraint-dependencies")
    for text in unmarked(listed, MARK) if listed is not None else ():
        try:
            requirement = parsed(text)
        except ValueError:
            continue  # uv says what is wrong with it
        if named(text) == "torch" and requirement.specifier and not requirement.marker:
            yield str(requirement.specifier)


def unmarked(array: Node, mark: str) -> list[str]:
    """The texts of a list on whose lines the mark does not stand."""
    lines = array.as_string().splitlines() if hasattr(array, "as_string") else []
    marked = " ".join(line for line in lines if mark in line)
    return [each for each in list_of(array) if isinstance(each, str) and each not in marked]


def _poetry_range(dependencies: Mapping[str, Node], name: str) -> str:
    said = poetry.constraint(dependencies.get(name))
    return "" if said is None else poetry.specifier(said, name)


def _own(document: Node, table: Mapping[str, Node], *, group: bool) -> Iterator[OwnExtra]:
    """What narrows torch or a companion and was not written by `extras`."""
    holder = (
        document.get("dependency-groups") if group else document["project"]["optional-dependencies"] if table else {}
    )
    for name, values in table.items():
        item = holder[name]
        if hasattr(item, "as_string") and MARK in item.as_string():
            continue
        ranges: dict[str, str | None] = {}
        for text in _texts(values):
            if named(text) in ("torch", *COMPANIONS):
                try:
                    requirement = parsed(text)
                except ValueError:
                    continue
                if requirement.url or requirement.specifier:
                    ranges[named(text)] = None if requirement.url else str(requirement.specifier)
        if ranges:
            yield OwnExtra(str(name), group, ranges)


def _range_of_groups(own: Iterable[OwnExtra]) -> str:
    """Torch's range where dependency groups alone name it, and do not differ."""
    said = {one.ranges["torch"] for one in own if one.group and one.ranges.get("torch")}
    (only,) = said if len(said) == 1 else ("",)
    return only or ""


def _range(requirements: list[str]) -> str:
    """The specifier of the project's own torch; requirements with markers say it for some machines only."""
    found = []
    for text in requirements:
        if named(text) != "torch":
            continue
        try:
            requirement = parsed(text)
        except ValueError as error:
            raise TorchpickError(f"`{text}` is not a valid requirement: {error}", hint="fix it first") from error
        if requirement.url or requirement.marker:
            what = "URL" if requirement.url else "marker"
            hint = 'give the range with `--torch ">=2.5"`'
            raise TorchpickError(f"`{text}` has a {what}, so it is not a range for every machine", hint=hint)
        parts = sorted(map(str, requirement.specifier), key=lambda each: (each.startswith("<"), each))
        found.append(",".join(parts))
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
