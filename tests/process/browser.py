"""A headless Chromium, told what to do through a pipe: no port is opened and no driver program is needed."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

# The browser wants its pipe at the numbers 3 and 4; any of the four may be taken by another, hence the way round.
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 100); os.dup2(int(sys.argv[2]), 101)
os.dup2(100, 3); os.dup2(101, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def found() -> str | None:
    """The browser of this machine, if it has one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page in one browser; `js` evaluates an expression in it."""

    def __init__(self, profile: Path, *, deadline: float = 30.0) -> None:
        program = found()
        assert program is not None
        ours, theirs_out = os.pipe()
        theirs_in, self._write = os.pipe()
        self._read = ours
        self._deadline = deadline
        self._session: str | None = None
        self.faults: list[str] = []
        self._numbers = itertools.count(1)
        self._buffer = b""
        flags: tuple[str, ...] = (
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
        )  # fmt: skip
        flags = (*flags, "--remote-debugging-pipe", f"--user-data-dir={profile}")
        # It leaves a socket behind, whose path must be short.
        self._temporary = TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(theirs_in), str(theirs_out), program, *flags],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "TMPDIR": self._temporary.name},
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")

    def __enter__(self) -> Browser:  # noqa: PYI034 # typing.Self is newer than the oldest Python here
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._write)
        os.close(self._read)
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)
        self._temporary.cleanup()

    def call(self, method: str, **params: object) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, object] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            self._hear(answer)
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def _hear(self, message: dict[str, Any]) -> None:
        """Keep what the page complains of: a script's exception, a refused load."""
        if message.get("method") == "Runtime.exceptionThrown":
            self.faults.append(str(message["params"]["exceptionDetails"]))
        if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.faults.append(str(message["params"]["entry"]["text"]))

    def _message(self) -> dict[str, Any]:
        limit = time.monotonic() + self._deadline
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(limit - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def screen(self, width: int, height: int, *, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def until(self, expression: str) -> None:
        limit = time.monotonic() + self._deadline
        while not self.js(expression):
            assert time.monotonic() < limit, expression
            time.sleep(0.02)

    def js(self, expression: str) -> Any:
        """The value of the expression, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def type(self, words: str) -> None:
        """Keys, one by one, into what has the focus."""
        for letter in words:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=letter, key=letter)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def press(self, key: str) -> None:
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=codes[key], **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes[key])

    def picture(self, file: Path) -> None:
        answer = self.call("Page.captureScreenshot")
        file.write_bytes(base64.b64decode(answer["data"]))
