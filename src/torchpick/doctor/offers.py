"""What there is for what a text asks for: who requires what, the releases that go together, where their wheels are."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from torchpick.decide.answer import Answer
from torchpick.doctor.situation import Situation
from torchpick.environment import interpreter, shell
from torchpick.errors import TorchpickError
from torchpick.install.question import answer_request, collect_question
from torchpick.model.address import WHEEL_HOST
from torchpick.model.build import COMPANIONS, DEFAULT_INDEX, TRIO, Build, python_span
from torchpick.model.pick import Request
from torchpick.model.versions import admits, named, normal
from torchpick.run import Run

_MOST_DEMANDS = 4
# What is released with each torch, for that one alone: what it requires says nothing of which torch is wanted.
_OF_ONE_TORCH = (*COMPANIONS, "torchtext", "torchdata")
_OF_TORCH = re.compile(r"torch|triton|nvidia-|pytorch")


def values(said: Situation, line: str, package: str | None, request: Request, run: Run) -> Mapping[str, str | None]:
    """The names, each with its value, None where that is not known; `package` is that of the line of the error."""
    newest_gcc = re.search(r"gcc versions? later than (\d{1,2})\b", line)
    pin, required = _required(said, request, run)
    builds = builds_of(said.torch, said, run)
    release = (said.torch or "").partition("+")[0] if builds else ""
    triton = next((build.libraries["triton"] for build in builds if "triton" in build.libraries), None)
    flags, cuda = _flags(request, run), said.driver_cuda
    major = (cuda or "").partition(".")[0]
    label = re.search(r"\+cu(\d\d)(\d)$", said.torch or "")
    toolkit = said.cuda or (f"{label[1]}.{label[2]}" if label else None)
    minor = ".".join(release.split(".")[:2])
    package = package or _one_package(said) or said.facts.get("package")
    package = package and re.sub(r"(?i)^flash[-_ ]?att(?:n|ention)$", "flash-attn", package)
    return {
        "PACKAGE": package and (package.lower() if package.isupper() else package),
        "INSTALLED": said.packages.get(normal(package or "")),
        "torch==X.Y.Z": "==".join(filter(None, ("torch", pin or release))),
        "triton==X.Y.Z": triton and f"triton=={triton}",
        " --gpu NAME --driver VERSION": f" {flags}".rstrip(),
        "REQUIRED": required or _companions(said, flags, run),
        "PUBLISHED": _published(said, run),
        "NEAREST": _nearest(said),
        "SUPPORTED": cuda and f"the driver supports CUDA {cuda}: take a build for CUDA {major}, or a newer driver",
        "3.N": _python(said, run),
        "TOOLKIT": toolkit,
        "TOOL-KIT": toolkit and toolkit.replace(".", "-"),
        "CUDA/torchX.Y": f"cu{toolkit.replace('.', '')}/torch{minor}" if toolkit and minor else None,
        "pythonX-dev": f"python{said.python or 3}-dev",
        "g++-12": f"g++-{newest_gcc[1]}" if newest_gcc else "g++-12",
        "--python PYTHON": f"--python {said.python or _USUAL_PYTHON}",
        "BACKEND": _label(said, run),
        **{f"<{name}>": words for name, words in said.facts.items()},
    }


def _label(said: Situation, run: Run) -> str | None:
    """The backend that the text asks for or has, else one of CUDA as an example; None where the release has no such."""
    release, _, label = (said.asked or said.torch or "").partition("+")
    platform = said.platform or interpreter.running().platform.name
    own = builds_of(release, said, run)
    there = [build.backend for build in own or run.knowledge.table((platform,)).of(platform)]
    if label:
        return label if label in there else None
    cuda = [backend for backend in there if backend.startswith("cu")]
    is_other = {"amd", "other backend", "intel gpu", "macos"} & {*said.facts}
    return None if is_other else cuda[-1 if own else 0] if cuda else "cu130"  # the first is of the newest release


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
    project = next(
        (spelt for spelt in (dashed, dashed.replace("attention", "attn"), f"{dashed}-python") if spelt in known), None
    )
    if project is None:
        return None
    release, _, label = (said.torch or "").partition("+") if builds_of(said.torch, said, run) else ("", "", "")
    own = f"{project}=={said.packages[project]}" if project in said.packages else project
    beside = (f"torch=={release}", project)
    # What is there stays where it can: torch and its CUDA, then torch, then the package.
    wishes = [(beside, label), (beside, "")] if label.startswith("cu") else [(beside, "")] if release else []
    why, source, hints = "", None, tuple[str, ...]()
    # Where others require a torch, or were built for one, no other is brought along.
    is_bound = bool(said.demands) or not {*said.packages}.isdisjoint({*known} - {project, *COMPANIONS})
    others = [((own,), "")] if not (wishes and is_bound) else []
    others += [((project,), "")] if not is_bound else []
    for words, backend in (*wishes, *others):
        if source is not None and words is not beside and "windows" not in (request.platform or said.platform or ""):
            break  # a compiler is there more often than not
        try:
            answer = _answer(words, backend, said, request, run)
        except TorchpickError:
            return None
        if project in answer.unknown:
            return None
        if answer.ok:
            goes, is_built = _package_of(answer, words, project, said.torch, (_flags(request, run), run.shell))
            if is_built:
                return f"{goes}{f' ({why})' if why else ''}"
            source = source or goes
        why, hints = why or _against(answer, project, said), answer.environment.hints[: not is_bound]
    return source or ("; ".join((why, *hints)) if why else None)


def _against(answer: Answer, project: str, said: Situation) -> str:
    """Why no release of a package goes with the torch of the text: the one that it names, else the newest."""
    objections = answer.environment.objections
    if not objections:
        return ""
    first = next((one for one in objections if said.packages.get(project) in one.versions), objections[0])
    return f"{f'{first.name} {first.span}'.strip()}: {first.objection.text}"


def _answer(words: tuple[str, ...], backend: str, said: Situation, request: Request, run: Run) -> Answer:
    """The one search's answer for the machine of the text; of a machine without GPUs every CUDA is asked about."""
    python, platform = request.python or said.python, request.platform or said.platform
    minors = _minors(said.torch, said, run)
    if python is None and minors and sys.version_info.minor not in minors:
        python = f"3.{minors[-1]}"  # the text's torch is in one of these, and not in the Python that runs this
    is_here = platform in (None, interpreter.running().platform.name)
    gpus = request.gpus if is_here else request.gpus or ("none",)
    asked = run.with_request(request._replace(requirements=words, python=python, platform=platform, gpus=gpus))
    question, machine = collect_question(asked), asked.find_machine()
    if not machine.counted and not question.wish.backends:
        builds = asked.read_table((machine,)).of(machine.platform.name)
        backends = sorted({build.backend for build in builds if build.family == "cuda"})
        question = question._replace(wish=question.wish._replace(backends=(*backends,)))
    if backend:
        question = question._replace(wish=question.wish._replace(backends=(backend,)))
    return answer_request(asked, question, machines=(machine,), everything=False)


def _package_of(
    answer: Answer, words: tuple[str, ...], project: str, torch: str | None, end: tuple[str, str]
) -> tuple[str | None, bool]:
    """The package of an answer with its torch, the command that takes both, and whether it is built already.

    The `end` of the command are the machine's flags, and the quoting of the shell.

    None for a source beside any torch.
    """
    package = next(package for package in answer.environment.packages if package.name == project)
    where = next((note.text for note in answer.environment.notes if note.code == "PACKAGE_UNREAD"), "")
    if "source alone" in where:
        why = where.partition(": ")[2].partition(". http")[0].partition(": ")[0]
        how = f"`pip install --no-build-isolation {project}` compiles it, with nvcc of torch's CUDA"
        return (f"{project} for torch {answer.pick.version}: {why}; {how}" if torch else None), False
    kind = f" ({where.rpartition('.whl: ')[2]})" if ".whl: " in where else ""
    page, _, of_file = package.index.partition("#")
    is_apart = "//" in page and not of_file and page != answer.pick.index_url
    line = shell.line(
        ["torchpick", "install", *(package.from_its_page(answer.pick.version) if is_apart else words)], end[1]
    )
    if any(note.code == "COMPANION_UNVERIFIED" and project in note.text for note in answer.environment.notes):
        newest = "" if torch else f"`{f'{line} {end[0]}'.strip()}` takes {project} {package.version}; "
        which = f"the wheels of {project} do not say which torch they are for: its page of releases does"
        return f"{newest}{which}, or the program that pins it: install that program and torch in one command", True
    goes = f"{project} {package.version} goes with torch {answer.pick.version}: `{f'{line} {end[0]}'.strip()}`"
    if is_apart and torch is None:
        planned = f"`torchpick plan torch=={answer.pick.build.torch} {project}`"
        return f"each wheel of {project} is for one torch: {planned}, with the one of `pip show torch`, names it", True
    if is_apart and not page.endswith(".whl"):
        how = f"`pip install {package.requirement} -f {page}`" if page.endswith(".html") else f"its wheel on {page}"
        return f"{goes}, then {how}", True
    file = (kind if is_apart else f": {page}{kind}") if "//" in page and kind else ""
    if torch is None:
        kept = "to keep another torch name it, with its version (`pip show torch`), in the same command"
        if not end[0]:  # which GPU and driver it will be nobody named
            such = f"such as {project} {package.version} with torch {answer.pick.version}"
            return f"`{line}` takes releases that go together and run on the machine, {such}; {kept}", True
        return f"{goes} takes both; {kept}", True
    return f"{goes} takes its wheel{file}", True


def facts(said: Situation, run: Run) -> set[str]:
    """What follows from the table, and from who requires what."""
    required = [project for _, project, _ in said.demands]
    torch, versions = _offered(said)
    follows = {
        "label alone": torch is not None and "+" in torch[2] and torch[2].partition("+")[0] in versions,
        "one package": _one_package(said) is not None,
        "torch alone requires": {who.split(" ")[0] for who, _, _ in said.demands} == {"torch"},
        "conflict elsewhere": bool(required) and not any(map(_OF_TORCH.match, required)),
        "other python": _is_other_python(said.asked, said, run),
        "mac alone": said.is_of_a_mac,
        "torch named": said.torch is not None,
        f"torch {(said.torch or '').partition('+')[0]}": said.torch is not None,
        "driver of cuda 11": (said.driver_cuda or "").startswith("11."),
        "torch before 2": (said.torch or "").startswith(("0.", "1.")),
    }
    minor = re.match(r"2\.(\d{1,2})\.", said.torch or "")
    since = {f"torch from 2.{number}" for number in range(int(minor[1]) + 1)} if minor else set()
    return since | {fact for fact, holds in follows.items() if holds}


def _one_package(said: Situation) -> str | None:
    """The package whose releases alone disagree about torch."""
    of_torch = [who.partition(" ")[0].partition("==")[0] for who, of, _ in said.demands if of in ("torch", *COMPANIONS)]
    return of_torch[0] if len(of_torch) > 1 and len(of_torch) == len(said.demands) and len({*of_torch}) == 1 else None


def _required(said: Situation, request: Request, run: Run) -> tuple[str | None, str | None]:
    """The torch that all of these packages take, and who requires which; None where nobody pins one."""
    of_torch = [(who, spec) for who, of, spec in said.demands if of == "torch"]
    demands = [(who, spec) for who, spec in of_torch if who.split(" ")[0] not in _OF_ONE_TORCH]
    if not demands:
        return None, _disputed(said)
    pins = [text.removeprefix("==") for _, text in demands if re.fullmatch(r"==\d+(\.\d+)*", text)]
    if not pins:
        names = {who.split(" ")[0] for who, _ in demands}
        if len(names) > 1 or len(demands) == 1 or len(demands) < len(said.demands):
            return None, None
        advice = "none lies there for this Python and system: `torchpick list` names what there is"
        return None, f"nobody but {names.pop()} asks for torch{demands[0][1]}, so {advice}"
    taken = next((pin for pin in pins if all(admits(text)(pin) for _, text in demands)), None)
    who = ", ".join(f"{package} requires torch{text}" for package, text in demands[:_MOST_DEMANDS])
    if taken is None:
        advice = "no torch is all of these, so install other releases of them, or each into its own environment"
        return None, f"{who}: {advice}"
    if _is_other_python(taken, said, run):
        pythons = python_span(builds_of(taken, said, run)[0].pythons)
        return taken, f"{who}: that one has wheels for Python {pythons}, and the text's is {said.python}"
    if request.gpus:
        with suppress(TorchpickError):
            if not _answer((f"torch=={taken}",), "", said, request, run).ok:
                gpus = " and ".join(request.gpus)
                return None, f"{who}: no build of that one runs on {gpus}, so what requires it has to change"
    return taken, f"{who}: `torchpick install torch=={taken} torchvision torchaudio` installs that one"


def _disputed(said: Situation) -> str | None:
    """Who wants which of the project that two want."""
    projects = [project for _, project, _ in said.demands]
    project = next((one for one in projects if projects.count(one) > 1 and one != "torch"), None)
    if project is None:
        return None
    demands = [(who, spec) for who, of, spec in said.demands if of == project][:_MOST_DEMANDS]
    if {who.split(" ")[0] for who, _ in demands} == {"torch"}:
        return None  # releases of torch that want the same: the index lacks it
    who = ", ".join(f"{package} requires {project}{spec}" for package, spec in demands)
    pinning = next((package for package, _ in reversed(demands) if not package.startswith("torch ")), demands[-1][0])
    return f"{who}: another release of {pinning.split(' ')[0]}, or that one last, with `--no-deps`"


def _offered(said: Situation) -> tuple[re.Match[str] | None, list[str]]:
    """What an installer was asked for, and the versions that it has for this Python and system."""
    asked = re.match(r"([\w.-]+)(?:\[[^]]*\])?==([\w.+!-]+)", said.offered or "")
    return asked, re.findall(r"\d[\w.+!-]*", (said.offered or "").partition("(from versions:")[2])


def with_python(said: Situation, run: Run) -> Situation:
    """The text with its Python, where nobody names it: the one whose wheels of torch begin where an installer's do."""
    (_, versions), name = _offered(said), named(said.offered or "")
    if said.python is not None or name not in TRIO or not versions:
        return said
    platform = said.platform or interpreter.running().platform.name
    first: dict[str, str] = {}
    for build in run.knowledge.table((platform,), DEFAULT_INDEX).of(platform):  # the newest are first
        version = build.torch if name == "torch" else build.companions.get(name) or ""
        first.update(dict.fromkeys(build.pythons, version))
    pythons = [tag[2:] for tag, version in first.items() if version == versions[0] and tag[2:].isdigit()]
    return said._replace(python=f"3.{pythons[0][1:]}") if len(pythons) == 1 else said


def _nearest(said: Situation) -> str | None:
    """What an installer has instead of a version that nobody published, or not for this Python and system."""
    asked, versions = _offered(said)
    if asked is None or not versions or asked[2] in versions:
        return None
    near = [version for version in versions if version.startswith(f"{asked[2]}.")] or versions[-1:]
    return f"{asked[1]} {asked[2]} is not among what there is for this Python and system; {near[-1]} is"


def _published(said: Situation, run: Run) -> str | None:
    """For what the torch was built that an installer did not find."""
    builds = builds_of(said.asked, said, run)
    if not builds:
        return None
    label, pythons = (said.asked or "").partition("+")[2], python_span(builds[0].pythons)
    is_other = _is_other_python(said.asked, said, run)
    if any(build.backend == label for build in builds) and not is_other:
        if "own index" in said.facts or f"+{label}" in (said.offered or "").partition("(")[2]:
            return (
                f"torch {said.asked} lies on that very index, for Python {pythons}: another Python runs there"
                " (`python -VV`), or the index was not reached"
            )
        where = f"lies on the index of its label alone, for Python {pythons}"
        return f"torch {said.asked} {where}: `--index-url {WHEEL_HOST}/{label}`"
    glibc = f" with glibc {builds[0].glibc} or newer" if builds[0].glibc else ""
    where = f"{', '.join(build.backend for build in builds)}, and for Python {pythons}{glibc}"
    here = f", and the text's Python is {said.python}" if is_other else ""
    lacks = f"; there never was one for {label}" if label and label not in [build.backend for build in builds] else ""
    return f"torch {builds[0].torch} is there for {where}{here}{lacks}"


def _is_other_python(version: str | None, said: Situation, run: Run) -> bool:
    builds = builds_of(version, said, run)
    return said.python is not None and bool(builds) and f"cp{said.python.replace('.', '')}" not in builds[0].pythons


# For a release of which nothing is known.
_USUAL_PYTHON, _OLDER_PYTHON = "3.12", "3.11"


def _python(said: Situation, run: Run) -> str:
    """A Python for which the release that was asked for has wheels."""
    minors = _minors(said.asked, said, run)
    usual = [minor for minor in minors if minor <= int(_USUAL_PYTHON[2:])]
    if not minors and said.python == _USUAL_PYTHON:
        return _OLDER_PYTHON  # the usual one is what does not help
    return f"3.{(usual or minors)[-1]}" if minors else _USUAL_PYTHON


def _minors(version: str | None, said: Situation, run: Run) -> list[int]:
    """The Pythons, by their minor numbers, that this release of torch has wheels for."""
    pythons = {tag for build in builds_of(version, said, run)[:1] for tag in build.pythons}
    return sorted(int(tag[3:]) for tag in pythons if tag[3:].isdigit())


def builds_of(version: str | None, said: Situation, run: Run) -> Sequence[Build]:
    platform = said.platform or interpreter.running().platform.name
    return run.knowledge.table((platform,)).of(platform).builds((version or "").partition("+")[0])


def _companions(said: Situation, flags: str, run: Run) -> str | None:
    """Which companions belong to the torch of the text, where it names others."""
    release, _, backend = (said.torch or "").partition("+")
    builds = builds_of(said.torch, said, run)
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
