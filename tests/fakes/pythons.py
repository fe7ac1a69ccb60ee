"""What this Python says of itself where a made-up environment leads to it: asked once, not once for each environment.

Every answer is a real one: of the same interpreter, with the same pyvenv.cfg and home, to the same question; only the
environment's own folder is put into it. What does not lead to this Python is started as ever.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from torchpick.environment import child
from torchpick.environment.child import ChildResult
from torchpick.model.machine import Machine, Platform, Python

BASE = os.path.realpath(sys.executable)
QUESTION = ["-I", "-S", "-c"]
FOLDER, HOME = "/made-up/environment", "/made-up/home"
_said: dict[tuple[object, ...], ChildResult] = {}
_run = child.run


@contextmanager
def asked_once() -> Iterator[None]:
    with patch.object(child, "run", _answer):
        yield


def _answer(argv: Sequence[str], environ: Mapping[str, str], limit_s: float, **more: int) -> ChildResult:
    program, asked, folder, home = argv[0], [*argv[1:4]], "".join(argv[5:6]), environ.get("HOME", "")
    known = asked == QUESTION and len(argv) < 7 and os.path.realpath(program) == BASE
    if not known or any(each[:1] not in ("", "/") for each in (folder, home)):
        return _run(argv, environ, limit_s, **more)
    config = Path(program).parent.parent / "pyvenv.cfg"
    made_for = config.read_bytes() if config.is_file() else b""
    key = (argv[4], len(argv), bool(folder), bool(home), made_for)
    if key not in _said:
        place = [FOLDER if folder else "" for _ in argv[5:]]
        found = _run([*argv[:5], *place], {**environ, "HOME": HOME} if home else environ, limit_s, **more)
        if found.status != 0 or b'"soabi"' not in found.answer:
            return _run(argv, environ, limit_s, **more)
        _said[key] = found
    said = _said[key]
    answer = said.answer.replace(FOLDER.encode(), _in_json(folder)).replace(HOME.encode(), _in_json(home))
    return said._replace(answer=answer)


def _in_json(text: str) -> bytes:
    return json.dumps(text)[1:-1].encode()


MADE_UP = "3.11"
_EXACT = "3.11.7"
_PLATFORM = Platform("linux", "x86_64", "2.36", "glibc")


def made_up(source: str = "the Python that runs torchpick") -> Machine:
    """The Python that a recorded case is of, whatever runs the tests."""
    return Machine(_PLATFORM, Python(MADE_UP, executable=sys.executable, source=source, exact=_EXACT))


def answers(folder: Path, home: str) -> Callable[..., ChildResult]:
    """What that Python says of itself and of an environment in this folder, or of torchpick's own without a package."""

    def answer(argv: Sequence[str], *_: object, **_more: object) -> ChildResult:
        is_made_up = Path(argv[0]).is_relative_to(folder)
        assert is_made_up or argv[0] == sys.executable, f"a recorded case starts nothing: {argv}"
        assert argv[1:4] == QUESTION, f"a recorded case starts nothing: {argv}"
        facts: dict[str, object] = {
            "version": [*map(int, MADE_UP.split("."))], "full_version": _EXACT, "implementation": "cpython",
            "free_threaded": False, "system": "linux", "cpu": "x86_64", "wide": True, "libc": "glibc 2.36",
            "soabi": ".cpython-311-x86_64-linux-gnu.so",
        }  # fmt: skip
        if argv[5:]:
            prefix, library = str(Path(argv[0]).parent.parent), f"lib/python{MADE_UP}"
            packages = [f"{prefix}/{library}/site-packages"] if is_made_up else []
            facts |= {
                "prefix": prefix, "stdlib": f"/usr/{library}", "packages": packages,
                "sites": packages, "base_sites": [], "user": f"{home}/.local/{library}/site-packages",
            }  # fmt: skip
        return ChildResult(0, json.dumps(facts).encode() + b"\n", b"")

    return answer
