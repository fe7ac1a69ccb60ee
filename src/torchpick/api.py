"""The library's door: the same question and answer as the command's, as values and exceptions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from torchpick.errors import UsageError
from torchpick.model.finding import Finding
from torchpick.model.machine import Machine
from torchpick.model.verdict import Pick
from torchpick.model.wish import CHANNELS

_EXAMPLES = {
    "driver": "580.95.05",
    "cuda_driver": "12.8",
    "python": "3.12",
    "platform": "linux-x86_64",
    "glibc": "2.35",
    "index_base": "https://mirror.example/whl",
}


def detect(
    *,
    python: str | None = None,
    visible_only: bool = False,
    trust_pci: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Machine:
    """This machine, each fact with its source. Its `trouble` says why a GPU that is there gives no answer."""
    from torchpick import question, shipped
    from torchpick.request import Request

    known = os.environ if environ is None else environ
    _texts(python=python)
    request = Request(python=python, visible_only=visible_only, trust_pci=trust_pci)
    return question.machine_of(request, known, shipped.rules(known))


def pick(  # noqa: PLR0913 # the flags of the contract, by name
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    platform: str | None = None,
    glibc: str | None = None,
    torch: str = "",
    companions: Mapping[str, str] | None = None,
    backends: Sequence[str] = (),
    channel: str = "stable",
    index_base: str | None = None,
    allow_cpu: bool = False,
    allow_unconfirmed: bool = False,
    whole: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Pick:
    """The build that runs on this machine, or on the one that is told; NoBuildError carries the answer where none does.

    `gpus` takes what `--gpu` takes, an empty list for no GPU; `torch` and the values of `companions` are specifiers.
    """
    from torchpick import question
    from torchpick.request import Request

    _texts(driver=driver, cuda_driver=cuda_driver, python=python, platform=platform, glibc=glibc, index_base=index_base)
    if channel not in CHANNELS:
        raise UsageError(f"channel={channel!r} is no channel", hint=f"one of {', '.join(CHANNELS)}")
    request = Request(
        requirements=_requirements(torch, companions),
        gpus=_gpus(gpus),
        driver=driver,
        cuda_driver=cuda_driver,
        platform=platform,
        glibc=glibc,
        python=python,
        backends=_list("backends", backends, "cu126"),
        channel=channel,
        allow_cpu=allow_cpu,
        allow_unconfirmed=allow_unconfirmed,
        whole=whole,
        index_base=index_base,
    )
    return question.chosen(request, os.environ if environ is None else environ)


def check(
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[Finding]:
    """What is wrong with the torch that is installed, for this machine or the one that is told; worst first.

    `python` is an interpreter or an environment's folder, the active one without it. Nothing in it is imported.
    """
    from torchpick.examination import examine
    from torchpick.request import Request

    _texts(driver=driver, cuda_driver=cuda_driver, python=python)
    request = Request(gpus=_gpus(gpus), driver=driver, cuda_driver=cuda_driver, python=python)
    return list(examine(request, os.environ if environ is None else environ).findings)


def _texts(**given: object) -> None:
    """Refuse what is no text: `python=3.10` would be 3.1."""
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{name}={value!r} is no text", hint=f'such as {name}="{_EXAMPLES[name]}"')


def _list(name: str, value: object, example: str) -> tuple[str, ...]:
    hint = f'such as {name}=["{example}"]'
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise UsageError(f"{name}={value!r} is no list", hint=hint)
    found = tuple(value)
    for each in found:
        if not isinstance(each, str):
            raise UsageError(f"{name} holds {each!r}, which is no text", hint=hint)
    return found


def _gpus(gpus: object) -> tuple[str, ...] | None:
    return None if gpus is None else (_list("gpus", gpus, "sm_61") or ("none",))


def _requirements(torch: object, companions: object) -> tuple[str, ...]:
    """Torch and its companions as REQ spells them; a specifier begins with its operator, or it would be a name."""
    if companions is not None and not isinstance(companions, Mapping):
        raise UsageError(f"companions={companions!r} is no mapping", hint='such as companions={"torchvision": ""}')
    found = [f"torch{_specifier('torch', torch)}"]
    for name, value in (companions or {}).items():
        if not isinstance(name, str) or not name.replace("-", "").replace("_", "").isalnum():
            raise UsageError(f"{name!r} is no name of a companion", hint='such as companions={"torchvision": ""}')
        found.append(f"{name}{_specifier(name, value)}")
    return tuple(found)


def _specifier(name: str, value: object) -> str:
    if isinstance(value, str) and (not value.strip() or value.lstrip()[0] in "<>=!~"):
        return value
    if isinstance(value, str) and value.lstrip()[:1].isdigit():
        raise UsageError(f"{name}={value!r} is a version, not a specifier", hint=f'{name}="=={value.strip()}"')
    raise UsageError(f"{name}={value!r} is no version specifier", hint=f'such as {name}="==2.9.1", or "" for any')
