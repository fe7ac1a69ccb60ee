"""What will undo the right torch at the next plain install."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchpick.doctor.subject import Subject
from torchpick.environment import torchsettings
from torchpick.environment.distributions import TorchSetting
from torchpick.model.finding import Ailment, Finding

_VARIABLES = "the environment"


def undo(settings: Iterable[TorchSetting], backend: str, *, auto_fails: bool) -> Iterator[Finding]:
    """Settings of pip or uv that lead to another backend than the environment should have.

    The `auto` of uv looks at the driver alone (uv 0.13.8): it may take a build without code for the GPU.
    """
    for setting in settings:
        is_auto = setting.backend == "auto"
        if setting.backend == backend or (is_auto and not auto_fails):
            continue
        means = f"leads to {setting.backend} builds" if setting.backend else "offers builds of every backend"
        text = f"{means}, and {backend} is the one to keep"
        if is_auto:
            text = "is auto, which goes by the driver alone and takes a build without code for this GPU"
        by_variable = setting.where == _VARIABLES and not is_auto
        yield Finding(
            Ailment.SETTINGS_UNDO,
            f"{setting.name} in {setting.where} {text}",
            {"setting": setting.name, "where": setting.where, "value": setting.value, "backend": setting.backend},
            cure=f"unset {setting.name}" if by_variable else None,
            advice=f"set it to {backend}" if is_auto else None if by_variable else _removal(setting),
        )


def _removal(setting: TorchSetting) -> str:
    ours = ", or all that `torchpick pin` wrote with `torchpick unpin`" if setting.beside_pin else ""
    return f"remove that line from {setting.where}{ours}"


def lock(subject: Subject, version: str, backend: str) -> Iterator[Finding]:
    """A lock that names another torch than the one to keep."""
    here, torch = subject.environment, subject.torch
    locked = torchsettings.lock(here.prefix)
    if locked is None:
        return
    recorded = here.find("torch")
    keeps = {version}
    if recorded is not None and torch is not None and torch.version == version:
        keeps.add(recorded.version)
    if keeps.isdisjoint(locked.versions):
        yield Finding(
            Ailment.LOCK_UNDO,
            f"{locked.file} holds torch {', '.join(locked.versions)}, and {version} ({backend}) is the one to keep",
            {"file": locked.file, "locked": list(locked.versions), "wanted": version},
            advice="write the backend into the project (`torchpick extras --for app`) and lock again",
        )
