"""The refusal where no build runs: why, what would have to change, and the fewest environments."""

from __future__ import annotations

from collections.abc import Container

from torchpick.decide.remarks import LAST_FOR_INTEL
from torchpick.model.machine import Gpu, Machine
from torchpick.model.noun import Noun
from torchpick.model.pick import GpuPlace, Group, Pick
from torchpick.model.stack import Stack
from torchpick.model.table import GfxOverride, Table
from torchpick.model.verdict import Reason, Verdict

# NVIDIA's own index for Jetson, which JetPack 6 needs.
JETSON_INDEX = "https://pypi.nvidia.com"


class Refusal(Noun):
    """Why no build runs, and what would have to change."""

    why: str
    remedy: str


def words(pick: Pick, table: Table | None = None) -> Refusal:
    """The refusal of a pick without a build that runs; the table knows the alternatives."""
    message = f"no PyTorch build runs {_where(pick)}"
    own = sorted({verdict.build.platform for verdict in pick.considered if verdict.ok})
    nearest = _nearest(pick, own)
    if own and nearest is None:
        message += f": {' and '.join(own)} have builds of their own, and none is for all of them"
    elif nearest is None:
        message += f": PyTorch publishes no {_family(pick)} builds for {pick.machine.platform.name}"
    else:
        message += f"; the nearest, {nearest.build.version}, {_joined(nearest)}"
    return Refusal(message, "; ".join(_hints(pick, table)))


def of_stack(stack: Stack) -> Refusal:
    """What stands in the way of one environment."""
    reasons = [f"{f'{each.name} {each.span}'.rstrip()}: {each.objection.text}" for each in stack.objections[:6]]
    gpus = ", ".join(gpu.label for gpu in stack.machine.counted)
    why = f"no environment fits {' '.join(stack.asked)}{f' for {gpus}' if gpus else ''}: {'; '.join(reasons)}"
    return Refusal(why, "; ".join(stack.hints[:2]) or "`--allow-mixed` takes two CUDA majors")


def _where(pick: Pick) -> str:
    count = len(pick.machines) if pick.fleet is None else pick.fleet.count
    if count > 1:
        return f"on all {count} machines"
    machine = pick.machine
    gpus = ", ".join(gpu.label for gpu in machine.counted)
    return f"for {gpus} with {_facts(machine)}" if gpus else f"with {_facts(machine)}"


def _facts(machine: Machine) -> str:
    facts = []
    if machine.driver is not None and machine.counted:
        facts.append(f"driver {machine.driver.version or 'for CUDA ' + (machine.driver.cuda or '?')}")
    facts.append(f"Python {machine.python.version}{'t' if machine.python.free_threaded else ''}")
    facts.append(machine.platform.name)
    return ", ".join(facts)


def _nearest(pick: Pick, others: Container[str]) -> Verdict | None:
    """The build with the fewest kinds of objection, the best of them; none if the driver supports no GPU anyway.

    A platform that another build supports is not what it fails for.
    """
    able = [verdict for verdict in pick.considered if verdict.rank.suits == 2 and verdict.build.platform not in others]
    return min(able, key=lambda each: len(each.reasons), default=None)


def _family(pick: Pick) -> str:
    vendors = {gpu.vendor for machine in pick.machines for gpu in machine.counted}
    return "CUDA" if "nvidia" in vendors else "ROCm" if "amd" in vendors else "such"


def _joined(verdict: Verdict) -> str:
    return ", and ".join(dict.fromkeys(objection.text for objection in verdict.objections))


def _hints(pick: Pick, table: Table | None) -> list[str]:
    hints = [change.text for change in pick.changes[:3]]
    if table is not None:
        hints += _of_other_vendors(pick, table)
    if pick.plan and (len(pick.plan) > 1 or pick.unserved):
        count = f"{len(pick.plan)} environments" if len(pick.plan) > 1 else "one environment"
        what = "every GPU that any build supports" if pick.unserved else "them all"
        verb = "cover" if len(pick.plan) > 1 else "covers"
        hints.append(f"{count} {verb} {what}: {', '.join(_group(group, pick) for group in pick.plan)}")
        if pick.unserved:
            hints.append(f"nothing runs on {_names(pick.unserved, pick)}")
    jetson = pick.machine.platform.name == "linux-aarch64"
    if jetson and any(gpu.arch is not None and gpu.arch.capability == (8, 7) for gpu in pick.machine.counted):
        hints.append(
            f"JetPack 6 needs NVIDIA's own wheels (see {JETSON_INDEX}); from JetPack 7.2 on, PyTorch's own wheels run"
        )
    if pick.wish.backends != ("cpu",) and not pick.wish.allow_cpu and pick.machine.counted:
        hints.append("`--allow-cpu` falls back to the cpu build")
    if not pick.changes and any(Reason.GPU_NOT_SERVED_BY_DRIVER in verdict.reasons for verdict in pick.considered):
        hints.insert(0, "no driver supports all of these GPUs: select some with `--gpu` or `--only`")
    if pick.fleet is not None and pick.fleet.left_out:
        hints += [note.text for note in pick.fleet.notes if note.code.endswith("_LEFT_OUT")]
    return hints or ["`torchpick list` shows every build and why it was passed over"]


def _group(group: Group, pick: Pick) -> str:
    return f"torch {group.verdict.build.version} for {_names(group.members, pick)}"


def _names(members: tuple[GpuPlace, ...], pick: Pick) -> str:
    """The GPUs at these places, each name once with its count, and the hosts; of several machines they are counted."""
    counts: dict[str, int] = {}
    several = pick.fleet is not None and pick.fleet.count > 1
    counted: set[tuple[int, str]] = set()
    for machine, gpu in members:
        where = pick.machines[machine]
        label = next((one.label for one in where.gpus if one.index == gpu), f"{where.platform.name} without a GPU")
        if several and (machine, label) in counted:
            continue
        counted.add((machine, label))
        counts[label] = counts.get(label, 0) + (1 if pick.fleet is None else pick.fleet.crowds[machine].hosts.count)
    hosts = pick.fleet.hosts({machine for machine, _ in members}).brief if several and pick.fleet is not None else ""
    return _counted(counts) + (f" on {hosts}" if hosts else "")


def _counted(counts: dict[str, int]) -> str:
    names = [name if count == 1 else f"{count} × {name}" for name, count in counts.items()]
    return " and ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _of_other_vendors(pick: Pick, table: Table) -> list[str]:
    """Alternatives for these GPUs: AMD's own index, an override, another macOS."""
    alternatives = []
    machine = pick.machine
    for gpu in machine.counted:
        if gpu.vendor != "amd" or gpu.arch is None:
            continue
        override = table.amd.override(gpu.arch)
        if override is not None and override.works and machine.platform.name == "linux-x86_64":
            alternatives.append(_override(override, gpu))
        index = table.amd.index_for(machine.platform.name, gpu.arch)
        if index is not None:
            alternatives.append(
                f'AMD\'s own index has builds: pip install --index-url {index.url} "torch[device-{gpu.arch}]"'
            )
    if machine.platform.name == "macos-x86_64":
        alternatives.append(f"torch {LAST_FOR_INTEL} was the last release for Intel Macs")
    return list(dict.fromkeys(alternatives))


def _override(override: GfxOverride, gpu: Gpu) -> str:
    target = override.stands_for
    return (
        f"some users run builds for {target} on {gpu.arch} with HSA_OVERRIDE_GFX_VERSION={override.version} "
        f"({override.why}); `--gpu {target}` picks such a build"
    )
