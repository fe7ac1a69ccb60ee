"""Whether torchpick runs in an environment of its own, which is a tool's: torch is for that of the folder."""

from __future__ import annotations

import os
import sys

from torchpick.environment.world import World, uv_project, which

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


# What lies where torchpick alone was installed: itself, what it requires, and installers.
_ALONE = {
    "torchpick_cli", "anyio", "certifi", "exceptiongroup", "h11", "httpcore", "httpx", "idna", "nvidia_ml_py",
    "packaging", "tomli", "tomlkit", "typing_extensions", "pip", "setuptools", "uv", "wheel",
}  # fmt: skip


def holds_torchpick_alone(prefix: str) -> bool:
    """Whether nothing else was installed into a virtual environment, so that it may be meant as a tool's."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    try:
        names = os.listdir(
            f"{prefix}/Lib/site-packages" if os.name == "nt" else f"{prefix}/lib/{version}/site-packages"
        )
    except OSError:
        return False
    packages = {name.partition("-")[0].lower() for name in names if name.endswith(".dist-info")}
    return "torchpick_cli" in packages and packages <= _ALONE and os.path.isfile(f"{prefix}/pyvenv.cfg")


def no_target(tool: str, world: World) -> str | None:
    """Why no Python on PATH is meant instead of torchpick's own; None where one is."""
    if (project := uv_project(world.cwd)) is not None:
        return f"{project}/.venv is not there yet: `uv sync` makes it"
    if tool == "checkout" and world.environ.get("VIRTUAL_ENV"):
        return "what is active is torchpick's own environment: make one here with `python3 -m venv .venv`"
    return None


def on_path(environ: Mapping[str, str]) -> list[str]:
    """The Pythons on PATH that are not the one that torchpick runs in."""
    return [path for name in ("python3", "python") if (path := which(name, environ, outside=sys.prefix))]
