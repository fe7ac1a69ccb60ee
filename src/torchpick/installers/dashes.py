"""What stands after `--`, read as pip and uv read it: abbreviated options, several in one word, values joined on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchpick.errors import UsageError
from torchpick.model.build import COMPANIONS, is_wheel_host
from torchpick.model.noun import Noun
from torchpick.model.versions import leading, normal

REQUIREMENT, CONSTRAINT, OVERRIDE, BUILD = "--requirement", "--constraint", "--override", "--build-constraint"
EXCLUDE, EDITABLE, GROUP = "--exclude", "--editable", "--group"
# Options that name places, requirements or settings, by each of their names. A value follows all of them.
_LONG = {
    "--requirement": REQUIREMENT, "--requirements": REQUIREMENT, "--constraint": CONSTRAINT,
    "--constraints": CONSTRAINT, "--override": OVERRIDE, "--overrides": OVERRIDE, "--build-constraint": BUILD,
    "--build-constraints": BUILD, "--exclude": EXCLUDE, "--excludes": EXCLUDE,
    "--index-url": "--index-url", "--pypi-url": "--index-url",
    "--extra-index-url": "--extra-index-url", "--default-index": "--index-url", "--index": "--extra-index-url",
    "--find-links": "--find-links", "--torch-backend": "--torch-backend", "--config-file": "--config-file",
    "--project": "--project", "--directory": "--directory", "--python": "--python",
    "--editable": EDITABLE, "--group": GROUP,
}  # fmt: skip
_SHORT = {
    "-r": REQUIREMENT,
    "-c": CONSTRAINT,
    "-b": BUILD,
    "-i": "--index-url",
    "-f": "--find-links",
    "-p": "--python",
    "-e": EDITABLE,
}
# What says what is to be installed, and within which limits.
ASKED = frozenset({REQUIREMENT, CONSTRAINT, EDITABLE, GROUP})
# Letters that take a value, so that what is joined to them is no further option.
_VALUED = "rcbifetCPpo"
_PLACES = frozenset({"--index-url", "--extra-index-url", "--find-links"})
# Settings that torchpick would not have read.
_UNREAD = {
    "--config-file": "name it in UV_CONFIG_FILE, which torchpick reads too",
    "--project": "run torchpick in that folder",
    "--directory": "run torchpick in that folder",
    "--python": "`--python PATH` before `--` names the environment",
    "--torch-backend": "`--backend NAME` before `--` limits the choice",
}


class PassedOption(Noun):
    """One of these options by its longest name, with its value, and the words that say so.

    `option` is empty for any other word, whose `value` is the word itself.
    """

    option: str
    value: str
    words: tuple[str, ...]


def read(words: Iterable[str]) -> Iterator[PassedOption]:
    """The words, those of one option together."""
    rest = iter(words)
    for word in rest:
        option, value = _long(word) if word.startswith("--") else _short(word)
        if not option:
            yield PassedOption("", word, (word,))
        elif value is not None:
            yield PassedOption(option, value, (word,))
        else:
            following = next(rest, None)
            yield PassedOption(option, following or "", (word, *(() if following is None else (following,))))


def _long(word: str) -> tuple[str, str | None]:
    """As pip takes any beginning that is not in doubt; which of two that might be meant is pip's to refuse."""
    name, mark, value = word.partition("=")
    exact = _LONG.get(name)
    likely = [option for each, option in _LONG.items() if len(name) > len("--x") and each.startswith(name)]
    return exact or next(iter(likely), ""), value if mark else None


def _short(word: str) -> tuple[str, str | None]:
    """`-Urfile`: letters without a value, then one with it."""
    if not word.startswith("-"):
        return "", None
    for place, letter in enumerate(word[1:], 1):
        if letter in _VALUED:
            return _SHORT.get(f"-{letter}", ""), word[place + 1 :].removeprefix("=") or None
    return "", None


def files(words: Iterable[str], option: str) -> tuple[str, ...]:
    """What this option names."""
    return tuple(each.value for each in read(words) if each.option == option and each.value)


class Parted(Noun):
    """What of the words is asked for, and the other words; a word behind an unknown option may be its value."""

    requirements: tuple[str, ...]
    options: tuple[str, ...]


def parted(words: Iterable[str]) -> Parted:
    free: list[str] = []
    kept: list[str] = []
    behind_option = False
    for each in read(words):
        is_word = not each.option and not each.value.startswith("-")
        if is_word and not behind_option:
            free.append(each.value)
        elif each.option not in ASKED:
            kept += each.words
        behind_option = not each.option and not is_word and each.value != "--"
    return Parted(tuple(free), tuple(kept))


def names_places(words: Iterable[str], among: frozenset[str] = _PLACES) -> bool:
    """Whether the words name indexes or pages."""
    return any(each.option in among for each in read(words))


def names_links(words: Iterable[str]) -> bool:
    return names_places(words, frozenset({"--find-links"}))


def check(words: Sequence[str]) -> None:
    """Refuse what would lead around the pick."""
    for each in read(words):
        for word in each.words:
            urls = (word.lstrip("-"), word.partition("=")[2])  # `-ihttps://…` still has its host behind the slashes
            if any(map(is_wheel_host, urls)) and not any(map(_is_file_of_family, urls)):
                shown = each.value if each.option else word
                hint = "remove it: torchpick selects the index that fits; `--index-base URL` specifies a mirror"
                raise UsageError(f"`{shown}` is a PyTorch wheel index, and two of them mix builds", hint=hint)
        if each.option in _UNREAD:
            raise UsageError(f"`{each.words[0]}` after `--` leads around the pick", hint=_UNREAD[each.option])
        if not each.option and _is_file_of_family(each.value):
            hint = "name it before `--`, where torchpick judges it"
            raise UsageError(f"`{each.value}` after `--` is another file of torch's family", hint=hint)


def _is_file_of_family(word: str) -> bool:
    """Whether a word names torch or a companion by an address or a path."""
    from torchpick.environment.requirements import wheel_of

    name, mark, place = word.partition("@")
    named = normal(leading(name)) if mark and ("/" in place or "\\" in place) else wheel_of(word)[0]
    return named in ("torch", *COMPANIONS)
