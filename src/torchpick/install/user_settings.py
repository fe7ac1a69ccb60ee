"""The user's own pip and uv settings in one environment: what of them binds the answer, and which indexes they name.

They hold as they are: torch's family comes by the addresses of its files, so that no index can lead it away.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from itertools import zip_longest

from torchpick.environment import requirements, toolsettings
from torchpick.environment.requirementfiles import RequirementLine, not_below
from torchpick.environment.requirements import Requested
from torchpick.errors import NetworkError, RequirementError, UsageError
from torchpick.model import NamedTuple
from torchpick.model.address import WHEEL_HOST, is_on_host_of, is_wheel_host, redacted
from torchpick.model.build import TRIO
from torchpick.model.machine import Note
from torchpick.model.pick import Limit
from torchpick.model.versions import marker_applies, marker_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torchpick.environment.requirements import Fetch
    from torchpick.environment.toolsettings import Setting, UvFile
    from torchpick.run import Run

# An override takes the place of what anybody requires, and our pins are constraints, which hold beside it (uv 0.13.9).
_BINDING = ("constraint-dependencies", "override-dependencies")


class UserSettings(NamedTuple):
    """The settings of one environment.

    `of_folder` are the files among uv's that lie in this folder or above it; `fetch` reads one on another computer.
    """

    environ: Mapping[str, str] = {}
    pip: Mapping[str, Setting] = {}
    uv_files: tuple[UvFile, ...] = ()
    of_folder: tuple[str, ...] = ()
    fetch: Fetch | None = None
    base: str = WHEEL_HOST

    def is_wheel_index(self, url: str) -> bool:
        """Whether the URL is of the wheel host, or of the mirror that stands for it."""
        return is_wheel_host(url, self.base)

    @property
    def uv_places(self) -> list[Setting]:
        return toolsettings.uv_places(self.environ, self.uv_files)

    @property
    def pip_places(self) -> list[Setting]:
        return [self.pip[name] for name in toolsettings.PIP_PLACES if name in self.pip]

    def pip_words(self, name: str) -> tuple[str, ...]:
        """What an option of pip's is set to; nothing where it is not."""
        return self.pip[name].words if name in self.pip else ()

    def uv_words(self, variable: str) -> list[str]:
        """What a variable of uv's holds; nothing where it is not set."""
        return self.environ.get(variable, "").split()


def read_user_settings(
    environ: Mapping[str, str], prefix: str | None, fetch: Fetch | None = None, base: str = WHEEL_HOST
) -> UserSettings:
    """The variables, and where there is an environment at `prefix` the files of the user, the system and it."""
    variables = toolsettings.strongest(toolsettings.pip_variables(environ))
    if prefix is None:
        return UserSettings(environ, variables, fetch=fetch, base=base)
    home = os.path.expanduser("~")
    files = _without_pin(toolsettings.read_pip_settings(environ, prefix, home), prefix, base)
    uv_files = tuple(toolsettings.read_uv_files(environ, home, os.getcwd()))
    elsewhere = {*toolsettings.uv_files(environ, home, sys.platform), environ.get("UV_CONFIG_FILE", "")}
    of_folder = tuple(path for path, _ in uv_files if path not in elsewhere)
    return UserSettings(environ, {**files, **variables}, uv_files, of_folder, fetch, base)


def read_settings(run: Run, prefix: str | None) -> UserSettings:
    """The settings of the user's pip and uv in an environment; without one those of variables alone."""
    return read_user_settings(run.environ, prefix, run.fetch, run.index_base)


def _without_pin(files: dict[str, Setting], prefix: str, base: str) -> dict[str, Setting]:
    """Pip's files without the wheel host's pages that `torchpick pin` wrote: they are nobody's will."""
    constraint, links = files.get("constraint"), files.get("find-links")
    if constraint is None or links is None or links.source != toolsettings.own_pip_file(prefix):
        return files
    if constraint.words == not_below(constraint.words, toolsettings.store_of(prefix)):
        return files
    users = tuple(word for word in links.words if not is_wheel_host(word, base))
    return {**files, "find-links": links._replace(words=users)}


def limits_in(settings: UserSettings, paths: Iterable[str], source: str) -> Iterator[Requested]:
    """What these files of constraints hold. One that is not there is an error, as it is for pip and uv.

    What a server does not give now binds when the installer asks it again.
    """
    for path in paths:
        with suppress(NetworkError):
            yield from requirements.read_limits([path], source, settings.environ, settings.fetch)


def unasked_constraints(
    settings: UserSettings, installer: str | None, python: str, our_folders: tuple[str, ...]
) -> tuple[Requested, ...]:
    """The constraints that bind unasked, each with its place: the variables of both, the files of this installer.

    Files in folders that torchpick writes bind nobody.
    """
    constraints: list[Requested] = []
    sources = [(settings.uv_words(name), name) for name in ("UV_CONSTRAINT", "UV_OVERRIDE")]
    pip = settings.pip.get("constraint")
    if pip is not None and (installer == "pip" or pip.source.startswith("PIP_")):
        sources.insert(0, (list(pip.words), pip.source))
    for words, source in sources:
        constraints += limits_in(settings, not_below(words, *our_folders), source)
    for file in settings.uv_files if installer == "uv" else ():
        for key in _BINDING:
            constraints += requirements_under(file, key)
    facts = marker_facts(python) if any(constraint.marker for constraint in constraints) else {}
    return tuple(constraint for constraint in constraints if marker_applies(constraint.marker, facts))


def requirements_under(file: UvFile, key: str) -> Iterator[Requested]:
    """The requirements under a key of uv's; what uv cannot read either is left to it."""
    path, table = file
    texts = table.get(key)
    for text in texts if isinstance(texts, list) else ():
        with suppress(RequirementError):
            yield requirements.parse(str(text), f"{path} {key}")


def as_limits(constraints: Iterable[Requested], base: str) -> tuple[Limit, ...]:
    """These constraints as the answer takes them; one that names a file of torch's elsewhere is refused."""
    limits = []
    for constraint in constraints:
        name, url = constraint.name, constraint.place
        if url and name in TRIO and not (is_wheel_host(url) or is_on_host_of(url, base)):
            hint = "leave that line out: torchpick names the very file; `--index-base URL` specifies a mirror"
            message = f"{constraint.where} leads {name} to {redacted(url)}"
            raise UsageError(f"{message}, and only {redacted(base)} may supply it", hint=hint)
        if name and constraint.specifier:
            limits.append(Limit(name, constraint.specifier, constraint.where))
    return tuple(dict.fromkeys(limits))


# What stands after `--`.


def options_of(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each word as an option with its value, whether that follows `=` or is the next word."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        option, mark, value = word.partition("=")
        yield option, value if mark else following


def check_passed_on(words: Sequence[str]) -> None:
    """Refuse what stands after `--` and asks for packages, or leads around the answer."""
    behind_option = False
    for word in words:
        option, _, value = word.partition("=")
        if _is_refused(option, word) or not (word.startswith("-") or behind_option):
            hint = "name it before `--`, where torchpick judges it, or leave it out"
            raise UsageError(f"`{redacted(word)}` after `--` leads around the answer", hint=hint)
        behind_option = word.startswith("-") and not value


# Settings that torchpick would not have read; pip takes any beginning of a long name.
_REFUSED = (
    "--requirement", "--constraint", "--editable", "--overrides", "--excludes", "--build-constraints", "--config-file",
    "--project", "--directory", "--python", "--torch-backend",
)  # fmt: skip
_REFUSED_LETTERS = ("r", "c", "e", "p", "b")
_ALIKE = frozenset({"--python-version", "--python-platform", "--pre", "--prefer-binary", "--prefix", "--no-config"})


def _is_refused(option: str, word: str) -> bool:
    if option.startswith("--"):
        is_long = len(option) >= len("--xx") and option not in _ALIKE
        return is_long and any(name.startswith(option) for name in _REFUSED)
    # Switches may stand before a letter that takes the rest for its value.
    return word.startswith("-") and word[1:].lstrip("UqvIn").startswith(_REFUSED_LETTERS)


# The indexes that are named.

_RULES = {"pip": "pip takes the highest version of all indexes", "uv": "uv takes the first index that has a name"}


def note_indexes(
    settings: UserSettings,
    installers: Sequence[str],
    lines: Mapping[str, Sequence[RequirementLine]] = {},
    passed_on: Sequence[str] = (),
    projects: Sequence[str] = (),
) -> tuple[Note, ...]:
    """Notes of the wheel indexes among the user's own, and of the indexes that a file of this folder names to uv.

    `lines` are those of requirements files; `projects` are those of the question that lie on such an index too.
    """
    named = [*(settings.pip_places if "pip" in installers else ()), *(settings.uv_places if "uv" in installers else ())]
    words = [(word, setting.source) for setting in named for word in setting.words if settings.is_wheel_index(word)]
    places = [(word, f"{source}{_line(source, word)}") for word, source in words]
    places += [(line.place, f"{redacted(path)}:{line.first}") for path, entries in lines.items() for line in entries]
    # Behind its option, or in one word with it.
    places += [(word[max(word.lower().find("http"), 0) :], "after `--`") for word in passed_on]
    urls = dict.fromkeys(f"{redacted(url)} ({where})" for url, where in places if settings.is_wheel_index(url))
    notes = [
        Note("INDEX_OF_FOLDER", f"{setting.source} names {', '.join(map(redacted, setting.words))}")
        for setting in named
        if setting.source in settings.of_folder
    ]
    if urls:
        supplies = f"has {', '.join(projects)} too" if projects else "may have other packages too"
        rules = " and ".join(_RULES[name] for name in installers)
        text = f"a PyTorch wheel index among your own {supplies}: {rules}; torch's build stays as it is"
        notes.insert(0, Note("WHEEL_INDEX", f"{text}: {', '.join(urls)}"))
    return tuple(notes)


def _line(path: str, word: str) -> str:
    """`:12`, the line of a file that names this; empty for a variable, and where it is written otherwise there."""
    before, found, _ = (toolsettings.text_of_settings(path) or "").partition(word)
    return f":{before.count(chr(10)) + 1}" if found else ""
