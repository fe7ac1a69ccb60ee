"""The user's own pip and uv settings in one environment: what of them binds the answer, and which indexes they name.

They hold as they are: torch's family comes by the addresses of its files, so that no index can lead it away.
"""

from __future__ import annotations

import os
import sys

from torchpick.environment import requirements, settingsfiles, toolsettings
from torchpick.environment.requirementfiles import not_below
from torchpick.environment.requirements import Requested
from torchpick.errors import RequirementError, TorchpickError, UsageError
from torchpick.model.build import TRIO, WHEEL_HOST, is_on_host_of, is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pythons import marker_applies, marker_facts
from torchpick.model.redaction import redacted
from torchpick.model.request import Limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torchpick.environment.requirementfiles import RequirementLine
    from torchpick.environment.requirements import Fetch
    from torchpick.environment.toolsettings import Setting, UvFile


# Options that put packages elsewhere than into the target, or nowhere.
_AWAY = frozenset({"--target", "-t", "--prefix", "--root", "--user", "--dry-run"})
# An override takes the place of what anybody requires, and our pins are constraints, which hold beside it (uv 0.13.9).
_BINDING = ("constraint-dependencies", "override-dependencies")


class UserSettings(Noun):
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
        """What names indexes and pages to uv: its variables, then its files."""
        in_files = (said for file in self.uv_files for said in toolsettings.uv_of_file(file))
        return [*toolsettings.uv_of_environ(self.environ), *in_files]

    @property
    def pip_places(self) -> list[Setting]:
        return [self.pip[name] for name in toolsettings.PIP_PLACES if name in self.pip]

    def pip_words(self, name: str) -> tuple[str, ...]:
        """What an option of pip's is set to; nothing where it is not."""
        return self.pip[name].words if name in self.pip else ()


def read_user_settings(
    environ: Mapping[str, str], prefix: str | None, fetch: Fetch | None = None, base: str = WHEEL_HOST
) -> UserSettings:
    """The variables, and where there is an environment at `prefix` the files of the user, the system and it."""
    variables = toolsettings.strongest(toolsettings.pip_of_environ(environ))
    if prefix is None:
        return UserSettings(environ, variables, fetch=fetch, base=base)
    home = os.path.expanduser("~")
    files = toolsettings.pip(environ, prefix, home)
    for_uv = tuple(toolsettings.uv(environ, home, os.getcwd()))
    elsewhere = {*settingsfiles.uv_files(environ, home, sys.platform), environ.get("UV_CONFIG_FILE", "")}
    of_folder = tuple(file.path for file in for_uv if file.path not in elsewhere)
    return UserSettings(environ, {**files, **variables}, for_uv, of_folder, fetch, base)


def unasked_constraints(
    own: UserSettings, installer: str | None, python: str, ours: tuple[str, ...]
) -> tuple[Requested, ...]:
    """The constraints that bind unasked, each with its place: the variables of both, the files of this installer.

    `ours` are folders of files that torchpick wrote, which bind nobody.
    """
    found: list[Requested] = []
    said = own.pip.get("constraint")
    if said is not None and (installer == "pip" or said.source.startswith("PIP_")):
        found += _limits(said.words, said.source, own, ours)
    for name in ("UV_CONSTRAINT", "UV_OVERRIDE"):
        found += _limits(own.environ.get(name, "").split(), name, own, ours)
    if installer == "uv":
        for file in own.uv_files:
            for key in _BINDING:
                found += requirements_under(file, key)
    facts = marker_facts(python) if any(each.marker for each in found) else {}
    return tuple(each for each in found if marker_applies(each.marker, facts))


def _limits(words: Iterable[str], source: str, own: UserSettings, ours: tuple[str, ...]) -> tuple[Requested, ...]:
    """What the files say; a file that cannot be read the installer itself will miss."""
    try:
        return requirements.limits(not_below(words, *ours), source, own.environ, own.fetch)
    except TorchpickError:
        return ()


def requirements_under(file: UvFile, key: str) -> Iterator[Requested]:
    """The requirements under a key of uv's; what uv cannot read either is left to it."""
    listed = file.table.get(key)
    for text in listed if isinstance(listed, list) else ():
        try:
            found = requirements.parse(str(text), f"{file.path} {key}")
        except RequirementError:
            continue
        yield found


def as_limits(requested: Iterable[Requested], base: str) -> tuple[Limit, ...]:
    """These constraints as the answer takes them; one that names a file of torch's elsewhere is refused."""
    found = []
    for each in requested:
        if each.place and each.name in TRIO and not (is_wheel_host(each.place) or is_on_host_of(each.place, base)):
            hint = "leave that line out: torchpick names the very file; `--index-base URL` specifies a mirror"
            message = f"{each.where} leads {each.name} to {redacted(each.place)}"
            raise UsageError(f"{message}, and only {redacted(base)} may supply it", hint=hint)
        if each.name and each.specifier:
            found.append(Limit(each.name, each.specifier, each.where))
    return tuple(dict.fromkeys(found))


def leads_away(passed_on: Iterable[str]) -> bool:
    """Whether the installer's own arguments put packages elsewhere, or nowhere."""
    return any(word.partition("=")[0] in _AWAY for word in passed_on)


def check_passed_on(words: Sequence[str]) -> None:
    """Refuse what stands after `--` and asks for packages, or leads around the answer."""
    behind_option = False
    for word in words:
        option, _, value = word.partition("=")
        refusal = _refused(option, word)
        if refusal or not (word.startswith("-") or behind_option):
            hint = refusal or "name it before `--`, where torchpick judges it"
            raise UsageError(f"`{redacted(word)}` after `--` leads around the answer", hint=hint)
        behind_option = word.startswith("-") and not value


# Settings that torchpick would not have read, each with the way that it does; pip takes any beginning of a long name.
_REFUSED = {
    "--requirement": "name the file before `--`: `-r FILE`",
    "--constraint": "name the file before `--`: `-c FILE`",
    "--editable": "name it before `--`: `-e PATH`",
    "--overrides": "an override of torch would hold against the answer: leave it out",
    "--excludes": "leave it out",
    "--build-constraints": "leave it out",
    "--config-file": "name it in UV_CONFIG_FILE, which torchpick reads too",
    "--project": "run torchpick in that folder",
    "--directory": "run torchpick in that folder",
    "--python": "`--python PATH` before `--` names the environment",
    "--torch-backend": "`--backend NAME` before `--` limits the choice",
}
_SHORT = {"r": "--requirement", "c": "--constraint", "e": "--editable", "p": "--python", "b": "--build-constraints"}
_ALIKE = frozenset({"--python-version", "--python-platform", "--pre", "--prefer-binary", "--prefix", "--no-config"})


def _refused(option: str, word: str) -> str:
    """What to do instead of this option; empty where it may stand."""
    if option.startswith("--"):
        if option in _ALIKE or len(option) < len("--xx"):
            return ""
        return next((hint for name, hint in _REFUSED.items() if name.startswith(option)), "")
    if not option.startswith("-"):
        return ""
    for letter in word[1:]:
        if letter in _SHORT:
            return _REFUSED[_SHORT[letter]]
        if letter not in "UqvIn":  # a letter that may take the rest for its value
            return ""
    return ""


def index_notes_of_settings(
    own: UserSettings,
    installers: Sequence[str],
    lines: Mapping[str, Sequence[RequirementLine]] = {},
    passed_on: Sequence[str] = (),
    there: Sequence[str] = (),
) -> tuple[Note, ...]:
    """The wheel indexes among the user's own, and the indexes that a file of this folder names to uv.

    `lines` are those of requirements files; `there` are the projects of the question that lie on such an index too.
    """
    settings = [*(own.pip_places if "pip" in installers else ()), *(own.uv_places if "uv" in installers else ())]
    named = [(said.source, word) for said in settings for word in said.words if own.is_wheel_index(word)]
    places = [(word, f"{source}{_line(source, word)}") for source, word in named]
    places += [(line.place, f"{redacted(path)}:{line.first}") for path, mine in lines.items() for line in mine]
    # Behind its option, or in one word with it.
    places += [(word[max(word.lower().find("http"), 0) :], "after `--`") for word in passed_on]
    wheel_indexes = [f"{redacted(url)} ({where})" for url, where in places if own.is_wheel_index(url)]
    folder = [said for said in settings if said.source in own.of_folder]
    return (
        *([_wheel_index_note(wheel_indexes, installers, there)] if wheel_indexes else []),
        *(Note("INDEX_OF_FOLDER", f"{said.source} names {', '.join(map(redacted, said.words))}") for said in folder),
    )


_RULES = {"pip": "pip takes the highest version of all indexes", "uv": "uv takes the first index that has a name"}


def _wheel_index_note(places: Sequence[str], installers: Sequence[str], there: Sequence[str]) -> Note:
    supplies = f"has {', '.join(there)} too" if there else "may have other packages too"
    rules = " and ".join(_RULES[name] for name in installers)
    named = ", ".join(dict.fromkeys(places))
    text = f"a PyTorch wheel index among your own {supplies}: {rules}; torch's build stays as it is: {named}"
    return Note("WHEEL_INDEX", text)


def _line(path: str, word: str) -> str:
    """`:12`, the line of a file that names this; empty for a variable, and where it is written otherwise there."""
    before, found, _ = (settingsfiles.text_of_settings(path) or "").partition(word)
    return f":{before.count(chr(10)) + 1}" if found else ""
