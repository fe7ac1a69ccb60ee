"""A build: one PyTorch release for one backend on one platform, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from torchpick.model.arch import Arch
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers, release_key

# Companions are pinned with torch; the rest of its family is only kept to the wheel host (compat/family.json).
COMPANIONS = ("torchvision", "torchaudio")


class Evidence(Noun):
    """What a row rests on. `measured`: read out of a wheel (`ref` names it). `declared`: a script or a list says so.

    `twin` is the file name and sha256 of the default index's wheel of the same release, CUDA and platform, where that
    one was read.
    """

    kind: str
    ref: str
    twin: tuple[str, str] | None = None

    def to_json(self) -> dict[str, object]:
        twin = None if self.twin is None else {"file": self.twin[0], "sha256": self.twin[1]}
        return {"kind": self.kind, "ref": self.ref, "twin": twin}


class Build(Noun):
    """`version` carries the local label where the wheel has one; `arches` None means that nobody has read them."""

    torch: str
    backend: str
    platform: str
    version: str
    cuda: str | None
    arches: tuple[Arch, ...] | None
    pythons: tuple[str, ...]
    tags: tuple[str, ...]
    glibc: str | None
    libraries: Mapping[str, str]
    lacks: Mapping[str, tuple[Arch, ...]]
    published: bool | None
    yanked: bool
    companions: Mapping[str, str | None]
    companion_basis: str
    evidence: Evidence

    @property
    def family(self) -> str:
        """`cuda`, `rocm`, `cpu` or `xpu`."""
        return family_of(self.backend)

    @property
    def label(self) -> str:
        """The local label with its plus, or nothing."""
        _, plus, local = self.version.partition("+")
        return plus + local

    @property
    def unified(self) -> bool:
        """Whether discrete code also serves Tegra here: torch >= 2.14 built with CUDA >= 13.2."""
        return (
            self.cuda is not None and numbers(self.cuda) >= (13, 2) and release_key(self.torch) >= release_key("2.14")
        )

    def index_url(self, base: str, channel: str = "stable") -> str:
        """The wheel index this build lies on, under the given base (a mirror, or the wheel host)."""
        if base.startswith("flat+"):
            return base.removeprefix("flat+")
        folder = "" if channel == "stable" else f"/{channel}"
        return f"{base.rstrip('/')}{folder}/{self.backend}"


@lru_cache(maxsize=256)  # a table has some fifty backends and asks of each build several times
def family_of(backend: str) -> str:
    if backend.startswith("cu"):
        return "cuda"
    return "rocm" if backend.startswith("rocm") else backend


def backend_order(backend: str) -> tuple[str, tuple[int, ...]]:
    """Backends as a list shows them: by family, the older toolkit first."""
    return family_of(backend), toolkit_order(backend)


@lru_cache(maxsize=256)
def toolkit_order(backend: str) -> tuple[int, ...]:
    """The order among backends of one family: cu126 < cu130, and as numbers rocm7.2 < rocm7.14."""
    family = family_of(backend)
    if family == "cuda":
        digits = backend[2:]
        return (int(digits[:-1]), int(digits[-1])) if digits.isdigit() else ()
    return numbers(backend[4:]) if family == "rocm" else ()
