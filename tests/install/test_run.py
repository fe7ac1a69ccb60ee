"""What an installer is started with, and what is made of how it ends. Signals are tested on real runs of torchpick."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from torchpick.errors import InstallerError
from torchpick.install import command
from torchpick.install.command import Command, capture_command, die_of, run_command, stored_file
from torchpick.model.machine import Note

pytestmark = pytest.mark.process


def stand_in(folder: Path, script: str, installer: str = "uv") -> Command:
    """An installer that does what the script says."""
    file = stored_file(str(folder), "limits", ".txt", "torch==2.9.1\n")
    return Command(installer, ("/bin/sh", "-c", script, "sh", "install", *file), {"SET": "by us"}, ("GONE",), file)


ENVIRON = {"PATH": os.environ["PATH"], "GONE": "x", "SET": "before", "KEPT": "y"}


def test_a_command_starts_with_its_files_and_variables(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = 'cat "$2"; echo "$SET ${GONE-gone} $KEPT"; echo words >&2; exit 7'

    assert run_command(stand_in(tmp_path, script), ENVIRON) == (7, False)
    out, err = capfd.readouterr()
    assert (out, err) == ("torch==2.9.1\nby us gone y\n", "words\n")
    assert run_command(stand_in(tmp_path, script), ENVIRON, talk_only=True) == (7, False)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "torch==2.9.1\nby us gone y\nwords\n")


def test_where_what_comes_first_fails_that_is_the_status_and_the_rest_does_not_start(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    second = stand_in(tmp_path, "echo second; exit 3")

    assert run_command(second._replace(before=stand_in(tmp_path, "echo first; exit 7")), ENVIRON) == (7, False)
    assert capfd.readouterr().out == "first\n"
    assert run_command(second._replace(before=stand_in(tmp_path, "echo first")), ENVIRON) == (3, False)
    assert capfd.readouterr().out == "first\nsecond\n"
    run_command(second._replace(before=stand_in(tmp_path, "echo first")), ENVIRON, talk_only=True)
    assert capfd.readouterr() == ("", "first\nsecond\n")


def test_a_captured_one_has_no_terminal_and_is_heard(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = 'cat; cat "$2"; echo "$SET ${GONE-gone}"; printf "\\377 words\\n" >&2; exit 3'

    found = capture_command(stand_in(tmp_path, script), ENVIRON)

    assert (found.returncode, found.stdout, found.stderr) == (3, "torch==2.9.1\nby us gone\n", "\ufffd words")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("script", "ended"),
    [
        ("exit 0", (0, False)), ("exit 130", (130, True)), ("kill -INT $$", (-signal.SIGINT, True)),
        ("kill -TERM $$", (-signal.SIGTERM, False)),
    ],
)  # fmt: skip
def test_an_interrupt_is_told_from_a_failure(script: str, ended: tuple[int, bool], tmp_path: Path) -> None:
    assert run_command(stand_in(tmp_path, script), ENVIRON) == ended


def test_one_that_does_not_start_is_named(tmp_path: Path) -> None:
    command = stand_in(tmp_path, "")._replace(argv=(str(tmp_path / "nowhere"),))

    for start in (run_command, capture_command):
        with pytest.raises(InstallerError, match=r"nowhere does not start: No such file or directory") as caught:
            start(command, ENVIRON)
        assert "--installer" in str(caught.value.hint)


def test_one_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "RESOLVE_S", 0.2)

    with pytest.raises(InstallerError, match="uv did not resolve within 0 s"):
        capture_command(stand_in(tmp_path, "exec sleep 60"), ENVIRON)


def test_signals_are_as_they_were_when_it_has_ended(tmp_path: Path) -> None:
    names = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    before = [signal.getsignal(getattr(signal, name)) for name in names]

    run_command(stand_in(tmp_path, "exit 0"), ENVIRON)

    assert [signal.getsignal(getattr(signal, name)) for name in names] == before


FORWARDING = """
import os, signal, sys
from torchpick.install.command import Command, run_command

for name in ("INT", "QUIT", "TERM", "HUP", "USR1", "USR2"):  # a shell's background command ignores some
    signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.argv[1] == "ignored":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
script = sys.argv[3]
print(*run_command(Command("uv", ("sh", "-c", script)), os.environ))
"""


@pytest.mark.parametrize("name", ["INT", "QUIT", "TERM", "HUP", "USR1", "USR2"])
def test_a_signal_goes_on_to_the_installer_and_its_answer_counts(name: str) -> None:
    script = f"trap 'exit 42' {name}; kill -{name} $PPID; while :; do sleep 0.05; done"
    words = [sys.executable, "-c", FORWARDING, "", "--", script]

    done = subprocess.run(
        words, capture_output=True, text=True, timeout=30, check=False, start_new_session=True, stdin=subprocess.DEVNULL
    )

    assert done.stdout.split() == ["42", str(name in ("INT", "QUIT"))], done.stderr


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As under nohup, for the installer too."""
    script = "kill -HUP $$; exit 5"
    words = [sys.executable, "-c", FORWARDING, "ignored", "--", script]

    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)

    assert done.stdout.split() == ["5", "False"], done.stderr


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGKILL", "SIGSEGV"])
def test_we_die_of_the_signal_that_ended_it(name: str) -> None:
    number = signal.Signals[name]
    code = (
        f"from torchpick.install.command import die_of; print('said', end=''); raise SystemExit(die_of({-int(number)}))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout) == (-number, "" if name == "SIGKILL" and not done.stdout else "said")
    assert die_of(0) == 0
    assert die_of(7) == 7


def test_where_the_signal_ends_nothing_the_status_says_it() -> None:
    code = "import signal; from torchpick.install.command import die_of; raise SystemExit(die_of(-signal.SIGCHLD))"

    done = subprocess.run([sys.executable, "-c", code], timeout=30, check=False)

    assert done.returncode == 128 + signal.SIGCHLD


def test_a_command_is_shown_without_its_passwords() -> None:
    url = "https://anna:hunter2@mirror.example/whl"
    file = stored_file("/store", "limits", ".txt", f"torch @ {url}\n")
    command = Command("pip", ("pip", url), {"PIP_INDEX_URL": url}, ("X",), file, (Note("A", "b"),))

    assert command.shown().to_dict() == {
        "installer": "pip",
        "argv": ["pip", "https://anna:****@mirror.example/whl"],
        "environ": {"set": {"PIP_INDEX_URL": "https://anna:****@mirror.example/whl"}, "unset": ["X"]},
        "files": dict.fromkeys(file, "torch @ https://anna:****@mirror.example/whl\n"),
        "notes": [{"code": "A", "text": "b"}],
    }
    assert command._replace(before=command).shown().before == command.shown()
    assert command.environ({"X": "1", "Y": "2"}) == {"Y": "2", "PIP_INDEX_URL": url}


def test_a_long_answer_is_heard_whole(tmp_path: Path) -> None:
    script = "head -c 3000000 /dev/zero | tr '\\0' x"

    assert capture_command(stand_in(tmp_path, script), ENVIRON).stdout == "x" * 3_000_000


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to all processes of the console")
@pytest.mark.parametrize(
    ("terminal", "in_front", "forwarded"),
    [(0, True, False), (1, True, False), (2, True, False), (2, False, True), (None, True, True)],
)
def test_ctrl_c_goes_on_to_the_installer_where_no_terminal_has_sent_it_there_too(
    terminal: int | None, in_front: bool, forwarded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def group_in_front(stream: int) -> int:
        if stream != terminal:
            raise OSError(25, "not a terminal")
        return os.getpgrp() if in_front else os.getpgrp() + 1

    monkeypatch.setattr(os, "tcgetpgrp", group_in_front)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
    # One signal at a time: of two, the second may go to another thread of a worker, and wakes nobody up.
    waits = f"i=0; while [ $i -lt {1000 if forwarded else 30} ]; do sleep 0.01; i=$((i+1)); done; exit 5"
    try:
        ended = run_command(stand_in(tmp_path, f"trap 'exit 6' INT; kill -INT $PPID; {waits}"), ENVIRON)
    finally:
        signal.signal(signal.SIGINT, before)

    assert ended == (6 if forwarded else 5, True)
