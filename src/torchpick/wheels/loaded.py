"""Which libraries of a package are loaded, and which of them say what the package supports. Pure."""

from __future__ import annotations

import re

from torchpick.model.noun import Noun
from torchpick.model.versions import numbers
from torchpick.wheels.library import Library

# Copies of NVIDIA's libraries inside other packages: their modules are chosen among, so counting them says nothing.
_VENDORED = re.compile(
    r"(?:lib)?(?:cuda|cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|cufile|cupti|nccl|nvrtc|nvJitLink"
    r"|nvjpeg|nvToolsExt|npp|nvshmem|nvonnxparser|nvinfer)[\w.+-]*\.(?:so[\w.]*|dll)",
    re.IGNORECASE,
)
# The names of NVIDIA's own projects start so: there such a library is the package itself.
_NVIDIA = "nvidia-"
# Symmetric memory is for data-centre GPUs; others lose nothing else by it.
_SYMMETRIC_MEMORY = re.compile(r"(?:lib)?torch_nvshmem\.(?:so|dll)")
# What the compiled flags of a torch are the flags of.
_MAIN = re.compile(r"(?:lib)?torch_(?:cuda|hip)\.(?:so|dll)")
_VARIANT = re.compile(r"(?P<stem>.*?cuda)(?P<number>\d{3})(?P<rest>[^/]*)")


class LoadedLibraries(Noun):
    """The libraries that would be loaded, and notes on why those."""

    libraries: tuple[Library, ...]
    notes: tuple[str, ...] = ()


def chosen(libraries: tuple[Library, ...], torch_cuda: str | None) -> LoadedLibraries:
    """The libraries that would be loaded, where a wheel has one per CUDA (bitsandbytes), and a note on which."""
    families: dict[tuple[str, str], dict[tuple[int, ...], Library]] = {}
    for library in libraries:
        if match := _VARIANT.fullmatch(library.path):
            number = match["number"]
            key = (match["stem"], match["rest"])
            families.setdefault(key, {})[int(number[:2]), int(number[2])] = library
    left: set[str] = set()
    notes: list[str] = []
    for members in families.values():
        if len(members) < 2:
            continue
        wanted = numbers(torch_cuda) if torch_cuda else max(members)
        pick = wanted if wanted in members else None
        if pick is None:
            # The loader asks for torch's own CUDA; the nearest older one of its major is what it can be given.
            pick = max((cuda for cuda in members if cuda[0] == wanted[0] and cuda < wanted), default=None)
        left.update(library.path for cuda, library in members.items() if cuda != pick)
        why = f"that torch for CUDA {torch_cuda} loads" if torch_cuda else "for the newest CUDA, as no torch was given"
        if pick is None:
            notes.append(f"it has no library {why}")
        else:
            notes.append(f"judged {_name(members[pick])}, the one {why}")
    return LoadedLibraries(tuple(library for library in libraries if library.path not in left), tuple(notes))


def own(libraries: tuple[Library, ...], project: str | None) -> LoadedLibraries:
    """The libraries that a package's verdict is based on: without copies of NVIDIA's inside it, which say nothing."""
    if project is not None and project.startswith(_NVIDIA):
        return LoadedLibraries(libraries)
    kept = tuple(library for library in libraries if counts(_name(library)))
    if project is None and not any(library.holds_code for library in kept):
        return LoadedLibraries(libraries)  # a file or folder by its path: it may be NVIDIA's own
    left = sorted({_name(library) for library in libraries if library not in kept and library.code.total})
    if not left:
        return LoadedLibraries(kept)
    shown = ", ".join(left[:3]) + (" …" if len(left) > 3 else "")
    return LoadedLibraries(
        kept, (f"not counted: {shown}, which choose among their modules or are meant for some GPUs only",)
    )


def counts(name: str) -> bool:
    """Whether a library of this file name says what a package that is not NVIDIA's supports."""
    return not _VENDORED.fullmatch(name) and not _SYMMETRIC_MEMORY.fullmatch(name)


def is_main(library: Library) -> bool:
    """Whether this is the library of torch that its compiled flags are about."""
    return _MAIN.fullmatch(_name(library)) is not None


def _name(library: Library) -> str:
    return library.path.replace("\\", "/").rpartition("/")[2]
