"""The matrix of many machines: a table for each system and Python, a column for each kind of GPU and driver."""

from __future__ import annotations

from torchpick.decide import matrix
from torchpick.decide.matrix import Row
from torchpick.model.fleet import Fleet, Hosts
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.request import Wish
from torchpick.model.table import Table


class MatrixGroup(Noun):
    """Machines of one system and one Python, the rows of their GPUs, and for each row the hosts that have it."""

    machine: Machine
    hosts: Hosts
    rows: tuple[Row, ...]
    owners: tuple[Hosts, ...]

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows with the driver in the name of a GPU that stands there with several."""
        names = [row.gpu.label for row in self.rows]
        return tuple(
            row._replace(gpu=row.gpu._replace(name=f"{row.gpu.name or row.gpu.arch} on {row.driver.version}"))
            if row.driver is not None and names.count(row.gpu.label) > 1
            else row
            for row in self.rows
        )


def grounds(fleet: Fleet, table: Table, wish: Wish) -> list[MatrixGroup]:
    """The fleet in as few tables as it needs."""
    places: dict[object, list[int]] = {}
    for place, machine in enumerate(fleet.machines):
        places.setdefault((machine.platform, machine.python.tag), []).append(place)
    return [_ground(fleet, listed, table, wish) for listed in places.values()]


def _ground(fleet: Fleet, places: list[int], table: Table, wish: Wish) -> MatrixGroup:
    rows: list[Row] = []
    owners: list[Hosts] = []
    machines = [fleet.crowds[place].machine for place in places]
    by_driver: dict[object, dict[object, list[int]]] = {}
    for place, machine in zip(places, machines, strict=True):
        gpus = by_driver.setdefault(machine.driver and machine.driver[:2], {})
        for gpu in machine.counted:
            gpus.setdefault((gpu.vendor, gpu.arch, gpu.name), []).append(place)
    for gpus in by_driver.values():
        first = fleet.crowds[next(iter(gpus.values()))[0]].machine if gpus else None
        if first is None:
            continue
        shown = []
        for index, (key, listed) in enumerate(gpus.items()):
            machine = fleet.crowds[listed[0]].machine
            gpu = next(gpu for gpu in machine.counted if (gpu.vendor, gpu.arch, gpu.name) == key)
            shown.append(gpu._replace(index=index, uuid=None, pci=None))
            owners.append(fleet.hosts(dict.fromkeys(listed)))
        rows += matrix.rows(first._replace(gpus=tuple(shown)), table, wish)
    name = machines[0].name if len(machines) == 1 else None
    return MatrixGroup(machines[0]._replace(name=name), fleet.hosts(places), tuple(rows), tuple(owners))
