"""The settings of pip and uv that name a PyTorch index or backend, and the lock of the project: read, never run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from torchpick.doctor.facts import Lock, Setting

# The wheel host, or its layout on a mirror: …/whl, …/whl/cu126, …/whl/nightly/cpu.
_INDEX = re.compile(
    r"(?:https?|file)://[^\s\"']{0,300}?/whl(?:/(?:nightly|test))?(?:/(cpu|cu\d{2,4}|rocm\d[\d.]{0,9}|xpu))?"
    r"(?:/[^\s\"']{0,300})?(?=[\s\"',]|$)"
)
_UV_BACKEND = re.compile(r"^\s*torch-backend\s*=\s*[\"']([a-z0-9.]{1,20})[\"']", re.MULTILINE)
_PIP_KEYS = re.compile(r"^(index-url|extra-index-url|find-links)$")
_VARIABLES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
)
_MOST_BYTES = 1 << 20
_MOST_LOCK = 64 << 20


def read(environ: Mapping[str, str], prefix: str, folder: str) -> tuple[Setting, ...]:
    """What would decide the next plain install: variables, pip's files, uv's files, the project in `folder`."""
    found = []
    if backend := environ.get("UV_TORCH_BACKEND"):
        found.append(Setting("UV_TORCH_BACKEND", "the environment", backend, backend))
    for name in _VARIABLES:
        found += [Setting(name, "the environment", url, tag) for url, tag in _indexes(environ.get(name, ""))]
    for file in _pip_files(environ, prefix):
        found += _pip(file)
    for file in _uv_files(environ, folder):
        found += _uv(file)
    return tuple(found[:100])


def _indexes(text: str) -> Iterator[tuple[str, str | None]]:
    for match in _INDEX.finditer(text):
        yield match[0], match[1]


def _pip_files(environ: Mapping[str, str], prefix: str) -> list[str]:
    """Where pip looks (its documentation, configuration files), the strongest last."""
    told = environ.get("PIP_CONFIG_FILE")
    if told == os.devnull:
        return []
    home = environ.get("HOME") or os.path.expanduser("~")
    name = "pip.ini" if os.name == "nt" else "pip.conf"
    if os.name == "nt":
        shared = [os.path.join(environ.get("PROGRAMDATA", r"C:\ProgramData"), "pip", name)]
        mine = [os.path.join(home, "pip", name), os.path.join(environ.get("APPDATA", home), "pip", name)]
    else:
        shared = [os.path.join(each, "pip", name) for each in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")]
        shared.append("/etc/pip.conf")
        config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        mine = [os.path.join(home, ".pip", name), os.path.join(config, "pip", name)]
    return [*shared, *mine, os.path.join(prefix, name), *([told] if told else [])]


def _pip(file: str) -> Iterator[Setting]:
    """The sections of a pip.conf, its values continued on indented lines."""
    key = ""
    for line in _text(file).splitlines():
        value = line
        if line[:1] not in (" ", "\t"):
            key, _, value = (part.strip() for part in line.partition("="))
        if _PIP_KEYS.match(key.replace("_", "-").lower()):
            for url, tag in _indexes(value):
                yield Setting(key, file, url, tag)


def _uv_files(environ: Mapping[str, str], folder: str) -> list[str]:
    home = environ.get("HOME") or os.path.expanduser("~")
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    if environ.get("UV_NO_CONFIG"):
        return []
    told = environ.get("UV_CONFIG_FILE")
    near = _nearest(folder, "uv.toml") or _nearest(folder, "pyproject.toml")
    files = [told] if told else ["/etc/uv/uv.toml", os.path.join(config, "uv", "uv.toml"), near]
    return [file for file in files if file]


def _uv(file: str) -> Iterator[Setting]:
    text = _text(file)
    if match := _UV_BACKEND.search(text):
        yield Setting("torch-backend", file, match[1], match[1])
    if not file.endswith("pyproject.toml"):
        # A project's own indexes are bound to packages by its sources; those of uv.toml serve every package.
        yield from (Setting("index", file, url, tag) for url, tag in _indexes(text))


def lock(prefix: str) -> Lock | None:
    """The uv.lock of the project whose `.venv` this is."""
    project, name = os.path.split(os.path.abspath(prefix))
    file = os.path.join(project, "uv.lock")
    if name != ".venv" or not os.path.isfile(file):
        return None
    blocks = _text(file, _MOST_LOCK).split("[[package]]")[1:100_000]
    versions = [
        match[1]
        for block in blocks
        if re.search(r"^name = \"torch\"$", block, re.MULTILINE)
        and (match := re.search(r"^version = \"([^\"]{1,60})\"$", block, re.MULTILINE))
    ]
    return Lock(file, tuple(versions)) if versions else None


def _nearest(folder: str, name: str) -> str | None:
    here = os.path.abspath(folder)
    for _ in range(100):
        if os.path.isfile(os.path.join(here, name)):
            return os.path.join(here, name)
        here, before = os.path.dirname(here), here
        if here == before:
            break
    return None


def _text(file: str, most: int = _MOST_BYTES) -> str:
    """The start of a text file; nothing where it cannot be read, as pip and uv then say so themselves."""
    try:
        with open(file, "rb") as stream:
            return stream.read(most).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
