"""A computer made of a folder: /sys, /proc and /dev as files, and NVIDIA's libraries as compiled stand-ins."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from torchpick.environment.world import World

HERE = Path(__file__).parent
NVIDIA = 0x10DE

# PCI ids of the GPUs below, and what a table would say of them.
GTX_1080_TI, RTX_3090, RTX_4090, GTX_980_TI, A100 = 0x1B06, 0x2204, 0x2684, 0x17C8, 0x20B0


def compile_fake(name: str, folder: Path, *flags: str) -> Path:
    """Compile one of the stand-ins; the variants of old drivers by -D flags."""
    made = folder / f"{name}.so.1"
    kind = ["-shared", "-fPIC", f"-Wl,-soname,{name}.so.1"]
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O0", *kind, *flags, "-o", str(made), str(HERE / f"{name}.c"), "-ldl"], check=True)
    return made


class Fakes:
    """The compiled stand-ins, each made once a session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[str, ...], Path] = {}

    def get(self, name: str, *flags: str) -> Path:
        key = (name, *flags)
        if key not in self._made:
            self._made[key] = compile_fake(name, self._folder / "_".join(part.strip("-") for part in key), *flags)
        return self._made[key]


class Computer:
    """A folder that stands for a computer; each method puts one thing into it."""

    def __init__(self, root: Path, fakes: Fakes) -> None:
        self.root = root
        self._fakes = fakes
        self.config = root / "fake.conf"
        self.environ = {"FAKE_NVIDIA": str(self.config), "PATH": "/usr/bin:/bin"}
        self.say("")
        (root / "dev").mkdir(exist_ok=True)

    def world(self, **environ: str) -> World:
        return World(str(self.root), {**self.environ, **environ}, str(self.root), "linux")

    def say(self, text: str) -> Computer:
        self.config.write_text("\n".join(line.strip() for line in text.strip().splitlines()) + "\n", "utf-8")
        return self

    def file(self, path: str, text: str | bytes = "") -> Computer:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return self

    def library(self, name: str, *flags: str, folder: str = "/usr/lib/x86_64-linux-gnu") -> Computer:
        place = self.root / folder.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(self._fakes.get(name, *flags), place / f"{name}.so.1")
        return self

    def pci(
        self, address: str, device: int, *, vendor: int = NVIDIA, bound: str | None = "nvidia", kind: int = 0x030000
    ) -> Computer:
        folder = f"/sys/bus/pci/devices/{address}"
        self.file(f"{folder}/vendor", f"0x{vendor:04x}\n").file(f"{folder}/device", f"0x{device:04x}\n")
        self.file(f"{folder}/class", f"0x{kind:06x}\n")
        if bound is not None:
            (self.root / folder.lstrip("/") / "driver").symlink_to(f"../../../bus/pci/drivers/{bound}")
        return self

    def module(self, version: str) -> Computer:
        return self.file("/sys/module/nvidia/version", f"{version}\n")

    def nodes(self, *names: str) -> Computer:
        for name in names:
            self.file(f"/dev/{name}")
        return self

    def driver(self, version: str = "580.95.05", gpus: int = 1) -> Computer:
        """A healthy installation: module, device nodes, both libraries."""
        self.module(version).nodes("nvidiactl", *(f"nvidia{index}" for index in range(gpus)))
        return self.library("libnvidia-ml").library("libcuda")


def uuid(number: int) -> str:
    return f"GPU-{number:08x}-1111-2222-3333-{number:012x}"


def gpu(number: int, cc: str, name: str = "NVIDIA Fake", **more: str) -> str:
    """A `gpu` line of the stand-ins' file; GPU n lies at 0000:0n:00.0."""
    facts = {"cc": cc, "uuid": uuid(number), "pci": f"00000000:{number:02x}:00.0", **more}
    return f"gpu {' '.join(f'{key}={value}' for key, value in facts.items())} name={name}"
