"""Everything that reads bytes from outside, as functions over bytes, each with good inputs to begin with.

An expected refusal is an exception of torchpick's own tree, or the one that a reader says it raises (`ValueError` of a
specifier or a version); anything else is a finding.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from tests.wheels import making
from torchpick.doctor import posts, situation
from torchpick.environment import projectfile, requirementfiles, requirements, toolsettings
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import TorchpickError
from torchpick.index import filemetadata, pages, wheelnames
from torchpick.index.ranges import Archive
from torchpick.install.reporting import read_pip_report, read_uv_lock
from torchpick.install.user_settings import UserSettings, note_indexes
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import machinefiles, probe
from torchpick.model.address import is_wheel_host, redacted
from torchpick.model.fields import ShapeError
from torchpick.model.fleet import Fleet
from torchpick.model.machine import Platform
from torchpick.model.metadata import parse_metadata
from torchpick.model.pick import Request
from torchpick.model.versions import admits, major_minor, marker_applies, marker_facts, release_key
from torchpick.wheels import librarycode, readings, wheelfiles

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
    one.find("torch/version.py")
    members = one.members()
    one.check_overlap()
    left = _MOST
    for member in members:
        for chunk in one.stream(member):
            left -= len(chunk)
            if left < 0:
                return
    wheelfiles.read_wheel(one, "torch-2.15.0-cp312-cp312-win_amd64.whl")


def library_(data: bytes) -> None:
    librarycode.read_buffer(data, "lib.so")
    librarycode.read_start(data, len(data), "lib.so")


def page(data: bytes) -> None:
    for kind in ("text/html", "application/json"):
        try:
            pages.files(data, "https://wheels.example/torch/", kind)
        except TorchpickError:
            continue


def report(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    wheelnames.parse(text)


def flags_(data: bytes) -> None:
    readings.compiled_flags([data[:100], data[100:]])


# The readers of text. What a reader documents that it raises is caught here, and nothing else.


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def specifier(data: bytes) -> None:
    wanted, _, version = text(data).partition("\n")
    try:
        admits(wanted)(version)
    except ValueError:
        return


def version_(data: bytes) -> None:
    for read in (release_key, major_minor):
        try:
            read(text(data))
        except ValueError:
            continue


def requirement(data: bytes) -> None:
    requirements.parse(text(data))


def requirements_file(data: bytes) -> None:
    tuple(requirementfiles.parse(text(data), {"NAME": "--extra-index-url https://e.org"}))
    nested = iter([data] * 3)  # a file may name itself, and two hundred files are read
    asked = requirements.read_requirements(
        RequirementArgs((), ("https://e.org/r.txt",)), {}, lambda _: next(nested, b"")
    )
    note_indexes(UserSettings(), ("pip",), {path: lines for (path, _), lines in asked.sources.items()})


def url(data: bytes) -> None:
    is_wheel_host(text(data))
    redacted(text(data))


def marker(data: bytes) -> None:
    # What comes to `applies` was parsed as part of a requirement.
    found = requirements.parse(f"x ; {text(data)}")
    if found.marker:
        marker_applies(found.marker, marker_facts("3.12", "3.12.1"))


def wheel_name(data: bytes) -> None:
    name = wheelnames.parse(text(data))
    requirements.wheel_of(text(data))
    if name is not None:
        wheelnames.rank(name, "cp312", Platform("linux", "x86_64", "2.28"))


def _written(data: bytes) -> str:
    path = os.path.join(tempfile.gettempdir(), f"torchpick-fuzz-{os.getpid()}")
    Path(path).write_bytes(data)
    return path


def pip_conf(data: bytes) -> None:
    found = toolsettings.strongest(toolsettings.read_pip_file(_written(data)))
    note_indexes(UserSettings({}, found), ("pip",))


def pip_conf_pinned(data: bytes) -> None:
    there = text(data)
    pinned = projectfile.pin_conf(there, {"constraint": ("file:///e/share/torchpick/c.txt",)})
    if "[:env:]" not in there:
        assert projectfile.unpin_conf(pinned) == there


def uv_toml(data: bytes) -> None:
    table = toolsettings.toml_of(_written(data))  # the reader behind uv's several files
    if table is not None:
        note_indexes(UserSettings(uv_files=(("uv.toml", table),)), ("uv",))


def project(data: bytes) -> None:
    projectfile.read_project(text(data))


def dependency_groups(data: bytes) -> None:
    requirementfiles.read_group(f"{_written(data)}:a")


def machine(data: bytes) -> None:
    machinefiles.check_fleet(_fleet(data), "fuzz")


def _fleet(data: bytes) -> Fleet:
    reader = machinefiles.Reader(Request(python="3.12"), KNOWLEDGE)
    reader.stream(io.BytesIO(data), "fuzz")
    return reader.fleet()


def probed(data: bytes) -> None:
    probe.parse_reading(data, "nvml")


def gpu(data: bytes) -> None:
    KNOWLEDGE.gpu(text(data))


def resolved(data: bytes) -> None:
    there = text(data)
    for read in (read_pip_report, read_uv_lock):
        try:
            read(there)
        except TorchpickError:
            continue


def log(data: bytes) -> None:
    words = KNOWLEDGE.file("words.json", situation.read_words)
    situation.read_situation(posts.plain(data, words["rewritten"]), words, words["facts"])


KNOWLEDGE = Knowledge({})


def metadata_(data: bytes) -> None:
    with suppress(ValueError):
        found = parse_metadata(text(data))
        assert parse_metadata(found.text) == found


def sdist(data: bytes) -> None:
    with suppress(ValueError):
        filemetadata.read_tar([gzip.compress(data, mtime=0)], "pkg", "1.0")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "archive": archive, "library": library_, "page": page, "report": report, "flags": flags_, "specifier": specifier,
    "version": version_, "requirement": requirement, "requirements-file": requirements_file, "url": url,
    "marker": marker, "wheel-name": wheel_name, "pip-conf": pip_conf, "pip-conf-pinned": pip_conf_pinned,
    "uv-toml": uv_toml, "project": project, "groups": dependency_groups, "machine": machine, "probe": probed,
    "gpu": gpu, "resolved": resolved, "log": log, "metadata": metadata_, "sdist": sdist,
}  # fmt: skip
# What is no finding.
EXPECTED = (TorchpickError, ShapeError)


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
    if target == "sdist":
        header = tarfile.TarInfo("pkg-1.0/PKG-INFO")
        header.size = len(SEEDS["metadata"][0])
        return [header.tobuf() + SEEDS["metadata"][0].encode().ljust(512, b"\0")]
    if target == "flags":
        return [making.torch_python("sm_75 sm_80")[-600:]]
    if target in SEEDS:
        return [seed.encode() for seed in SEEDS[target]]
    return [b'{"install": [{"download_info": {"url": "https://x/y.whl"}}]}', b'wheels = [{ url = "https://x/y.whl" }]']


_MACHINE = {
    "machine": {"platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.36"}, "python": {"version": "3.12",
     "implementation": "cp", "free_threaded": False}, "driver": {"version": "580.95.05", "cuda": "13.0",
     "source": "nvml"}, "gpus": [{"index": 0, "vendor": "nvidia", "name": "NVIDIA GeForce GTX 1080 Ti",
     "arch": "sm_61", "visible": True}], "notes": []},
}  # fmt: skip
_NODES = {"items": [{"metadata": {"name": "a", "labels": {"nvidia.com/gpu.compute.major": "8"}}, "status": {}}]}
SEEDS: dict[str, list[str]] = {
    "metadata": ["Metadata-Version: 2.2\nName: pkg\nVersion: 1.0\nRequires-Dist: a\n ; extra == 'x'\nDynamic: x\n"],
    "specifier": [">=2.5,<2.12\n2.9.1+cu126", "~=2.0,!=2.9.*\n2.9.1.post2", "===1!2\n1!2"],
    "version": ["2.14.1+cu126", "1!2.0rc1.post2.dev3", "580.95.05"],
    "requirement": [
        "torch[a,b]>=2,<3 ; python_version >= '3.9'",
        "x @ https://u:p@e.org/x-1.0-py3-none-any.whl#sha256=00",
        "./here[a]",
    ],
    "requirements-file": [
        "torch>=2 \\\n  --hash=sha256:00\n-r 'a b.txt'\n--index-url=https://x --extra-index-url ${NAME}\n",
        "# coding: latin-1\n-e ./x\n--find-links https://download.pytorch.org/whl/cu126 # why\n",
    ],
    "url": ["https://me:pass@download.pytorch.org:443/whl/cu126?x#y", "a.b=file:///srv/whl/nightly/cpu"],
    "marker": ["python_version >= '3.9' and (sys_platform == 'linux' or extra == 'x')", "platform_release > '5'"],
    "wheel-name": ["torch-2.9.1+cu126-1-cp312-cp312-manylinux_2_28_x86_64.whl", "a_b-1!2.0-py2.py3-none-any.whl"],
    "pip-conf": ["[global]\nindex-url = https://x\n[install]\nextra-index-url =\n  https://a\n  https://b\n"],
    "pip-conf-pinned": ["# mine\n[install]\nconstraint = a\n  b\n[global]\ntimeout=60", ""],
    "uv-toml": ['torch-backend = "cu126"\n[[index]]\nurl = "https://x"\nexplicit = true\n[pip]\nfind-links = ["a"]\n'],
    "project": [
        '[project]\nname = "a"\nrequires-python = ">=3.10"\ndependencies = ["torch>=2"]\n[tool.uv]\nindex = []\n'
    ],
    "groups": ['[dependency-groups]\na = ["torch>=2", {include-group = "b"}]\nb = ["numpy"]\n'],
    "machine": [json.dumps(_MACHINE), json.dumps(_MACHINE["machine"]), json.dumps(_NODES)],
    "probe": ['{"driver": "580.95.05", "cuda": "13.0", "devices": [{"name": "A100", "capability": [8, 0]}]}'],
    "gpu": ["sm_61", "GTX 1080 Ti", "8.6", "gfx90a", "NVIDIA A100-SXM4-80GB", "none"],
    "resolved": [
        '{"install": [{"metadata": {"name": "a", "version": "1", "requires_dist": ["torch>=2"]}, "download_info": {}}]}',  # noqa: E501
        'lock-version = "1.0"\n[[packages]]\nname = "a"\nversion = "1"\nwheels = [{ url = "https://x/a-1.whl" }]\n',
        "torch==2.9.1\nBecause mylib[new]==1.0 depends on torch>=2.15 and only torch<=2.14.1 is available",
    ],
    "log": [
        "RuntimeError: CUDA error: no kernel image is available\nNVIDIA GeForce GTX 1080 Ti with sm_61 driver 580.95"
    ],
}
