"""The shell steps of a workflow, taken out of its file and run as a runner runs them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def script(workflow: str, after: str) -> str:
    """What the first step behind this text runs, by the indentation of the file."""
    line, _, rest = workflow.partition(after)[2].partition("        run: ")[2].partition("\n")
    if line != "|":
        return line
    lines = re.match(r"(?:(?:          .*)?\n|          .*$)+", rest)
    assert lines
    return "".join(f"{each.removeprefix(' ' * 10)}\n" for each in lines[0].splitlines())


class StepFailed(subprocess.CalledProcessError):
    """A step that ended with an error, said with what it ran and what it printed."""

    def __str__(self) -> str:
        ran = str(self.cmd[-1]).strip()
        return f"exit {self.returncode} of\n{ran}\n--- stdout\n{self.stdout[-8000:]}\n--- stderr\n{self.stderr[-8000:]}"


def bash(
    text: str, folder: Path, first: Sequence[Path], environ: Mapping[str, str], *, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """As a runner does it: `bash -e`, with these folders before all others in PATH."""
    path = os.pathsep.join([*map(str, first), os.environ["PATH"]])
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    done = subprocess.run(
        ["bash", "-e", "-c", text], cwd=folder, env={**os.environ, **who, "PATH": path, **environ},
        capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    if check and done.returncode != 0:
        raise StepFailed(done.returncode, done.args, done.stdout, done.stderr)
    return done


def stand_in_for_gh(file: Path, asked: Path) -> None:
    """A `gh` that writes down what it is asked; it lists and views what was created before."""
    file.write_text(
        f"""#!/bin/sh
echo "$@" >> {asked}
made={asked}.made
case "$2" in
  create) echo 7 > $made ;;
  list) if test -e $made; then cat $made; fi ;;
  view) test -e $made || exit 1 ;;
esac
""",
        "utf-8",
    )
    file.chmod(0o755)
