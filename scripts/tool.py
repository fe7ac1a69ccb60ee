"""Runs a module of this folder for a script: `python -m scripts.tool build-index scripts.table.index [ARGS…]`.

`--help` is what the module says of itself; one that reads options has its own, and another one takes none.
"""

from __future__ import annotations

import sys
from importlib import import_module


def main(script: str, name: str, words: list[str]) -> int:
    module = import_module(name)
    sys.argv[0] = f"scripts/{script}"
    options = [word for word in words if word.startswith("-")]
    if options and not hasattr(module, "argparse"):
        if {"-h", "--help"} & {*options}:
            print(module.__doc__)
            return 0
        print(f"error: scripts/{script} takes no option {options[0]}", file=sys.stderr)
        return 2
    return int(module.main(words))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
