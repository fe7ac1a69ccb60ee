"""The architectures that PyTorch was compiled for, according to PyTorch itself.

`torch.cuda.get_arch_list()` prints a string that the build compiled into libtorch_python (the macro CUDA_ARCH_FLAGS,
torch/csrc/cuda/Module.cpp). It stands there as plain text, so it can be read without running anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from mmap import mmap

from torchpick.model.arch import Arch

_ONE = rb"(?:sm|compute)_\d{2,3}[af]?"
_AMD = rb"gfx[0-9a-f]{3,5}(?::[a-z+-]{1,16}){0,3}"
# Followed by its NUL; what stands before it is any text, where the compiler keeps arrays that have no NUL.
_LIST = re.compile(rb"(%b(?: %b){1,40}|%b(?:[ ;]%b){1,60})\0" % (_ONE, _ONE, _AMD, _AMD))
# A build for one architecture (NVIDIA's Jetson wheels: `sm_87`) looks like any other mention of it, so it counts only
# where it stands alone between two NULs and is the only such text of the library.
_SINGLE = re.compile(rb"(?<=\0)(%b|%b)(?=\0)" % (_ONE, _AMD))
# The longest list there can be; it may lie across two chunks.
_OVERLAP = 1024


def find(chunks: Iterable[bytes | mmap]) -> tuple[Arch, ...] | None:
    """The list, in its own order, in a library that is mapped or streams by, read no further than needed."""
    singles: set[bytes] = set()
    kept = b""
    for chunk in chunks:
        text = kept + bytes(chunk) if kept else chunk
        if (listed := _listed(text, singles)) is not None:
            return _arches(listed)
        kept = text[-_OVERLAP:]
    return _arches(singles.pop()) if len(singles) == 1 else None


def _listed(buffer: bytes | mmap, singles: set[bytes]) -> bytes | None:
    """The list, where it is there; a single architecture is added to the others. Only its words are looked around."""
    for place in _places(buffer):
        # A list starts with one of these words, so nothing before it can belong to it.
        start = max(0, place - 1)
        window = bytes(buffer[start : place + _OVERLAP])
        if (match := _LIST.match(window, place - start)) is not None:
            return match[1]
        if (match := _SINGLE.match(window, place - start)) is not None:
            singles.add(match[1])
    return None


def _places(buffer: bytes | mmap) -> Iterator[int]:
    """Where the words that a list may start with stand, in the file's order."""
    ahead = {word: buffer.find(word) for word in (b"sm_", b"compute_", b"gfx")}
    while ahead := {word: place for word, place in ahead.items() if place >= 0}:
        word = min(ahead, key=ahead.__getitem__)
        yield ahead[word]
        ahead[word] = buffer.find(word, ahead[word] + 1)


def _arches(text: bytes) -> tuple[Arch, ...]:
    words = text.decode("ascii").replace(";", " ").split()
    # AMD's feature marks (gfx90a:sramecc+:xnack-) are no part of the name.
    return tuple(dict.fromkeys(Arch.parse(word.partition(":")[0]) for word in words))
