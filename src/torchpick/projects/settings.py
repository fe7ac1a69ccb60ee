"""A plan as the settings of one tool: which key of a project file holds what. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torchpick.model.noun import Noun
from torchpick.projects.plan import Extra, Plan

Path = tuple[str, ...]
# Everything of ours carries this word in a comment; what does not is the author's.
MARK = "torchpick"


class Setting(Noun):
    """One key and its value, with lines of a comment above the value's parts."""

    path: Path
    value: object
    comment: tuple[str, ...] = ()


class Entry(Noun):
    """One table of an array of tables, known by its name."""

    path: Path
    values: Mapping[str, object]

    @property
    def name(self) -> str:
        return str(self.values["name"])


class Wanted(Noun):
    """Everything that a file should hold. `homes` are the tables that may hold what an earlier run wrote."""

    settings: tuple[Setting, ...]
    entries: tuple[Entry, ...] = ()
    homes: tuple[Path, ...] = ()
    together: tuple[str, ...] = ()
    kind: str = "extra"


def wanted(plan: Plan) -> Wanted:
    return _TOOLS[plan.tool](plan)


def _extras_home(plan: Plan) -> Path:
    return ("dependency-groups",) if plan.groups else ("project", "optional-dependencies")


def _extras(plan: Plan) -> tuple[Setting, ...]:
    home = _extras_home(plan)
    return tuple(Setting((*home, each.name), list(each.requirements), _wrapped(each.comment)) for each in plan.extras)


def _wrapped(lines: Sequence[str]) -> tuple[str, ...]:
    import textwrap

    return tuple(part for line in lines for part in textwrap.wrap(line, 100, subsequent_indent="  "))


def _library(plan: Plan) -> Wanted:
    return Wanted(_extras(plan), homes=(_extras_home(plan),))


def _uv(plan: Plan) -> Wanted:
    kind = "group" if plan.groups else "extra"
    sources = tuple(
        Setting(("tool", "uv", "sources", package), [{"index": index, kind: name} for index, name in pairs], (MARK,))
        for package, pairs in plan.sources.items()
    )
    entries = tuple(
        Entry(("tool", "uv", "index"), {"name": each.name, "url": each.url, "explicit": True}) for each in plan.indexes
    )
    together = tuple(each.name for each in plan.extras) if len(plan.extras) > 1 else ()
    homes = (_extras_home(plan), ("tool", "uv", "sources"))
    return Wanted((*_extras(plan), *sources), entries, homes, together, kind)


def _poetry(plan: Plan) -> Wanted:
    """Poetry tells the extras apart by markers: each source holds where its extra is on and no other."""
    names = [each.name for each in plan.extras]
    dependencies = tuple(
        Setting(
            ("tool", "poetry", "dependencies", package),
            [{"source": index, "markers": _alone(name, names)} for index, name in pairs],
            (MARK,),
        )
        for package, pairs in plan.sources.items()
    )
    entries = tuple(
        Entry(("tool", "poetry", "source"), {"name": each.name, "url": each.url, "priority": "explicit"})
        for each in plan.indexes
    )
    homes = (_extras_home(plan), ("tool", "poetry", "dependencies"))
    return Wanted((*_extras(plan), *dependencies), entries, homes)


def _alone(name: str, names: Sequence[str]) -> str:
    others = [f"extra != '{each}'" for each in names if each != name]
    return " and ".join([f"extra == '{name}'", *others])


def _pdm(plan: Plan) -> Wanted:
    """What a source does not exclude it offers to every package that no source includes (tried with pdm 2.29.3)."""
    only = {"include_packages": sorted(plan.sources), "exclude_packages": ["*"]}
    entries = tuple(
        Entry(("tool", "pdm", "source"), {"name": each.name, "url": each.url, **only}) for each in plan.indexes
    )
    return Wanted(_extras(plan), entries, (_extras_home(plan),))


def _pixi(plan: Plan) -> Wanted:
    """Pixi makes a feature of every extra by itself, so the pins stand in features and not in extras."""
    urls = {each.name: each.url for each in plan.indexes}
    found: list[Setting] = []
    for extra in plan.extras:
        feature = ("tool", "pixi", "feature", extra.name)
        for package, pairs in plan.sources.items():
            index = next(index for index, name in pairs if name == extra.name)
            value = {"version": f"=={_version(extra, package)}", "index": urls[index]}
            comment = extra.comment if package == "torch" else (MARK,)
            found.append(Setting((*feature, "pypi-dependencies", package), value, comment))
        if extra.backend.startswith("cu"):
            # Minor-version compatibility: a driver of the same CUDA major carries it.
            major = extra.backend[2:-1]
            found.append(Setting((*feature, "system-requirements", "cuda"), major, (MARK,)))
        found.append(Setting(("tool", "pixi", "environments", extra.name), [extra.name], (MARK,)))
    return Wanted(tuple(found), homes=(("tool", "pixi", "feature"), ("tool", "pixi", "environments")))


def _version(extra: Extra, package: str) -> str:
    """The version of the first pin of this package, for Linux and Windows; pixi has features for other platforms."""
    pin = next(each for each in extra.requirements if each.startswith(f"{package}=="))
    return pin.removeprefix(f"{package}==").split(";")[0].strip()


_TOOLS: Mapping[str, Callable[[Plan], Wanted]] = {
    "": _library,
    "uv": _uv,
    "poetry": _poetry,
    "pdm": _pdm,
    "pixi": _pixi,
}
TOOLS = tuple(name for name in _TOOLS if name)
