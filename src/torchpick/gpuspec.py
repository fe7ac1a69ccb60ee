"""`--gpu SPEC`: a capability, an AMD target, or a product's name."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from torchpick.errors import UsageError
from torchpick.model.arch import Arch, spoken_capability

_MESSAGES = {
    "UNKNOWN_NAME": "`{text}` is no GPU that torchpick knows",
    "AMBIGUOUS": "`{text}` could be GPUs of different capability",
    "NO_SUCH_CAPABILITY": "`{text}` is no compute capability that any NVIDIA GPU has",
}


def parse(spec: str, capabilities: Collection[str], environ: Mapping[str, str]) -> tuple[str | None, Arch]:
    """The product's name as it was given, if it was one, and the architecture.

    `capabilities` are those that any GPU has; a plain one of them needs no table of names.
    """
    spoken = spoken_capability(spec.strip().lower())
    if spoken is not None and spoken in capabilities:
        major, minor = spoken.split(".")
        return None, Arch.of_capability(int(major), int(minor))
    from torchpick import shipped
    from torchpick.model import gpunames
    from torchpick.places import compat_dir

    index = os.path.join(compat_dir(environ), "index", "gpus.json")
    names = shipped.read(index, gpunames.Names.from_json)
    found = shipped.checked(index, lambda: gpunames.look_up(spec, names))  # entries are checked as they are looked up
    if isinstance(found, gpunames.Candidates):
        close = "; ".join(map(str, found.close))
        hint = f"close to it: {close}" if close else "such as sm_61, 6.1, `GTX 1080 Ti` or a100"
        hint = gpunames.of_another_vendor(spec) or hint
        raise UsageError(_MESSAGES[found.reason].format(text=found.text), hint=hint, code=found.reason)
    return None if found.kind == "gfx" else spec.strip(), found
