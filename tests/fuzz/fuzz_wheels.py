"""Coverage-guided fuzzing of everything that reads bytes from outside.

    python tests/fuzz/fuzz_wheels.py TARGET CORPUS [libFuzzer options]

TARGET is one of archive, library, page, report, flags; CORPUS a folder, which begins with good inputs. A finding is any
exception outside torchpick's own tree, too much memory, or too long for one input (-rss_limit_mb, -timeout). Needs
atheris; tests/fuzz/test_fuzz.py runs each target for a few seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "src")]

with atheris.instrument_imports(include=["torchpick"]):
    from torchpick.errors import TorchpickError
    from torchpick.wheels import flags, library, listing, locate, names, wheel, zipdir
    from torchpick.wheels.archive import Archive

from tests.wheels import making  # noqa: E402

# What unpacks within one input; a bomb is refused before this is reached.
_MOST = 32 << 20


class Memory:
    """A source over the input."""

    name = "input"
    requests = 0

    def __init__(self, data: bytes) -> None:
        self._data, self.size, self.bytes_read = data, len(data), 0

    def read(self, offset: int, length: int) -> bytes:
        return b"".join(self.stream(offset, length))

    def stream(self, offset: int, length: int) -> Iterator[bytes]:
        self.bytes_read += length
        yield self._data[offset : offset + length]

    def expect(self, ranges: list[tuple[int, int]], gap: int) -> None:
        """Nothing is gained by it."""

    def close(self) -> None:
        """Nothing is open."""


def archive(data: bytes) -> None:
    one = Archive(Memory(data))
    one.find("torch/version.py", "a")
    members = one.members()
    zipdir.check_overlap(members)
    left = _MOST
    for member in members:
        for chunk in one.stream(member):
            left -= len(chunk)
            if left < 0:
                return
    wheel.read(one, wheel.Facts("x", "torch-2.15.0-cp312-cp312-win_amd64.whl"))


def library_(data: bytes) -> None:
    library.of_buffer(data, "lib.so")
    chunks = [data[start : start + 4096] for start in range(0, len(data), 4096)]
    library.of_stream(chunks, len(data), "lib.so", again=lambda: chunks)


def page(data: bytes) -> None:
    for kind in ("text/html", "application/json"):
        try:
            listing.parse(data, "https://wheels.example/torch/", kind)
        except TorchpickError:
            continue


def report(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    locate._of_pip(text)
    locate._of_uv(text)
    names.parse(text)


def flags_(data: bytes) -> None:
    flags.find([data[:100], data[100:]])


TARGETS: dict[str, Callable[[bytes], None]] = {
    "archive": archive,
    "library": library_,
    "page": page,
    "report": report,
    "flags": flags_,
}


def seeds(target: str) -> list[bytes]:
    """Good inputs to begin with."""
    code = making.library(making.module("sm_80", "compute_80"), relocatable=[making.module("sm_90a")])
    if target == "library":
        grouped = making.container(making.group("sm_80", "sm_90a"))
        others = [making.elf({".rodata": making.cubin(90)}), making.pe({".nv_fatb": grouped})]
        return [code, making.library(grouped, linker="llvm")[:20_000], making.cubin(80), grouped, *others]
    if target == "archive":
        small = {"torch/version.py": making.version_py("2.15.0", "13.2"), "a.so": code[:3000]}
        return [making.wheel(small), making.wheel(small, stored=True), making.torch_wheel()]
    if target == "page":
        return [
            b'<a href="torch-2.9.0-cp312-cp312-win_amd64.whl#sha256=00" data-yanked>x</a>',
            b'{"files": [{"url": "x"}]}',
        ]
    if target == "flags":
        return [making.torch_python("sm_75 sm_80")[-600:]]
    return [b'{"install": [{"download_info": {"url": "https://x/y.whl"}}]}', b'wheels = [{ url = "https://x/y.whl" }]']


def main() -> None:
    target, corpus = sys.argv.pop(1), Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for place, seed in enumerate(seeds(target)):
        (corpus / f"seed-{place}").write_bytes(seed)

    def once(data: bytes) -> None:
        try:
            TARGETS[target](data)
        except TorchpickError:
            return

    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
