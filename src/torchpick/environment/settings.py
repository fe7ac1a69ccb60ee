"""Which indexes the user's own pip and uv settings name, and which of them are PyTorch wheel indexes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchpick.model.noun import Noun
from torchpick.model.wheelhost import is_wheel_host

# What pip and uv take for true in a setting that is written as text.
YES = ("1", "true", "yes", "on", "y", "t")


class Setting(Noun):
    """One option as pip or uv would see it, split into words, and where it was said.

    `rank`: the section of one command is stronger than the general one of any file.
    """

    name: str
    words: tuple[str, ...]
    source: str
    rank: int = 0

    @property
    def is_on(self) -> bool:
        """Of a switch."""
        return self.words[:1] != () and self.words[0].lower() in YES


# pip's options that name where packages come from; the variables and the keys of pip.conf have the same names.
PIP_PLACES = ("index-url", "extra-index-url", "find-links")


_PIP_OTHERS = (
    "constraint", "build-constraint", "requirement", "uploaded-prior-to", "no-index", "require-hashes",
    "target", "prefix", "root", "python", "dry-run", "only-deps",
)  # fmt: skip


def pip_name(key: str) -> str:
    """The option behind a key of pip.conf or a variable: pip takes any case, `_` for `-`, and an old name."""
    name = key.lower().replace("_", "-").removeprefix("--")
    return "index-url" if name == "pypi-url" else name


def pip_variable(name: str) -> str:
    return "PIP_" + name.upper().replace("-", "_")


def pip_of_environ(environ: Mapping[str, str]) -> list[Setting]:
    """The variables in any spelling, the last of which wins; an empty one is as good as unset, as with pip."""
    known = {*PIP_PLACES, *_PIP_OTHERS}
    return [
        Setting(name, tuple(value.split()), variable)
        for variable, value in environ.items()
        if variable[:4] == "PIP_" and value and (name := pip_name(variable[4:])) in known
    ]


# Pip's sections that count for `pip install`, the weakest first; the last one it has for its variables.
_PIP_SECTIONS = ("global", "install", ":env:")


def pip_of_sections(sections: Mapping[str, Mapping[str, str]], file: str) -> list[Setting]:
    """What a file of pip's says to `pip install`, the strongest last."""
    found = []
    for rank, section in enumerate(_PIP_SECTIONS):
        for key, value in sections.get(section, {}).items():
            name = pip_name(key)
            if value:
                found.append(Setting(name, tuple(value.split()), file, rank))
    return found


def strongest(settings: Iterable[Setting]) -> dict[str, Setting]:
    """What holds in the end: the last one said."""
    return {each.name: each for each in settings}


# uv's variables that name where packages come from, and what stands between their values.
UV_PLACES = {
    "UV_INDEX": None,
    "UV_DEFAULT_INDEX": None,
    "UV_INDEX_URL": None,
    "UV_EXTRA_INDEX_URL": None,
    "UV_FIND_LINKS": ",",
}


def uv_of_environ(environ: Mapping[str, str]) -> list[Setting]:
    return [
        Setting(name, tuple(part for part in value.split(separator) if part), name)
        for name, separator in UV_PLACES.items()
        if (value := environ.get(name, "").strip())
    ]


def uv_of_table(table: Mapping[str, object], file: str) -> list[Setting]:
    """The places that a uv.toml or `[tool.uv]` names; an `explicit` index is only for those that request it by name."""
    found = []
    for scope in (table, table.get("pip")):
        if not isinstance(scope, Mapping):
            continue
        for name in ("index-url", "extra-index-url", "find-links"):
            value = scope.get(name)
            words = [value] if isinstance(value, str) else value if isinstance(value, list) else []
            if words:
                found.append(Setting(name, tuple(str(word) for word in words), file))
        indexes = scope.get("index")
        found += [
            Setting("index", (str(each["url"]),), file)
            for each in (indexes if isinstance(indexes, list) else [])
            if isinstance(each, Mapping) and isinstance(each.get("url"), str) and not each.get("explicit")
        ]
    return found


def backend_of(table: Mapping[str, object]) -> str | None:
    """The torch-backend that a uv.toml or `[tool.uv]` sets."""
    for scope in (table, table.get("pip")):
        if isinstance(scope, Mapping) and "torch-backend" in scope:
            return str(scope["torch-backend"])
    return None


def without_wheel_indexes(table: Mapping[str, object]) -> dict[str, object]:
    """A uv.toml's table with the PyTorch wheel indexes and the backend taken out."""
    kept: dict[str, object] = {}
    for name, value in table.items():
        if name == "torch-backend":
            continue
        if name == "pip" and isinstance(value, Mapping):
            kept[name] = without_wheel_indexes(value)
        elif name == "index-url" and isinstance(value, str):
            if not is_wheel_host(value):
                kept[name] = value
        elif name in ("extra-index-url", "find-links") and isinstance(value, list):
            kept[name] = [each for each in value if not is_wheel_host(str(each))]
        elif name == "index" and isinstance(value, list):
            kept[name] = [each for each in value if not _open_wheel_index(each)]
        else:
            kept[name] = value
    return kept


def _open_wheel_index(entry: object) -> bool:
    if not isinstance(entry, Mapping) or entry.get("explicit"):
        return False
    return is_wheel_host(str(entry.get("url", "")))


def uv_cooldown(environ: Mapping[str, str], tables: Iterable[Mapping[str, object]]) -> Setting | None:
    """Uv's `exclude-newer`, which rejects files without a date."""
    if value := environ.get("UV_EXCLUDE_NEWER"):
        return Setting("exclude-newer", (value,), "UV_EXCLUDE_NEWER")
    for table in tables:
        for scope in (table, table.get("pip")):
            if isinstance(scope, Mapping) and "exclude-newer" in scope:
                return Setting("exclude-newer", (str(scope["exclude-newer"]),), "uv.toml")
    return None
