"""What will undo the right torch at the next plain install. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.doctor.facts import Facts
from torchpick.environment.distributions import TorchSetting
from torchpick.model.finding import Ailment, Finding


def undo(facts: Facts) -> Iterator[Finding]:
    """Settings of pip or uv that lead to another backend than the environment should have."""
    if facts.wanted is None:
        return
    backend = facts.wanted.backend
    for each in facts.settings:
        if each.backend in (backend, "auto"):
            continue
        means = f"leads to {each.backend} builds" if each.backend else "offers builds of every backend"
        yield Finding(
            Ailment.SETTINGS_UNDO,
            f"{each.name} in {each.where} {means}, and {backend} is the one to keep",
            {"setting": each.name, "where": each.where, "value": each.value, "backend": each.backend},
            cure=f"unset {each.name}" if each.where == "the environment" else None,
            advice=None if each.where == "the environment" else _removal(each),
        )


def _removal(setting: TorchSetting) -> str:
    ours = ", or all that `torchpick pin` wrote with `torchpick unpin`" if setting.beside_pin else ""
    return f"remove that line from {setting.where}{ours}"


def uv_auto(facts: Facts) -> Iterator[Finding]:
    """The `auto` of uv looks at the driver alone (uv 0.13.8): it may take a build without code for the GPU."""
    if not facts.uv_auto_fails:
        return
    for each in facts.settings:
        if each.backend == "auto":
            yield Finding(
                Ailment.SETTINGS_UNDO,
                f"{each.name} in {each.where} is auto, which goes by the driver alone and takes a build without code "
                "for this GPU",
                {"setting": each.name, "where": each.where, "value": each.value, "backend": each.backend},
                advice=f"set it to {facts.wanted.backend}" if facts.wanted else None,
            )


def lock(facts: Facts) -> Iterator[Finding]:
    """A lock that names another torch than the one to keep."""
    if facts.lock is None or facts.wanted is None:
        return
    version, backend = facts.wanted
    one = facts.environment.find("torch")
    keeps = {version, one.version} if one is not None and facts.torch is not None and not _changes(facts) else {version}
    if keeps.isdisjoint(facts.lock.versions):
        yield Finding(
            Ailment.LOCK_UNDO,
            f"{facts.lock.file} holds torch {', '.join(facts.lock.versions)}, and {version} ({backend}) is the one "
            "to keep",
            {"file": facts.lock.file, "locked": list(facts.lock.versions), "wanted": version},
            advice="write the backend into the project (`torchpick extras --for app`) and lock again",
        )


def _changes(facts: Facts) -> bool:
    """Whether the version to keep is another than the installed one."""
    return facts.torch is not None and facts.wanted is not None and facts.torch.version != facts.wanted.version
