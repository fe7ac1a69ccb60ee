"""Typos among requirements: refused before any index is asked, which may know a stranger's package of that name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchpick.errors import UsageError
from torchpick.model.versions import leading, normal

# Programs that are run from their own folder and have no package on the index.
_APPS = ("comfyui", "fooocus", "stable-diffusion-webui")
_TORCH = ("pytorch", "pytorch-cuda", "pytorch-gpu", "torch-gpu", "torch-cuda", "pytroch")
# Beside the packages of the table, whose short names are too near to other people's.
OFTEN = ("torch", "vllm", "sglang", "torchvision", "torchaudio", "transformers", "diffusers", "triton", "accelerate")
_LONG = 8
# Near to one of them, and a package that many mean.
_REAL = ("faiss-cpu", "whisper")
_BACKEND = re.compile(r"cu\d{2,3}|cpu|rocm\d[\d.]*|xpu")
_CUDA = re.compile(r"cuda(?:-?\d[\d-]*)?|cudatoolkit|cuda-toolkit|cudnn|nvidia-(?:cuda|drivers?(?:-\d+)?)|nvcc")
_VERSION = re.compile(r"(?:(torch\w*)[-@])?v?(\d+(?:\.\d+)+)", re.IGNORECASE)
_GPU = re.compile(
    r"(?:(?:rtx|gtx)-?)?\d{3,4}(?:-?(?:ti|super))?|[rg]tx|geforce|radeon|[abhlv]\d{2,3}s?|[lt]4|p100|k80", re.IGNORECASE
)


def refuse(words: Iterable[str], command: str, packages: Iterable[str]) -> None:
    """UsageError for a word that is something else than a requirement, or one letter off a package that is known."""
    names = (*OFTEN, *(package for package in packages if len(package) >= _LONG))
    for word in words:
        name = normal(leading(word.strip()))
        rest = word.strip()[len(name) :]
        reader = command if command in ("install", "lock") else "install --dry-run"
        if name in _APPS:
            hint = f"in its folder: `torchpick {reader} -r requirements.txt`"
            raise UsageError(f"`{word}` is a program, not a package", hint=hint)
        if re.fullmatch(r"[\w./\\-]+\.(?:txt|toml|lock|ya?ml)", word):
            hint = f"`torchpick {reader} -r {word}`" if word.endswith(".txt") else "requirements files go after `-r`"
            raise UsageError(f"`{word}` is a file, not a package", hint=hint)
        if _BACKEND.fullmatch(word):
            raise _refused(word, "a backend", f"`torchpick {command} torch --backend {word}`")
        if _CUDA.fullmatch(name):
            hint = "torch brings its own CUDA; `--backend cu126` names one"
            raise _refused(word, "CUDA itself, or its driver", hint)
        if _GPU.fullmatch(word):
            raise _refused(word, "a GPU", f"`--gpu {word}`, once for each GPU; a name with blanks in quotes")
        if version := _VERSION.fullmatch(word):
            hint = f"did you mean `{version[1] or 'torch'}=={version[2]}`?"
            raise UsageError(f"`{word}` is a version, not a package", hint=hint)
        if name in _TORCH:
            raise UsageError(f"`{word}` is not a package of PyTorch's", hint=f"did you mean `torch{rest}`?")
        if meant := next((package for package in names if _is_typo(name, package)), None):
            really = f"A package really called `{name}` goes into a requirements file, after `-r`"
            raise UsageError(f"`{word}` is one letter off `{meant}`", hint=f"did you mean `{meant}{rest}`? {really}")


def _is_typo(name: str, meant: str) -> bool:
    """Whether a letter is missing, too much, another or in another place; a number or an end may be on purpose."""
    if name in _REAL or name[:1] != meant[0] or name.startswith(meant) or re.search(r"\d", name):
        return False
    return not _shorter(name).isdisjoint(_shorter(meant))


def _shorter(name: str) -> set[str]:
    return {name, *(name[:index] + name[index + 1 :] for index in range(1, len(name)))}


def _refused(word: str, what: str, hint: str) -> UsageError:
    return UsageError(f"`{word}` is {what}, not a package to install", hint=hint)
