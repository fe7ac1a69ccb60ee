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


class Addition(Noun):
    """Values that join those of the author in one list; they are requirements, known by what they name."""

    path: Path
    values: tuple[str, ...]


class Wanted(Noun):
    """Everything that a file should hold.

    `homes` are the tables, `arrays` the arrays of tables and `joined` the shared lists that may hold what an earlier
    run wrote with this `mark`. `together` are names that exclude each other.
    """

    settings: tuple[Setting, ...] = ()
    entries: tuple[Entry, ...] = ()
    additions: tuple[Addition, ...] = ()
    homes: tuple[Path, ...] = ()
    arrays: tuple[Path, ...] = ()
    joined: tuple[Path, ...] = ()
    mark: str = MARK
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
    return Wanted(
        (*_extras(plan), *sources),
        entries,
        homes=homes,
        arrays=(("tool", "uv", "index"),),
        together=together,
        kind=kind,
    )


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
    return Wanted((*_extras(plan), *dependencies), entries, homes=homes, arrays=(("tool", "poetry", "source"),))


def _alone(name: str, names: Sequence[str]) -> str:
    others = [f"extra != '{each}'" for each in names if each != name]
    return " and ".join([f"extra == '{name}'", *others])


def _pdm(plan: Plan) -> Wanted:
    """What a source does not exclude it offers to every package that no source includes (tried with pdm 2.29.3)."""
    only = {"include_packages": sorted(plan.sources), "exclude_packages": ["*"]}
    entries = tuple(
        Entry(("tool", "pdm", "source"), {"name": each.name, "url": each.url, **only}) for each in plan.indexes
    )
    return Wanted(_extras(plan), entries, homes=(_extras_home(plan),), arrays=(("tool", "pdm", "source"),))


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


# What `pin` writes is marked apart, so that neither takes out what the other one wrote.
PIN = f"{MARK} pin"


def pin(pins: Mapping[str, str], backend: str | None, index: Entry, links: str | None) -> Wanted:
    """A project of uv's held to one build: whatever is added, locked or installed in it.

    `backend` is for `uv pip` alone, which has its own way to the wheel host; `links` takes its place where uv does not
    know the backend, or the wheels lie on a mirror.
    """
    uv = ("tool", "uv")
    settings = [Setting((*uv, "torch-backend"), backend, (PIN,))] if backend else []
    settings += [Setting((*uv, "pip", "find-links"), [links], (PIN,))] if links else []
    settings += [Setting((*uv, "sources", name), {"index": index.name}, (PIN,)) for name in pins]
    constraints = Addition((*uv, "constraint-dependencies"), tuple(f"{name}=={pins[name]}" for name in pins))
    return UNPINNED._replace(settings=tuple(settings), entries=(index,), additions=(constraints,))


# A project without what `pin` wrote.
UNPINNED = Wanted(
    homes=(("tool", "uv"),),
    arrays=(("tool", "uv", "index"),),
    joined=(("tool", "uv", "constraint-dependencies"),),
    mark=PIN,
)
