"""Scripts that a conda environment runs when it is entered and left: they set variables and put them back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchpick.installers import shell

# Conda runs what has the suffix of the shell it is in.
SUFFIXES = ("sh", "fish", "ps1", "bat")
_SAVED = "_TORCHPICK_"
_ABOUT = "torchpick pin; `torchpick unpin` removes this file"


def scripts(changed: Mapping[str, str], joined: Sequence[str] = ()) -> dict[str, str]:
    """`activate.d/NAME` and `deactivate.d/NAME` → text. What `joined` names is put before the value that is there."""
    found = {}
    for suffix in SUFFIXES:
        enter, leave = _SHELLS[suffix]
        about = f"@rem {_ABOUT}" if suffix == "bat" else f"# {_ABOUT}"
        end = "\r\n" if suffix == "bat" else "\n"
        entering = [line for name, value in changed.items() for line in enter(name, value, name in joined)]
        leaving = [line for name in changed for line in leave(name)]
        found[f"activate.d/torchpick.{suffix}"] = end.join([about, *entering, ""])
        found[f"deactivate.d/torchpick.{suffix}"] = end.join([about, *leaving, ""])
    return found


def _sh_enter(name: str, value: str, joined: bool) -> list[str]:
    more = f'"${{{name}:+ ${name}}}"' if joined else ""
    return [
        f'if [ -n "${{{name}+x}}" ]; then export {_SAVED}{name}="${name}"; fi',
        f"export {name}={shell.sh(value)}{more}",
    ]


def _sh_leave(name: str) -> list[str]:
    back = f'export {name}="${_SAVED}{name}"; unset {_SAVED}{name}'
    return [f'if [ -n "${{{_SAVED}{name}+x}}" ]; then {back}; else unset {name}; fi']


def _fish_enter(name: str, value: str, joined: bool) -> list[str]:
    quoted = shell.quoted("fish", value)
    plain = f"set -gx {name} {quoted}"
    if not joined:
        return [f"set -q {name}; and set -gx {_SAVED}{name} ${name}", plain]
    both = f'set -gx {_SAVED}{name} ${name}; and set -gx {name} {quoted}" ${name}"'
    return [f"set -q {name}; and {both}; or {plain}"]


def _fish_leave(name: str) -> list[str]:
    back = f"set -gx {name} ${_SAVED}{name}; and set -e {_SAVED}{name}"
    return [f"set -q {_SAVED}{name}; and {back}; or set -e {name}"]


def _powershell_enter(name: str, value: str, joined: bool) -> list[str]:
    quoted = shell.quoted("powershell", value)
    more = f' + $(if ($env:{_SAVED}{name}) {{ " $env:{_SAVED}{name}" }} else {{ "" }})' if joined else ""
    return [f"$env:{_SAVED}{name} = $env:{name}", f"$env:{name} = {quoted}{more}"]


def _powershell_leave(name: str) -> list[str]:
    return [f"$env:{name} = $env:{_SAVED}{name}", f"Remove-Item -ErrorAction Ignore Env:{_SAVED}{name}"]


def _batch_enter(name: str, value: str, joined: bool) -> list[str]:
    escaped = value.replace("%", "%%")
    save = f'@if defined {name} set "{_SAVED}{name}=%{name}%"'
    if not joined:
        return [save, f'@set "{name}={escaped}"']
    return [save, f'@if defined {name} (set "{name}={escaped} %{name}%") else (set "{name}={escaped}")']


def _batch_leave(name: str) -> list[str]:
    return [f'@set "{name}="', f'@if defined {_SAVED}{name} set "{name}=%{_SAVED}{name}%"', f'@set "{_SAVED}{name}="']


_SHELLS = {
    "sh": (_sh_enter, _sh_leave),
    "fish": (_fish_enter, _fish_leave),
    "ps1": (_powershell_enter, _powershell_leave),
    "bat": (_batch_enter, _batch_leave),
}
