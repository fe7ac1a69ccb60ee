"""What a person is told where no build runs: why, what would have to change, and the fewest environments."""

from __future__ import annotations

from torchpick.model.machine import Machine
from torchpick.model.verdict import Group, Pick, Reason, Verdict

# NVIDIA's own index for Jetson, which a user of JetPack 6 must be told of.
JETSON_INDEX = "https://pypi.nvidia.com"


def words(pick: Pick) -> tuple[str, str]:
    """The message and the hint."""
    message = f"no PyTorch build runs {_where(pick)}"
    nearest = _nearest(pick)
    if nearest is None:
        message += f": PyTorch publishes no {_family(pick)} builds for {pick.machine.platform.name}"
    else:
        message += f"; the nearest, {nearest.build.version}, {_joined(nearest)}"
    return message, "; ".join(_hints(pick))


def _where(pick: Pick) -> str:
    if len(pick.machines) > 1:
        return f"on all {len(pick.machines)} machines"
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


def _nearest(pick: Pick) -> Verdict | None:
    """The build with the fewest kinds of objection, the best of them; none where the driver serves no GPU anyway."""
    able = [each for each in pick.considered if each.rank.suits == 2]
    return min(able, key=lambda each: len(each.reasons), default=None)


def _family(pick: Pick) -> str:
    vendors = {gpu.vendor for machine in pick.machines for gpu in machine.counted}
    return "CUDA" if "nvidia" in vendors else "ROCm" if "amd" in vendors else "such"


def _joined(verdict: Verdict) -> str:
    return ", and ".join(dict.fromkeys(each.text for each in verdict.objections))


def _hints(pick: Pick) -> list[str]:
    hints = [change.text for change in pick.changes[:3]]
    if pick.plan and (len(pick.plan) > 1 or pick.unserved):
        count = f"{len(pick.plan)} environments" if len(pick.plan) > 1 else "one environment"
        what = "all that can be served" if pick.unserved else "them all"
        verb = "serve" if len(pick.plan) > 1 else "serves"
        hints.append(f"{count} {verb} {what}: {', '.join(_group(each, pick) for each in pick.plan)}")
        if pick.unserved:
            hints.append(f"nothing runs on {_names(pick.unserved, pick)}")
    jetson = pick.machine.platform.name == "linux-aarch64"
    if jetson and any(gpu.arch is not None and gpu.arch.capability == (8, 7) for gpu in pick.machine.counted):
        hints.append(
            f"JetPack 6 takes NVIDIA's own wheels (see {JETSON_INDEX}); from JetPack 7.2 on the ordinary ones run"
        )
    if pick.wish.backends != ("cpu",) and not pick.wish.allow_cpu and pick.machine.counted:
        hints.append("`--allow-cpu` takes the cpu build")
    if not pick.changes and any(Reason.GPU_NOT_SERVED_BY_DRIVER in each.reasons for each in pick.considered):
        hints.insert(0, "no driver serves all of these GPUs: leave some out with `--gpu` or `--only`")
    return hints or ["`torchpick list` shows every build and why it was passed over"]


def _group(group: Group, pick: Pick) -> str:
    return f"torch {group.verdict.build.version} for {_names(group.members, pick)}"


def _names(members: tuple[tuple[int, int | None], ...], pick: Pick) -> str:
    """The GPUs at these places, each name once with its count."""
    counts: dict[str, int] = {}
    for machine, gpu in members:
        where = pick.machines[machine]
        label = next((each.label for each in where.gpus if each.index == gpu), f"{where.platform.name} without a GPU")
        counts[label] = counts.get(label, 0) + 1
    names = [name if count == 1 else f"{count} × {name}" for name, count in counts.items()]
    return " and ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
