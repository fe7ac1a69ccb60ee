"""`install mylib --extra auto`: the extra that fits, by what each pins, with real pip and uv."""

from __future__ import annotations

import pytest

from tests.process.install.conftest import World
from tests.process.install.installers import UV_AND_LATER_PIP
from tests.process.install.test_install import kind
from torchpick.cli import main


@pytest.mark.parametrize(
    ("newest", "among", "extra", "torch"),
    [
        ("uv", "new,nvidia-old", "nvidia-old", "2.7.1+cu126"),
        ("pip", "new,nvidia-old", "nvidia-old", "2.7.1+cu126"),
        ("uv", "new,nvidia-old,cu126", "cu126", "2.9.1+cu126"),
        pytest.param("pip", "new,nvidia-old,cu126", "cu126", "2.9.1+cu126", marks=pytest.mark.long),
    ],
)
def test_the_extra_that_fits_is_taken(world: World, newest: str, among: str, extra: str, torch: str) -> None:
    python = world.environment(newest)

    words = ["mylib", "--extra", "auto", "--among", among, "--installer", kind(newest)]
    done = world.install(*words, python=python)

    assert f"{extra} fits: it takes torch {torch}" in done.stderr
    assert world.installed(python)["torch"] == torch
    assert world.installed(python)["mylib"] == "1.0"


def test_none_that_fits_is_told_with_each_reason(world: World, newest: str) -> None:
    python = world.environment(newest)

    words = ["mylib", "--extra", "auto", "--among", "new", "--installer", kind(newest)]
    done = world.install(*words, python=python, status=3)

    assert "no extra of mylib fits: new: " in done.stderr
    assert "torch>=2.15" in done.stderr
    assert world.installed(python) == {}


@UV_AND_LATER_PIP
def test_an_extra_that_the_library_does_not_have_is_refused(world: World, newest: str) -> None:
    python = world.environment(newest)

    words = ["mylib", "--extra", "auto", "--among", "nvidia-old,typo", "--installer", kind(newest)]
    for more in ([], ["--dry-run"]):
        done = world.install(*words, *more, python=python, status=2)

        assert "mylib has no extra `typo`" in done.stderr


@UV_AND_LATER_PIP
def test_a_named_extra_is_that_extra(world: World, newest: str) -> None:
    python = world.environment(newest)

    world.install("mylib>=1", "--extra", "nvidia-old", "--installer", kind(newest), python=python)

    assert world.installed(python)["torch"] == "2.7.1+cu126"


@pytest.mark.parametrize(
    "words",
    [
        ["mylib", "--extra", "auto"],
        ["mylib", "--among", "a,b"],
        ["mylib", "--extra", "a b"],
        ["mylib", "--extra", "auto", "--among", "a,,b"],
        ["mylib", "accelerate", "--extra", "nvidia-old"],
        ["torch", "--extra", "nvidia-old"],
        ["mylib", "--extra", "auto", "--among", "cpu"],
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", *words, "--gpu", "sm_61", "--driver", "580.95.05"]) == 2

    assert "hint: " in capsys.readouterr().err
