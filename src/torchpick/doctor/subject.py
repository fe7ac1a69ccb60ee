"""What is examined: an environment and the machine it is for. What a check asks of them is read once, and only then."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from torchpick.doctor import installedtorch
from torchpick.doctor.installedtorch import InstalledTorch
from torchpick.environment.distributions import Environment
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu, Machine, labels
from torchpick.model.package import PackageFacts
from torchpick.model.table import Table
from torchpick.run import Run
from torchpick.wheels.judging import GpuCodeFit
from torchpick.wheels.readings import Reading


# The readers of wheels are imported where there is something to read: an answer without does not wait for them.
class EnvironmentUnderTest:
    """An environment, its machine, and the run that asks.

    `torch_alone`: no more than torch is looked at. `state`: how its packages are there.
    """

    state = "installed"

    def __init__(self, run: Run, environment: Environment, machine: Machine, *, torch_alone: bool) -> None:
        self.run = run
        self.environment = environment
        self.machine = machine
        self.torch_alone = torch_alone

    @property
    def is_here(self) -> bool:
        """Whether the machine is this computer, and the folders of its loader count."""
        return self.machine.platform.os == "linux" and not self.run.has_given_gpus

    @cached_property
    def table(self) -> Table:
        return self.run.read_table((self.machine,))

    @cached_property
    def torch(self) -> InstalledTorch | None:
        if not self.environment.torches:
            return None
        return installedtorch.read(self.environment, self.machine, self.table)

    @property
    def variables(self) -> Mapping[str, str]:
        """Those of the shell that its programs are started from."""
        return self.run.environ

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        return self.machine.counted

    def labels(self, *indexes: int) -> str:
        """The GPUs of these indexes (all that count without any) by their names, each once."""
        return labels([gpu for gpu in self.machine.gpus if gpu.index in indexes] if indexes else self.gpus)

    @cached_property
    def judge(self) -> GpuCodeFit:
        """The judge of GPU code behind this driver; the GPU is set for each in its turn."""
        torch = self.torch
        unified = torch is not None and torch.verdict is not None and torch.verdict.build.unified
        nothing = Arch.of_capability(0, 0)
        return GpuCodeFit.of(nothing, self.machine.driver, self.table.drivers, unified=unified)

    @property
    def inspected(self) -> tuple[Reading, ...]:
        packages, _ = self._inspection
        return packages

    @property
    def unread(self) -> tuple[tuple[str, str], ...]:
        """The packages of which a library cannot be read, each with why."""
        _, faults = self._inspection
        return faults

    @cached_property
    def _inspection(self) -> tuple[tuple[Reading, ...], tuple[tuple[str, str], ...]]:
        return installedtorch.packages(self.environment)

    @cached_property
    def known(self) -> Mapping[str, PackageFacts]:
        return self.run.read_catalog(self.machine).packages


class DescribedEnvironment(EnvironmentUnderTest):
    """An environment of which only a text is known: the versions that it names, and no file to look at."""

    def __init__(self, run: Run, environment: Environment, machine: Machine, cuda: str | None) -> None:
        super().__init__(run, environment, machine, torch_alone=True)
        self._cuda = cuda

    @property
    def is_here(self) -> bool:
        return False

    @cached_property
    def torch(self) -> InstalledTorch | None:
        torch = self.environment.find("torch")
        if torch is None:
            return None
        return installedtorch.named(torch.version, self._cuda, self.environment, self.machine, self.table)

    @property
    def variables(self) -> Mapping[str, str]:
        return {}


class LockedEnvironment(DescribedEnvironment):
    """An environment that a lock describes; `known` are packages of the table by the very files that the lock has."""

    state = "locked"

    def __init__(
        self,
        run: Run,
        environment: Environment,
        machine: Machine,
        cuda: str | None,
        known: Mapping[str, PackageFacts],
    ) -> None:
        super().__init__(run, environment, machine, cuda)
        self.known = known
