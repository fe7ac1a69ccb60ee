"""The skips that a strict run accepts, each with why it cannot be otherwise there, and some that rooms share."""

from __future__ import annotations

import os
import sys

import pytest

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")
made_for_2_15 = pytest.mark.skipif(sys.version_info < (3, 11), reason="torch 2.15 was not made for this Python")
has_torch_2_2 = pytest.mark.skipif(sys.version_info >= (3, 13), reason="torch 2.2 was not made for this Python")
bound_by_modes = pytest.mark.skipif(IS_ROOT or os.name == "nt", reason="root may open everything")

# Part of what the skip says → why that is no hole in the run.
EXPECTED = {
    "no NVIDIA GPU here": "runners have none; a machine with one runs these",
    "no PowerShell": "not in Linux distributions' archives; the Windows job has it",
    "no zsh": "bash, which is everywhere, reads a line the same",
    "no fish": "its quoting is held by the expected text; run where it is installed",
    "root may open everything": "run as an ordinary user these are not skipped",
    "only root may give files away": "run as root these are not skipped",
    "no Python here that an ordinary user may start": "runners' Pythons lie where everybody may read",
    "no setsid command": "macOS has none; Linux' runners do",
    "no nvcc": "a toolkit of gigabytes; run by hand where one is installed",
    "no node": "the runners have it",
    "could not import 'markdown'": "the development environment has it; a release's tests run without",
    "could not import 'PIL'": "likewise",
    "the scripts' own environment is not there": "scripts/test makes it; the Windows job does not run scripts",
    "no zizmor": "the development environment has it; a release's tests run without",
    "no npm": "axe is run where npm is; the page's own checks of names and contrast are run everywhere",
    "npm's registry does not answer": "likewise",
    "no atheris": "it has no wheel for every Python; the plain fuzzer runs everywhere",
    "was not made for this Python": "run on every Python that the torch was made for",
    "no wheel for this Python": "the release is older or newer than the Python of this run",
}


def is_expected(reason: str) -> bool:
    return any(part in reason for part in EXPECTED)
