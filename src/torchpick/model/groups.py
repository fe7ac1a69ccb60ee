"""A fleet's answer for programs: the groups, each with its pick and its hosts, and who is left out."""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.model.fleet import LeftOut
from torchpick.model.hosts import Hosts
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick


class HostGroup(Noun):
    """Machines that share an environment: `pick` is what belongs into it, `hosts` who they are."""

    pick: Pick
    hosts: Hosts


class Groups:
    """The groups of a fleet, the newest torch first. `left_out` did not answer, have no GPU, or no build runs there."""

    __slots__ = ("groups", "left_out")

    def __init__(self, groups: tuple[HostGroup, ...], left_out: tuple[LeftOut, ...]) -> None:
        self.groups = groups
        self.left_out = left_out

    def __iter__(self) -> Iterator[HostGroup]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, place: int) -> HostGroup:
        return self.groups[place]

    def __repr__(self) -> str:
        parts = [f"torch {group.pick.version} for {group.hosts}" for group in self.groups]
        left = sum(part.hosts.count for part in self.left_out)
        return f"<Groups: {'; '.join(parts) or 'none'}{f'; {left} left out' if left else ''}>"
