"""Typos among requirements: refused before any index is asked, which may know a stranger's package of that name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from torchpick.errors import UsageError
from torchpick.model.versions import leading, normal

_TORCH = ("pytorch", "pytorch-cuda", "pytorch-gpu", "torch-gpu", "torch-cuda", "pytroch")
_COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
_BACKEND = re.compile(r"cu\d{2,3}|cpu|rocm\d[\d.]*|xpu")
_CUDA = re.compile(r"cuda(?:[-_]?\d[\d.]*)?|cudatoolkit|cuda-toolkit|cudnn|nvidia-cuda|nvcc")
_GPU = re.compile(r"(?:rtx|gtx)?-?\d{3,4}(?:-?(?:ti|super))?|[abhlv]\d{2,3}s?|t4|p100|k80", re.IGNORECASE)
# How alike two names must be: `torchvison`, and not `torchrl`.
_ALIKE = 0.88


def refuse(words: Iterable[str], command: str) -> None:
    """UsageError for a word that is something else than a requirement."""
    for word in words:
        name = normal(leading(word.strip()))
        rest = word.strip()[len(name) :]
        if re.fullmatch(r"[\w./\\-]+\.(?:txt|toml|lock|ya?ml)", word):
            reader = command if command in ("install", "lock") else "install --dry-run"
            hint = f"`torchpick {reader} -r {word}`" if word.endswith(".txt") else "requirements files go after `-r`"
            raise UsageError(f"`{word}` is a file, not a package", hint=hint)
        if _BACKEND.fullmatch(word):
            raise _refused(word, "a backend", f"`torchpick {command} torch --backend {word}`")
        if _CUDA.fullmatch(name):
            raise _refused(word, "CUDA itself", "torch brings its own CUDA; `--backend cu126` names one")
        if _GPU.fullmatch(word):
            raise _refused(word, "a GPU", f"`--gpu {word}`, once for each GPU")
        if name in _TORCH or _is_torch(name):
            raise _meant(word, f"torch{rest}")
        close = get_close_matches(name, _COMPANIONS, n=1, cutoff=_ALIKE) if name.startswith(("tor", "tro")) else []
        if close and close[0] != name:
            raise _meant(word, f"{close[0]}{rest}")


def _is_torch(name: str) -> bool:
    """`tourch`, `toch`, `torhc`; what begins with torch is an extension of it."""
    if name[:1] != "t" or name.startswith("torch"):
        return False
    return sorted(name) == sorted("torch") or bool(get_close_matches(name, ("torch",), cutoff=_ALIKE))


def _refused(word: str, what: str, hint: str) -> UsageError:
    return UsageError(f"`{word}` is {what}, not a package to install", hint=hint)


def _meant(word: str, other: str) -> UsageError:
    return UsageError(f"`{word}` is not a package of PyTorch's", hint=f"did you mean `{other}`?")
