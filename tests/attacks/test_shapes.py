"""Records of any shape, halves of characters, paths that are no text: an answer, or an error of ours."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attacks import project
from tests.fakes.tinywheel import TinyWheel
from tests.index.server import Host
from torchpick.cli import main

GPU = ("--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12", "--glibc", "2.35")
WHEELS = (
    TinyWheel("odd", "1.0", requires=("torch",)),
    TinyWheel("odd", "2.0", requires=("torch<2.15",)),
    TinyWheel("torch", "2.14.1+cu126", "cp312-cp312-manylinux_2_28_x86_64"),
)
JSON = "application/vnd.pypi.simple.v1+json"
HALF = "\ud800"
WRONG: list[Any] = [
    None, -1, 1 << 70, 1e400, HALF, "9" * 5000, [], {}, {"x": {}}, ["x"], [[[[None]]]],
]  # fmt: skip


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    """An index whose pages are JSON, and the wheel host's stand-in below /whl."""
    server = Host()
    for name in ("odd", "torch"):
        files = [
            {
                "filename": wheel.filename, "url": f"/f/{quote(wheel.filename)}",
                "hashes": {"sha256": hashlib.sha256(wheel.content).hexdigest()}, "requires-python": ">=3.8",
            }
            for wheel in WHEELS
            if wheel.name == name
        ]  # fmt: skip
        for path in (f"/simple/{name}/", f"/whl/cu126/{name}/"):
            server.files[path], server.types[path] = json.dumps({"name": name, "files": files}).encode(), JSON
    server.files |= {f"/f/{quote(wheel.filename)}": wheel.content for wheel in WHEELS}
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


# What fills the cache, and reads it again; the place of what is damaged.
RECORDS: dict[str, tuple[tuple[str, ...], str]] = {
    "links of a page": (("env", "--index-base", "HOST/whl", *GPU), "cache/install/projects/pages/*.json"),
    "pages and METADATA": (("plan", "odd", *GPU), "cache/projects/*/*.json"),
    "reading": (("inspect", "odd==1.0", *GPU), "cache/readings/*.json"),
    "table": (("refresh", "--index-base", "HOST/whl"), "cache/table/*-stable-linux-x86_64.json"),
}


@pytest.fixture
def ask(
    host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Asks a command in the project; its status and what it printed, which is no traceback."""
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, f"{host.url}/simple")

    def asked(*words: str) -> tuple[int, str, str]:
        status = main([word.replace("HOST", host.url) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err, err
        assert status in range(5), err
        return status, out, err

    return asked


def put(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), "utf-8")


def changed(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """The value with one thing in it replaced or taken away."""
    top = here = copy.deepcopy(value)
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(min(len(here), 12)))
        key = draw(st.sampled_from(keys))
        if isinstance(here[key], dict | list) and here[key] and draw(st.integers(0, 4)):
            here = here[key]
            continue
        if draw(st.integers(0, 5)):
            here[key] = draw(st.sampled_from(WRONG))
        else:
            del here[key]
        return top


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_of_another_shape_is_made_anew(
    kind: str, folder: Path, ask: Callable[..., tuple[int, str, str]]
) -> None:
    words, place = RECORDS[kind]
    assert ask(*words)[0] == 0
    records = {path: path.read_bytes() for path in folder.glob(place)}
    assert records
    whole = json.loads(next(iter(records.values())))
    for wrong in [*WRONG, *({**whole, key: ["x"]} for key in whole if isinstance(whole, dict))]:
        for path in records:
            path.parent.mkdir(parents=True, exist_ok=True)
            put(path, wrong)
        assert ask(*words)[0] == 0, wrong
        if wrong in WRONG:
            assert all(json.loads(path.read_bytes()) != wrong for path in records)

    for raw in (b"", b"\xff\xfe\0{", b"[" * 100_000, *(content[: len(content) // 2] for content in records.values())):
        for path in records:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
        assert ask(*words)[0] == 0, raw[:40]
        assert all(path.read_bytes() != raw for path in records)

    @settings(max_examples=5)
    @given(st.data())
    def damage(data: st.DataObject) -> None:
        for path, content in records.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            put(path, changed(json.loads(content), data.draw))
        ask(*words)

    damage()


def halved(value: Any) -> Iterator[Any]:
    """The value with half a character behind one text in it, for each, keys among them."""
    for key in value if isinstance(value, dict) else range(len(value)):
        for half in halved(value[key]) if isinstance(value[key], dict | list) else [f"{value[key] or ''}{HALF}"]:
            top = copy.copy(value)
            top[key] = half
            yield top
    if isinstance(value, dict):
        yield {**value, HALF: HALF}


@pytest.mark.parametrize("path", ["/simple/odd/", "/whl/cu126/torch/"])
def test_half_a_character_on_a_page_is_no_text_and_no_traceback(
    path: str, host: Host, folder: Path, ask: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = json.loads(host.files[path])
    page["versions"], page["meta"] = ["1.0"], {"api-version": "1.1"}
    for file in page["files"]:
        file.update({"yanked": "broken", "size": 1, "core-metadata": {"sha256": "0" * 64}, "upload-time": "2026"})
    for number, half in enumerate(halved(page)):
        monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(folder / f"cache-{number}"))
        monkeypatch.setitem(host.files, path, json.dumps(half).encode())
        for command in ("plan", "inspect") if "odd" in path else ("env",):
            (words,) = (words for words, _ in RECORDS.values() if words[0] == command)
            ask(*words)


MACHINE = {
    "name": "n1", "platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.36"}, "python": {"version": "3.12"},
    "driver": {"version": "580.95.05"}, "gpus": [{"vendor": "nvidia", "name": "RTX 3090", "arch": "sm_86"}],
    "notes": [{"code": "X", "text": "y"}],
}  # fmt: skip


def test_half_a_character_in_a_machine_or_an_environment_is_no_traceback(
    folder: Path, ask: Callable[..., tuple[int, str, str]]
) -> None:
    file = folder / "machines.json"
    for half in halved(MACHINE):
        put(file, half)
        for words in (("--machine", "machines.json"), ("fleet", "machines.json"), ("fleet", "machines.json", "--json")):
            ask(*words)
    site = next((folder / "venv").glob("lib/*/site-packages"))
    origin = {"url": "https://h.example/odd-1.whl", "dir_info": {"editable": False}, "vcs_info": {"vcs": "git"}}
    for half in halved(origin):
        put(site / "odd-1.dist-info" / "direct_url.json", half)
        ask("doctor", "--python", "venv", *project.GPU)
        ask("inspect", "odd", "--python", "venv")


NO_TEXT = os.fsdecode(b"caf\xe9 x")


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="paths are text there")
def test_paths_that_are_no_text_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    statuses, environ = {}, b""
    for name in ("text", NO_TEXT):
        folder = tmp_path / name
        folder.mkdir()
        project.made(folder)
        for variable, place in {
            "HOME": "home",
            "XDG_CONFIG_HOME": "home/.config",
            "TORCHPICK_CACHE_DIR": "cache",
        }.items():
            monkeypatch.setenv(variable, str(folder / place))
        monkeypatch.setenv("PIP_CONSTRAINT", f"{folder.name.replace(' ', '')}.txt")
        (folder / f"{folder.name.replace(' ', '')}.txt").write_text("numpy<3\n", "utf-8")
        monkeypatch.chdir(folder)
        for command in project.COMMANDS:
            if command in ("hosts", "refresh"):  # asks a network
                continue
            words = [
                word.replace("INDEX", f"file://{quote(bytes(folder / 'index'))}") for word in project.COMMANDS[command]
            ]
            statuses[name, command] = main(words)
            out, err = capfdbinary.readouterr()
            assert b"Traceback" not in err, err
            environ = out if command == "env" else environ
    assert [status for (name, _), status in statuses.items() if name == "text"] == [
        status for (name, _), status in statuses.items() if name == NO_TEXT
    ]
    ran = subprocess.run(
        ["sh", "-c", environ + b'\nfor word in $PIP_CONSTRAINT; do echo "$word"; done'], capture_output=True, check=True
    )
    ours, theirs = ran.stdout.splitlines()
    assert os.path.isfile(unquote_to_bytes(ours.removeprefix(b"file://")))
    assert theirs == b"caf\xe9x.txt"
    # What it printed is its own the next time.
    monkeypatch.setenv("PIP_CONSTRAINT", os.fsdecode(b"%s %s" % (ours, theirs)))
    assert main([*project.COMMANDS["env"]]) == 0
    assert capfdbinary.readouterr()[0] == environ
