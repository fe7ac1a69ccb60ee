"""What is installed and satisfies stays, as pip and uv have it; and what stands behind `--` counts as before it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.tinywheel import TinyWheel
from tests.fakes.wheelindex import Release, Source, WheelIndex
from torchpick.cli import main

INDEX = WheelIndex(
    {
        "robots": {
            "3.0": Release(["torch<2.14.1"], tags=(), source=Source.FINAL),
            "2.0": ["torch<2.14.1"],
            "1.0": ["torch<2.14"],
        }
    }
)
Installing = Callable[..., dict[str, Any]]


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """Those of an environment with a robots in it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True, timeout=180)
    return next((tmp_path / "env").glob("lib/python*/site-packages"))


@pytest.fixture
def installing(
    tmp_path: Path, site_packages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Installing:
    """Runs `install --dry-run` into it: what is asked for, and what the constraints then pin."""
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", INDEX.write(tmp_path / "index"))
    python = str(site_packages.parents[2] / "bin" / "python")

    def install(*words: str) -> dict[str, Any]:
        capsys.readouterr()
        flags = ["--python", python, "--gpu", "RTX 4090", "--driver", "580.95.05", "--backend", "default"]
        own, passed = split(words)
        assert main(["install", *own, *flags, "--installer", "pip", "--dry-run", "--json", *passed]) == 0
        document = json.loads(capsys.readouterr().out)
        (pins,) = (each for path, each in document["install"]["files"].items() if "constraints" in path)
        return {"pins": pins.splitlines(), "argv": document["install"]["argv"]}

    return install


def split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place:]


def put(folder: Path, wheel: TinyWheel) -> None:
    """A project as an installer leaves it."""
    info = folder / f"{wheel.stem}.dist-info"
    info.mkdir()
    (info / "METADATA").write_bytes(wheel.metadata)
    (info / "RECORD").write_text("", "utf-8")


@pytest.mark.parametrize(
    ("words", "version"), [(("robots",), "1.0"), (("robots", "-U"), "3.0"), (("robots>1",), "3.0")]
)
def test_what_is_installed_stays_while_it_satisfies(
    words: tuple[str, ...], version: str, installing: Installing, site_packages: Path
) -> None:
    put(site_packages, TinyWheel("robots", "1.0", requires=("torch<2.14",)))

    pins = installing(*words)["pins"]

    assert f"robots=={version}" in pins
    assert ("torch===2.13.0" in pins) is (version == "1.0")


def test_a_version_that_no_index_has_any_more_stays_too(installing: Installing, site_packages: Path) -> None:
    put(site_packages, TinyWheel("robots", "0.7", requires=("torch<2.14",)))

    pins = installing("robots")["pins"]

    assert "robots==0.7" in pins
    assert "torch===2.13.0" in pins


@pytest.mark.parametrize("words", [("robots", "--only-binary", ":all:"), ("robots", "--", "--only-binary", ":all:")])
def test_a_rule_for_files_counts_before_and_behind_the_dashes(words: tuple[str, ...], installing: Installing) -> None:
    command = installing(*words)

    assert "robots==2.0" in command["pins"]
    assert " --only-binary :all: " in f" {' '.join(command['argv'])} "
