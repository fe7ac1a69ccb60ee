"""A release, rehearsed: everything is built twice, checked, tested as it would be installed, and listed."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.shipping import building, data, locks, pyz, sbom, version
from scripts.table import index

ROOT = Path(__file__).parents[2]
# What is published or leads to it, and an address that stands for the project's own (written so that who replaces it
# everywhere leaves this).
_ADDRESSED = (
    *("*.cff", "*.md", "*.toml", "*.yml", "conda/*.yaml", "docs/**/*.md", "scripts/shipping/*.py", "src/**/*.py"),
)
_PLACEHOLDER = re.compile(r"github(usercontent)?\.com/(example)/torchpick")
_EXAMPLE = """examples:
  scripts/release --dry-run
  scripts/release --tag v0.1.0 --out dist"""
INSTALLERS = ("pip", "uv", "pipx")
QUESTION = (
    *("url", "--gpu", "GTX 1080 Ti", "--driver", "580.95.05"),
    *("--platform", "linux-x86_64", "--python", "3.12"),
)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        "scripts/release",
        description=__doc__,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dry-run", action="store_true", help="keep nothing; an [Unreleased] section is enough")
    parser.add_argument("--tag", help="the tag that is released; it must agree with the version and the changelog")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder for the files (default: dist)")
    parser.add_argument("--without-tests", action="store_true", help="build and check only")
    args = parser.parse_args(words)
    if not args.dry_run and args.tag is None:
        parser.error("a release needs `--tag vX.Y.Z`; `--dry-run` needs none")

    number = version.version_in(ROOT)
    _step(f"version {number}, tag {args.tag or '(none)'}, CHANGELOG.md")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    problems = version.disagreements(number, args.tag, changelog)
    if named := placeholders(ROOT):
        hint = f"an address that stands for your repository's is still in {', '.join(named)}: see CONTRIBUTING.md"
        if args.tag is None:
            print(f"note: {hint}; a release refuses that", file=sys.stderr)
        else:
            problems.append(hint)
    if problems:
        for problem in problems:
            print(f"error: {problem}", file=sys.stderr)
        return 1
    index.write(ROOT / "compat")  # which a checkout does not hold
    with TemporaryDirectory(prefix="torchpick-release-") as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        files = _built(first)
        again = _built(second)
        if different := building.differences(files, again):
            print(f"error: built twice, {', '.join(different)} came out differently", file=sys.stderr)
            return 1
        print(f"built twice, byte for byte equal: {len(files)} files")
        _check(files)
        if not args.without_tests:
            _install(files, Path(folder, "installed"))
            _test(files, Path(folder, "tests"))
        if args.dry_run:
            _list(files, f"would publish torchpick-cli {number}")
            return 0
        _list(_kept(files, args.out), f"torchpick-cli {number}")
    return 0


def placeholders(root: Path) -> list[str]:
    """The files that still lead to a repository that stands for the project's own."""
    files = sorted({file for pattern in _ADDRESSED for file in root.glob(pattern)})
    return [
        file.relative_to(root).as_posix() for file in files if _PLACEHOLDER.search(file.read_text(encoding="utf-8"))
    ]


def _kept(files: Sequence[Path], out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    for file in files:
        (out / file.name).write_bytes(file.read_bytes())
    return [out / file.name for file in files]


def _step(text: str) -> None:
    print(f"--- {text}", flush=True)


def _built(folder: Path) -> list[Path]:
    """The source archive, the wheel, the one-file program, the bill of materials and the table for other programs."""
    _step(f"build into {folder.name}/")
    source, wheel = building.distributions(ROOT, folder)
    made = pyz.build(wheel, folder / "torchpick.pyz")
    bill = folder / "torchpick.cdx.json"
    sbom.write(bill, wheel, (source, wheel, made.file), made.carried)
    return [source, wheel, made.file, bill, *data.write(folder)]


def _check(files: Sequence[Path]) -> None:
    """What the index will say of the archives, by the tool that sends them there."""
    _step("twine check")
    _run([sys.executable, "-m", "twine", "check", "--strict", *map(str, files[:2])])


def _install(files: Sequence[Path], folder: Path) -> None:
    """Both archives by each installer, into an environment of its own, and the program that needs none."""
    for archive in files[:2]:
        for installer in INSTALLERS:
            _step(f"{archive.name} by {installer}")
            _answers([_installed(archive, installer, folder / f"{archive.suffix}-{installer}")])
    _step("the one-file program")
    _answers([sys.executable, str(files[2])])


def _installed(archive: Path, installer: str, folder: Path) -> str:
    """The command that this installer made of the archive, with the newest that the archive asks for."""
    folder.mkdir(parents=True)
    environ, words = {}, ["install", "--python", sys.executable]
    if installer == "pip":
        # This environment's own pip: Debian and Ubuntu ship Python without one to put into a new environment.
        venv.create(folder)
        words = ["--python", str(folder), "install"]
    elif installer == "uv":
        words = ["tool", *words]
        environ = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    else:
        environ = {"PIPX_HOME": str(folder / "home"), "PIPX_BIN_DIR": str(folder / "bin")}
    _run([sys.executable, "-m", installer, *words, "--quiet", str(archive)], environ=environ)
    command = shutil.which("torchpick", path=os.pathsep.join([str(folder / "bin"), str(folder / "Scripts")]))
    if command is None:
        raise SystemExit(f"error: {installer} made no command of {archive.name}")
    return command


def _answers(command: Sequence[str]) -> None:
    done = subprocess.run([*command, *QUESTION], capture_output=True, text=True, check=False, timeout=120)
    print(done.stdout, end="")
    if done.returncode or "torch==" not in done.stdout:
        raise SystemExit(f"error: {command[-1]} does not answer\n{done.stderr}")


def _test(files: Sequence[Path], folder: Path) -> None:
    """The source archive's quick tests on the wheel, the checkout's with the oldest dependencies, and the site."""
    _step("the source archive's tests on the wheel")
    source = building.unpacked(files[0], folder / "source")
    venv.create(folder / "venv")
    python = str(folder / ("venv/Scripts/python.exe" if os.name == "nt" else "venv/bin/python"))
    quiet = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    _run([*quiet, "--require-hashes", "-r", str(locks.FOLDER / "test.txt")])
    _run([*quiet, "--no-deps", str(files[1])])
    _run([python, "-m", "pytest", "-q", "-n", "auto", "-m", "not process and not network and not long"], source)
    _step("the legs on Windows, made up")
    _run([python, "-m", "pytest", "-q", "tests/test_runs.py"], source)
    _step("one question, one answer, on the live index")
    _run([python, "-m", "tests.world"])
    _step("the quick tests with the oldest dependencies")
    _run([str(ROOT / "scripts" / "test"), "--oldest", "-q"])
    _step("the site")
    _run([str(ROOT / "scripts" / "build-site"), "--output", str(folder / "site")])


def _run(line: Sequence[str], folder: Path = ROOT, environ: Mapping[str, str] = {}) -> None:
    # This process finds src/ by PYTHONPATH: what is tested is what was installed.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        line, cwd=folder, env={**inherited, **environ}, check=False, timeout=7200, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise SystemExit(f"error: `{' '.join(line[1:5])} …` ended with status {done.returncode}")


def _list(files: Sequence[Path], title: str) -> None:
    _step(title)
    for file in files:
        print(f"{building.sha256(file)}  {file.stat().st_size:>9}  {file.name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
