"""Packages that are built from source: what must be there first, said before an installer starts."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.decide.answer import Answer
from torchpick.errors import InstallerError
from torchpick.install.asking import TargetQuestion
from torchpick.model.build import TRIO
from torchpick.model.machine import Note
from torchpick.model.package import PackageFacts
from torchpick.model.pick import Pick

_FLAG = "--no-build-isolation"


def check(asking: TargetQuestion, answer: Answer, facts: Mapping[str, PackageFacts]) -> tuple[Note, ...]:
    """Notes for what can be built now; InstallerError for what cannot be before torch is there, in a plan notes too."""
    notes = []
    pick, installed = answer.pick, asking.target.installed
    builds = _FLAG in asking.order.passed_on and installed.get("torch") == pick.version
    places = {one.name: one.index for one in answer.environment.packages}
    for each in asking.wanted:
        source = facts[each.name].built_with_torch if each.name in facts else None
        place = places.get(each.name, "")
        if each.place or each.name in installed or "#sha256=" in place or place == pick.index_url:
            continue
        if "//" in place and each.name not in TRIO and not (builds and source):
            page = place.partition("/download/")[0]
            who = f"{each.name} {answer.environment.version(each.name)} for torch {pick.version}"
            message = f"{who} is on no index of yours: {page} has it"
            hint = f"`torchpick install torch=={pick.version}`, then `torchpick install` with the URL of its wheel"
            if place.endswith(".whl"):
                hint = (
                    f"`torchpick install torch=={pick.version} '{each.name} @ {place}'`; no hash of that file is known"
                )
        elif source:
            toolkit = f"nvcc of CUDA {pick.build.cuda}" if pick.build.cuda else "a compiler"
            variable = _arch_list(pick)
            if builds:
                text = f"{each.name} is built from source, which needs {toolkit}; `{variable}`"
                notes.append(Note("BUILT_FROM_SOURCE", text))
                continue
            message = f"{each.name} is built from source, with torch and {toolkit} in place: {source}"
            command = f"{variable} torchpick install {each.name} -- {_FLAG}".lstrip()
            hint = f"`torchpick install torch=={pick.version}`, then `{command}`"
        else:
            continue
        if not asking.order.only_planned:
            raise InstallerError(message, hint=hint, code="BUILT_FROM_SOURCE")
        notes.append(Note("BUILT_FROM_SOURCE", f"{each.name}: {hint}"))
    return tuple(notes)


def _arch_list(pick: Pick) -> str:
    """The variable by which a build with nvcc is for these GPUs alone."""
    arches = sorted({gpu.arch for gpu in pick.machine.nvidia if gpu.arch})
    return f'TORCH_CUDA_ARCH_LIST="{";".join(f"{arch.major}.{arch.minor}" for arch in arches)}"' if arches else ""
