"""The target of an installation as it stands: read from its folders, or asked of its interpreter where it has none."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping

from torchpick.errors import InstallerError
from torchpick.model.noun import Noun
from torchpick.requirements import normal

# Longer than a Python on a network drive takes; a broken one must not hold up the user.
ASK_S = 30.0
_QUESTION = """\
import json, sys, sysconfig
paths = sysconfig.get_paths()
sys.stdout.write("\\n" + json.dumps({
    "prefix": sys.prefix, "base": sys.base_prefix, "stdlib": paths["stdlib"],
    "packages": [paths["purelib"], paths["platlib"]],
}) + "\\n")
"""
_INSTALLED = re.compile(r"([A-Za-z0-9_.]+)-([^-]+?)(?:-py\d[^-]*)?\.(?:dist-info|egg-info)")


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
    def tag(self) -> str:
        """`cp312`, `cp314t`."""
        return f"cp{self.version.replace('.', '')}{'t' if self.free_threaded else ''}"


def read(
    python: str, version: str, *, free_threaded: bool, environ: Mapping[str, str], tool: str | None = None
) -> Target:
    """Look at the environment that this interpreter belongs to; `tool` is the program whose own it is."""
    prefix, packages, stdlib, virtual = _layout(python, version, free_threaded=free_threaded)
    settings = _pyvenv(prefix)
    return Target(
        python=python,
        version=version,
        prefix=prefix,
        packages=packages,
        installed=_installed(packages),
        by_uv="uv" in settings,
        managed=None if virtual else _managed(stdlib),
        tool=tool,
        conda=_conda(prefix, environ),
        free_threaded=free_threaded,
        full_version=settings.get("version_info") or settings.get("version"),
    )


def _layout(python: str, version: str, *, free_threaded: bool) -> tuple[str, tuple[str, ...], str, bool]:
    """Prefix, package folders, standard library, and whether it is a virtual environment."""
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(python)))
    virtual = os.path.isfile(os.path.join(prefix, "pyvenv.cfg"))
    if virtual or os.path.isdir(os.path.join(prefix, "conda-meta")):
        name = f"python{version}{'t' if free_threaded else ''}"
        library = os.path.join(prefix, "Lib") if os.name == "nt" else os.path.join(prefix, "lib", name)
        packages = os.path.join(library, "site-packages")
        if os.path.isdir(packages):
            return prefix, (packages,), library, virtual
    if os.path.abspath(python) == os.path.abspath(sys.executable or ""):
        import sysconfig

        paths = sysconfig.get_paths()
        folders = tuple(dict.fromkeys((paths["purelib"], paths["platlib"])))
        return sys.prefix, folders, paths["stdlib"], sys.prefix != sys.base_prefix
    told = _asked(python)
    folders = tuple(dict.fromkeys(told["packages"]))
    return told["prefix"], folders, told["stdlib"], told["prefix"] != told["base"]


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _asked(python: str) -> dict[str, Any]:
    """What the interpreter says of its own folders."""
    import subprocess

    hint = "name a working one with `--python PATH`"
    try:
        done = subprocess.run(
            [python, "-I", "-c", _QUESTION], capture_output=True, timeout=ASK_S, check=False, stdin=subprocess.DEVNULL
        )
        answer = json.loads(done.stdout.decode("utf-8", "replace").strip().splitlines()[-1])
    except subprocess.TimeoutExpired as error:
        raise InstallerError(f"{python} did not answer within {ASK_S:.0f} s", hint=hint) from error
    except (OSError, ValueError, IndexError, AttributeError) as error:
        raise InstallerError(f"{python} does not say where it keeps its packages", hint=hint) from error
    if not isinstance(answer, dict) or not {"prefix", "base", "stdlib", "packages"} <= answer.keys():
        raise InstallerError(f"{python} does not say where it keeps its packages", hint=hint)
    return answer


def _pyvenv(prefix: str) -> dict[str, str]:
    """The keys of pyvenv.cfg; uv leaves its version there as `uv = …`."""
    found = {}
    try:
        with open(os.path.join(prefix, "pyvenv.cfg"), encoding="utf-8", errors="replace") as stream:
            for line in stream.read(1 << 16).splitlines():
                key, mark, value = line.partition("=")
                if mark:
                    found[key.strip().lower()] = value.strip()
    except OSError:
        return {}
    return found


def _installed(folders: tuple[str, ...]) -> dict[str, str]:
    """Every installed project and its version, by the names of their metadata folders; the first folder wins."""
    found: dict[str, str] = {}
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            match = _INSTALLED.fullmatch(name)
            if match:
                found.setdefault(normal(match[1]), match[2])
    return found


def cuda_of(target: Target) -> str | None:
    """The CUDA that the installed torch says it was built for; None for a cpu build and where it does not say."""
    for folder in target.packages:
        try:
            with open(os.path.join(folder, "torch", "version.py"), encoding="utf-8", errors="replace") as stream:
                match = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", stream.read(1 << 16), re.MULTILINE)
        except OSError:
            continue
        return match[1] if match else None
    return None


def _managed(stdlib: str) -> str | None:
    """The words of an EXTERNALLY-MANAGED file (PEP 668), or None where pip may install."""
    try:
        with open(os.path.join(stdlib, "EXTERNALLY-MANAGED"), encoding="utf-8", errors="replace") as stream:
            text = stream.read(1 << 16)
    except OSError:
        return None
    match = re.search(r"^Error\s*=\s*(.*)", text, re.MULTILINE)
    return match[1].strip() if match else "the system's package manager owns it"


def _conda(prefix: str, environ: Mapping[str, str]) -> str | None:
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
            "or insist with `-- --break-system-packages`"
        )
        raise InstallerError(
            f"{target.prefix} is externally managed: {target.managed}", hint=hint, code="EXTERNALLY_MANAGED"
        )
