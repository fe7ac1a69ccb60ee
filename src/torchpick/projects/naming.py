"""Names and GPUs as an author gives them, as kinds of GPU that an extra is for."""

from __future__ import annotations

from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import given
from torchpick.model.generations import Kind, kind_of
from torchpick.model.request import Request


def kinds(text: str, knowledge: Knowledge) -> tuple[Kind, ...]:
    """The kinds of GPU of a list such as `sm_61,a100`."""
    specs = tuple(spec.strip() for spec in text.split(","))
    found = []
    for gpu in given.read(Request(gpus=specs), knowledge).gpus or ():
        kind = kind_of(gpu.arch)
        if kind is None:
            hint = 'an NVIDIA GPU from Kepler on, such as sm_61 or "GTX 1080 Ti"'
            raise UsageError(f"the default index has no build for {gpu.label}", hint=hint)
        found.append(kind)
    return tuple(dict.fromkeys(found))
