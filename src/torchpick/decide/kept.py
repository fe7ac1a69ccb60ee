"""Whether the torch that is installed may stay. Pure."""

from __future__ import annotations

from torchpick.decide import resolve
from torchpick.model.build import DEFAULT_INDEX
from torchpick.model.machine import Machine
from torchpick.model.specifiers import admits
from torchpick.model.table import Table
from torchpick.model.verdict import Verdict
from torchpick.model.wish import Wish


def from_default_index(installed: str, machine: Machine, table: Table, wish: Wish) -> Verdict | None:
    """The verdict on an installed torch of the default index, where it runs here and nothing else is asked for.

    Such a torch has no local label. `table` needs the default index's builds (`with_builds(…, default_index=True)`).
    The companions of its build are those that belong beside it: plain versions, from the user's own index.
    """
    if "+" in installed or wish.backends or wish.channel != "stable" or not admits(wish.torch)(installed):
        return None
    only = wish._replace(torch=f"=={installed}", backends=(DEFAULT_INDEX,))
    return next((each for each in resolve.judge(machine, table, only) if each.ok), None)
