"""The torch that an import would find, as a noun; what reads it is in torchfiles. Pure."""

from __future__ import annotations

import re

from torchpick.decide.wishes import is_backend
from torchpick.environment.distributions import Environment
from torchpick.model.arch import Arch, Fit
from torchpick.model.build import Build
from torchpick.model.machine import Gpu, Machine
from torchpick.model.noun import Noun
from torchpick.model.table import Table
from torchpick.model.verdict import Verdict

# `nvidia-cuda-runtime-cu12==12.8.90`, and from CUDA 13 on `cuda-toolkit[cublas,…]==13.0.2`.
_RUNTIME = re.compile(r"(?:nvidia-cuda-runtime(?:-cu\d+)?|cuda-toolkit)(?:\[[^\]]*\])? *\(?==(\d+)\.(\d)[.\d]*")


class InstalledTorch(Noun):
    """What is known of the installed torch.

    `verdict` is on a Build made of what was read; None where its version says nothing.
    """

    version: str
    release: str
    backend: str
    cuda: str | None
    folder: str
    arches: tuple[Arch, ...] | None
    measured: bool
    verdict: Verdict | None = None

    @property
    def label(self) -> str:
        return f"torch {self.version}"

    @property
    def runs(self) -> bool:
        """Whether nothing is against it on this machine."""
        return self.verdict is not None and self.verdict.ok

    def fit(self, gpu: Gpu) -> Fit:
        """How it supports a GPU; NONE where that is not known."""
        fits = self.verdict.fits if self.verdict else ()
        return next((each.fit for each in fits if each.gpu == gpu.index), Fit.NONE)


def backend_of(torch: InstalledTorch | None, here: Environment) -> str | None:
    """The backend that the environment was made for; by the metadata where torch itself is gone."""
    if torch is not None:
        return torch.backend if is_backend(torch.backend) else None
    recorded = here.find("torch")
    if recorded is None:
        return None
    label = recorded.version.partition("+")[2]
    if is_backend(label):
        return label
    # The default index's wheels have no label, but they pin the CUDA runtime.
    pins = (match for line in recorded.requires if (match := _RUNTIME.match(line)))
    return next((f"cu{match[1]}{match[2]}" for match in pins), None)


def row_of(table: Table, machine: Machine, release: str, backend: str) -> Build | None:
    """The table's row of the same release and backend."""
    return next((each for each in table.of(machine.platform.name).builds(release) if each.backend == backend), None)
