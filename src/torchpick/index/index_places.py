"""Where the user's packages come from: the indexes and pages that the settings of pip and uv name. Nothing is run."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from torchpick.environment import distributions, toolsettings, world
from torchpick.errors import InstallerError, TorchpickError

_MOST_SOURCE = 1 << 20
# pip's own constant: `PyPI = PackageIndex("https://…/", …)` in pip/_internal/models/index.py, the index below `simple`.
_CONSTANT = re.compile(r"^PyPI\s*=\s*PackageIndex\(\s*[\"'](https://[^\"'\s]+)[\"']", re.MULTILINE)
_INSIDE = "pip/_internal/models/index.py"


class IndexPlaces(NamedTuple):
    """`links` are pages or folders of files. With `first_only` the first index that knows a name is the only one."""

    indexes: tuple[str, ...]
    links: tuple[str, ...] = ()
    first_only: bool = False
    source: str = "pip"

    @property
    def base(self) -> str | None:
        """Distinguishes what was learnt from these places from the rest, without passwords; None if there are none."""
        return re.sub(r"//[^/@ ]*@", "//", " ".join((*self.indexes, *self.links))) or None


def of_user(environ: Mapping[str, str], python: str | None = None, installer: str | None = None) -> IndexPlaces:
    """What pip's settings name; where they name nothing, uv's; where those do neither, pip's own default index.

    Where `uv` does the work, its settings come first.
    """
    home = os.path.expanduser("~")
    readers = (_of_uv, _of_pip) if installer == "uv" else (_of_pip, _of_uv)
    settings = (read(environ, python, home) for read in readers)
    return next(filter(None, settings), None) or IndexPlaces((default(python),))


def default(python: str | None = None) -> str:
    """The index that pip uses by default, read from its source; pip is not run."""
    for source in _sources(python):
        match = _CONSTANT.search(source)
        if match is not None:
            return f"{match[1].rstrip('/')}/simple"
    raise InstallerError(
        "no package index is known: neither pip's nor uv's settings name one, and there is no pip with a default",
        hint="specify it: `export PIP_INDEX_URL=https://…/simple`",
        code="NO_INDEX",
    )


def _sources(python: str | None) -> Iterator[str]:
    """That module of the pip of this Python, of our own, and of the wheels that Python keeps to make pips from."""
    for path in (python, None) if python else (None,):
        with suppress(TorchpickError):
            for folder in distributions.read_environment(path or sys.executable, os.environ, metadata=False).sites:
                yield world.text_of(os.path.join(folder, _INSIDE), _MOST_SOURCE)
    yield from bundled()


def bundled() -> Iterator[str]:
    folders = [Path(sysconfig.get_path("stdlib"), "ensurepip", "_bundled"), Path("/usr/share/python-wheels")]
    for wheel in (wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))):
        try:
            with world.opened(str(wheel)) as file, zipfile.ZipFile(file) as archive, archive.open(_INSIDE) as stream:
                source = stream.read(_MOST_SOURCE)
        except (OSError, KeyError, zipfile.BadZipFile):
            continue
        yield source.decode("utf-8", "replace")


def _of_pip(environ: Mapping[str, str], python: str | None, home: str) -> IndexPlaces | None:
    prefix = sys.prefix if python is None else world.prefix_of(python)
    settings = toolsettings.strongest(
        [*toolsettings.read_pip_settings(environ, prefix, home).values(), *toolsettings.pip_variables(environ)],
    )
    if not {"index-url", "extra-index-url", "find-links", "no-index"} & set(settings):
        return None
    links = tuple(_page(word) for word in _words(settings, "find-links"))
    if "no-index" in settings and settings["no-index"].is_on:
        return IndexPlaces((), links)
    main = _words(settings, "index-url")[:1] or (default(python),)
    return IndexPlaces((*main, *_words(settings, "extra-index-url")), links)


def _words(settings: Mapping[str, toolsettings.Setting], name: str) -> tuple[str, ...]:
    return settings[name].words if name in settings else ()


def _of_uv(environ: Mapping[str, str], python: str | None, home: str) -> IndexPlaces | None:
    files = toolsettings.read_uv_files(environ, home, ".")
    settings = toolsettings.uv_places(environ, files)

    def addresses(*names: str) -> list[str]:
        chosen = (setting for name in names for setting in settings if setting.name == name)
        return [_login(setting.label, word, environ) for setting in chosen for word in setting.words]

    extra = addresses("UV_INDEX", "UV_EXTRA_INDEX_URL", "index", "extra-index-url")
    main = addresses("UV_DEFAULT_INDEX", "UV_INDEX_URL", "default-index", "index-url")
    pages = (word for setting in settings if setting.name in ("UV_FIND_LINKS", "find-links") for word in setting.words)
    links = tuple(map(_page, pages))
    without = toolsettings.uv_key(files, "no-index")
    if environ.get("UV_NO_INDEX", "").lower() in toolsettings.YES or (without is not None and without.is_on):
        return IndexPlaces((), links, source="uv")
    if not (extra or main or links):
        return None
    written = toolsettings.uv_key(files, "index-strategy")
    strategy = environ.get("UV_INDEX_STRATEGY") or (written.words[0] if written else "first-index")
    indexes = tuple(dict.fromkeys((*extra, *(main[:1] or [default(python)]))))
    return IndexPlaces(indexes, links, strategy == "first-index", "uv")


def _login(name: str, word: str, environ: Mapping[str, str]) -> str:
    """The index's address with the credentials that uv takes from UV_INDEX_NAME_USERNAME and _PASSWORD.

    A variable has the name before the address, `name=https://…`.
    """
    before, mark, url = word.partition("=")
    if not mark or not before.replace("-", "").replace("_", "").isalnum():
        before, url = name, word
    key = re.sub(r"[^A-Z0-9]", "_", before.upper())
    user, password = (environ.get(f"UV_INDEX_{key}_{part}", "") for part in ("USERNAME", "PASSWORD"))
    if not key or not (user or password) or "@" in urlsplit(url).netloc:
        return url
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{rest}"


def _page(word: str) -> str:
    """A page or folder as an address; a path may stand for it."""
    return word if re.match(r"[a-z+]+:", word) else Path(os.path.expanduser(word)).absolute().as_uri()
