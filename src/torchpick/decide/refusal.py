"""The refusal where no build runs: why, what would have to change, and the fewest environments."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from torchpick.decide.remarks import LAST_FOR_INTEL
from torchpick.decide.wishes import takes
from torchpick.model.arch import Fit
from torchpick.model.build import toolkit_order
from torchpick.model.machine import Gpu, labels
from torchpick.model.noun import Noun
from torchpick.model.pick import GpuPlace, Pick, machines_of
from torchpick.model.pythons import python_name
from torchpick.model.request import Wish
from torchpick.model.stack import Stack
from torchpick.model.table import GfxOverride, Table
from torchpick.model.verdict import Reason, Verdict
from torchpick.model.versions import is_dotted, release_key, some_of, span

# NVIDIA's list of its wheels for each JetPack.
JETSON_PAGE = "https://forums.developer.nvidia.com/t/72048"
# What the question itself leaves out, whatever the machine.
_NARROWING = frozenset({Reason.NOT_REQUESTED, Reason.BACKEND_NOT_ALLOWED, Reason.COMPANION_MISSING, Reason.CONSTRAINED})
# A refusal shows so many reasons.
_MOST_REASONS = 6
_MOST_ASKED = 6
_OF_CODE = frozenset({Reason.NO_KERNELS, Reason.PTX_ONLY_DRIVER_TOO_OLD})


class Refusal(Noun):
    """Why no build runs, and what would have to change."""

    why: str
    remedy: str


def words(pick: Pick, table: Table | None = None) -> Refusal:
    """The refusal of a pick without a build that runs; the table knows the alternatives."""
    message = f"no PyTorch build runs {_where(pick)}"
    own = sorted({verdict.build.platform for verdict in pick.considered if verdict.ok})
    nearest = _nearest(pick, own)
    if len(pick.machines) == 1 and pick.fleet is None and (why := _why_not_asked(pick)) is not None:
        return Refusal(why, "; ".join(_hints(pick, table)))
    if own and nearest is None:
        message += f": what runs on {' and on '.join(own)} does not run on all of them"
    elif nearest is None:
        what = "all of their GPUs" if len(pick.machines) > 1 else f"such GPUs on {pick.machine.platform.name}"
        message += f": none is published for {what}"
    else:
        message += f"; the nearest is {nearest.build.version}: {_joined(nearest)}"
    return Refusal(message, "; ".join(_hints(pick, table)))


def of_stack(stack: Stack) -> Refusal:
    """What stands in the way of one environment, a line for each reason."""
    reasons = [f"{f'{each.name} {each.span}'.rstrip()}: {each.objection.text}" for each in stack.objections]
    more = len(reasons) - _MOST_REASONS
    lines = [*reasons[:_MOST_REASONS], *([f"and {more} more; `--json` has all"] if more > 0 else [])]
    gpus = labels(stack.machine.used)
    what = "no environment fits" if reasons else "nothing is known that could be planned of"
    asked = some_of(stack.asked, _MOST_ASKED, " ")
    why = "\n".join([f"{what} {asked}{f' for {gpus}' if gpus else ''}", *lines])
    remedy = f"`torchpick list {stack.objections[0].name}` says of each version why" if reasons else ""
    # A machine with another maker's GPUs runs neither.
    if stack.machine.nvidia and any(each.objection.reason is Reason.CUDA_MAJOR_MIXED for each in stack.objections):
        remedy = "`--allow-mixed` takes two CUDA majors"
    return Refusal(why, "; ".join(stack.hints[:2]) or remedy)


def _where(pick: Pick) -> str:
    count = len(pick.machines) if pick.fleet is None else pick.fleet.count
    if count > 1:
        return f"on all {count} machines"
    machine = pick.machine
    gpus = f"for {labels(machine.used)} " if machine.used else ""
    driver = f"driver {machine.driver.label}, " if machine.driver and machine.counted else ""
    return f"{gpus}with {driver}{python_name(machine.python.tag)}, {machine.platform.name}"


def _nearest(pick: Pick, others: Container[str]) -> Verdict | None:
    """The build with the fewest kinds of objection, the best of them; none if the driver supports no GPU anyway.

    A platform that another build supports is not what it fails for.
    """
    able = [verdict for verdict in pick.considered if verdict.rank.suits >= 2 and verdict.build.platform not in others]
    return min(able, key=lambda each: len(each.reasons), default=None)


def _why_not_asked(pick: Pick) -> str | None:
    """Why the build that was asked for does not run, and where those begin or end that do; None where any would do."""
    able = [verdict for verdict in pick.considered if verdict.rank.suits >= 2]
    asked = [verdict for verdict in able if not verdict.reasons & _NARROWING]
    wish = pick.wish
    narrowed = wish.torch or wish.backends or wish.limits or any(wish.companions.values())
    if not narrowed or len(asked) == len(able):
        return None
    if not asked:
        wanted = [_unasked(verdict, wish) for verdict in able]
        where = " on ".join(filter(None, (labels(pick.machine.used), pick.machine.platform.name)))
        none = f"{wanted[0]}, and no known build for {where} is that" if all(wanted) else None
        return _unpublished(pick, able) or none
    best = min(asked, key=lambda each: (Reason.UNCONFIRMED in each.reasons, len(each.reasons)))
    text = _joined(best)
    of = " ".join(f"{name}{span}" for name, span in wish.companions.items() if span)
    label = f"torch {best.build.version}{f' (of {of})' if of and not wish.torch else ''}"
    why = f"{label}{' ' if best.objections[0].reason in _OF_CODE else ': '}{text}"
    running = [verdict.build for verdict in able if verdict.reasons <= _NARROWING]
    if not best.reasons & _OF_CODE or not running:
        return why
    running.sort(key=lambda build: (release_key(build.torch), toolkit_order(build.backend)))
    return f"{why}; what runs here is torch {span([build.version for build in running])}"


def _unasked(verdict: Verdict, wish: Wish) -> str | None:
    """That another release was asked for, or another backend."""
    kinds = {Reason.NOT_REQUESTED, *(() if takes(wish, verdict.build) else (Reason.BACKEND_NOT_ALLOWED,))}
    return next((each.text for each in verdict.objections if each.reason in kinds), None)


def _unpublished(pick: Pick, able: Sequence[Verdict]) -> str | None:
    """That the release was never built for the label that was asked for, and for which it was."""
    release, mark, label = pick.wish.torch.removeprefix("==").partition("+")
    backends = [label] if mark else [*pick.wish.backends]
    builds = (each.build for each in able if each.build.torch == release and each.build.published is not None)
    there = sorted({build.backend for build in builds})
    if not there or not backends or set(there) & set(backends):
        return None
    where = f"{pick.machine.platform.name} and Python {pick.machine.python.version}"
    return f"torch {release} was not published for {' or '.join(backends)} ({where}), but for {', '.join(there)}"


def _joined(verdict: Verdict) -> str:
    return ", and ".join(dict.fromkeys(objection.text for objection in verdict.objections))


def begins(specifier: str, verdicts: Iterable[Verdict]) -> list[str]:
    """Where the table of torch begins, if an older release is asked for."""
    asked = specifier.lstrip("=<~ ")
    oldest = min((verdict.build.torch for verdict in verdicts), key=release_key, default=None)
    older = oldest is not None and is_dotted(asked) and release_key(asked) < release_key(oldest)
    return [f"the table of torch begins at {oldest}"] if older else []


def _hints(pick: Pick, table: Table | None) -> list[str]:
    wish = pick.wish
    changes = [change.text for change in pick.changes[:3]]
    hints = [*begins(wish.torch, pick.considered), *(changes or _other_drivers(pick))]
    if ".dev" in wish.torch and wish.channel != "nightly":
        hints.append("development builds are on `--channel nightly`, which `torchpick refresh --channel nightly` reads")
    others = [] if table is None else _of_other_vendors(pick, table)
    hints += others
    if not others and len(pick.machines) == 1 and (without := _without_code(pick)) is not None:
        hints.append(without)
    if pick.plan:
        count = f"{len(pick.plan)} environments" if len(pick.plan) > 1 else "one environment"
        what = "every GPU that any build supports" if pick.unserved else "them all"
        verb = "cover" if len(pick.plan) > 1 else "covers"
        groups = (f"torch {group.verdict.build.version} for {_names(group.members, pick)}" for group in pick.plan)
        hints.append(f"{count} {verb} {what}: {', '.join(groups)}")
        if pick.unserved:
            hints.append(f"nothing runs on {_names(pick.unserved, pick)}")
    if pick.machine.jetsons:
        hints.append(f"wheels for Jetson are made by JetPack: {JETSON_PAGE} lists NVIDIA's, older ones included")
    if wish.backends != ("cpu",) and not wish.allow_cpu and pick.machine.vendors - {"apple"}:
        hints.append("`--allow-cpu` falls back to the cpu build")
    if pick.fleet and pick.fleet.left_out:
        hints += [note.text for note in pick.fleet.notes if note.code.endswith("_LEFT_OUT")]
    return hints or ["`torchpick list` shows every build and why it was passed over"]


def _other_drivers(pick: Pick) -> list[str]:
    """Which driver each GPU needs that this one does not support, or that none supports them all."""
    none = "no driver supports all of these GPUs: select some with `--gpu` or `--only`"
    objections = (each for verdict in pick.considered for each in verdict.objections)
    refused = [each.facts for each in objections if each.reason is Reason.GPU_NOT_SERVED_BY_DRIVER]
    return [*dict.fromkeys(f"{facts['gpu']} needs {facts['mends']}" if facts["mends"] else none for facts in refused)]


def _without_code(pick: Pick) -> str | None:
    """That no known build has code for these GPUs, whatever the driver and the Python; None where one has."""
    of_gpus = [verdict for verdict in pick.considered if verdict.rank.suits >= 2 and verdict.fits]
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


def _of_other_vendors(pick: Pick, table: Table) -> list[str]:
    """Alternatives for these GPUs: an override, another macOS."""
    alternatives = []
    machine = pick.machine
    for gpu in machine.counted:
        if gpu.vendor != "amd" or gpu.arch is None:
            continue
        override = table.amd.override(gpu.arch)
        if override is not None and override.works and machine.platform.name == "linux-x86_64":
            alternatives.append(_override(override, gpu))
    if machine.platform.name == "macos-x86_64":
        alternatives.append(f"torch {LAST_FOR_INTEL} was the last release for Intel Macs")
    return list(dict.fromkeys(alternatives))


def _override(override: GfxOverride, gpu: Gpu) -> str:
    target = override.stands_for
    return (
        f"some users run builds for {target} on {gpu.arch} with HSA_OVERRIDE_GFX_VERSION={override.version} "
        f"({override.why}); `--gpu {target}` picks such a build"
    )
