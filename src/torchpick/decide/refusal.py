"""The refusal where nothing fits: why, what would have to change, the fewest environments; misspelled names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from torchpick.decide import buildfit
from torchpick.decide.demands import PackageDemand, takes
from torchpick.decide.packagefit import filled
from torchpick.decide.remarks import LAST_FOR_INTEL, missing_release
from torchpick.decide.search import Solution, find_solution
from torchpick.decide.searchfacts import SearchFacts
from torchpick.errors import UsageError
from torchpick.model.arch import Arch, Fit
from torchpick.model.build import TRIO, Reason, Verdict, python_name, toolkit_order
from torchpick.model.machine import Machine, labels
from torchpick.model.package import Catalog, PackageObjection, Stack
from torchpick.model.pick import GpuPlace, Pick, Wish, machines_of
from torchpick.model.table import Table
from torchpick.model.versions import grouped, is_dotted, leading, normal, numbers, release_key, some_of, span

# NVIDIA's list of its wheels for each JetPack.
JETSON_PAGE = "https://forums.developer.nvidia.com/t/72048"
# What the question itself leaves out, whatever the machine.
_NARROWING = frozenset({Reason.NOT_REQUESTED, Reason.BACKEND_NOT_ALLOWED, Reason.COMPANION_MISSING, Reason.CONSTRAINED})
# A refusal shows so many reasons.
_MOST_REASONS = 6
_MOST_ASKED = 6
_OF_CODE = frozenset({Reason.NO_KERNELS, Reason.PTX_ONLY_DRIVER_TOO_OLD})
# What a wheel of another index may fix.
_OF_CUDA = frozenset({Reason.PACKAGE_DRIVER_TOO_OLD, Reason.CUDA_MAJOR_MIXED, Reason.CONSTRAINED})


def explain_no_build(pick: Pick, table: Table | None = None) -> tuple[str, str]:
    """Why no build runs, and what would have to change; the table knows the alternatives."""
    remedy = "; ".join(_changes(pick, table))
    if len(pick.machines) == 1 and pick.fleet is None and (why := _why_not_asked(pick)) is not None:
        return why, remedy
    message = f"no PyTorch build runs {_where(pick)}"
    nearest = min(_able(pick), key=lambda verdict: len(verdict.reasons), default=None)
    if any(verdict.reasons == {Reason.OTHER_TORCH} for verdict in pick.considered):
        message += ": what runs on one of them does not run on another"
    elif nearest is None:
        what = "all of their GPUs" if len(pick.machines) > 1 else f"such GPUs on {pick.machine.platform.name}"
        message += f": none is published for {what}"
    else:
        message += f"; the nearest is {nearest.build.version}: {_joined(nearest)}"
    return message, remedy


def explain_no_environment(stack: Stack) -> tuple[str, str]:
    """What stands in the way of one environment, a line for each reason, and what would have to change."""
    objections = stack.objections
    shown = objections[:_MOST_REASONS]
    lines = [f"{f'{against.name} {against.span}'.rstrip()}: {against.objection.text}" for against in shown]
    if len(objections) > _MOST_REASONS:
        lines.append(f"and {len(objections) - _MOST_REASONS} more; `--json` has all")
    gpus = labels(stack.machine.used)
    what = "no environment fits" if objections else "nothing is known that could be planned of"
    names = some_of(stack.asked, _MOST_ASKED, " ")
    why = "\n".join([f"{what} {names}{f' for {gpus}' if gpus else ''}", *lines])
    return why, "; ".join(stack.hints[:2])


def _where(pick: Pick) -> str:
    count = len(pick.machines) if pick.fleet is None else pick.fleet.count
    if count > 1:
        return f"on all {count} machines"
    machine = pick.machine
    gpus = f"for {labels(machine.used)} " if machine.used else ""
    driver = f"driver {machine.driver.label}, " if machine.driver and machine.counted else ""
    return f"{gpus}with {driver}{python_name(machine.python.tag)}, {machine.platform.name}"


def _able(pick: Pick) -> list[Verdict]:
    """The builds that are for these GPUs' maker, or for none where there are no GPUs."""
    return [verdict for verdict in pick.considered if verdict.rank.preference >= 2]


def _why_not_asked(pick: Pick) -> str | None:
    """Why the build that was asked for does not run, and where those begin or end that do; None where any would do."""
    able, wish = _able(pick), pick.wish
    matching = [verdict for verdict in able if not verdict.reasons & _NARROWING]
    narrowed = wish.torch or wish.backends or wish.limits or any(wish.companions.values())
    if not narrowed or len(matching) == len(able):
        return None
    if not matching:
        unasked = [_unasked(verdict, wish) for verdict in able]
        where = " on ".join(filter(None, (labels(pick.machine.used), pick.machine.platform.name)))
        none = f"{unasked[0]}, and no known build for {where} is that" if all(unasked) else None
        return _unpublished(pick, able) or none
    best = min(matching, key=lambda verdict: (Reason.UNCONFIRMED in verdict.reasons, len(verdict.reasons)))
    of = " ".join(f"{name}{specifier}" for name, specifier in wish.companions.items() if specifier)
    label = f"torch {best.build.version}{f' (of {of})' if of and not wish.torch else ''}"
    why = f"{label}{' ' if best.objections[0].reason in _OF_CODE else ': '}{_joined(best)}"
    running = [verdict.build for verdict in able if verdict.reasons <= _NARROWING]
    if not best.reasons & _OF_CODE or not running:
        return why
    running.sort(key=lambda build: (release_key(build.torch), toolkit_order(build.backend)))
    return f"{why}; what runs here is torch {span([build.version for build in running])}"


def _unasked(verdict: Verdict, wish: Wish) -> str | None:
    """That another release was asked for, or another backend."""
    kinds = {Reason.NOT_REQUESTED, *(() if takes(wish, verdict.build) else (Reason.BACKEND_NOT_ALLOWED,))}
    return next((objection.text for objection in verdict.objections if objection.reason in kinds), None)


def _unpublished(pick: Pick, able: Sequence[Verdict]) -> str | None:
    """That the release was never built for the label that was asked for, and for which it was."""
    release, mark, label = pick.wish.torch.removeprefix("==").partition("+")
    backends = [label] if mark else [*pick.wish.backends]
    builds = (verdict.build for verdict in able)
    published = sorted({build.backend for build in builds if build.torch == release and build.published is not None})
    if not published or not backends or set(published) & set(backends):
        return None
    where = f"{pick.machine.platform.name} and Python {pick.machine.python.version}"
    return f"torch {release} was not published for {' or '.join(backends)} ({where}), but for {', '.join(published)}"


def _joined(verdict: Verdict) -> str:
    return ", and ".join(dict.fromkeys(objection.text for objection in verdict.objections))


def _changes(pick: Pick, table: Table | None) -> list[str]:
    """What would have to change, the nearest first."""
    wish, machine = pick.wish, pick.machine
    hints = [change.text for change in pick.changes[:3]]
    for objection in (objection for verdict in pick.considered for objection in verdict.objections):
        if objection.reason is Reason.GPU_NOT_SERVED_BY_DRIVER and not pick.changes:
            none = "no driver supports all of these GPUs: select some with `--gpu` or `--only`"
            needs = f"{objection.facts['gpu']} needs {objection.facts['mends']}"
            hints.append(needs if objection.facts["mends"] else none)
    if ".dev" in wish.torch and wish.channel != "nightly":
        hints.append("development builds are on `--channel nightly`, which `torchpick refresh --channel nightly` reads")
    hints += [note.text for note in pick.notes if note.code == "RELEASE_MISSING"]
    others = [] if table is None else [*_of_other_vendors(pick, table)]
    hints += others
    if not others and len(pick.machines) == 1 and (without := _without_code(pick)) is not None:
        hints.append(without)
    if pick.plan:
        cover = f"{len(pick.plan)} environments cover" if len(pick.plan) > 1 else "one environment covers"
        what = "every GPU that any build supports" if pick.unserved else "them all"
        groups = (f"torch {group.verdict.build.version} for {_names(group.members, pick)}" for group in pick.plan)
        hints.append(f"{cover} {what}: {', '.join(groups)}")
        if pick.unserved:
            hints.append(f"nothing runs on {_names(pick.unserved, pick)}")
    if machine.jetsons:
        hints.append(f"wheels for Jetson are made by JetPack: {JETSON_PAGE} lists NVIDIA's, older ones included")
    if wish.backends != ("cpu",) and not wish.allow_cpu and machine.vendors - {"apple"}:
        hints.append("`--allow-cpu` falls back to the cpu build")
    if pick.fleet and pick.fleet.left_out:
        hints += [note.text for note in pick.fleet.notes if note.code.endswith("_LEFT_OUT")]
    return [*dict.fromkeys(hints)] or ["`torchpick list` shows every build and why it was passed over"]


def _without_code(pick: Pick) -> str | None:
    """That no known build has code for these GPUs, whatever the driver and the Python; None where one has."""
    of_gpus = [verdict for verdict in _able(pick) if verdict.fits]
    if not of_gpus or any(fit.fit is not Fit.NONE for verdict in of_gpus for fit in verdict.fits):
        return None
    oldest = min((verdict.build.torch for verdict in of_gpus), key=release_key)
    what = f"no published build from torch {oldest} on is known to run on {labels(pick.machine.counted)}"
    return f"{what}: an older release, or torch built from source, may"


def _names(members: tuple[GpuPlace, ...], pick: Pick) -> str:
    """The GPUs at these places, each name once with its count, and the hosts where there are several."""
    counts: dict[str, int] = {}
    for machine, gpu in members:
        label = pick.machines[machine].label_of(gpu)
        counts[label] = counts.get(label, 0) + (1 if pick.fleet is None else pick.fleet.crowds[machine].hosts.count)
    hosts = pick.fleet.hosts(machines_of(members)).brief if pick.fleet and pick.fleet.count > 1 else ""
    names = [name if count == 1 else f"{count} × {name}" for name, count in counts.items()]
    return some_of(names, 8, " and ") + (f" on {hosts}" if hosts else "")


def override_of(arch: Arch | None, table: Table) -> tuple[str, str, str] | None:
    """The target whose code runs on this AMD GPU too, the setting that lets it, and why it does."""
    if arch is None or arch not in table.gfx_overrides:
        return None
    version, why = table.gfx_overrides[arch]
    return "gfx{}{:x}{:x}".format(*numbers(version)), f"HSA_OVERRIDE_GFX_VERSION={version}", why


def _of_other_vendors(pick: Pick, table: Table) -> Iterator[str]:
    """Alternatives for these GPUs: an override, another macOS."""
    platform = pick.machine.platform.name
    for gpu in pick.machine.counted if platform == "linux-x86_64" else ():
        if (other := override_of(gpu.arch, table)) is not None:
            target, setting, why = other
            way = f"{setting} ({why})"
            yield f"some users run builds for {target} on {gpu.arch} with {way}; `--gpu {target}` picks such a build"
    if platform == "macos-x86_64":
        yield f"torch {LAST_FOR_INTEL} was the last release for Intel Macs"


# Where no environment fits.


def hints(
    search: SearchFacts, wanted: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]
) -> tuple[str, ...]:
    """Every hint on an environment, the nearest way first; where there is none, where more is said."""
    ways = tuple(dict.fromkeys(_ways(search, wanted, objections)))
    if ways or not objections:
        return ways
    # A machine with another maker's GPUs runs neither.
    if search.machine.nvidia and Reason.CUDA_MAJOR_MIXED in {against.objection.reason for against in objections}:
        return ("`--allow-mixed` takes two CUDA majors",)
    name = objections[0].name
    is_listed = search.in_table(name) and search.facts[name].versions
    return (f"`torchpick list {name if is_listed else 'torch'}` says of each version why",)


def _ways(
    search: SearchFacts, wanted: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]
) -> Iterator[str]:
    by_reason = grouped((against.objection.reason, against) for against in objections)
    if torch := next((demand.specifier for demand in wanted if demand.name == "torch"), ""):
        wish = search.wish._replace(torch=torch)
        yield from (note.text for note in missing_release(search.machine, search.table, wish))
    unpinned = next(_without_a_pin(search, wanted), None)
    if unpinned:
        yield unpinned
    if search.wish.backends:
        free = _changed(search, wish=search.wish._replace(backends=()))
        yield from _would_be(f"without `--backend {search.wish.backends[0]}`", free, wanted, wanted[0].name)
    if search.machine.jetsons:
        yield f"up to JetPack 6, what depends on torch is built against NVIDIA's own ({JETSON_PAGE})"
    elif search.fit.gpus:  # theirs are for NVIDIA's discrete GPUs
        yield from _elsewhere(search, wanted, objections)
    facts_of = [search.facts[demand.name] for demand in wanted if demand.name in search.facts]
    yield from (f"{facts.name} {facts.refused}" for facts in facts_of if facts.refused is not None and facts.versions)
    drivers = (against.objection.facts["needs"] for against in by_reason.get(Reason.PACKAGE_DRIVER_TOO_OLD, ()))
    for needs in dict.fromkeys(filter(is_dotted, drivers)):
        newer = _changed(search, buildfit.with_driver(search.machine, needs, search.table.drivers))
        yield from _would_be(f"with driver {needs} or newer", newer, wanted, wanted[0].name)
    if not search.machine.used and Reason.CUDA_MAJOR_MIXED in by_reason:
        yield "without a GPU torch's cpu build is picked: `--backend cu130` picks one for CUDA, `--gpu` specifies a GPU"
    if unpinned:
        return
    # What runs on this GPU where a package has no code for it.
    uncoded = {against.name for against in by_reason.get(Reason.PACKAGE_NO_KERNELS, ())}
    for_else = {against.name for against in objections} - uncoded
    yield from (facts.advice for facts in facts_of if facts.advice is not None and facts.name not in for_else)
    if uncoded and search.builds:
        yield f"torch itself runs here: torch {search.builds[0].build.version}"


def _changed(
    search: SearchFacts, machine: Machine | None = None, wish: Wish | None = None, catalog: Catalog | None = None
) -> SearchFacts:
    catalog = catalog or search.catalog
    return SearchFacts(machine or search.machine, search.table, wish or search.wish, catalog, search.limits)


def _without_a_pin(search: SearchFacts, wanted: tuple[PackageDemand, ...]) -> Iterator[str]:
    for demand in wanted:
        if demand.specifier:
            freed = tuple(other._replace(specifier="") if other is demand else other for other in wanted)
            yield from _would_be(f"without `{demand.specifier}` on {demand.name}", search, freed, demand.name)


def _would_be(change: str, search: SearchFacts, wanted: tuple[PackageDemand, ...], name: str) -> Iterator[str]:
    """What the answer would be with a change by what is known already, where one fits."""
    known = _changed(search, catalog=search.catalog._replace(may_learn=False))
    solution = find_solution(known, wanted)
    if isinstance(solution, Solution):
        package = solution.packages.get(name)
        pins = [] if package is None else [package.who]
        pins += [] if solution.build is None else [f"torch {solution.build.version}"]
        yield f"{change}: {', '.join(pins)}"


def _elsewhere(
    search: SearchFacts, wanted: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]
) -> Iterator[str]:
    """Other indexes that have a version that was passed over for its CUDA, for the platforms of its usual wheels."""
    names = {demand.name for demand in wanted}
    for against in objections:
        facts = search.facts.get(against.name)
        if facts is None or against.name not in names or against.objection.reason not in _OF_CUDA:
            continue
        names.remove(against.name)  # the newest that was passed over says enough
        refused = [
            package
            for package in facts.versions
            if package.version in against.versions
            and not package.place
            and {"any", search.machine.platform.name} & {*package.platforms}
            and search.fit.lack(package) is None
        ]
        driver, drivers = search.machine.driver, search.table.drivers
        for index in facts.elsewhere:
            bounds = ((">=", index.since), ("<=", index.until))
            known = PackageDemand(against.name, ",".join(operator + bound for operator, bound in bounds if bound))
            package = next((package for package in refused if known.admits(package.version)), None)
            # The wheels that are known are judged as versions.
            if index.wheels or package is None:
                continue
            carried = (drivers.supports_cuda(driver, f"{major}.0", search.fit.os) for major in index.cuda if driver)
            if driver is None or not index.cuda or any(carried):
                yield filled(f"another index has {against.name} {index.text}: {index.url}", package, None, "")


# What people call torch, and what is asked of it and is no package: a backend, CUDA or its driver, a GPU, a version.
_TORCH = ("pytorch", "pytorch-cuda", "pytorch-gpu", "torch-gpu", "torch-cuda", "pytroch")
_NO_PACKAGE = re.compile(
    r"cu\d{2,3}|cpu|rocm\d[\d-]*|xpu|cuda(?:-?\d[\d-]*)?|cudatoolkit|cuda-toolkit|cudnn|nvidia-(?:cuda|drivers?(?:-\d+)?)"
    r"|nvcc|(?:torch\w*-)?v?\d+(?:-\d+)+|(?:(?:rtx|gtx)-?)?\d{3,4}(?:-?(?:ti|super))?|[rg]tx|geforce|radeon"
    r"|[abhlv]\d{2,3}s?|[lt]4|p100|k80"
)


def refuse(words: Iterable[str], command: str) -> None:
    """UsageError for a word that is something else than a requirement, or nearly a name of torch's family."""
    for word in words:
        name = normal(leading(word.strip()))
        rest = word.strip()[len(name) :]
        reader = command if command in ("install", "lock") else "plan"
        if re.fullmatch(r"[\w./\\-]+\.(?:txt|toml|lock|ya?ml)", word):
            hint = f"`torchpick {reader} -r {word}`" if word.endswith(".txt") else "requirements files go after `-r`"
            raise UsageError(f"`{word}` is a file, not a package", hint=hint)
        if not rest and _NO_PACKAGE.fullmatch(name):
            hint = "`--backend cu126` names what torch is for, `--gpu` a GPU, `torch==2.9.1` a version"
            raise UsageError(f"`{word}` is not a package", hint=hint)
        meant = "torch" if name in _TORCH else next((package for package in TRIO if _is_typo(name, package)), None)
        if meant is not None:
            hint = f"did you mean `{meant}{rest}`? A package really called `{name}` goes into a file, after `-r`"
            raise UsageError(f"`{word}` is not a package of PyTorch's", hint=hint)


def _is_typo(name: str, meant: str) -> bool:
    """Whether a letter is missing, too much, another or in another place; a number or an end may be on purpose."""
    if name[:1] != meant[0] or name.startswith(meant) or re.search(r"\d", name):
        return False
    return not _shorter(name).isdisjoint(_shorter(meant))


def _shorter(name: str) -> set[str]:
    return {name, *(name[:index] + name[index + 1 :] for index in range(1, len(name)))}
