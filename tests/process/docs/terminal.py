"""A terminal that runs a page: one bash from its first command to its last, in folders of its own.

What the page shows as `torchpick` is this checkout's, in an environment made for the page, so that nothing a page does
can change the environment of whoever runs the tests.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests import usersettings

PATIENCE_S = 180


_QUICK_VENV = """\
#!/bin/sh
if [ "$#-$1-$2" = 3--m-venv ]; then
  {python} -m venv --without-pip "$3" && cp -Rl {template}/lib/. "$3/lib/" || exit
  printf '#!/bin/sh\\nexec "%s/bin/python" -m pip "$@"\\n' "$(cd "$3" && pwd)" >"$3/bin/pip"
  exec chmod +x "$3/bin/pip"
fi
exec {python} "$@"
"""


class Shown(NamedTuple):
    """What a command printed, stdout and stderr as they came, and its exit status; None where it was never reached."""

    printed: str
    status: int | None


class Terminal:
    """Folders of its own under `folder`: `bin` with torchpick and python, `home`, and `work`, where commands run."""

    def __init__(self, folder: Path, source: Path, environ: Mapping[str, str], template: Path | None = None) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.home = folder / "home"
        for each in (self.work, folder / "steps", folder / "bin"):
            each.mkdir()
        tool = folder / "tool"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tool)], check=True, timeout=60)
        (site,) = tool.glob("lib/python*/site-packages")
        (site / "checkout.pth").write_text(f"{source}\n{sysconfig.get_path('purelib')}\n", "utf-8")
        self.command("torchpick", tool / "bin" / "python", "-m", "torchpick")
        self._python(tool / "bin" / "python", template)
        self.environ = {
            "PATH": f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            **usersettings.nothing(folder),
            "LC_ALL": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",  # stdout and stderr in the order in which they were written
            "TORCHPICK_CACHE_DIR": str(folder / "cache"),
            **environ,
        }

    def command(self, name: str, *words: str | Path) -> None:
        """Put a command of this name into the terminal's own folder of commands."""
        file = self.folder / "bin" / name
        file.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n', "utf-8")
        file.chmod(0o755)

    def _python(self, python: Path, template: Path | None) -> None:
        """The page's Python. With a template `python3 -m venv NAME` links its pip: ensurepip takes seconds."""
        for name in ("python", "python3"):
            self.command(name, python)
            if template is not None:
                file = self.folder / "bin" / name
                file.write_text(_QUICK_VENV.format(python=python, template=template), "utf-8")

    def run(self, steps: Sequence[str]) -> list[Shown]:
        """Run the commands one after another in one shell; each keeps what the ones before it set."""
        lines = []
        for number, step in enumerate(steps):
            place = self.folder / "steps" / str(number)
            place.with_suffix(".sh").write_text(step + "\n", "utf-8")
            shown = shlex.quote(str(place))
            lines.append(f". {shown}.sh >{shown}.out 2>&1 </dev/null; echo $? >{shown}.status")
        script = self.folder / "steps" / "all.sh"
        script.write_text("\n".join(lines) + "\n", "utf-8")
        with suppress(subprocess.TimeoutExpired):  # the steps that were not reached say so
            subprocess.run(
                ["bash", "--norc", str(script)], cwd=self.work, env=self.environ, check=False, timeout=PATIENCE_S,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return [self._shown(number) for number in range(len(steps))]

    def _shown(self, number: int) -> Shown:
        place = self.folder / "steps" / str(number)
        out, status = place.with_suffix(".out"), place.with_suffix(".status")
        return Shown(
            out.read_text(errors="replace", encoding="utf-8") if out.exists() else "",
            int(status.read_text("utf-8")) if status.exists() and status.read_text("utf-8") else None,
        )


def with_file(name: str, text: str) -> str:
    """A step that writes a file of the page, whatever is in it."""
    folder = os.path.dirname(name)
    made = f"mkdir -p {shlex.quote(folder)} && " if folder else ""
    return f"{made}printf %s {shlex.quote(text)} >{shlex.quote(name)}"
