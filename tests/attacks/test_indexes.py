"""Whatever the user's files and settings name: torch's family comes from the wheel host, and nothing else does.

Each attack either keeps both promises or is refused in words that name its place.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.attacks.attacks import ALL, Attack
from tests.fakes.indexes import SimpleIndex
from tests.fakes.loopback import Answer
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import TAG, World

REMOTE = {
    "/texts/wheels.txt": b"numpy\n--extra-index-url https://download.pytorch.org/whl/cu126\n",
    "/texts/limits.txt": b"--extra-index https://download.pytorch.org/whl/cu126\nnumpy<3\n",
}


class Tagged(TinyWheel):
    """The same version with a build tag, which sorts before one without."""

    @property
    def filename(self) -> str:
        return f"{self.stem}-9evil-{self.tag}.whl"


BAD = Tagged("torch", "2.14.1+cu126", TAG, ("filelock",))


@pytest.mark.long
def test_no_second_index_gets_beside_the_pick(
    world: World, newest: str, count: Callable[[str, int, int], None]
) -> None:
    evil = SimpleIndex(
        BAD,
        Tagged("torchvision", "0.29.1+cu126", TAG, ("torch==2.14.1",)),
        TinyWheel("numpy", "2.0.0"),
        TinyWheel("filelock", "3.20.0"),
        TinyWheel("triton", "3.8.0", TAG),
    )
    world.server.sites["localhost"] = lambda path: (
        Answer(200, REMOTE[path]) if path in REMOTE else Answer(404) if path.startswith("/texts/") else evil(path)
    )
    failures = {}
    for number, attack in enumerate(ALL):
        folder = world.folder / f"{number}"
        folder.mkdir()
        if trouble := tried(world, newest, attack, folder):
            failures[attack.name] = trouble

    count(f"indexes beside {newest}", len(ALL), len(ALL) - len(failures))
    assert not failures, "\n\n".join(f"{name}: {trouble}" for name, trouble in failures.items())


def tried(world: World, installer: str, attack: Attack, folder: Path) -> str:
    """What came of the attack that should not have; empty where both promises held."""
    home = folder / "home"
    here = folder / "here"
    stands_for = {
        "FILE": here.as_uri(),
        "HERE": str(here),
        "REMOTE": world.private.replace("/simple/", "/texts"),
        "CORP": world.index,
        "EVIL": world.private,
        "LAYOUT": f"{world.private.replace('/simple/', '/whl/cu126/')}{quote(BAD.filename)}",
        "BADWHEEL": f"{world.private.replace('/simple/', '/files/')}{quote(BAD.filename)}",
    }

    def filled(text: str) -> str:
        for mark, real in stands_for.items():
            text = text.replace(mark, real)
        return text

    here.mkdir()
    for name, text in attack.files.items():
        file = home / name.removeprefix("HOME/") if name.startswith("HOME/") else here / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(filled(text).encode())
    python = world.installers.environment(folder / "venv", installer)
    world.server.log.clear()
    words = [*map(filled, attack.words)]
    cut = words.index("--") if "--" in words else len(words)
    command = [*world.torchpick_words, "install", *words[:cut], "--gpu", "sm_61", "--driver", "580.95.05"]
    command += ["--installer", installer, "--python", str(python), *words[cut:]]
    environ = {"HOME": str(home), **{name: filled(value) for name, value in attack.environ.items()}}

    done = world.run([*command], status=None, environ=environ, cwd=here / attack.folder)

    there = world.installed(python)
    refused = attack.says and done.returncode and not there and attack.says in done.stderr
    try:
        if not refused:  # a resolver may have looked into a file that is then refused
            world.family_is_clean()
    except AssertionError as error:
        return f"{error}\n{done.stderr[-600:]}"
    if done.returncode == 0:
        if there.get("torch", there.get("torchvision")) not in ("2.14.1+cu126", "0.29.1+cu126"):
            return f"installed {there}"
        return ""
    if there:
        return f"refused after it installed {there}"
    said = done.stderr.replace("line 3 of r.txt", "r.txt line 3").replace("r.txt:3:", "r.txt line 3:")
    if attack.says:
        return "" if attack.says in said else f"no word of {attack.says!r} in {done.stderr[-600:]}"
    # It is refused with its place, or neither pip nor uv takes the line either, and theirs is the refusal.
    return "" if _is_a_refusal(done.stderr) else f"status {done.returncode}: {done.stderr[-900:]}"


def _is_a_refusal(text: str) -> bool:
    return any(
        words in text
        for words in (
            "lets a PyTorch wheel index supply every package",
            "names a PyTorch wheel index",
            "sets requirement",
            "Invalid requirement",
            "Invalid URL",
            "no such option",
            "Couldn't parse",
            "Expected `--hash`",
            "unexpected argument",
            "Unexpected '-'",
        )
    )
