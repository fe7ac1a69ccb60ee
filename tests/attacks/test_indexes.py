"""Whatever the user's files and settings name: torch's family, with its triton, comes from the wheel host.

Each attack ends with the very pick in the environment, or with nothing of the family there.
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
        BAD, Tagged("torchvision", "0.29.1+cu126", TAG, ("torch==2.14.1",)), TinyWheel("numpy", "2.0.0"),
        TinyWheel("filelock", "3.20.0"), Tagged("triton", "3.8.0", TAG),
    )  # fmt: skip
    world.server.sites["localhost"] = lambda path: (
        Answer(200, REMOTE[path]) if path in REMOTE else Answer(404) if path.startswith("/texts/") else evil(path)
    )
    failures, installed = {}, 0
    for number, attack in enumerate(ALL):
        folder = world.folder / f"{number}"
        folder.mkdir()
        came, trouble = tried(world, newest, attack, folder)
        installed += came
        if trouble:
            failures[attack.name] = trouble

    assert installed > len(ALL) / 3, "where nothing is installed there is nothing to lead away"
    count(f"indexes beside {newest}", len(ALL), len(ALL) - len(failures))
    assert not failures, "\n\n".join(f"{name}: {trouble}" for name, trouble in failures.items())


def tried(world: World, installer: str, attack: Attack, folder: Path) -> tuple[bool, str]:
    """Whether the pick was installed, and what came of the attack that should not have; empty where it held."""
    home = folder / "home"
    here = folder / "here"
    stands_for = {
        "FILE": here.as_uri(), "HERE": str(here), "REMOTE": world.private.replace("/simple/", "/texts"),
        "EVIL": world.private,
        "LAYOUT": f"{world.private.replace('/simple/', '/whl/cu126/')}{quote(BAD.filename)}",
        "BADWHEEL": f"{world.private.replace('/simple/', '/files/')}{quote(BAD.filename)}",
    }  # fmt: skip

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
    pick = {"torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126"}
    family = {name: there[name] for name in pick if name in there}
    if not family.items() <= pick.items():
        return True, f"installed {there}"
    if done.returncode and attack.says not in done.stderr.replace("line 3 of r.txt", "r.txt line 3"):
        return bool(family), f"status {done.returncode}, no word of {attack.says!r} in {done.stderr[-600:]}"
    if family:
        try:
            world.family_is_at_home()
        except AssertionError as error:
            return True, f"{error}\n{done.stderr[-600:]}"
    return bool(family), ""
