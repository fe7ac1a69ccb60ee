"""A program that uses the library as others do: mypy --strict and pyright must find each name and type in it."""

from __future__ import annotations

import torchpick

PASCAL = torchpick.Gpu(0, "nvidia", "GTX 1080 Ti", torchpick.Arch("sm", 6, 1))
MACHINE = torchpick.Machine(
    torchpick.Platform("linux", "x86_64", "2.35"), torchpick.Python("3.12"), torchpick.Driver("580.95.05"), (PASCAL,),
    name="n1",
)  # fmt: skip


def picked(gpu: str) -> list[str]:
    pick: torchpick.Pick = torchpick.pick(gpus=[gpu], driver="580.95.05", python="3.12", platform="linux-x86_64")
    try:
        answer: torchpick.Pick = pick.require()
    except torchpick.NoBuildError as error:
        return [error.message]
    first: torchpick.Verdict = answer.considered[0]
    reasons: list[torchpick.Reason] = [objection.reason for objection in first.objections]
    text: str = answer.to_json()
    keys: dict[str, object] = answer.to_dict()
    return [answer.version, *(reason.name for reason in reasons), *keys, text[:1]]


def planned() -> dict[str, str]:
    stack: torchpick.Stack = torchpick.plan("torch", gpus=["sm_61"], driver="580.95.05", python="3.12", offline=True)
    packages: tuple[torchpick.PinnedPackage, ...] = stack.packages
    return {package.name: package.version for package in packages}


def fleet() -> dict[str, int]:
    groups: torchpick.Groups = torchpick.fleet([MACHINE]).require()
    hosts: list[torchpick.Hosts] = [group.hosts for group in groups.groups]
    return {of_group.text: of_group.count for of_group in hosts}


def inspected(file: str) -> list[str]:
    inspection: torchpick.Inspection = torchpick.inspect(file, gpus=["sm_61"], driver="580.95.05")
    verdicts: tuple[torchpick.ReadingVerdict, ...] = inspection.verdicts
    return [verdict.word for verdict in verdicts]


def refused() -> str:
    try:
        torchpick.pick(torch=2.9)  # type: ignore[arg-type]  # strict checkers find it before the run does
    except torchpick.UsageError as error:
        return error.hint or ""
    return ""
