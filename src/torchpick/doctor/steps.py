"""What is to be done about a cause, for one text: what is for its world and was not done, with its names in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from torchpick.doctor.texts import Signature
from torchpick.model.versions import numbers

# What these worlds call otherwise.
_REWRITTEN = (
    ("windows", re.compile("`export "), "`set "),
    ("amd", re.compile("CUDA_LAUNCH_BLOCKING=1"), "AMD_SERIALIZE_KERNEL=3"),
    (
        "uv project",
        re.compile(r"`--index-url (https://\S+)`"),
        r'`[[tool.uv.index]]` with `url = "\1"` (`torchpick pin`)',
    ),
    ("uv", re.compile(r"`(?:python -m )?pip (install|uninstall)(?: -y)?(?= )"), r"`uv pip \1"),
)
_PLAIN_TEXT = r"(?=(?:[^`]*`[^`]*`)*[^`]*$)(?![^()]*\))"  # neither in backticks nor in brackets
# Between what a step says one after the other; what is in backticks or in brackets is one.
CLAUSES = re.compile(f"; {_PLAIN_TEXT}")
_ASIDE = re.compile(r"\([^()]*\)")
# Other ways to the same, in one clause.
_WAYS = re.compile(rf", or (?=`|(?:add|build|compile|install|keep|name|put|run|set|take|use) ){_PLAIN_TEXT}")
_JOINED = re.compile(r"^(?:or|then|and|else)\b,? ")
_ALL_DONE = "what is known to help is done already: which line does the program end with now? explain that one alone"
# What a cure says of the command that needs a package's name.
_PLANNED = re.compile(r"[:,]? ?\(?`torchpick plan [^`]{0,80}PACKAGE[^`]{0,80}`[^;)]{0,200}\)?")


def fitting(cause: Signature, facts: Collection[str]) -> Signature:
    """The cause with what these very facts ask for first, then what is for every text, without what they rule out."""
    fits = [step for step in cause.steps if step[0] <= {*facts} and step[1].isdisjoint(facts)]
    steps = (*(step for where, _, step in fits if where), *(step for where, _, step in fits if not where))
    return cause._replace(cures=(*dict.fromkeys((*steps, *cause.cures)),))


def about(
    cause: Signature,
    values: Mapping[str, str | None],
    facts: Collection[str],
    worlds: Iterable[Mapping[str, str]],
    is_done: Callable[[str], bool],
) -> Signature:
    """What is to be done with what is known of the text in it: a package, its torch, a machine's flags, a system.

    A remedy with a name of which nothing is known is left out, as is one of another of these kinds of worlds, and what
    is done. RELEASE says which release of the package goes with the text's torch, in place of a command that would.
    """
    package, release = values.get("PACKAGE"), values.get("RELEASE")
    values = {name: value for name, value in values.items() if name != "RELEASE"}
    cures = [*cause.cures]
    planned = [cure for cure in cures if names_release(cure)]
    if package and planned and release:
        first = planned[0]
        cures[cures.index(first)] = first.replace("RELEASE", release) if "RELEASE" in first else release
        cures = [cure for cure in cures if cure not in planned]
    elif package is None:
        cures = [cut for cure in cures if (cut := _PLANNED.sub("", cure))]
    cures = [cut for cure in cures if (cut := re.sub("(?:: )?RELEASE", "", cure))]
    unknown = [name for name, value in values.items() if value is None]
    cures = [cure for cure in cures if not any(map(cure.count, unknown))]
    for kind in worlds:
        # A cause with steps for other worlds alone is of such a world, whatever else the text names.
        is_elsewhere = partial(_is_elsewhere, kind, _here(kind, facts))
        cures = [cut for cure in cures if (cut := _without(cure, is_elsewhere))] or cures
    for name, value in values.items():
        cures = [cure.replace(name, name if value is None else value) for cure in cures]
    for world, form, other in _REWRITTEN:
        if world in facts and (world != "amd" or "nvidia" not in facts):
            cures = [form.sub(other, cure) for cure in cures]
    cures = [cut for cure in cures if (cut := _without(cure, is_done))] or [_ALL_DONE] * bool(cures)
    title, meaning = (text.replace("PACKAGE", package or "a package") for text in (cause.title, cause.meaning))
    cures[:1] = [_JOINED.sub("", cure) for cure in cures[:1]]
    return cause._replace(cures=(*cures,), title=title, meaning=meaning)


def names_release(step: str) -> bool:
    """Whether it says which release of a package goes with the text's torch."""
    return "RELEASE" in step or ("`torchpick plan" in step and "PACKAGE" in step)


def _here(kind: Collection[str], facts: Collection[str]) -> set[str]:
    """Of this kind of worlds those that a text is of: what is said of a Mac, or of Windows, says which it is."""
    worlds = {*kind} & {*facts}
    for world in ("macos", "windows"):
        if world in worlds and "linux" in kind:
            return {world}
    return worlds - {"macos"} if "nvidia" in worlds else worlds


def _is_elsewhere(kind: Mapping[str, str], here: Collection[str], clause: str) -> bool:
    """Whether it says that it is for other worlds of this kind than the text's; what is in brackets is by the way."""
    if not here or any(re.search(kind[world], clause) for world in here):
        return False
    return any(re.search(form, _ASIDE.sub("", clause)) for form in kind.values())


def _without(cure: str, leaves: Callable[[str], bool]) -> str:
    """A step without the clauses, and the ways in them, that are left out: what follows on the first goes with it."""
    left = [
        "" if leaves(clause) else ", or ".join(way for way in _WAYS.split(clause) if not leaves(way))
        for clause in CLAUSES.split(cure)
    ]
    return "; ".join(filter(None, left)) if left[0] else ""


# A line that is a command; what somebody says, in whose parts with such words it is no doing of theirs.
_COMMAND = re.compile(
    r"(?:[^\s`]{0,60} ?[$#>%] ?|!|PS [^>]{0,80}> ?|(?:RUN|ENV|ARG) |- |\d[.)] |`)?(?:sudo |export |set )?"
    r"(?:[A-Z][A-Z0-9_]{3,}=|(?:pip3?|uv|conda|mamba|python[\d.]*|docker|wsl|apt(?:-get)?|brew|cmake|poetry)\b)"
)
_TOLD = re.compile(r"\b(?:I|I've|we|my|already|tried)\b")
_ADVISED = re.compile(
    r"(?i)\b(?:try|consider|please|should|recommend\w*|must|make sure|you|instead|solution|if|not|cannot|never|without"
    r"|fail\w*)\b|n't\b"
)
_PARTS = re.compile(r"(?<=[.,;!?:)]) | but | and ")
_LONGEST_LINE, _MOST_DONE = 500, 4000
_SPAN = re.compile(r"`([^`]+)`")
_RUN = re.compile(r"--\w|[A-Z][A-Z0-9_]{3,}=|(?!import |from )\S+ ")
_NEGATED = re.compile(r"\b(?:no|not|without|never|than) `[^`]+`")
# In a step outside of backticks: a flag or a variable with its value.
_SETTING = re.compile(r"(?<![\w`-])(?:--[a-z][\w-]+|[A-Z][A-Z0-9_]{3,})=[\w./:]+")
# How a step begins that says what to do, and how somebody says to have done it.
_DID = {
    "install": "installed",
    "reinstall": "re-?installed",
    "update": "(?:updated|upgraded)",
    "restart": "(?:restarted|rebooted)",
    "reboot": "(?:restarted|rebooted)",
    "remove": "(?:removed|uninstalled)",
}
_BEGINS = re.compile(
    rf"(?:^|: )({'|'.join(_DID)})\b(?: (?:the|that|a|an|every|your))?(?: [\w+.-]+){{0,3}}? ([\w+.-]+)"
    r"(?= ?$| ?[,:(]| (?:on|of|with|by|and|in) )"
)
_LEAST = re.compile(r"\b(\d+(?:\.\d+)?) or newer\b")
# What is not done by a thing of that name being there: it is to be another one, or one of a certain origin.
_COMPARED = re.compile(r"(?<!or )\b(?:newer|newest|older|other|another|again|anew|fresh|own|from)\b")


class Doings:
    """What a text says was done: its lines of commands, and what somebody says."""

    def __init__(self, text: str) -> None:
        done: list[str] = []
        for line in text.split("\n"):
            if len(line) > _LONGEST_LINE or len(done) > _MOST_DONE:
                continue
            parts = [line] if _COMMAND.match(line) else _PARTS.split(line) if _TOLD.search(line) else []
            done += (part for part in parts if len(parts) == 1 or not _ADVISED.search(part))
        self._text, self._done = text.lower().replace("compilation tools, release", "toolkit"), "\n".join(done).lower()
        self._lines = [*map(_words, done)]

    def has(self, clause: str) -> bool:
        """Whether all that a clause says was done: its commands, flags and variables, else what it begins with."""
        ways = _WAYS.split(clause)
        if len(ways) > 1:
            return all(map(self.has, ways))
        spans = _SPAN.findall(_NEGATED.sub("", clause))
        if any("torchpick" in span for span in spans):
            return False
        actions = [span for span in spans if _RUN.match(span)]
        actions += _SETTING.findall(_SPAN.sub("", clause))
        if actions:
            wanted = ([one for one in words if one.startswith("https://")] or words for words in map(_words, actions))
            return all(any(line.issuperset(words) for line in self._lines) for words in wanted)
        words = _BEGINS.search(clause)
        if words is None or _COMPARED.search(clause):
            return False
        did, thing = _DID[words[1]], re.escape(words[2].lower())
        shown = re.search(rf"(?<![\w-]){thing}(?: version)?[ :=v]{{1,4}}(\d{{1,4}}\.\d{{1,4}})", self._text)
        least = _LEAST.search(clause)
        if words[1] == "install" and shown and (least is None or numbers(shown[1]) >= numbers(least[1])):
            return True
        told = rf"\b{did}\b[^\n.]{{0,60}}\b{thing}\b|\b{thing}\b[^\n.]{{0,30}}\b{did}\b"
        return re.search(told, self._done) is not None


def _words(line: str) -> set[str]:
    """A command by its words in any order, without quotes, and with a blank between a flag and its value."""
    words = re.sub(r"(--[\w-]+)=", r"\1 ", re.sub(r"[\"'`]", "", line.lower())).split()
    return {word.rstrip(",.;:") for word in words} - {"sudo", "export", "set"}
