"""What a text says of its situation: machine, versions, who requires what; and what follows for the remedies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from torchpick.doctor import posts
from torchpick.doctor.texts import PASSED_OVER
from torchpick.index import wheelnames
from torchpick.model.fields import Fields
from torchpick.model.machine import Note
from torchpick.model.versions import normal

# What a text says of its system.
SYSTEMS = frozenset({"windows", "macos", "linux", "aarch64", "intel"})
# And so much of its start and of its end for anybody's words, which posts have and long logs have not.
_MOST_WORDS = 1 << 16
_MOST_MATCHES = 50
_MOST_BEFORE = 200


# compat/words.json: the forms of `rewritten` that are read as another one is, and for each name the expressions, one a
# line, of what is `kept` of a text and of the `facts` that it may say. `endings` are causes by the
# last line, and `questions` what to ask of a text without one, by its words. WORLDS are the kinds of surroundings, each
# with the facts that say which it is, and how a step says that it is for those alone.
Words = Mapping[str, Mapping[str, str]]
WORLDS = ("systems", "vendors", "around")


class Situation(NamedTuple):
    """The first mention of each; None where the text has none. `driver_cuda` is the CUDA that the driver supports.

    `others` are the GPUs beside the first; `cuda` is the one that torch was built for; `facts` are the names of
    compat/words.json, each with what the text says of it. `demands` are packages, whom they require, and which of it.
    `tag` is the system in an installer's own words, `offered` what it was asked for and the versions it has instead.
    `lines` are the numbers of the lines in which these words stand first, `torches` the versions beside the first.
    `own` is the folder of the environment that a program has of its own.
    """

    capability: str | None = None
    name: str | None = None
    others: tuple[str, ...] = ()
    driver: str | None = None
    driver_cuda: str | None = None
    torch: str | None = None
    cuda: str | None = None
    python: str | None = None
    asked: str | None = None
    tag: str | None = None
    offered: str | None = None
    packages: Mapping[str, str] = {}
    demands: tuple[tuple[str, str, str], ...] = ()
    facts: Mapping[str, str] = {}
    lines: Mapping[str, int] = {}
    torches: tuple[str, ...] = ()
    own: str | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """What it says of its machine and of torch, for a person, and where."""
        system = next((name for name in ("macos", "windows", "linux") if name in self.facts), None)
        about = (
            ("", self.name or self.capability), *(("", name) for name in self.others), ("driver ", self.driver),
            ("torch ", self.torch), ("Python ", self.python),
        )  # fmt: skip
        shown = [f"{what}{self.at(value)}" for what, value in about if value]
        return (*shown, f"{self.platform}{self._line(self.facts[system])}") if system and self.platform else (*shown,)

    def at(self, words: str) -> str:
        """The words, and the line in which they stand."""
        return f"{words}{self._line(words)}"

    def _line(self, words: str) -> str:
        return f" (line {self.lines[words]})" if words in self.lines else ""

    @property
    def program(self) -> str | None:
        """The Python of a program that has one of its own, from the program's folder."""
        if self.own is None or self.own.endswith("venv"):
            return self.own
        return f"{self.own if self.own.startswith('python') else 'python_embeded'}/python.exe"

    @property
    def platform(self) -> str | None:
        """The platform by its name, where the text says which: an installer's own word before anybody's."""
        if self.tag and (platform := wheelnames.platform_of(self.tag)):
            return platform
        arm = "aarch64" in self.facts
        if "macos" in self.facts:
            return "macos-x86_64" if {"intel", "no arm64 list"} & {*self.facts} else "macos-arm64"
        if "windows" in self.facts:
            return "windows-arm64" if arm else "windows-x86_64"
        return "linux-aarch64" if arm else "linux-x86_64" if "linux" in self.facts else None

    @property
    def is_of_a_mac(self) -> bool:
        """Whether a Mac is the only machine that it speaks of."""
        elsewhere = {"linux", "windows", "wsl", "container", "jetson", "slurm", "nvidia", "notebook"}
        return "macos" in self.facts and elsewhere.isdisjoint(self.facts) and not (self.name or self.capability)


def read_words(fields: Fields) -> Words:
    """ShapeError where the file is not of its form."""
    packages = f"(?:{'|'.join(fields.texts('packages'))})"
    return {
        "rewritten": fields.mapping("rewritten"),
        "kept": _expressions(fields.object("mentions"), packages),
        "facts": _expressions(fields.object("words"), packages),
        "endings": fields.mapping("endings"),
        "questions": fields.mapping("questions"),
        **{kind: fields.mapping(kind) for kind in WORLDS},
    }


def _expressions(fields: Fields, packages: str) -> dict[str, str]:
    """Each with the names of the packages where it has `{package}`."""
    lines = ((name, "\n".join(fields.texts(name))) for name in fields.names())
    return {name: forms.replace("{package}", packages) for name, forms in lines}


def _likely(forms: str, lower: str) -> Iterator[str]:
    """Of these expressions, one a line, those that a text in small letters may have by its literal words."""
    return (form for form in forms.split("\n") if posts.may_match(form, lower))


# In ASCII's words: in `在Mac上` no letter of Mac is one of another word, and it takes half as long.
_FLAGS = "(?ima)"


def _joined(forms: str, text: str) -> str:
    return _FLAGS + ("|".join(_likely(forms, text.lower())) or "(?!)")


def in_words(text: str, expressions: Mapping[str, str]) -> dict[str, str]:
    """What a text says of these, in anybody's words; a long one is asked at its ends."""
    ends = text[:_MOST_WORDS] + text[max(_MOST_WORDS, len(text) - _MOST_WORDS) :]
    ends = "\n".join(line for line in ends.split("\n") if not PASSED_OVER.search(line.encode()))
    lower = ends.lower()
    found: dict[str, str] = {}
    for name, forms in expressions.items():
        # One by one, so that none is made ready twice.
        matches = filter(None, (re.search(_FLAGS + form, ends) for form in _likely(forms, lower)))
        if (first := min(matches, key=re.Match.start, default=None)) is not None:
            found[name] = " ".join(first[first.lastindex or 0].split())
    return found


def read_situation(text: str, words: Words, facts: Mapping[str, str]) -> Situation:
    """What a plain text says; `facts` are expressions of words of which it is to know them."""
    kept = {name: _joined(forms, text) for name, forms in words["kept"].items()}
    wanted, scalars = kept["wanted"], [name for name in kept if name in Situation._fields]
    said: dict[str, Any] = {name: next(_each(kept[name], wanted, text), None) for name in scalars}
    if (there := next(_each(kept["installed"], "(?!)", text), None)) is not None:
        said["torch"] = there  # an installer looked
    packages, demands = (islice(re.finditer(kept[kind], text), _MOST_MATCHES) for kind in ("package", "demand"))
    listed: dict[str, str] = {}
    for match in packages:
        listed.setdefault(normal(match[1]), match[2])
    seen = in_words(text, facts)
    if said["tag"] and (platform := wheelnames.platform_of(said["tag"])):
        os, _, cpu = platform.partition("-")
        seen = {name: value for name, value in seen.items() if name not in SYSTEMS} | {
            os: said["tag"],
            cpu: said["tag"],
        }
    if "apple chip" in seen:
        seen.pop("intel", None)
    if "amd" in seen and "nvidia" not in seen and not str(said["capability"]).startswith("gfx"):
        said["capability"] = None  # HIP has such numbers too, and they are no GPU of NVIDIA's
    return Situation(
        **said,
        others=tuple(name for name in _each(kept["beside"], wanted, text) if name != said["name"]),
        packages=listed,
        demands=tuple(dict.fromkeys((match[1], match[2], match[3].strip(", ")) for match in demands)),
        facts=seen,
        torches=tuple(one for one in dict.fromkeys(_each(kept["torch"], wanted, text)) if one != said["torch"]),
    )


def with_lines(said: Situation, start: bytes) -> Situation:
    """The situation with the numbers of the lines of a text's start in which its words stand first."""
    values = (said.name, said.capability, *said.others, said.driver, said.torch, *said.torches, said.python)
    lines: dict[str, int] = {}
    for words in filter(None, (*values, *said.facts.values())):
        if (at := start.find(words.encode())) >= 0:
            lines[words] = start.count(b"\n", 0, at) + 1
    return said._replace(lines=lines)


def package_of(texts: Sequence[str], words: Words) -> str | None:
    """The package that one of these texts names, by the first that names one."""
    of_package = {"package": words["facts"]["package"]}
    return next((named["package"] for text in texts if (named := in_words(text, of_package))), None)


def question(text: str, words: Words) -> str | None:
    """What to ask about a text without an error, by its words."""
    likely = _likely("\n".join(words["questions"]), text.lower())
    return next((words["questions"][form] for form in likely if re.search(_FLAGS + form, text)), None)


def version_of(package: str, text: str) -> str | None:
    """The first version that a text has of a package."""
    name = re.escape(normal(package)).replace(r"\-", "[-_.]")
    versions = (
        rf"(?im)(?<![\w./-]){name}(?:[- ]version)?(?:==|\W{{0,3}}[ =:@v]{{1,40}})(\d[\w+]{{0,20}}\.[\w.+]{{0,20}}\w)"
    )
    return None if (match := re.search(versions, text)) is None else match[1]


def contradictions(said: Situation) -> tuple[Note, ...]:
    """What a text says of itself that cannot all be of one environment."""
    others = [version for version in said.torches if version.partition("+")[0] != (said.torch or "").partition("+")[0]]
    if not said.torch or not others or said.demands or said.asked:
        return ()
    text = f"the text has torch {said.at(said.torch)} and torch {said.at(others[0])}; the first is taken"
    return (Note("TORCHES_OF_THE_TEXT", text),)


def named(kind: str, start: bytes, words: Words) -> str | None:
    """What a text names first of this kind, in whatever line: `programs` that use torch, or what it may be `about`."""
    text = start[: posts.MOST_TEXT].decode("utf-8", "replace")
    match = re.search(_joined(words["kept"][kind], text), text)
    return None if match is None else match[match.lastindex or 0]


def _each(expression: str, wanted: str, text: str) -> Iterator[str]:
    """What the matches keep that are not merely asked for."""
    for match in islice(re.finditer(expression, text), _MOST_MATCHES):
        line = text.rfind("\n", 0, match.start()) + 1
        if not re.search(wanted, text[max(line, match.start() - _MOST_BEFORE) : match.start()]):
            yield match[match.lastindex or 0].strip()
