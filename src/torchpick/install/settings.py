"""Which indexes the user's own pip and uv settings name, and which of them are PyTorch wheel indexes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from torchpick.model.noun import Noun

# The wheel host and the names its files are served under.
_HOSTS = ("pytorch.org",)
# Its layout: /whl/<backend>/…, /whl/nightly/…, /whl/torch_stable.html; field: mirrors keep it.
_LAYOUT = re.compile(
    r"/whl/(?:(?:nightly|test|preview|lts)(?:/|$)|(?:cpu|xpu|cu\d+|rocm[\d.]+)(?:[_-]\w+)?(?:/|$)|torch[\w.]*(?:/|$))"
)


class Setting(Noun):
    """One option as pip or uv would see it, split into words, and where it was said."""

    name: str
    words: tuple[str, ...]
    source: str


def is_wheel_index(url: str) -> bool:
    """Whether the URL is of a PyTorch wheel index: its host, or its `/whl/<backend>` layout anywhere."""
    from urllib.parse import urlsplit

    address = url.partition("=")[2] if re.match(r"[A-Za-z0-9_-]+=\w+:", url) else url
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    host = (parts.hostname or "").lower()
    if any(host == each or host.endswith("." + each) for each in _HOSTS):
        return True
    return bool(parts.scheme) and _LAYOUT.search(parts.path) is not None


_PASSWORD = re.compile(r"(?<=://)([^/@:\s]*):[^/@\s]*@")


def redacted(text: str) -> str:
    """The text with the passwords of the URLs in it hidden."""
    return _PASSWORD.sub(r"\1:****@", text)


# pip's options that name where packages come from; the variables and the keys of pip.conf have the same names.
PIP_PLACES = ("index-url", "extra-index-url", "find-links")


def pip_variable(name: str) -> str:
    return "PIP_" + name.upper().replace("-", "_")


def pip_of_environ(environ: Mapping[str, str]) -> list[Setting]:
    """The variables; an empty one is as good as unset, as with pip."""
    return [
        Setting(name, tuple(value.split()), pip_variable(name))
        for name in (*PIP_PLACES, "constraint", "uploaded-prior-to", "no-index", "require-hashes")
        if (value := environ.get(pip_variable(name)))
    ]


def pip_of_sections(sections: Mapping[str, Mapping[str, str]], file: str) -> list[Setting]:
    """`[global]`, then `[install]`, which is stronger."""
    found = []
    for section in ("global", "install"):
        for key, value in sections.get(section, {}).items():
            name = key.lower().replace("_", "-").removeprefix("--")
            if value:
                found.append(Setting(name, tuple(value.split()), file))
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
    """The places that a uv.toml or `[tool.uv]` names; an `explicit` index serves only who asks for it by name."""
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


def has_backend(table: Mapping[str, object]) -> bool:
    inner = table.get("pip")
    return "torch-backend" in table or (isinstance(inner, Mapping) and "torch-backend" in inner)


def without_wheel_indexes(table: Mapping[str, object]) -> dict[str, object]:
    """A uv.toml's table with the PyTorch wheel indexes and the backend taken out."""
    kept: dict[str, object] = {}
    for name, value in table.items():
        if name == "torch-backend":
            continue
        if name == "pip" and isinstance(value, Mapping):
            kept[name] = without_wheel_indexes(value)
        elif name == "index-url" and isinstance(value, str):
            if not is_wheel_index(value):
                kept[name] = value
        elif name in ("extra-index-url", "find-links") and isinstance(value, list):
            kept[name] = [each for each in value if not is_wheel_index(str(each))]
        elif name == "index" and isinstance(value, list):
            kept[name] = [each for each in value if not _open_wheel_index(each)]
        else:
            kept[name] = value
    return kept


def _open_wheel_index(entry: object) -> bool:
    if not isinstance(entry, Mapping) or entry.get("explicit"):
        return False
    return is_wheel_index(str(entry.get("url", "")))


def uv_cooldown(environ: Mapping[str, str], tables: Iterable[Mapping[str, object]]) -> Setting | None:
    """Uv's `exclude-newer`, which rejects files without a date."""
    if value := environ.get("UV_EXCLUDE_NEWER"):
        return Setting("exclude-newer", (value,), "UV_EXCLUDE_NEWER")
    for table in tables:
        for scope in (table, table.get("pip")):
            if isinstance(scope, Mapping) and "exclude-newer" in scope:
                return Setting("exclude-newer", (str(scope["exclude-newer"]),), "uv.toml")
    return None
