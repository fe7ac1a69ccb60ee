"""Made-up environments with real GPU containers in them: a folder laid out as venv, pip and conda lay theirs out."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.wheels import making
from torchpick.doctor import examination
from torchpick.doctor.examination import Examination
from torchpick.model.pick import Request
from torchpick.run import start_run

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
# The Python behind this one, so that an environment of the test's does not lead back into ours.
BASE = os.path.realpath(sys.executable)
CU128 = "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
CU126 = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"


class Home:
    """A virtual environment at `root`; without `python` its interpreter is gone."""

    def __init__(self, root: Path, *, python: bool = True, shared: bool = False, version: str = VERSION) -> None:
        self.root = root
        self.site = root / "lib" / f"python{version}" / "site-packages"
        self.site.mkdir(parents=True)
        (root / "bin").mkdir()
        lines = [f"home = {os.path.dirname(BASE)}", f"version = {version}.0"]
        lines.append(f"include-system-site-packages = {'true' if shared else 'false'}")
        (root / "pyvenv.cfg").write_text("\n".join(lines) + "\n", "utf-8")
        (root / "bin" / "python").symlink_to(BASE if python else root / "nowhere" / "python")

    @property
    def python(self) -> str:
        return str(self.root / "bin" / "python")

    def write(self, name: str, data: bytes | str) -> Path:
        path = self.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def add(  # one argument for each thing that pip writes
        self,
        name: str,
        version: str,
        files: Mapping[str, bytes | str] | None = None,
        *,
        requires: Sequence[str] = (),
        installer: str = "pip",
        without: Sequence[str] = (),
    ) -> Path:
        """An installed project; `without` leaves out parts of its metadata."""
        for path, data in (files or {}).items():
            self.write(path, data)
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        head = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
        head += [f"Requires-Dist: {each}" for each in requires]
        parts: dict[str, bytes | str] = {
            "METADATA": "\n".join(head) + "\n\nA text with\nRequires-Dist: nothing==1\n",
            "INSTALLER": f"{installer}\n",
            "RECORD": "".join(f"{path},sha256=x,1\n" for path in (*(files or {}), f"{info}/RECORD")),
        }
        (self.site / info).mkdir(exist_ok=True)
        for part, data in parts.items():
            if part not in without:
                self.write(f"{info}/{part}", data)
        return self.site / info

    def torch(
        self,
        version: str = "2.9.1+cu128",
        cuda: str | None = "12.8",
        flags: str | None = CU128,
        *,
        named: str | None = None,
        requires: Sequence[str] = (),
        more: Mapping[str, bytes | str] | None = None,
        hip: str | None = None,
        installer: str = "pip",
    ) -> Home:
        """A torch with its version file, compiled flags and main library; `named` is the version of its metadata."""
        files: dict[str, bytes | str] = {
            "torch/__init__.py": "raise SystemExit('nobody imports this')\n",
            "torch/version.py": making.version_py(version, cuda, hip),
            "torch/lib/libtorch_python.so": making.torch_python(flags),
            "torch/lib/libtorch_cpu.so": making.elf({".text": b"\xc3" * 64}),
            **(more or {}),
        }
        if cuda is not None and flags is not None:
            files.setdefault("torch/lib/libtorch_cuda.so", making.library(making.module(*flags.split())))
        self.add("torch", named or version.partition("+")[0], files, requires=requires, installer=installer)
        return self

    def companion(self, name: str, version: str, *, requires: Sequence[str] = (), codes: str = CU128) -> Home:
        """A companion such as torchvision: its version file and a library with GPU code that asks for torch's."""
        library = (
            linking(["libtorch_cuda.so", "libc10.so"], making.module(*codes.split()))
            if codes
            else linking(["libc10.so"])
        )
        files: dict[str, bytes | str] = {f"{name}/version.py": f"__version__ = '{version}'\n", f"{name}/_C.so": library}
        self.add(name, version.partition("+")[0], files, requires=requires)
        return self


def linking(needed: Sequence[str], *modules: bytes, rpath: str | None = None, runpath: str | None = None) -> bytes:
    """A library that asks the loader for others, and tells where to look."""
    names = b"\0"
    entries = []
    for tag, text in (*((1, name) for name in needed), (15, rpath), (29, runpath)):
        if text is not None:
            entries.append(struct.pack("<QQ", tag, len(names)))
            names += text.encode() + b"\0"
    sections = {".text": b"\xc3" * 64, ".dynstr": names, ".dynamic": b"".join(entries) + bytes(16)}
    if modules:
        sections[".nv_fatbin"] = b"".join(modules)
    return making.elf(sections)


def examine(home: Home, *gpus: str, driver: str | None = None, environ: Mapping[str, str] | None = None) -> Examination:
    """Look at it for a told machine, with no variables but the given ones."""
    request = Request(gpus=gpus or ("none",), driver=driver, python=home.python)
    variables = {"HOME": str(home.root), "XDG_CONFIG_DIRS": str(home.root), **(environ or {})}
    return examination.examine(start_run(request, variables))


def codes(exam: Examination) -> list[str]:
    return [finding.code for finding in exam.findings]


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder with its size and time of change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        known = path.lstat()
        found[str(path.relative_to(folder))] = known.st_size, known.st_mtime_ns
    return found
