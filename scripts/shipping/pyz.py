"""torchpick.pyz: one file that any Python from 3.10 on runs, with the table and every dependency inside.

It is built from wheels that are installed beside the package, all of them pure Python. Compiled bytecode of the Python
that builds it is added: the same file runs on others, only slower to start.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from scripts.shipping import building, locks

ROOT = Path(__file__).parents[2]
# What starts has to be read by a Python that is too old for the rest.
_MAIN = """import sys
if sys.version_info < (3, 10):
    sys.exit("error: torchpick needs Python 3.10 or later, and %s is %d.%d" % (sys.executable, *sys.version_info[:2]))
from torchpick.cli import main
sys.exit(main())
"""
# Bytecode that zipimport takes without a look at the source's time; it names the file as the archive does.
_COMPILE = """import sys
del sys.path[0]
from py_compile import PycInvalidationMode, compile
for name in sys.stdin.read().splitlines():
    compile(name, dfile=name, doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
"""
_LEFT_OUT = ("__pycache__", "bin", "Scripts")
# What pip writes about this very installation: where the wheel lay, and hashes of files that are not here.
_UNSTABLE = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json")


class Built(NamedTuple):
    """The file, and the projects inside it."""

    file: Path
    carried: tuple[tuple[str, str], ...]


def build(wheel: Path, file: Path, *, compiled: bool = True) -> Built:
    """Write the program from a wheel of ours and the releases that scripts/locks/run.txt names for what it needs."""
    with TemporaryDirectory(prefix="torchpick-pyz-") as name:
        folder = Path(name, "content")
        _install(wheel, folder)
        carried = tuple(sorted(_projects(folder)))
        _write(folder, file, compiled=compiled)
    return Built(file, carried)


def _install(wheel: Path, folder: Path) -> None:
    """The wheel and its dependencies, unpacked; a wheel with compiled code would bind the file to one system."""
    words = ["install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--no-compile", "--no-deps"]
    words += ["--platform=any", "--implementation=py", "--python-version=3.10", "--target", str(folder)]
    for what in (["--require-hashes", "-r", str(locks.FOLDER / "run.txt")], [str(wheel)]):
        done = subprocess.run(
            [sys.executable, "-m", "pip", *words, *what], capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode:
            raise SystemExit(f"error: pip could not gather what the file holds\n{done.stderr}")
    compiled = [path for path in folder.rglob("*") if path.suffix in (".so", ".pyd", ".dll")]
    if compiled:
        raise SystemExit(f"error: {compiled[0].name} is no Python source, and the file must run anywhere")


def _projects(folder: Path) -> Iterator[tuple[str, str]]:
    for info in folder.glob("*.dist-info"):
        name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
        if name != "torchpick_cli":
            yield name.replace("_", "-"), version


def _write(folder: Path, file: Path, *, compiled: bool) -> None:
    stamp = time.gmtime(max(int(building.epoch(ROOT)), 315532800))[:6]
    if compiled:
        _compile(folder)
    with file.open("wb") as stream:
        stream.write(b"#!/usr/bin/env python3\n")
        with ZipFile(stream, "w") as archive:
            _add(archive, "__main__.py", _MAIN.encode(), stamp)
            for path in _files(folder):
                name = path.relative_to(folder).as_posix()
                _add(archive, name, path.read_bytes(), stamp)
                if compiled and path.suffix == ".py":
                    _add(archive, name + "c", Path(cache_from_source(str(path))).read_bytes(), stamp)
    file.chmod(0o755)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not set(parts[:-1]) & set(_LEFT_OUT) and path.name not in _UNSTABLE:
            yield path


def _compile(folder: Path) -> None:
    """Bytecode beside each source, in a process of its own: what was imported before shows in the bytes."""
    names = "\n".join(path.relative_to(folder).as_posix() for path in _files(folder) if path.suffix == ".py")
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    subprocess.run(
        [sys.executable, "-s", "-c", _COMPILE], cwd=folder, env=environ, input=names, text=True, check=True, timeout=600
    )


def _add(archive: ZipFile, name: str, data: bytes, stamp: tuple[int, ...]) -> None:
    info = ZipInfo(name, (stamp[0], stamp[1], stamp[2], stamp[3], stamp[4], stamp[5]))
    info.external_attr = 0o644 << 16
    archive.writestr(info, data, ZIP_DEFLATED, 9)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        "scripts/build-pyz", description=__doc__, epilog="example: scripts/build-pyz -o dist/torchpick.pyz"
    )
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist" / "torchpick.pyz", help="the file to write")
    parser.add_argument("--without-bytecode", action="store_true", help="smaller, and the same for every Python")
    args = parser.parse_args(words)
    with TemporaryDirectory(prefix="torchpick-build-") as folder:
        wheel = building.distributions(ROOT, Path(folder))[1]
        args.output.parent.mkdir(parents=True, exist_ok=True)
        made = build(wheel, args.output, compiled=not args.without_bytecode)
    print(f"{made.file}: {made.file.stat().st_size} bytes, with {', '.join(' '.join(each) for each in made.carried)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
