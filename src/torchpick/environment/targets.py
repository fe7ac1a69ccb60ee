"""The target of an installation as it stands: read from its folders, or asked of its interpreter where it has none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from torchpick.environment import distributions, layout
from torchpick.environment.world import text_of
from torchpick.errors import InstallerError, TorchpickError
from torchpick.model.noun import Noun


class Target(Noun):
    """An environment to install into. `managed` is the message of PEP 668, `tool` the tool whose own it is."""

    python: str
    version: str
    prefix: str
    packages: tuple[str, ...]
    installed: Mapping[str, str] = {}
    by_uv: bool = False
    managed: str | None = None
    tool: str | None = None
    conda: str | None = None
    free_threaded: bool = False
    full_version: str | None = None

    @property
    def pip(self) -> str | None:
        """The version of the pip in it, if there is one."""
        return self.installed.get("pip")

    @property
    def emptied(self) -> Target:
        """The same with nothing in it but its pip."""
        return self._replace(installed={} if self.pip is None else {"pip": self.pip})

    @property
    def tag(self) -> str:
        """`cp312`, `cp314t`."""
        return f"cp{self.version.replace('.', '')}{'t' if self.free_threaded else ''}"


def read(
    python: str, version: str, *, free_threaded: bool, environ: Mapping[str, str], tool: str | None = None
) -> Target:
    """Look at the environment that this interpreter belongs to; `tool` is the program whose own it is."""
    hint = "name a working one with `--python PATH`"
    try:
        here = layout.of_environment(python, version, free_threaded=free_threaded) or layout.of(python, environ)
    except TorchpickError as error:
        raise InstallerError(
            f"{python} does not say where it keeps its packages: {error.message}", hint=hint
        ) from error
    return Target(
        python=python,
        version=version,
        prefix=here.prefix,
        packages=here.packages,
        installed=installed_in(here.packages),
        by_uv="uv" in (here.settings or {}),  # it leaves its version in pyvenv.cfg
        managed=None if here.settings is not None or here.stdlib is None else manager_of(here.stdlib),
        tool=tool,
        conda=conda_name(here.prefix, environ),
        free_threaded=free_threaded,
        full_version=here.full_version,
    )


def installed_in(folders: tuple[str, ...]) -> dict[str, str]:
    """Every installed project and its version, by the names of their metadata folders; the first folder wins."""
    found: dict[str, str] = {}
    for folder in folders:
        for one in distributions.in_folder(folder):
            found.setdefault(one.name, one.version)
    return found


def cuda_of(folders: Iterable[str]) -> str | None:
    """The CUDA that the torch in them says it was built for; None for a cpu build and where it does not say."""
    texts = (text_of(os.path.join(folder, "torch", "version.py")) for folder in folders)
    match = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", next(filter(None, texts), ""), re.MULTILINE)
    return match[1] if match else None


def manager_of(stdlib: str) -> str | None:
    """The words of an EXTERNALLY-MANAGED file (PEP 668), or None where pip may install."""
    file = os.path.join(stdlib, "EXTERNALLY-MANAGED")
    if not os.path.isfile(file):
        return None
    match = re.search(r"^Error\s*=\s*(.*)", text_of(file), re.MULTILINE)
    return match[1].strip() if match else "the system's package manager owns it"


def conda_name(prefix: str, environ: Mapping[str, str]) -> str | None:
    """The conda environment's name; `base` is the one that holds conda itself."""
    if not os.path.isdir(os.path.join(prefix, "conda-meta")):
        return None
    if os.path.isdir(os.path.join(prefix, "condabin")) or (
        environ.get("CONDA_PREFIX") == prefix and environ.get("CONDA_DEFAULT_ENV") == "base"
    ):
        return "base"
    return os.path.basename(prefix)


def check(target: Target, passed_on: tuple[str, ...]) -> None:
    """Refuse, before anything starts, what an installer would refuse or what would break another tool."""
    if target.tool:
        hint = "make an environment (`python3 -m venv .venv`) and name it: `--python .venv/bin/python`"
        raise InstallerError(
            f"{target.prefix} is an environment that {target.tool} keeps for one program",
            hint=hint,
            code="TOOL_ENVIRONMENT",
        )
    elsewhere = {word.partition("=")[0] for word in passed_on} & {
        "--break-system-packages",
        "--target",
        "-t",
        "--prefix",
    }
    if target.managed and not elsewhere:
        hint = (
            "make an environment: `python3 -m venv .venv`, then `--python .venv/bin/python`; "
            "or insist: `torchpick install … -- --break-system-packages`"
        )
        raise InstallerError(
            f"{target.prefix} is externally managed: {target.managed}", hint=hint, code="EXTERNALLY_MANAGED"
        )
