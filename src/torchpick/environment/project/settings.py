"""A plan as the settings of one tool: which key of a project file holds what. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torchpick.decide.requested import named
from torchpick.environment.project import poetry
from torchpick.environment.project.plan import Extra, Plan
from torchpick.model.markers import NEVER
from torchpick.model.noun import Noun

Path = tuple[str, ...]
# Everything of ours carries this word in a comment; what does not is the author's.
MARK = "torchpick"


class ProjectSetting(Noun):
    """One key and its value, with lines of a comment above the value's parts.

    `holds` is a value of the author's that it may take the place of, since it is part of this one.
    """

    path: Path
    value: object
    comment: tuple[str, ...] = ()
    holds: object = None


class ArrayEntry(Noun):
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


class ProjectSettings(Noun):
    """Everything that a file should hold.

    `homes` are the tables, `arrays` the arrays of tables and `joined` the shared lists that may hold what an earlier
    run wrote with this `mark`. `apart` are sets of uv's extras and groups that exclude each other. `binding` are the
    projects whose requirements must hold in uv, to a version where there is one for all.
    """

    settings: tuple[ProjectSetting, ...] = ()
    entries: tuple[ArrayEntry, ...] = ()
    additions: tuple[Addition, ...] = ()
    homes: tuple[Path, ...] = ()
    arrays: tuple[Path, ...] = ()
    joined: tuple[Path, ...] = ()
    mark: str = MARK
    apart: tuple[tuple[Mapping[str, str], ...], ...] = ()
    kind: str = "extra"
    binding: Mapping[str, str | None] = {}


def wanted(plan: Plan) -> ProjectSettings:
    return _TOOLS[plan.tool](plan)


def _extras_home(plan: Plan) -> Path:
    return ("dependency-groups",) if plan.groups else ("project", "optional-dependencies")


def _extras(plan: Plan) -> tuple[ProjectSetting, ...]:
    home = _extras_home(plan)
    return tuple(
        ProjectSetting((*home, each.name), list(each.requirements), _wrapped(each.comment)) for each in plan.extras
    )


def _wrapped(lines: Sequence[str]) -> tuple[str, ...]:
    import textwrap

    return tuple(part for line in lines for part in textwrap.wrap(line, 100, subsequent_indent="  "))


def _library(plan: Plan) -> ProjectSettings:
    if plan.classic:
        return _classic(plan)
    return ProjectSettings(_extras(plan), homes=(_extras_home(plan),))


def _uv(plan: Plan) -> ProjectSettings:
    kind = "group" if plan.groups else "extra"
    sources = tuple(
        ProjectSetting(
            ("tool", "uv", "sources", package), [{"index": index, kind: name} for index, name in pairs], (MARK,)
        )
        for package, pairs in plan.sources.items()
    )
    entries = tuple(
        ArrayEntry(("tool", "uv", "index"), {"name": each.name, "url": each.url, "explicit": True})
        for each in plan.indexes
    )
    builds = ("tool", "uv", "extra-build-dependencies")
    # So that such a package is built against the torch that is installed, and not against the newest.
    against = [{"requirement": "torch", "match-runtime": True}]
    built = tuple(ProjectSetting((*builds, package), against, (MARK,)) for package in plan.builds_with_torch)
    homes = (_extras_home(plan), ("tool", "uv", "sources"), builds)
    overrides = ("tool", "uv", "override-dependencies")
    never = Addition(overrides, tuple(f"{name} ; {NEVER}" for name in plan.doubles))
    return ProjectSettings(
        (*_extras(plan), *sources, *built),
        entries,
        additions=(never,) if plan.doubles else (),
        homes=homes,
        arrays=(("tool", "uv", "index"),),
        joined=(overrides,),
        apart=_apart(plan, kind),
        kind=kind,
        binding=dict.fromkeys(plan.sources),
    )


def _apart(plan: Plan, kind: str) -> tuple[tuple[Mapping[str, str], ...], ...]:
    """Ours exclude each other, and each of the author's those of ours that it contradicts."""
    ours = tuple({kind: extra.name} for extra in plan.extras)
    sets: list[tuple[Mapping[str, str], ...]] = [ours] if len(ours) > 1 else []
    for own, names in plan.apart:
        sets.append((*({kind: name} for name in names), {"group" if own.group else "extra": own.name}))
    return tuple(sets)


def _poetry(plan: Plan) -> ProjectSettings:
    """Poetry separates the extras by markers: each source holds where its extra is on and no other."""
    if plan.classic:
        return _classic(plan)
    names = [each.name for each in plan.extras]
    dependencies = tuple(
        ProjectSetting(
            ("tool", "poetry", "dependencies", package),
            [{"source": index, "markers": poetry.alone(name, names)} for index, name in pairs],
            (MARK,),
        )
        for package, pairs in plan.sources.items()
    )
    entries = tuple(
        ArrayEntry(("tool", "poetry", "source"), {"name": each.name, "url": each.url, "priority": "explicit"})
        for each in plan.indexes
    )
    homes = (_extras_home(plan), ("tool", "poetry", "dependencies"))
    return ProjectSettings(
        (*_extras(plan), *dependencies), entries, homes=homes, arrays=(("tool", "poetry", "source"),)
    )


def _classic(plan: Plan) -> ProjectSettings:
    """Without a [project] table the pins stand in Poetry's dependencies, and an extra names its packages."""
    home = ("tool", "poetry")
    found = [
        ProjectSetting((*home, "extras", extra.name), list(_packages(extra)), _wrapped(extra.comment))
        for extra in plan.extras
    ]
    for package in dict.fromkeys(name for extra in plan.extras for name in _packages(extra)):
        pins = {
            extra.name: [text for text in extra.requirements if named(text) == package]
            for extra in plan.extras
            if package in _packages(extra)
        }
        sources = {name: index for index, name in plan.sources.get(package, ())}
        own = plan.kept.get(package)
        value = poetry.alternatives(pins, sources, own)
        found.append(ProjectSetting((*home, "dependencies", package), value, (MARK,), own))
    entries = tuple(
        ArrayEntry((*home, "source"), {"name": index.name, "url": index.url, "priority": "explicit"})
        for index in plan.indexes
    )
    homes = ((*home, "extras"), (*home, "dependencies"))
    return ProjectSettings(tuple(found), entries, homes=homes, arrays=((*home, "source"),))


def _packages(extra: Extra) -> dict[str, None]:
    return dict.fromkeys(map(named, extra.requirements))


def _pdm(plan: Plan) -> ProjectSettings:
    """What a source does not exclude it offers to every package that no source includes (tried with pdm 2.29.3)."""
    only = {"include_packages": sorted(plan.sources), "exclude_packages": ["*"]}
    entries = tuple(
        ArrayEntry(("tool", "pdm", "source"), {"name": each.name, "url": each.url, **only}) for each in plan.indexes
    )
    return ProjectSettings(_extras(plan), entries, homes=(_extras_home(plan),), arrays=(("tool", "pdm", "source"),))


def _pixi(plan: Plan) -> ProjectSettings:
    """Pixi makes a feature of every extra by itself, so the pins stand in features and not in extras."""
    urls = {each.name: each.url for each in plan.indexes}
    found: list[ProjectSetting] = []
    for extra in plan.extras:
        feature = ("tool", "pixi", "feature", extra.name)
        for package, pairs in plan.sources.items():
            index = next(index for index, name in pairs if name == extra.name)
            value = {"version": f"=={_version(extra, package)}", "index": urls[index]}
            comment = extra.comment if package == "torch" else (MARK,)
            found.append(ProjectSetting((*feature, "pypi-dependencies", package), value, comment))
        if extra.backend.startswith("cu"):
            # Minor-version compatibility: a driver of the same CUDA major carries it.
            major = extra.backend[2:-1]
            found.append(ProjectSetting((*feature, "system-requirements", "cuda"), major, (MARK,)))
        found.append(ProjectSetting(("tool", "pixi", "environments", extra.name), [extra.name], (MARK,)))
    return ProjectSettings(tuple(found), homes=(("tool", "pixi", "feature"), ("tool", "pixi", "environments")))


def _version(extra: Extra, package: str) -> str:
    """The version of the first pin of this package, for Linux and Windows; pixi has features for other platforms."""
    pin = next(each for each in extra.requirements if each.startswith(f"{package}=="))
    return pin.removeprefix(f"{package}==").split(";")[0].strip()


_TOOLS: Mapping[str, Callable[[Plan], ProjectSettings]] = {
    "": _library,
    "uv": _uv,
    "poetry": _poetry,
    "pdm": _pdm,
    "pixi": _pixi,
}
TOOLS = tuple(name for name in _TOOLS if name)


# What `pin` writes is marked apart, so that neither takes out what the other one wrote.
PIN = f"{MARK} pin"


def pin(
    pins: Mapping[str, str], backend: str | None, index: Mapping[str, object] | None, links: str | None
) -> ProjectSettings:
    """A project of uv's pinned to one build: whatever is added, locked or installed in it.

    `backend` is for `uv pip` alone, which has its own way to the wheel host; `links` takes its place where uv does not
    know the backend, or the wheels lie on a mirror. Without an `index` the project's own have the build.
    """
    uv = ("tool", "uv")
    settings = [ProjectSetting((*uv, "torch-backend"), backend, (PIN,))] if backend else []
    settings += [ProjectSetting((*uv, "pip", "find-links"), [links], (PIN,))] if links else []
    entries = () if index is None else (ArrayEntry((*uv, "index"), index),)
    settings += [
        ProjectSetting((*uv, "sources", name), {"index": entry.name}, (PIN,)) for entry in entries for name in pins
    ]
    constraints = Addition((*uv, "constraint-dependencies"), tuple(f"{name}=={pins[name]}" for name in pins))
    return UNPINNED._replace(settings=tuple(settings), entries=entries, additions=(constraints,), binding={**pins})


def pin_script(
    pins: Mapping[str, str], backend: str | None, index: Mapping[str, object] | None, links: Sequence[str]
) -> ProjectSettings:
    """The same for a script's own block, which knows `torch-backend` and `find-links` at its top alone."""
    held = pin(pins, backend, index, None)
    more = [ProjectSetting(("tool", "uv", "find-links"), list(links), (PIN,))] if links else []
    return held._replace(settings=(*more, *held.settings))


# A project without what `pin` wrote.
UNPINNED = ProjectSettings(
    homes=(("tool", "uv"),),
    arrays=(("tool", "uv", "index"),),
    joined=(("tool", "uv", "constraint-dependencies"),),
    mark=PIN,
)
