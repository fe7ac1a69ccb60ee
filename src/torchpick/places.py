"""Where things lie: the shipped table and the user's cache. Facts of the environment come as an argument."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from torchpick.errors import CompatError, TorchpickError


def compat_dir(environ: Mapping[str, str]) -> str:
    """TORCHPICK_COMPAT_DIR, else beside the package (a wheel), else the root of the checkout (an editable install)."""
    told = environ.get("TORCHPICK_COMPAT_DIR")
    if told:
        if not os.path.isdir(told):
            hint = "unset TORCHPICK_COMPAT_DIR, or point it at a folder of compat files"
            raise CompatError("there is no such folder", file=told, path="", hint=hint)
        return told
    package = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(package))
    for folder in (os.path.join(package, "compat"), os.path.join(root, "compat")):
        if os.path.isdir(folder):
            return folder
    raise TorchpickError("the compat table is missing from this installation", hint="install torchpick-cli again")


def cache_dir(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """TORCHPICK_CACHE_DIR, else torchpick's folder in the platform's own cache folder. It may not exist yet."""
    told = environ.get("TORCHPICK_CACHE_DIR")
    if told:
        return os.path.abspath(told)
    home = os.path.expanduser("~")
    if platform == "win32":
        base = environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(base, "torchpick", "Cache")
    if platform == "darwin":
        return os.path.join(home, "Library", "Caches", "torchpick")
    base = environ.get("XDG_CACHE_HOME") or ""
    return os.path.join(base if os.path.isabs(base) else os.path.join(home, ".cache"), "torchpick")
