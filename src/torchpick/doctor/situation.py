"""What a text says of its situation: machine, versions, who requires what; and what follows for the remedies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from torchpick.decide.answer import Answer
from torchpick.doctor import posts
from torchpick.doctor.texts import PASSED_OVER
from torchpick.environment import interpreter, shell
from torchpick.errors import TorchpickError
from torchpick.index import wheelnames
from torchpick.install.question import answer_request, collect_question
from torchpick.model.address import WHEEL_HOST
from torchpick.model.build import COMPANIONS, Build, python_span
from torchpick.model.fields import Fields
from torchpick.model.machine import Note
from torchpick.model.pick import Request
from torchpick.model.versions import admits, normal
from torchpick.run import Run

# What a text says of its system.
SYSTEMS = frozenset({"windows", "macos", "linux", "aarch64", "intel"})
# And so much of its start and of its end for anybody's words, which posts have and long logs have not.
_MOST_WORDS = 1 << 16
_MOST_MATCHES = 50
_MOST_BEFORE = 200


# compat/words.json: the forms of `rewritten` that are read as another one is, and for each name the expressions, one a
# line, of what is `kept` of a text and of the `facts` that it may say.
Words = Mapping[str, Mapping[str, str]]


class Situation(NamedTuple):
    """The first mention of each; None where the text has none. `driver_cuda` is the CUDA that the driver supports.

    `others` are the GPUs beside the first; `cuda` is the one that torch was built for; `facts` are the names of
    compat/words.json, each with what the text says of it. `demands` are packages and what they require of torch.
    `tag` is the system in an installer's own words. `lines` are the numbers of the lines in which these words stand
    first, `torches` the versions beside the first.
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
    packages: Mapping[str, str] = {}
    demands: tuple[tuple[str, str], ...] = ()
    facts: Mapping[str, str] = {}
    lines: Mapping[str, int] = {}
    torches: tuple[str, ...] = ()

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
    }


def _expressions(fields: Fields, packages: str) -> dict[str, str]:
    """Each with the names of the packages where it has `{package}`."""
    lines = ((name, "\n".join(fields.texts(name))) for name in fields.names())
    return {name: forms.replace("{package}", packages) for name, forms in lines}


def _likely(forms: str, lower: str) -> Iterator[str]:
    """Of these expressions, one a line, those that a text in small letters may have by its literal words."""
    return (form for form in forms.split("\n") if posts.literal(form) in lower)


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
        demands=tuple(dict.fromkeys((match[1], match[2].strip(", ")) for match in demands)),
        facts=seen,
        torches=tuple(version for version in dict.fromkeys(_each(kept["torch"], wanted, text)))[1:],
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


def contradictions(said: Situation) -> tuple[Note, ...]:
    """What a text says of itself that cannot all be of one environment."""
    others = [version for version in said.torches if version.partition("+")[0] != (said.torch or "").partition("+")[0]]
    if not said.torch or not others or said.demands or said.asked:
        return ()
    text = f"the text has torch {said.at(said.torch)} and torch {said.at(others[0])}; the first is taken"
    return (Note("TORCHES_OF_THE_TEXT", text),)


def names(kind: str, start: bytes, words: Words) -> bool:
    """Whether a text names what is of this kind: `programs` that use torch, or all that it may be `about`."""
    text = start[: posts.MOST_TEXT].decode("utf-8", "replace")
    return re.search(_joined(words["kept"][kind], text), text) is not None


def _each(expression: str, wanted: str, text: str) -> Iterator[str]:
    """What the matches keep that are not merely asked for."""
    for match in islice(re.finditer(expression, text), _MOST_MATCHES):
        line = text.rfind("\n", 0, match.start()) + 1
        if not re.search(wanted, text[max(line, match.start() - _MOST_BEFORE) : match.start()]):
            yield match[match.lastindex or 0].strip()


_MOST_DEMANDS = 4


def values(said: Situation, package: str | None, request: Request, run: Run) -> Mapping[str, str | None]:
    """The names, each with its value, None where that is not known; `package` is that of the line of the error."""
    pin, required = _required(said, run)
    release = (said.torch or "").partition("+")[0] if _builds(said.torch, said, run) else ""
    flags, cuda = _flags(request, run), said.driver_cuda
    major = (cuda or "").partition(".")[0]
    return {
        "PACKAGE": package or said.facts.get("package"),
        "torch==X.Y.Z": "==".join(filter(None, ("torch", pin or release))),
        " --gpu NAME --driver VERSION": f" {flags}".rstrip(),
        "REQUIRED": required or _companions(said, flags, run),
        "PUBLISHED": _published(said, run),
        "SUPPORTED": cuda and f"the driver supports CUDA {cuda}: take a build for CUDA {major}, or a newer driver",
        "3.N": _python(said, run),
        "--python PYTHON": f"--python {said.python or _USUAL_PYTHON}",
    }


def _flags(request: Request, run: Run) -> str:
    of_machine = Request(gpus=request.gpus, driver=request.driver, cuda_driver=request.cuda_driver)
    return shell.line(of_machine.flags, run.shell)


def with_package(name: str, said: Situation, request: Request, run: Run) -> str | None:
    """Which release of a package goes with the torch of the text, and where its wheel is, by the one search.

    None where nothing is known of it.
    """
    if "macos" in (request.platform or said.platform or ""):
        return None
    known = run.read_catalog(run.find_machine()).packages
    dashed = normal(name.strip().replace(" ", "-"))
    project = next((spelt for spelt in (dashed, dashed.replace("attention", "attn")) if spelt in known), None)
    if project is None:
        return None
    release, _, label = (said.torch or "").partition("+") if _builds(said.torch, said, run) else ("", "", "")
    own = f"{project}=={said.packages[project]}" if project in said.packages else project
    beside = (f"torch=={release}", project)
    # What is there stays where it can: torch and its CUDA, then torch, then the package.
    wishes = [(beside, label), (beside, "")] if label.startswith("cu") else [(beside, "")] if release else []
    why, source, hints = "", None, tuple[str, ...]()
    for words, backend in (*wishes, ((own,), ""), ((project,), "")):
        if source is not None and words is not beside and "windows" not in (request.platform or said.platform or ""):
            break  # a compiler is there more often than not
        try:
            answer = _answer(words, backend, said, request, run)
        except TorchpickError:
            return None
        if project in answer.unknown:
            return None
        if answer.ok:
            flags = _flags(request, run)
            goes, is_built = _package_of(answer, (*words, flags) if flags else words, project, said.torch)
            if is_built:
                return f"{why}{'; ' if why else ''}{goes}"
            source = source or goes
        why, hints = why or _against(answer, project, said), answer.environment.hints[:1]
    return source or ("; ".join((why, *hints)) if why else None)


def _against(answer: Answer, project: str, said: Situation) -> str:
    """Why no release of a package goes with the torch of the text: the one that it names, else the newest."""
    objections = answer.environment.objections
    if not objections:
        return ""
    first = next((one for one in objections if said.packages.get(project) in one.versions), objections[0])
    return f"{first.name} {first.span}: {first.objection.text}"


def _answer(words: tuple[str, ...], backend: str, said: Situation, request: Request, run: Run) -> Answer:
    """The one search's answer for the machine of the text; of a machine without GPUs every CUDA is asked about."""
    python, platform = request.python or said.python, request.platform or said.platform
    asked = run.with_request(request._replace(requirements=words, python=python, platform=platform))
    question, machine = collect_question(asked), asked.find_machine()
    if not machine.counted and not question.wish.backends:
        builds = asked.read_table((machine,)).of(machine.platform.name)
        backends = sorted({build.backend for build in builds if build.family == "cuda"})
        question = question._replace(wish=question.wish._replace(backends=(*backends,)))
    if backend:
        question = question._replace(wish=question.wish._replace(backends=(backend,)))
    return answer_request(asked, question, machines=(machine,), everything=False)


def _package_of(answer: Answer, words: tuple[str, ...], project: str, torch: str | None) -> tuple[str | None, bool]:
    """The package of an answer with its torch, the command that takes both, and whether it is built already.

    None for a source beside any torch.
    """
    package = next(package for package in answer.environment.packages if package.name == project)
    where = next((note.text for note in answer.environment.notes if note.code == "PACKAGE_UNREAD"), "")
    if "source alone" in where:
        why = where.partition(": ")[2].partition(". http")[0].partition(": ")[0]
        how = f"`pip install --no-build-isolation {project}` compiles it, with nvcc of torch's CUDA"
        return (f"{project} for torch {answer.pick.version}: {why}; {how}" if torch else None), False
    kind = f" ({where.rpartition('.whl: ')[2]})" if ".whl: " in where else ""
    file = f": {package.index.partition('#')[0]}{kind}" if package.index.startswith("https://") and kind else ""
    goes = f"{project} {package.version} goes with torch {answer.pick.version}"
    return f"{goes}: `{' '.join(('torchpick install', *words))}` takes its wheel{file}", True


def facts(said: Situation, run: Run) -> set[str]:
    """What follows from the table."""
    follows = {
        "other python": _is_other_python(said.asked, said, run),
        "mac alone": said.is_of_a_mac,
        "torch named": said.torch is not None,
    }
    return {fact for fact, holds in follows.items() if holds}


def _required(said: Situation, run: Run) -> tuple[str | None, str | None]:
    """The torch that all of these packages take, and who requires which; None where nobody pins one."""
    demands = said.demands
    pins = [text.removeprefix("==") for _, text in demands if re.fullmatch(r"==\d+(\.\d+)*", text)]
    if not pins:
        return None, None
    taken = next((pin for pin in pins if all(admits(text)(pin) for _, text in demands)), None)
    who = ", ".join(f"{package} requires torch{text}" for package, text in demands[:_MOST_DEMANDS])
    if taken is None:
        advice = "no torch is all of these, so install other releases of them, or each into its own environment"
        return None, f"{who}: {advice}"
    if _is_other_python(taken, said, run):
        pythons = python_span(_builds(taken, said, run)[0].pythons)
        return taken, f"{who}: that one has wheels for Python {pythons}, and the text's is {said.python}"
    return taken, f"{who}: `torchpick install torch=={taken} torchvision torchaudio` installs that one"


def _published(said: Situation, run: Run) -> str | None:
    """For what the torch was built that an installer did not find."""
    builds = _builds(said.asked, said, run)
    if not builds:
        return None
    label, pythons = (said.asked or "").partition("+")[2], python_span(builds[0].pythons)
    is_other = _is_other_python(said.asked, said, run)
    if any(build.backend == label for build in builds) and not is_other:
        if "own index" in said.facts:
            return (
                f"torch {said.asked} lies on that very index, for Python {pythons}: another Python runs there"
                " (`python -VV`), or the index was not reached"
            )
        where = f"lies on the index of its label alone, for Python {pythons}"
        return f"torch {said.asked} {where}: `--index-url {WHEEL_HOST}/{label}`"
    glibc = f" with glibc {builds[0].glibc} or newer" if builds[0].glibc else ""
    where = f"{', '.join(build.backend for build in builds)}, and for Python {pythons}{glibc}"
    here = f", and the text's Python is {said.python}" if is_other else ""
    return f"torch {builds[0].torch} is there for {where}{here}"


def _is_other_python(version: str | None, said: Situation, run: Run) -> bool:
    builds = _builds(version, said, run)
    return said.python is not None and bool(builds) and f"cp{said.python.replace('.', '')}" not in builds[0].pythons


# For a release of which nothing is known.
_USUAL_PYTHON = "3.12"


def _python(said: Situation, run: Run) -> str:
    """A Python for which the release that was asked for has wheels."""
    pythons = {tag for build in _builds(said.asked, said, run)[:1] for tag in build.pythons}
    minors = sorted(int(tag[3:]) for tag in pythons if tag[3:].isdigit())
    usual = [minor for minor in minors if minor <= int(_USUAL_PYTHON[2:])]
    return f"3.{(usual or minors)[-1]}" if minors else _USUAL_PYTHON


def _builds(version: str | None, said: Situation, run: Run) -> Sequence[Build]:
    platform = said.platform or interpreter.running().platform.name
    return run.knowledge.table((platform,)).of(platform).builds((version or "").partition("+")[0])


def _companions(said: Situation, flags: str, run: Run) -> str | None:
    """Which companions belong to the torch of the text, where it names others."""
    release, _, backend = (said.torch or "").partition("+")
    builds = _builds(said.torch, said, run)
    row = builds[0].companions if builds else {}
    other = {
        name: version
        for name, version in said.packages.items()
        if name in COMPANIONS and row.get(name) and version.split(".")[:2] != str(row[name]).split(".")[:2]
    }
    if not other:
        return None
    who = " and ".join(f"{name} {str(row[name]).partition('+')[0]}, not {version}" for name, version in other.items())
    command = ["torchpick", "install", f"torch=={release}", *other, *(["--backend", backend] if backend else [])]
    return f"torch {release} goes with {who}: `{' '.join([*command, *filter(None, [flags])])}` installs them together"
