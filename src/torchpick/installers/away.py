"""Settings and options that lead an installation away from its target, or stop it before it is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torchpick.environment.toolsettings import Setting
from torchpick.errors import UsageError
from torchpick.installers.inherits import OwnSettings

# Options that put packages elsewhere than into the target, or nowhere.
_OPTIONS = frozenset({"--target", "-t", "--prefix", "--root", "--user", "--dry-run"})
# The same as settings of pip's; those of the second line are switches.
_PIP = ("target", "prefix", "root", "python")
_PIP_SWITCHES = ("dry-run", "only-deps")
_UV = ("target", "prefix")


def leads(passed_on: Iterable[str]) -> bool:
    """Whether the installer's own arguments say so."""
    return any(word.partition("=")[0] in _OPTIONS for word in passed_on)


def of_pip(own: OwnSettings) -> Setting | None:
    said = [own.pip[name] for name in (*_PIP, *_PIP_SWITCHES) if name in own.pip]
    return next((each for each in said if each.name in _PIP or each.is_on), None)


def of_uv(own: OwnSettings) -> Setting | None:
    """Of `[pip]` in a uv.toml and `[tool.uv.pip]`."""
    for file in own.uv_files:
        scope = file.table.get("pip")
        if not isinstance(scope, Mapping):
            continue
        for name in _UV:
            if name in scope:
                return Setting(name, (str(scope[name]),), file.path)
    return None


def check(said: Setting | None, passed_on: Sequence[str], prefix: str) -> None:
    """Refuse a setting that nobody asked for in this run; what stands after `--` somebody did."""
    if said is not None and not leads(passed_on):
        value = " ".join(said.words)
        hint = f"take it out for this run; `--python PATH` names the environment, and `-- --{said.name} …` insists"
        if said.name == "python":
            hint = "take it out for this run; `--python PATH` names the environment"
        raise UsageError(f"{said.source} sets {said.name} to {value}, away from {prefix}", hint=hint)
