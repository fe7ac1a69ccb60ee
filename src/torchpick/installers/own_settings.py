"""The user's own pip and uv settings in one environment: what of them binds the answer, and what would contradict it.

Torch's family comes by the addresses of its files, so that no index can lead it away. What is left to do is that no
PyTorch wheel index supplies other packages, and that nothing is put elsewhere than into the target.
"""

from __future__ import annotations

import os
import sys

from torchpick.environment import requirements, settingsfiles, toolsettings
from torchpick.environment.requirementfiles import located, not_below
from torchpick.environment.requirements import Given, Requested
from torchpick.errors import RequirementError, TorchpickError, UsageError
from torchpick.model.build import TRIO, WHEEL_HOST, is_on_host_of, is_wheel_host
from torchpick.model.fields import written
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pythons import marker_applies, marker_facts
from torchpick.model.redaction import redacted
from torchpick.model.request import Limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torchpick.environment.requirements import Fetch
    from torchpick.environment.toolsettings import Setting, UvFile
    from torchpick.installers.store import StoredFile

# Settings that put packages elsewhere than into the target, or nowhere.
_PIP_AWAY = ("target", "prefix", "root", "python", "requirement", "dry-run", "only-deps")
_AWAY = frozenset({"--target", "-t", "--prefix", "--root", "--user", "--dry-run"})
# An override takes the place of what anybody requires, and our pins are constraints, which hold beside it (uv 0.13.9).
_BINDING = ("constraint-dependencies", "override-dependencies")


class OwnSettings(Noun):
    """The settings of one environment. `pip` is what holds, `pip_files` what would hold without the variables.

    `of_folder` are the files among uv's that lie in this folder or above it; `fetch` reads one on another computer.
    """

    environ: Mapping[str, str] = {}
    pip: Mapping[str, Setting] = {}
    pip_files: Mapping[str, Setting] = {}
    uv_files: tuple[UvFile, ...] = ()
    of_folder: tuple[str, ...] = ()
    fetch: Fetch | None = None
    base: str = WHEEL_HOST
    prefix: str | None = None

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


class SettingChanges(Noun):
    """What to change of the variables, what that leaves out, in words, and the files that the values name."""

    set: Mapping[str, str] = {}
    unset: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    files: tuple[StoredFile, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {**written(self, "set", "unset"), "files": {each.path: each.content for each in self.files}}


def read(
    environ: Mapping[str, str], prefix: str | None, fetch: Fetch | None = None, base: str = WHEEL_HOST
) -> OwnSettings:
    """The variables, and where there is an environment at `prefix` the files of the user, the system and it."""
    variables = toolsettings.strongest(toolsettings.pip_of_environ(environ))
    if prefix is None:
        return OwnSettings(environ, variables, fetch=fetch, base=base)
    home = os.path.expanduser("~")
    files = toolsettings.pip(environ, prefix, home)
    for_uv = tuple(toolsettings.uv(environ, home, os.getcwd()))
    elsewhere = {*settingsfiles.uv_files(environ, home, sys.platform), environ.get("UV_CONFIG_FILE", "")}
    of_folder = tuple(file.path for file in for_uv if file.path not in elsewhere)
    return OwnSettings(environ, {**files, **variables}, files, for_uv, of_folder, fetch, base, prefix)


def limits(own: OwnSettings, installer: str | None, python: str, ours: tuple[str, ...]) -> tuple[Requested, ...]:
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
                found += _listed(file, key)
    facts = marker_facts(python) if any(each.marker for each in found) else {}
    return tuple(each for each in found if marker_applies(each.marker, facts))


def _limits(words: Iterable[str], source: str, own: OwnSettings, ours: tuple[str, ...]) -> tuple[Requested, ...]:
    """What the files say; a file that cannot be read the installer itself will miss."""
    try:
        return requirements.limits(not_below(words, *ours), source, own.environ, own.fetch)
    except TorchpickError:
        return ()


def _listed(file: UvFile, key: str) -> Iterator[Requested]:
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


def check_files(own: OwnSettings, installer: str) -> None:
    """Refuse files named by settings that name a wheel index, which would supply other packages too."""
    names = ("UV_CONSTRAINT", "UV_OVERRIDE", "UV_BUILD_CONSTRAINT", "UV_EXCLUDE") if installer == "uv" else ()
    words = [word for name in names for word in own.environ.get(name, "").split()]
    for name in ("constraint", "build-constraint") if installer == "pip" else ():
        words += own.pip_words(name)
    # What is not there the installer itself will miss.
    there = tuple(word for word in words if "://" in (path := located(word)) or os.path.exists(path))
    asked = requirements.read(Given(constraints=there), own.environ, own.fetch)
    for (path, _), entries in asked.sources.items():
        for entry in entries:
            if own.is_wheel_index(entry.place):
                hint = f"leave that line out: `{redacted(entry.value)}` would supply other packages too"
                raise UsageError(f"{redacted(path)} line {entry.first} names a PyTorch wheel index", hint=hint)


def check_away(own: OwnSettings, installer: str, passed_on: Sequence[str], prefix: str) -> None:
    """Refuse a setting that leads away from the target and that nobody asked for in this run."""
    if leads_away(passed_on):
        return
    if installer == "pip":
        said = [own.pip[name] for name in _PIP_AWAY if name in own.pip]
    else:
        keys = (toolsettings.uv_key(own.uv_files, name) for name in ("target", "prefix"))
        said = [key for key in keys if key is not None]
    for each in said:
        hint = "take it out for this run; `--python PATH` names the environment"
        raise UsageError(f"{each.source} sets {each.name} to {' '.join(each.words)}, away from {prefix}", hint=hint)


def leads_away(passed_on: Iterable[str]) -> bool:
    """Whether the installer's own arguments put packages elsewhere, or nowhere."""
    return any(word.partition("=")[0] in _AWAY for word in passed_on)


def check_excluded(own: OwnSettings, names: Iterable[str]) -> None:
    """Refuse to install what uv's settings exclude: it would leave it out, and say nothing."""
    family = {*names} & TRIO
    listed = requirements.limits(own.environ.get("UV_EXCLUDE", "").split(), "UV_EXCLUDE", own.environ, own.fetch)
    for each in (*listed, *(one for file in own.uv_files for one in _listed(file, "exclude-dependencies"))):
        if each.name in family or (family and each.name == "torch"):
            raise UsageError(f"{each.where} excludes {each.name}, which is asked for", hint="take it out there")


def check_passed(words: Sequence[str], base: str) -> None:
    """Refuse what stands after `--` and asks for packages, or leads around the answer."""
    behind_option = False
    for word in words:
        option, _, value = word.partition("=")
        if any(is_wheel_host(url, base) for url in (word.lstrip("-"), value, word[2:], word[3:])):
            hint = "remove it: torchpick selects the index that fits; `--index-base URL` specifies a mirror"
            raise UsageError(f"`{redacted(word)}` is a PyTorch wheel index, and two of them mix builds", hint=hint)
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


def for_pip(own: OwnSettings, *ours: str) -> SettingChanges:
    """For pip: a wheel index in a variable is dropped, one in a file displaced by the variable with the rest.

    So are constraints in folders of `ours`, which an earlier `env` or `pin` left: they must not bind this answer.
    """
    changed: dict[str, str] = {}
    unset: list[str] = []
    notes = []
    for said in own.pip_places:
        if not any(map(own.is_wheel_index, said.words)):
            continue
        notes.append(_left_out(own, said))
        spellings = [each for each in toolsettings.pip_of_environ(own.environ) if each.name == said.name]
        unset += [each.source for each in spellings]
        below = [own.pip_files[said.name]] if said.name in own.pip_files else []
        # Where the strongest says nothing else, one in another spelling speaks again, and then the file.
        kept = next((words for each in (said, *reversed(spellings), *below) if (words := _others(own, each))), [])
        if kept or below:  # a blank, as an empty variable would let the configuration file speak again
            changed["PIP_" + said.name.upper().replace("-", "_")] = " ".join(kept) or " "
    if changed.get("PIP_INDEX_URL") == " ":
        changed |= _another_index(own, changed)
    limits_said = own.pip_words("constraint")
    own_limits = not_below(limits_said, *ours)
    if len(own_limits) < len(limits_said):
        changed["PIP_CONSTRAINT"] = " ".join(own_limits) or " "
    return SettingChanges(changed, tuple(name for name in unset if name not in changed), tuple(notes))


def _another_index(own: OwnSettings, changed: Mapping[str, str]) -> dict[str, str]:
    """In the place of a file's only index: the first of the others that the user names, else pip's own default."""
    others = changed.get("PIP_EXTRA_INDEX_URL", " ".join(own.pip_words("extra-index-url"))).split()
    if others:
        return {"PIP_INDEX_URL": others[0], "PIP_EXTRA_INDEX_URL": " ".join(others[1:]) or " "}
    from torchpick.index import index_places

    return {"PIP_INDEX_URL": index_places.default(own.prefix)}


def for_uv(own: OwnSettings, backend: str) -> SettingChanges:
    """For uv: a wheel index in a variable is dropped; in a file it is refused unless it is `explicit`."""
    if folder := own.environ.get("UV_WORKING_DIR"):
        hint = "unset it, and run torchpick in that folder"
        raise UsageError(f"UV_WORKING_DIR leads uv to the files of another folder, {redacted(folder)}", hint=hint)
    changed: dict[str, str] = {}
    unset = ["UV_TORCH_BACKEND"] if own.environ.get("UV_TORCH_BACKEND") else []
    notes = []
    for said in toolsettings.uv_of_environ(own.environ):
        kept = _others(own, said)
        if len(kept) == len(said.words):
            continue
        notes.append(_left_out(own, said))
        if kept:
            changed[said.name] = (toolsettings.UV_PLACES[said.name] or " ").join(kept)
        else:
            unset.append(said.name)
    for file in own.uv_files:
        for said in toolsettings.uv_of_file(file):
            if bad := [word for word in said.words if own.is_wheel_index(word)]:
                hint = "add `explicit = true` to that index, or take it out: torchpick names torch's files itself"
                where = f"{file.path}{_line(file.path, bad[0])}"
                raise UsageError(f"{where} lets a PyTorch wheel index supply every package", hint=hint)
    if (own_backend := toolsettings.uv_key(own.uv_files, "torch-backend")) is not None:
        changed["UV_TORCH_BACKEND"] = backend
        notes.append(
            Note("BACKEND_LEFT_OUT", f"{own_backend.source} sets torch-backend, which is {backend} in this run")
        )
    named = [said for said in own.uv_places if said.source in own.of_folder]
    notes += [Note("INDEX_OF_FOLDER", f"{each.source} names {', '.join(map(redacted, each.words))}") for each in named]
    return SettingChanges(changed, tuple(unset), tuple(notes))


def _line(path: str, word: str) -> str:
    """`:12`, the line of a file that names this; empty where it is written otherwise there."""
    before, found, _ = (settingsfiles.text_of_settings(path) or "").partition(word)
    return f":{before.count(chr(10)) + 1}" if found else ""


def _others(own: OwnSettings, said: Setting) -> list[str]:
    """The places that are not a wheel index of PyTorch."""
    return [word for word in said.words if not own.is_wheel_index(word)]


def _left_out(own: OwnSettings, said: Setting) -> Note:
    named = ", ".join(redacted(word) for word in said.words if own.is_wheel_index(word))
    return Note("INDEX_LEFT_OUT", f"{said.source} names a PyTorch wheel index, left out for this run: {named}")
