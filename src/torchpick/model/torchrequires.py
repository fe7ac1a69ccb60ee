"""What a release of torch requires of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class TorchRequirements(NamedTuple):
    """The Requires-Dist of one release of torch.

    `plain` is what every build of it requires, `default` what the default index's own wheels require beside that
    (NVIDIA's wheels and triton), and `cuda` the CUDA of these. `triton` is the triton of ROCm's and Intel's builds, by
    the family of the backend.
    """

    plain: tuple[str, ...]
    default: tuple[str, ...] = ()
    triton: Mapping[str, str] = {}
    cuda: str | None = None

    def of(self, backend: str) -> tuple[str, ...]:
        """What a build for this backend requires; of another CUDA than the default index's, without NVIDIA's wheels."""
        if backend == "default" or (self.cuda is not None and backend == f"cu{self.cuda.replace('.', '')}"):
            return self.plain + self.default
        if backend.startswith("cu"):
            return self.plain + tuple(line for line in self.default if line.startswith("triton"))
        family = backend.rstrip(".0123456789")
        return (*self.plain, self.triton[family]) if family in self.triton else self.plain
