"""Which NVIDIA wheels for CUDA 12 and for CUDA 13 write the same files, into compat/shared-files.json.

Of each the newest wheel for Linux on x86_64 is read by ranges, and the one that torch pins: its directory alone, which
has a checksum of each file.

usage: scripts/measure-shared-files
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from scripts.table import layout
from torchpick.errors import TorchpickError
from torchpick.index import index_places, wheelnames
from torchpick.index.client import Client
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import NO_LIMITS, ProjectReader
from torchpick.index.ranges import Archive, RemoteSource

COMPAT = Path(__file__).parents[2] / "compat" / "shared-files.json"
# What torch's builds for both majors require, and libraries that others bring; CUDA 13's toolkit has no suffix.
_SUFFIXED = (
    *("cudnn", "nccl", "nvshmem", "cusparselt", "cutensor", "nvcomp", "nvimgcodec", "cutlass-dsl-libs", "cudss"),
    *("cufftmp", "cusolvermp", "cublasmp"),
)
_TOOLKIT = (
    *("cublas", "cuda-cccl", "cuda-cupti", "cuda-nvcc", "cuda-nvrtc", "cuda-runtime", "cufft", "cufile", "curand"),
    *("cusolver", "cusparse", "npp", "nvjitlink", "nvjpeg", "nvtx"),
)
PAIRS = (
    *((f"nvidia-{name}-cu12", f"nvidia-{name}-cu13") for name in _SUFFIXED),
    *((f"nvidia-{name}-cu12", f"nvidia-{name}") for name in _TOOLKIT),
)
# What torch's own builds pin: 2.10.0 for CUDA 12.8, 2.15.0 for CUDA 13.2.
PINNED = {
    "nvidia-cudnn-cu12": "9.10.2.21",
    "nvidia-cudnn-cu13": "9.26.0.51",
    "nvidia-cusparselt-cu12": "0.7.1",
    "nvidia-cusparselt-cu13": "0.8.1",
    "nvidia-nccl-cu12": "2.27.5",
    "nvidia-nccl-cu13": "2.30.7",
    "nvidia-nvshmem-cu12": "3.4.5",
    "nvidia-nvshmem-cu13": "3.7.2",
}


def main(words: Sequence[str]) -> int:
    """Read both wheels of each pair, and write the file anew."""
    if words:
        print("usage: scripts/measure-shared-files", file=sys.stderr)
        return 2
    rows = []
    places = index_places.of_user(os.environ)
    with Client() as client, ProjectReader(places, os.environ, anew=True, limits=NO_LIMITS) as index:
        for first, second in PAIRS:
            pairs = [(_wheel(first, "", index), _wheel(second, "", index))]
            if first in PINNED and second in PINNED:
                pairs.append((_wheel(first, PINNED[first], index), _wheel(second, PINNED[second], index)))
            for one, other in pairs:
                if one is None or other is None:
                    print(f"{first} and {second}: not both on the index", file=sys.stderr)
                    continue
                rows.append(_row({link: _files(link, client) for link in (one, other)}))
                print(f"{one.file} and {other.file}: {rows[-1]['files']} files", file=sys.stderr)
    layout.write(COMPAT, {"schema": 1, "pairs": rows})
    return 0


def shared(first: Mapping[str, int], second: Mapping[str, int]) -> list[str]:
    """The paths that both wheels write, not alike; what lies there alike is no loss."""
    return sorted(path for path in first.keys() & second.keys() if first[path] != second[path])


def _row(read: Mapping[ProjectFile, Mapping[str, int]]) -> dict[str, object]:
    first, second = read.values()
    paths = shared(first, second)
    return {
        "names": [link.name.project for link in read],
        "versions": [link.name.version for link in read],
        "sha256": [link.sha256 for link in read],
        "files": len(paths),
        "libraries": sorted({path.rpartition("/")[2] for path in paths if ".so" in path}),
    }


def _wheel(name: str, version: str, index: ProjectReader) -> ProjectFile | None:
    """The wheel of this version, or of the newest."""
    links = index.wheels(name) or ()
    here = [link for link in links if wheelnames.platform_of(link.name.platform) == "linux-x86_64"]
    stable = [link for link in here if link.yanked is None and not Version(link.name.version).is_prerelease]
    wanted = [link for link in stable if version in ("", link.name.version)]
    return max(wanted, key=lambda link: Version(link.name.version), default=None)


def _files(link: ProjectFile, client: Client) -> dict[str, int]:
    """The files that a wheel writes, each with its checksum."""
    source = RemoteSource(link.url, client)
    try:
        members = Archive(source).members()
    except TorchpickError as error:
        raise SystemExit(f"{link.file}: {error}") from error
    finally:
        source.close()
    return {member.filename: member.CRC for member in members if ".dist-info/" not in member.filename}
