"""What it costs to know which GPUs a library or a wheel was built for, beside NVIDIA's own cuobjdump.

    python benchmarks/inspect_code.py [--library libtorch_cuda.so] [--others]

The aims: a library of 0.5 GB in a thirtieth of the processor time that cuobjdump takes, as whole processes, with
the same architectures, under 200 MB where cuobjdump takes 5.7 GB; a torch wheel on an index by its flags within 1.5 %
of its bytes, by a sample of its fat binaries within 5 %, both in at most 8 requests; a whole wheel in bounded memory.
Without --library the library is taken out of the torch 2.15.0 wheel of the package index (0.36 GB are fetched). With
--others NVIDIA's cuSPARSELt, NCCL and cuFFT are measured too (0.8 GB). A run that fails is said and has no time.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import interleaved
from torchpick.index.client import Client
from torchpick.index.ranges import Archive, RemoteSource
from torchpick.model.versions import parsed
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions

_MEMBER = "torch/lib/libtorch_cuda.so"
_OTHERS = {
    "nvidia-cusparselt-cu12==0.7.1": "nvidia/cusparselt/lib/libcusparseLt.so.0",
    "nvidia-nccl-cu12==2.27.5": "nvidia/nccl/lib/libnccl.so.2",
    "nvidia-cufft-cu12==11.4.1.4": "nvidia/cufft/lib/libcufft.so.11",
}
_LINUX = ReadOptions(python="3.12", platform="linux-x86_64")
# cuobjdump takes minutes of a round with torch's library, a second with the others.
_ROUNDS, _MORE_ROUNDS = 3, 11


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--others", action="store_true", help="also cuSPARSELt, NCCL and cuFFT")
    args = parser.parse_args()
    folder = interleaved.environment("nvidia-cuda-cuobjdump", "pip>=25.3")
    work = Path(tempfile.mkdtemp(prefix="torchpick-bench-"))
    try:
        torchpick = str(folder / "bin" / "torchpick")
        cuobjdump = str(next(folder.glob("lib/*/site-packages/nvidia/*/bin/cuobjdump")))
        if args.library is None:
            remote(torchpick)
        local(torchpick, cuobjdump, args.library or taken(work, "torch==2.15.0", _MEMBER), _ROUNDS)
        for requirement, member in _OTHERS.items() if args.others else ():
            file = taken(work, requirement, member)
            local(torchpick, cuobjdump, file, _MORE_ROUNDS)
            file.unlink()
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(work)


def taken(work: Path, requirement: str, member: str) -> Path:
    """A library, streamed out of its wheel."""
    file = work / member.rpartition("/")[2]
    with Client() as client, file.open("wb") as out:
        archive = Archive(RemoteSource(inspect_target.locate(parsed(requirement), _LINUX).url, client))
        for chunk in archive.stream(archive.find(member)[member]):
            out.write(chunk)
    return file


def remote(torchpick: str) -> None:
    """Bytes and requests of a wheel on the index, and the memory of a whole one."""
    flags = ["--platform", "linux-x86_64", "--python", "3.12", "--gpu", "none", "--json"]
    for release in ("2.15.0", "2.9.1"):
        line = [torchpick, "inspect", f"torch=={release}", *flags]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)["results"][0]
        share = 100 * found["bytes_read"] / found["size"]
        name = f"torch {release} by {found['depth']}"
        print(f"{name:<44}{share:6.2f} % of {found['size'] / 1e6:.0f} MB, {found['requests']} requests")
    peak = interleaved.peak_mebibytes([torchpick, "inspect", "torch==2.15.0", "--deep", *flags])
    print(f"{'torch 2.15.0 --deep, peak memory':<44}{peak:6.1f} MiB")


def local(torchpick: str, cuobjdump: str, library: Path, rounds: int) -> None:
    """Time and memory of whole processes on one library, and whether both name the same architectures."""
    ours = [torchpick, "inspect", str(library), "--gpu", "none", "--json"]
    theirs = [cuobjdump, str(library)]
    mine = json.loads(subprocess.run(ours, capture_output=True, text=True, check=True).stdout)["results"][0]
    done = subprocess.run(theirs, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{library.name}: cuobjdump ended with status {done.returncode}, and is not compared")
        return
    told = {
        ("compute" if kind == "ptx" else "sm") + name.removeprefix("sm")
        for kind, name in re.findall(r"^Fatbin (elf|ptx) code:\n=+\narch = (sm_\w+)", done.stdout, re.MULTILINE)
    }
    same = set(mine["sass"]) | set(mine["ptx"]) == told
    print(f"{'the same architectures':<44}{'yes' if same else f'no: {sorted(told)}'}")
    times = interleaved.medians({"torchpick inspect": ours, "cuobjdump": theirs}, rounds, processor=True)
    print(f"{f'{library.name}, {library.stat().st_size / 1e6:.0f} MB: cuobjdump takes':<44}", end="")
    print(f"{times['cuobjdump'] / times['torchpick inspect']:6.1f} x as long")
    for name, line in (("torchpick inspect", ours), ("cuobjdump", theirs)):
        print(f"{f'{name}, peak memory':<44}{interleaved.peak_mebibytes(line):6.0f} MiB")


if __name__ == "__main__":
    main()
