"""Which NVIDIA driver carries which CUDA, and which GPU: NVIDIA's tables as questions."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.arch import Arch
from torchpick.model.machine import Driver
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers

# From CUDA 11 on a driver carries every minor of its major (minor-version compatibility); before, the toolkit's own
# driver is needed (NVIDIA CUDA Compatibility guide).
FIRST_COMPATIBLE_MAJOR = 11


class DriverTable(Noun):
    """`toolkits`: CUDA → oldest driver per OS. `majors`: CUDA major → floor per OS. `native`: branch → CUDA it speaks.

    `last_branch`: capability → last driver branch that serves it. `first_driver`: capability → oldest driver per OS.
    `unified_tegra`: the driver from which Tegra loads the code of discrete GPUs (JetPack 7). `generations`: CUDA → the
    major capabilities its toolkit compiles for, oldest first.
    """

    toolkits: Mapping[str, Mapping[str, str]]
    majors: Mapping[int, Mapping[str, str]]
    native: tuple[tuple[int, str], ...]
    last_branch: Mapping[tuple[int, int], int]
    first_driver: Mapping[tuple[int, int], Mapping[str, str]]
    unified_tegra: str | None = None
    generations: tuple[tuple[str, frozenset[int]], ...] = ()

    def floor(self, cuda: str, os: str) -> str | None:
        """The oldest driver that carries builds of this CUDA: the lower of the toolkit's row and its major's floor."""
        major = int(cuda.split(".")[0])
        own = self.toolkits.get(cuda, {}).get(os)
        shared = self.majors.get(major, {}).get(os) if major >= FIRST_COMPATIBLE_MAJOR else None
        known = [each for each in (own, shared) if each is not None]
        return min(known, key=numbers) if known else None

    def speaks(self, driver: Driver) -> str | None:
        """The CUDA this driver speaks itself: what it said, else what its branch came with."""
        if driver.cuda is not None or driver.version is None:
            return driver.cuda
        branch = numbers(driver.version)[0]
        older = [cuda for first, cuda in self.native if first <= branch]
        return older[-1] if older else None

    def carries(self, driver: Driver, cuda: str, os: str) -> bool:
        """Whether machine code built with this CUDA loads on this driver."""
        spoken = self.speaks(driver)
        if spoken is not None and numbers(spoken) >= numbers(cuda):
            return True
        if driver.version is None:
            major = int(cuda.split(".")[0])
            return spoken is not None and FIRST_COMPATIBLE_MAJOR <= major == numbers(spoken)[0]
        floor = self.floor(cuda, os)
        return floor is not None and numbers(driver.version) >= numbers(floor)

    def refusal(self, driver: Driver, gpu: Arch, os: str) -> tuple[str, str] | None:
        """Why this driver does not serve that GPU at all and which would; None where it does."""
        capability = gpu.capability
        last = self.last_branch.get(capability)
        first = self.first_driver.get(capability, {}).get(os)
        if last is not None and self._branch(driver) > last:
            return f"driver branch {last} is the last that serves it", f"a driver of branch {last}"
        if first is not None and self._older(driver, first):
            return f"driver {first} is the first that serves it", f"driver {first} or newer"
        return None

    def knows(self, cuda: str, gpu: Arch) -> bool:
        """Whether the libraries of this CUDA can hold code for the GPU's generation at all (cuBLAS, cuDNN: no PTX)."""
        made = next((majors for each, majors in self.generations if numbers(each) >= numbers(cuda)), None)
        return made is None or gpu.capability[0] in made or gpu.capability[0] < min(made)

    def assumed_for(self, gpus: tuple[Arch, ...]) -> str:
        """The newest driver branch that serves all of these; the newest known where none of them has ended."""
        ended = [self.last_branch[gpu.capability] for gpu in gpus if gpu.capability in self.last_branch]
        return str(min(ended, default=self.native[-1][0]))

    def _branch(self, driver: Driver) -> int:
        if driver.version is not None:
            return numbers(driver.version)[0]
        cuda = numbers(driver.cuda or "0")
        return max((branch for branch, spoken in self.native if numbers(spoken) <= cuda), default=0)

    def _older(self, driver: Driver, first: str) -> bool:
        if driver.version is not None:
            # A bare branch (`570`) means that branch, whichever release of it.
            mine, oldest = numbers(driver.version), numbers(first)
            return mine < oldest[: len(mine)]
        needed = self.speaks(Driver(first))
        return needed is not None and numbers(driver.cuda or "0") < numbers(needed)
