"""The verdict on one build, and the answer that keeps every verdict it was weighed against."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from torchpick.model.arch import Arch, Fit
from torchpick.model.build import Build
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.versions import Release
from torchpick.model.wish import Wish


class Reason(Enum):
    """Why a build is passed over: the name is the stable code, the value the sentence."""

    NOT_REQUESTED = "`{asked}` was asked for"
    BACKEND_NOT_ALLOWED = "is not a backend for this: {why}"
    NO_WHEEL_FOR_PLATFORM = "there is no wheel for {platform}"
    NO_WHEEL_FOR_PYTHON = "there is no wheel for {python}: it has {pythons}"
    GLIBC_TOO_OLD = "needs glibc {needs}, this platform has {has}"
    COMPANION_MISSING = "lacks a companion: {why}"
    UNCONFIRMED = "it was planned, and nobody has seen it published"
    UNKNOWN_ARCHES = "nobody has read which GPUs it was built for"
    YANKED = "it was withdrawn"
    NO_KERNELS = "holds no code for {gpu}: it was built for {arches}"
    PTX_ONLY_DRIVER_TOO_OLD = "has only PTX for {gpu}, which needs a driver for CUDA {cuda}; this one is for {has}"
    DRIVER_TOO_OLD = "CUDA {cuda} needs driver {needs} or newer; this one is {has}"
    GPU_NOT_SERVED_BY_DRIVER = "driver {has} does not serve {gpu}: {why}"
    LIBRARY_DROPPED_GPU = "{library} in it serves {floor} and newer, not {gpu}"


class Objection(Noun):
    """A reason and its facts; `gpu` is set where only that GPU is concerned, `machine` where there are several."""

    reason: Reason
    facts: Mapping[str, str] = {}
    gpu: int | None = None
    machine: int | None = None

    @property
    def text(self) -> str:
        return self.reason.value.format_map(self.facts)

    def to_json(self) -> dict[str, object]:
        value: dict[str, object] = {"code": self.reason.name, "text": self.text}
        if self.gpu is not None:
            value["gpu"] = self.gpu
        if self.machine is not None:
            value["machine"] = self.machine
        return value


class GpuFit(Noun):
    """How one GPU is served, and by which code of the build."""

    gpu: int
    fit: Fit
    via: Arch | None
    machine: int | None = None

    def to_json(self) -> dict[str, object]:
        value: dict[str, object] = {
            "gpu": self.gpu,
            "fit": self.fit.word,
            "via": None if self.via is None else str(self.via),
        }
        if self.machine is not None:
            value["machine"] = self.machine
        return value


class Rank(Noun):
    """The order of preference, written once: fields compare from the first to the last, larger is better.

    First what suits the machine (2 its own family of builds, 1 another accelerator's, 0 the cpu build where there is
    a GPU). Then the newest torch; the better fit of the worst GPU; a CUDA the driver speaks itself; the newest
    toolkit. The backend's name only makes the order total.
    """

    suits: int
    release: Release
    worst_fit: int
    native: bool
    toolkit: tuple[int, ...]
    backend: str


class Verdict(Noun):
    """A build, judged for one machine; no objection means that it runs there.

    `rank` is its place in the order of preference, larger is better; `native` is false where it leans on
    minor-version compatibility.
    """

    build: Build
    objections: tuple[Objection, ...]
    fits: tuple[GpuFit, ...]
    native: bool
    rank: Rank

    @property
    def ok(self) -> bool:
        return not self.objections

    def serves(self, gpu: int) -> bool:
        """Whether this one GPU would run it, whatever the others say."""
        return all(each.gpu is not None and each.gpu != gpu for each in self.objections)

    @property
    def reasons(self) -> frozenset[Reason]:
        return frozenset(each.reason for each in self.objections)

    def to_json(self) -> dict[str, object]:
        return {
            "torch": self.build.torch,
            "backend": self.build.backend,
            "version": self.build.version,
            "platform": self.build.platform,
            "ok": self.ok,
            "objections": [each.to_json() for each in self.objections],
        }


class Change(Noun):
    """One thing that would have to be different for a build to run, and that build."""

    code: str
    text: str
    verdict: Verdict


class Group(Noun):
    """One environment of a plan: the GPUs it serves, as (machine, GPU) places, and its build."""

    members: tuple[tuple[int, int | None], ...]
    verdict: Verdict


class Pick(Noun):
    """The answer for one or several machines, with every verdict it was weighed against.

    `verdicts` holds one a machine, all of the same version pin; it is empty where no single pin runs on all of them.
    `unserved` are the (machine, GPU) places that no build serves at all, so that no plan holds them.
    """

    machines: tuple[Machine, ...]
    wish: Wish
    verdicts: tuple[Verdict, ...]
    considered: tuple[Verdict, ...]
    notes: tuple[Note, ...] = ()
    plan: tuple[Group, ...] = ()
    changes: tuple[Change, ...] = ()
    unserved: tuple[tuple[int, int | None], ...] = ()

    @property
    def ok(self) -> bool:
        return bool(self.verdicts)

    @property
    def machine(self) -> Machine:
        return self.machines[0]

    @property
    def build(self) -> Build:
        """The build that was picked; asking for it where there is none is a defect of the caller."""
        if not self.verdicts:
            raise LookupError("no build runs here")
        return self.verdicts[0].build

    @property
    def version(self) -> str:
        return self.build.version

    @property
    def index_url(self) -> str:
        return self.build.index_url(self.wish.index_base, self.wish.channel)

    @property
    def requirements(self) -> tuple[str, ...]:
        """Torch and the companions that were asked for, each pinned to its exact build."""
        return requirements(self.build, self.wish)

    @property
    def companions(self) -> dict[str, str]:
        """Every companion of the build, with its local label."""
        return companions(self.build)

    def to_json(self) -> dict[str, object]:
        """The object that `torchpick --json` prints."""
        from torchpick.model import envelope

        return envelope.of_pick(self, "pick")


def companions(build: Build) -> dict[str, str]:
    return {name: version for name, version in build.companions.items() if version is not None}


def requirements(build: Build, wish: Wish) -> tuple[str, ...]:
    """Torch and the companions that were asked for, pinned; what else of the family was asked for stays as it was."""
    pinned = companions(build)
    asked = [f"{name}=={pinned[name]}" for name in wish.companions if name in pinned]
    return (f"torch=={build.version}", *asked, *wish.others)
