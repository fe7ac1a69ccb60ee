"""The settings of pip and uv that name a PyTorch index or backend, and the lock of the project: read, never run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from torchpick.environment import distributions, settingsfiles, toolsettings
from torchpick.environment.distributions import ProjectLock, TorchSetting
from torchpick.environment.marks import PIN
from torchpick.environment.toolsettings import Setting, UvFile
from torchpick.errors import TorchpickError
from torchpick.model.build import WHEEL_HOST, is_wheel_host

# A folder of the wheel host: …/whl/cu126, …/whl/nightly/cpu/torch.
_BACKEND = re.compile(r"/(cpu|cu\d{2,4}|rocm\d[\d.]{0,9}|xpu)(?:/|$)")
_MOST_LOCK = 64 << 20
_VARIABLES = "the environment"


def read(environ: Mapping[str, str], prefix: str, folder: str, base: str = WHEEL_HOST) -> tuple[TorchSetting, ...]:
    """What would decide the next plain install: variables, pip's files, uv's files, the project in `folder`."""
    home = environ.get("HOME") or os.path.expanduser("~")
    found = []
    if backend := environ.get("UV_TORCH_BACKEND"):
        found.append(TorchSetting("UV_TORCH_BACKEND", _VARIABLES, backend, backend))
    places = [said for said in toolsettings.pip_of_environ(environ) if said.name in toolsettings.PIP_PLACES]
    for said in (*places, *toolsettings.uv_of_environ(environ)):
        found += _indexes(said._replace(name=said.source, source=_VARIABLES), base)
    for file in settingsfiles.pip_files(environ, prefix, home):
        with suppress(TorchpickError):  # pip itself says what is wrong with it
            named = [said for said in toolsettings.pip_file(file) if said.name in toolsettings.PIP_PLACES]
            beside_pin = bool(named) and _has_pin(file)
            for said in named:
                found += _indexes(said, base, beside_pin=beside_pin)
    with suppress(TorchpickError):
        for uv_file in reversed(toolsettings.uv(environ, home, folder)):
            found += _uv(uv_file, base)
    return tuple(found[:100])


def _indexes(said: Setting, base: str, *, beside_pin: bool = False) -> Iterator[TorchSetting]:
    for word in said.words:
        if is_wheel_host(word, base):
            backend = _BACKEND.search(word)
            yield TorchSetting(said.name, said.source, word, backend and backend[1], beside_pin)


def _uv(file: UvFile, base: str) -> Iterator[TorchSetting]:
    if backend := toolsettings.uv_key((file,), "torch-backend"):
        yield TorchSetting("torch-backend", file.path, backend.words[0], backend.words[0], _has_pin(file.path))
    if os.path.basename(file.path) != "pyproject.toml":
        # A project's own indexes are bound to packages by its sources; those of uv.toml serve every package.
        for said in toolsettings.uv_of_file(file):
            yield from _indexes(said, base)


def _has_pin(file: str) -> bool:
    return PIN in distributions.text(file)


def lock(prefix: str) -> ProjectLock | None:
    """The uv.lock of the project whose `.venv` this is."""
    project, name = os.path.split(os.path.abspath(prefix))
    file = os.path.join(project, "uv.lock")
    if name != ".venv" or not os.path.isfile(file):
        return None
    blocks = distributions.text(file, _MOST_LOCK).split("[[package]]")[1:100_000]
    versions = [
        match[1]
        for block in blocks
        if re.search(r"^name = \"torch\"$", block, re.MULTILINE)
        and (match := re.search(r"^version = \"([^\"]{1,60})\"$", block, re.MULTILINE))
    ]
    return ProjectLock(file, tuple(versions)) if versions else None
