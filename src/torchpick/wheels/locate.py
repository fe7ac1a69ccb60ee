"""Which wheel the user's own installer would take for a requirement: its dry run names it, nothing is downloaded."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from torchpick.errors import InstallerError, NetworkError, RequirementError, WheelError
from torchpick.wheels import installed

# The first pip whose dry run takes the metadata alone: those before download the whole wheel to report its address
# (`prepare_linked_requirements_more` stands behind the dry run's end since 25.3; read in 22.2 to 26.3).
PIP_FLOOR = (25, 3)
_WAIT = 300.0
_MOST_REPORT = 64 << 20
_WINDOWS = {"windows-x86_64": "win_amd64", "windows-arm64": "win_arm64"}
_UV_PLATFORM = {
    "linux-x86_64": "x86_64-manylinux_2_28",
    "linux-aarch64": "aarch64-manylinux_2_28",
    "windows-x86_64": "x86_64-pc-windows-msvc",
    "windows-arm64": "aarch64-pc-windows-msvc",
    "macos-arm64": "aarch64-apple-darwin",
    "macos-x86_64": "x86_64-apple-darwin",
}


class Wanted(NamedTuple):
    """What the wheel is for; None is what the interpreter itself is."""

    python: str | None = None  # an interpreter's path
    version: str | None = None  # `3.12`
    platform: str | None = None  # one of the contract's names


class Located(NamedTuple):
    url: str
    file: str
    sha256: str | None
    by: str


def check(requirement: str) -> None:
    """Refuse what is no requirement, before an installer could take it for something else."""
    from packaging.requirements import InvalidRequirement, Requirement

    hint = "write it as `name`, `name==1.2.3` or `name>=1.2`"
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement as error:
        raise RequirementError(f"`{requirement}` is neither a file nor a requirement", hint=hint) from error
    if parsed.url or parsed.marker or any(mark in requirement for mark in "\r\n;@"):
        raise RequirementError(f"`{requirement}` has an address or a condition, which inspect does not take", hint=hint)


def locate(requirement: str, wanted: Wanted) -> Located:
    """The wheel that pip or uv would install; `by` says which of them said so."""
    check(requirement)
    for kind, words in _installers(wanted):
        with TemporaryDirectory(prefix="torchpick-") as folder:
            line = [*words, *(_pip if kind == "pip" else _uv)(requirement, wanted, Path(folder))]
            done = _run(line, requirement, kind)
            if done.returncode != 0:
                raise _failure(kind, requirement, done.stderr)
            report = Path(folder, "report.json") if kind == "pip" else Path(folder, "pylock.toml")
            return _found(kind, requirement, report)
    raise InstallerError(
        "no installer here can name a wheel without downloading it",
        hint="install uv, or a pip of 25.3 or later, or inspect the wheel's URL",
    )


def _installers(wanted: Wanted) -> Iterator[tuple[str, list[str]]]:
    """The target's own pip, else uv, else the pip beside torchpick."""
    python = wanted.python or sys.executable
    if _pip_serves(wanted.python):
        yield "pip", [python, "-m", "pip"]
    if uv := _uv_program():
        yield "uv", [uv]
    if wanted.python is not None and _pip_serves(None):
        yield "pip", [sys.executable, "-m", "pip", "--python", python]


def _pip_serves(python: str | None) -> bool:
    here = installed.find("pip", installed.folders(python))
    numbers = re.match(r"(\d+)\.(\d+)", here.version) if here else None
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= PIP_FLOOR


def _uv_program() -> str | None:
    beside = Path(sys.executable).with_name("uv.exe" if os.name == "nt" else "uv")
    return str(beside) if beside.is_file() else shutil.which("uv")


def _pip(requirement: str, wanted: Wanted, folder: Path) -> list[str]:
    # --target: the target may be externally managed, and a told platform needs it; nothing is put there.
    words = ["install", "--dry-run", "--quiet", "--no-deps", "--no-input", "--disable-pip-version-check"]
    words += ["--use-feature=fast-deps", "--only-binary=:all:", "--report", str(folder / "report.json")]
    words += ["--target", str(folder / "nothing")]
    if wanted.version is not None:
        words += ["--python-version", wanted.version]
    for tag in _tags(wanted.platform):
        words += ["--platform", tag]
    return [*words, requirement]


def _uv(requirement: str, wanted: Wanted, folder: Path) -> list[str]:
    listed = folder / "requirements.in"
    listed.write_text(requirement + "\n", encoding="utf-8")
    words = ["pip", "compile", "--quiet", "--no-deps", "--no-header", "--only-binary=:all:", "--format=pylock.toml"]
    words += ["--output-file", str(folder / "pylock.toml"), "--no-progress", "--color=never"]
    if wanted.version is not None:
        words += ["--python-version", wanted.version]
    if wanted.platform is not None:
        words += ["--python-platform", _UV_PLATFORM[wanted.platform]]
    return [*words, "--python", wanted.python or sys.executable, str(listed)]


def _tags(platform: str | None) -> list[str]:
    """Every tag that such a machine takes: pip does not unfold a told one downwards."""
    if platform is None:
        return []
    os_, _, cpu = platform.partition("-")
    if os_ == "linux":
        old = ["manylinux2014", "manylinux2010", "manylinux1"] if cpu == "x86_64" else ["manylinux2014"]
        return [f"{tag}_{cpu}" for tag in [*(f"manylinux_2_{n}" for n in range(40, 4, -1)), *old, "linux"]]
    if os_ == "windows":
        return [_WINDOWS[platform]]
    if cpu == "arm64":
        return [f"macosx_{major}_0_{kind}" for major in range(26, 10, -1) for kind in ("arm64", "universal2")]
    return [f"macosx_{major}_0_x86_64" for major in range(26, 10, -1)] + [
        f"macosx_10_{n}_x86_64" for n in range(16, 5, -1)
    ]


def _run(line: list[str], requirement: str, kind: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONUTF8": "1"}
    try:
        return subprocess.run(
            line,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_WAIT,
            stdin=subprocess.DEVNULL,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NetworkError(
            f"{kind} did not find `{requirement}` within {_WAIT:.0f} seconds", hint="check the connection"
        ) from error
    except OSError as error:
        raise InstallerError(f"cannot start {kind}: {error.strerror}", hint="check that it runs by itself") from error


def _failure(kind: str, requirement: str, talk: str) -> WheelError:
    lines = [line.strip() for line in talk.splitlines() if line.strip()]
    said = [line for line in lines if line.lower().startswith(("error", "no solution", "\u00d7", "\u2570"))]
    words = re.sub(r"(?<=//)[^/@\s]*@", "", (said or lines or ["it says nothing"])[-1])[:400]
    hint = f"see what exists: `{'uv pip' if kind == 'uv' else 'pip'} download --no-deps {requirement}`"
    if kind == "uv":
        hint = "check the name, the version and uv's index settings"
    return WheelError(f"{kind} finds no wheel for `{requirement}`: {words}", hint=hint, code="NOT_FOUND")


def _found(kind: str, requirement: str, report: Path) -> Located:
    """The address that the report names."""
    trouble = WheelError(f"{kind} gave a report on `{requirement}` that cannot be read", hint="inspect the wheel's URL")
    try:
        if report.stat().st_size > _MOST_REPORT:
            raise trouble
        text = report.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise trouble from error
    url, sha256 = (_of_pip if kind == "pip" else _of_uv)(text)
    if url is None:
        raise trouble
    return Located(url, unquote(urlsplit(url).path.rpartition("/")[2]), sha256, kind)


def _of_pip(text: str) -> tuple[str | None, str | None]:
    try:
        info = json.loads(text)["install"][-1]["download_info"]
        url = info["url"]
        sha256 = info.get("archive_info", {}).get("hashes", {}).get("sha256")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None, None
    return (url if isinstance(url, str) else None), (sha256 if isinstance(sha256, str) else None)


def _of_uv(text: str) -> tuple[str | None, str | None]:
    """From pylock.toml, whose one package has one wheel; `tomllib` is not in Python 3.10."""
    wheels = text.rpartition("wheels = [")[2]
    url = re.search(r'\b(?:url|path) = "([^"\\\s]+)"', wheels)
    sha256 = re.search(r'\bsha256 = "([0-9a-f]{64})"', wheels)
    return (url[1] if url else None), (sha256[1] if sha256 else None)
