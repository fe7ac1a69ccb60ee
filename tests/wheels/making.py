"""Small wheels, libraries and fat binaries, byte for byte as the real ones are laid out."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

PTX, ELF, LTO, GROUP = 1, 2, 8, 0x100
SUFFIX = {"": 0, "a": 0x100000, "f": 0x200000}
REAL = 4096  # bytes of an image that has a kernel


def noise(seed: int, size: int) -> bytes:
    """Bytes that do not compress, the same at every run."""
    return hashlib.shake_128(str(seed).encode()).digest(size)


def entry(
    code: str, *, size: int = REAL, packed: bool = False, header: int = 64, isa: tuple[int, int] = (8, 7)
) -> bytes:
    """One image of a container: `sm_90a`, `compute_120`; `packed` as nvcc compresses it."""
    kind, _, rest = code.partition("_")
    suffix = rest[-1] if rest[-1] in "af" else ""
    number = int(rest.rstrip("af"))
    payload = b"\x28\xb5\x2f\xfd" + bytes(60) if packed else bytes(size)
    flags = 0x11 | SUFFIX[suffix] | (0x8000 if packed else 0)
    options = header if header > 64 else 0
    head = struct.pack(
        "<HHIQIIHHIIIQQQ",
        {"sm": ELF, "compute": PTX, "lto": LTO}[kind], 0x101, header, len(payload), len(payload) - 2 if packed else 0,
        64 if options else 0, isa[1] if kind == "compute" else 8, isa[0] if kind == "compute" else 1, number, 0, 0,
        flags, 0, size if packed else 0,
    )  # fmt: skip
    return head + bytes(header - 64) + payload


def group(*codes: str, size: int = REAL) -> bytes:
    """Images that fatbinary 13 compressed together: a header, a table of headers, one payload."""
    table = b""
    for place, code in enumerate(codes):
        kind, _, rest = code.partition("_")
        suffix = rest[-1] if rest[-1] in "af" else ""
        number = int(rest.rstrip("af"))
        options = 64 if place % 2 else 0  # every second one with options: 8 bytes and an aligned text
        table += struct.pack(
            "<HHIQIIHHIIIQQQ",
            ELF if kind == "sm" else PTX, 0x101, place * size, size, 0, options, 0, 9, number, 0, 0,
            0x11 | SUFFIX[suffix], 0, 0,
        )  # fmt: skip
        if options:
            table += struct.pack("<II", 72, 5) + b"-lto \0\0\0"
    table = struct.pack("<II", len(codes), len(table) + 8) + table
    payload = b"\x28\xb5\x2f\xfd" + bytes(124)
    head = struct.pack(
        "<HHIQIIHHIIIQQQ",
        GROUP, 0x101, 64 + len(table), len(payload), 0, 0, 0, 0, 0, 0, 0, 0x8011, 0, size * len(codes),
    )  # fmt: skip
    return head + table + payload


def container(*entries: bytes) -> bytes:
    inside = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(inside)) + inside


def module(*codes: str, **how: object) -> bytes:
    """A container with an image for each code."""
    return container(*(entry(code, **how) for code in codes))  # type: ignore[arg-type]


def cubin(number: int, *, specific: bool = False, new: bool = False) -> bytes:
    """A bare cubin: an ELF of CUDA's own ABI."""
    flags = (number << 8 | (8 if specific else 0)) if new else (number | (0x800 if specific else 0) | 0x5A0000)
    ident = b"\x7fELF\x02\x01\x01" + (b"\x41\x08" if new else b"\x33\x07") + bytes(7)
    head = ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 0, flags, 64, 0, 0, 64, 0, 0)
    return head + bytes(192)


def elf(sections: Mapping[str, bytes], *, linker: str = "gnu") -> bytes:
    """A shared library with these sections; `linker` says where the table and the names of sections lie."""
    names = [*sections, ".strtab", ".shstrtab"]
    strings = b"\0"
    at = {}
    for name in names:
        at[name] = len(strings)
        strings += name.encode() + b"\0"
    body = bytearray(64)
    places = {}
    symbols = b"\0" + b"symbol\0" * (60_000 if linker == "llvm" else 16)
    order: list[tuple[str, bytes]] = list(sections.items())
    order += [(".shstrtab", strings), (".strtab", symbols)] if linker == "llvm" else [(".strtab", symbols)]
    if linker == "gnu":
        order.append((".shstrtab", strings))
    for name, data in order:
        body += bytes(-len(body) % 8)
        places[name] = len(body), len(data)
        body += data
    body += bytes(-len(body) % 8)
    table = len(body)
    body += bytes(64)
    for name in names:
        kind = 3 if name in (".strtab", ".shstrtab") else 1
        flags = 6 if name == ".text" else 2
        offset, size = places[name]
        body += struct.pack("<IIQQQQIIQQ", at[name], kind, flags, 0, offset, size, 0, 0, 1, 0)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    body[:64] = ident + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, len(names) + 1, len(names)
    )
    return bytes(body)


def pe(sections: Mapping[str, bytes]) -> bytes:
    """A DLL with these sections, their names cut to eight characters."""
    start = 128
    head = bytearray(start)
    head[:2] = b"MZ"
    head[60:64] = struct.pack("<I", start)
    head += b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, len(sections), 0, 0, 0, 240, 0x2022) + bytes(240)
    table = len(head)
    head += bytes(40 * len(sections))
    for place, (name, data) in enumerate(sections.items()):
        head += bytes(-len(head) % 512)
        flags = 0x60000020 if name == ".text" else 0x40000040
        raw = name.encode()[:8].ljust(8, b"\0")
        struct.pack_into(
            "<8sIIIIIIHHI", head, table + 40 * place, raw, len(data), 0, len(data), len(head), 0, 0, 0, 0, flags
        )
        head += data
    return bytes(head)


def library(*modules: bytes, relocatable: Sequence[bytes] = (), linker: str = "gnu") -> bytes:
    """A CUDA library: machine code, its modules, and what else is asked for."""
    sections = {".text": b"\x90" * 512, ".rodata": b"text\0", ".nv_fatbin": b"".join(modules)}
    if relocatable:
        sections["__nv_relfatbin"] = b"".join(relocatable)
    return elf(sections, linker=linker)


def torch_python(flags: str | None) -> bytes:
    """A libtorch_python whose read-only data holds the compiled flags between other texts."""
    text = (
        b"std::string ipc_h" + (flags.encode() + b"\0" if flags is not None else b"") + b"\0expected sm_90 or newer\0"
    )
    sections = {".text": b"\xc3" * 4096, ".rodata": text, ".data": bytes(64)}
    return elf(sections)


def version_py(version: str, cuda: str | None, hip: str | None = None) -> bytes:
    lines = [
        "from typing import Optional",
        "",
        f"__version__ = '{version}'",
        "debug = False",
        f"cuda: Optional[str] = {cuda!r}",
        f"hip: Optional[str] = {hip!r}",
    ]
    return "\n".join(lines).encode() + b"\n"


def wheel(members: Mapping[str, bytes], *, stored: bool = False) -> bytes:
    """A zip archive of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, archive.compression)
    return out.getvalue()


def torch_wheel(
    flags: str | None = "sm_75 sm_80 sm_90",
    *,
    version: str = "2.15.0+cu132",
    cuda: str | None = "13.2",
    more: Mapping[str, bytes] | None = None,
) -> bytes:
    """A torch wheel in small."""
    members = {
        "torch/__init__.py": b"",
        "torch/version.py": version_py(version, cuda),
        "torch/lib/libtorch_python.so": torch_python(flags),
        **(more or {}),
        f"torch-{(release := version.partition('+')[0])}.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: torch\nVersion: {release}\n".encode()
        ),
    }
    return wheel(members)
