"""`--gpu SPEC`: a capability, an AMD target, or a product's name."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.errors import UsageError
from torchpick.model.arch import Arch


def parse(spec: str, environ: Mapping[str, str]) -> tuple[str | None, Arch]:
    """The product's name, if it was one, and the architecture."""
    text = spec.strip().lower()
    plain = text.removeprefix("sm_").replace(".", "")
    if plain.isdigit() and len(plain) in (2, 3):
        return None, Arch.of_capability(int(plain[:-1]), int(plain[-1]))
    try:
        return None, Arch.parse(text)
    except ValueError as error:
        raise UsageError(f"`{spec}` is no GPU", hint="x") from error
