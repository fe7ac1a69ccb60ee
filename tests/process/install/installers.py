"""The installers that the tests start: pip in the versions that count, and uv; fetched once a session."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pip
import pytest

from tests import usersettings

PATIENCE_S = 180
# pip 22.3 is the oldest still common, and runs on Python up to 3.11.
PIPS = {"pip": "pip", "pip-22.3": "pip==22.3.1"} if sys.version_info < (3, 12) else {"pip": "pip"}
NEWEST = ("uv", "pip")
OLD = tuple(name for name in PIPS if name not in NEWEST)
NAMES = (*NEWEST, *OLD)


# For a test whose neighbour shows the same with pip already, whose runs are the dear ones.
def uv_and_later_pip(argument: str, pips: Iterable[str] = ("pip",)) -> pytest.MarkDecorator:
    later = [pytest.param(name, marks=pytest.mark.long) for name in pips]
    return pytest.mark.parametrize(argument, ["uv", *later])


UV_AND_LATER_PIP = uv_and_later_pip("newest")
UV_AND_LATER_PIPS = uv_and_later_pip("installer", PIPS)


class Installers(NamedTuple):
    uv: str
    pips: dict[str, Path]  # folders that hold it with its metadata

    def environment(self, folder: Path, name: str) -> Path:
        """A virtual environment whose installer is the named one; its interpreter."""
        if name == "uv":
            command = [self.uv, "venv", "--quiet", "--python", sys.executable, str(folder)]
            subprocess.run(command, check=True, capture_output=True)
        else:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
            (site,) = folder.glob("lib/python*/site-packages")
            for each in self.pips[name].iterdir():
                # A link for the thousand files of the package itself: no index of a test has another pip.
                if each.name == "pip":
                    (site / each.name).symlink_to(each)
                elif each.is_dir():
                    shutil.copytree(each, site / each.name)
        return folder / "bin" / "python"


def fetched(shared: Path) -> Installers:
    """Fetch what is missing from the index of whoever runs the tests; skip where that cannot be."""
    if reason := usersettings.binding():
        pytest.skip(reason)
    environ = usersettings.fetching()
    uv = shutil.which("uv", path=environ.get("PATH")) or _module_uv()
    if uv is None:
        uv = str(_once(shared / "uv", "uv", environ) / "bin" / "uv")
    fetched = {name: _once(shared / name, spec, environ) for name, spec in PIPS.items() if spec != "pip"}
    return Installers(uv, {"pip": _own(Path(tempfile.mkdtemp(dir=shared))), **fetched})


def _own(folder: Path) -> Path:
    """The pip of this environment, which was the newest when that was made."""
    package = Path(str(pip.__file__)).parent
    for each in (package, *package.parent.glob("pip-*.dist-info")):
        (folder / each.name).symlink_to(each)
    return folder


def _module_uv() -> str | None:
    try:
        from uv import find_uv_bin
    except ImportError:
        return None
    return str(find_uv_bin())


def _once(folder: Path, spec: str, environ: dict[str, str]) -> Path:
    """The project in a folder of its own, also where several workers of a session ask for it at once."""
    done, started = folder.with_suffix(".done"), folder.with_suffix(".started")
    try:
        started.touch(exist_ok=False)
    except FileExistsError:
        until = time.monotonic() + PATIENCE_S
        while not done.exists() and time.monotonic() < until:
            time.sleep(0.1)
        if not done.exists() or done.read_text("utf-8"):
            pytest.skip(f"{spec} cannot be fetched: {done.read_text('utf-8') if done.exists() else 'too slow'}")
        return folder
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), spec]
    result = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    done.write_text(result.stderr[-300:] if result.returncode else "", "utf-8")
    if result.returncode:
        pytest.skip(f"{spec} cannot be fetched: {result.stderr[-300:]}")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=False, capture_output=True)
    return folder
