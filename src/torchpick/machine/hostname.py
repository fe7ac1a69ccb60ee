"""This host's name: from its scheduler, else from the system."""

from __future__ import annotations

from collections.abc import Mapping

# Slurm's own name of the node, which several slurmd on one host do not share with it; a pod's node, where its manifest
# passes `spec.nodeName` on.
_VARIABLES = ("SLURMD_NODENAME", "TORCHPICK_NODE", "NODE_NAME")
_MOST = 253  # a DNS name
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def of(environ: Mapping[str, str]) -> str | None:
    """The name, or None where the system has none."""
    for variable in _VARIABLES:
        if environ.get(variable, "").isprintable() and environ.get(variable):
            return environ[variable][:_MOST]
    import platform  # not socket, which costs more than the name is worth

    return platform.node()[:_MOST] or None


def as_file(name: str) -> str:
    """The name as one of a file: no separator, and not hidden."""
    return "".join(char if char in _SAFE else "_" for char in name).lstrip(".")[:_MOST] or "host"
