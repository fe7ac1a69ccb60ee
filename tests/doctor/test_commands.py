"""The commands of `commands.json`, and all that comes of them: see `tests/commands.py`."""

from __future__ import annotations

from tests import commands

test_a_command = commands.test_of(__file__)
