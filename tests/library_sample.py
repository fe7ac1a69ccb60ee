"""A program that uses the library as others do: mypy --strict and pyright must find each name and type in it."""

from __future__ import annotations

import torchpick
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Platform, Python

PASCAL = Gpu(0, "nvidia", "GTX 1080 Ti", Arch("sm", 6, 1))
MACHINE = torchpick.Machine(
    Platform("linux", "x86_64", "2.35"), Python("3.12"), Driver("580.95.05"), (PASCAL,), name="n1"
)


def picked(gpu: str) -> list[str]:
    pick: torchpick.Pick = torchpick.pick(gpus=[gpu], driver="580.95.05", python="3.12", platform="linux-x86_64")
    try:
        answer: torchpick.Pick = pick.require()
    except torchpick.NoBuildError as error:
        return [error.message]
    reasons: list[str] = [objection.reason.name for objection in answer.considered[0].objections]
    text: str = answer.to_json()
    keys: dict[str, object] = answer.to_dict()
    return [answer.version, *reasons, *keys, text[:1]]


def planned() -> dict[str, str]:
    stack: torchpick.Stack = torchpick.plan("torch", gpus=["sm_61"], driver="580.95.05", python="3.12", offline=True)
    pins: dict[str, str] = {package.name: package.version for package in stack.packages}
    return pins


def fleet() -> dict[str, int]:
    groups: torchpick.Groups = torchpick.fleet([MACHINE]).require()
    hosts: dict[str, int] = {group.hosts.text: group.hosts.count for group in groups.groups}
    return hosts


def inspected(file: str) -> list[str]:
    inspection: torchpick.Inspection = torchpick.inspect(file, gpus=["sm_61"], driver="580.95.05")
    words: list[str] = [verdict.word for verdict in inspection.verdicts]
    return words


def refused() -> str:
    try:
        torchpick.pick(torch=2.9)  # type: ignore[arg-type]  # strict checkers find it before the run does
    except torchpick.UsageError as error:
        return error.hint or ""
    return ""
