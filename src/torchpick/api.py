"""The library: the same questions and answers as on the command line, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchpick.decide import several
from torchpick.decide.answer import refused
from torchpick.decide.several import Groups
from torchpick.errors import UsageError
from torchpick.install.question import answer_request, read_wish
from torchpick.machine import machinefiles
from torchpick.model.finding import Finding
from torchpick.model.machine import Machine
from torchpick.model.package import Stack
from torchpick.model.pick import CHANNELS, Pick, Request
from torchpick.run import check_names, start_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.wheels.judging import Inspection


def detect(
    *,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Machine:
    """This machine, each fact with its source. Its `trouble` says why a GPU that is present does not answer."""
    return start_run(_request(locals()), environ).find_machine()


def pick(  # noqa: PLR0913 # the flags of the contract, by name
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    platform: str | None = None,
    glibc: str | None = None,
    torch: str = "",
    companions: Mapping[str, str] | Sequence[str] = (),
    backends: Sequence[str] = (),
    channel: str = "stable",
    index_base: str | None = None,
    allow_cpu: bool = False,
    allow_unconfirmed: bool = False,
    whole: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Pick:
    """The build that runs on this machine, or on the specified one; its `ok` is false if none does.

    `require()` of what is returned raises NoBuildError then, which carries it; or DetectionError, where a GPU does not
    answer.

    `gpus` takes what `--gpu` takes, an empty list for no GPU; `torch` is a specifier, and so are the values of
    `companions`, which may also be names alone.
    """
    run = start_run(_request(locals(), _requirements(torch, companions)), environ)
    machine = run.find_machine()
    if machine.trouble is not None:
        return Pick((machine,), read_wish(run), (), (), refusal=(machine.trouble.text, machine.trouble.hint))
    answer = answer_request(run)
    if answer.ok:
        return answer.pick
    nothing, _ = refused(answer, run.knowledge.rules)
    return nothing


def fleet(
    machines: Iterable[Machine],
    *,
    torch: str = "",
    backends: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Groups:
    """The fewest environments that support these machines, each of which has its `name`."""
    run = start_run(_request(locals(), _requirements(torch)), environ)

    wish = read_wish(run)
    crowds = machinefiles.MachineGroups()
    for number, machine in enumerate(machines):
        crowds.add(machine, f"machine {number}", machine.name)
    listed = machinefiles.prepare(crowds.fleet(), run.knowledge.rules.drivers, wish)
    return several.outlook(listed, run.read_table(listed.machines), wish)


def plan(  # noqa: PLR0913 # the flags of the contract, by name
    *requirements: str,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    platform: str | None = None,
    glibc: str | None = None,
    backends: Sequence[str] = (),
    channel: str = "stable",
    index_base: str | None = None,
    allow_cpu: bool = False,
    allow_unconfirmed: bool = False,
    files: Sequence[str] = (),
    constraints: Sequence[str] = (),
    editables: Sequence[str] = (),
    groups: Sequence[str] = (),
    only_binary: Sequence[str] = (),
    no_binary: Sequence[str] = (),
    pre: bool = False,
    no_deps: bool = False,
    allow_mixed: bool = False,
    offline: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Stack:
    """One environment with these requirements: every pin and why. If none fits, its `ok` is false.

    `files` to `no_deps` take what the flags of `torchpick plan` take. Nothing is installed. What the table of packages
    lacks is read from your own index, unless `offline`.
    """
    words = _list("requirements", requirements, "vllm")
    run = start_run(_request(locals(), words), environ)
    machine = run.find_machine()
    if machine.trouble is not None:
        return Stack(machine, words, hints=(machine.trouble.hint,))
    from torchpick.environment.requirements import RequirementArgs  # with packaging, which a check does without
    from torchpick.install import asking, handover

    given = RequirementArgs(
        words,
        _list("files", files, "requirements.txt"),
        _list("constraints", constraints, "limits.txt"),
        _list("editables", editables, "."),
        _list("groups", groups, "dev"),
    )
    wheels, sources = _list("only_binary", only_binary, ":all:"), _list("no_binary", no_binary, "flash-attn")
    rules = asking.file_rules(wheels, sources, pre=pre)
    order = asking.Order(given, no_deps=no_deps, allow_mixed=allow_mixed, passed_on=rules)
    stack, _ = handover.plan_environment(run, order)
    return stack


def inspect(  # noqa: PLR0913 # the flags of the contract, by name
    thing: str,
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    platform: str | None = None,
    offline: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Inspection:
    """The GPU code in a wheel, a package or a library, and whether each GPU of this or the specified machine runs it.

    `thing` is what the command takes: a file, a URL, `name==version` or an installed package. Where a GPU does not
    answer, there is no verdict.
    """
    run = start_run(_request(locals()), environ)
    from torchpick.wheels import inspect_target, judging

    how = inspect_target.ReadOptions(None, python, platform, offline=run.offline)
    reading = inspect_target.read_target(thing, how)
    machine, drivers = run.find_machine(), run.knowledge.rules.drivers
    machines = () if machine.trouble else (machine,)
    return judging.Inspection(
        reading, inspect_target.judge_machines(reading, machines, drivers, how.program), machine.trouble
    )


def check(
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """What is wrong with the installed torch, for this machine or the specified one; worst first.

    `python` is an interpreter or an environment's folder, the active one without it. Nothing of it is imported or run.
    """
    from torchpick.doctor.examination import examine

    return examine(start_run(_request(locals()), environ)).findings


def _request(given: Mapping[str, Any], requirements: tuple[str, ...] = ()) -> Request:
    """What the arguments of a function would specify as flags; a value of another type is refused."""
    flags = {name: given[name] for name in Request._fields if name in given}
    for name, value in flags.items():  # `python=3.10` would be 3.1
        if Request.__annotations__[name] == "str | None" and not isinstance(value, str | None):
            raise UsageError(f"{name}={value!r} must be a string", hint="write it in quotes")
    if (channel := flags.get("channel", "stable")) not in CHANNELS:
        raise UsageError(f"channel={channel!r} is not a channel", hint=f"one of {', '.join(CHANNELS)}")
    if flags.get("gpus") is not None:
        flags["gpus"] = _list("gpus", flags["gpus"], "sm_61") or ("none",)
    flags["backends"] = _list("backends", flags.get("backends", ()), "cu126")
    check_names(requirements, "plan")
    return Request(**{**flags, "requirements": requirements})


def _list(name: str, value: object, example: str) -> tuple[str, ...]:
    items = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else None
    if items is None or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{name}={value!r} must be a list of strings", hint=f'such as {name}=["{example}"]')
    return items


def _requirements(torch: str, companions: Mapping[str, str] | Sequence[str] = ()) -> tuple[str, ...]:
    """Torch and its companions as REQ spells them."""
    if not isinstance(companions, Mapping):
        companions = dict.fromkeys(_list("companions", companions, "torchvision"), "")
    specifiers = {"torch": torch, **companions}
    return tuple(f"{name} {str(specifier).removeprefix(name)}".rstrip() for name, specifier in specifiers.items())
