"""A mirror, of each kind: what it holds is installed, and no page of it is asked for twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.fakes.indexes import WheelHost
from tests.fakes.loopback import Answer, Site
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import World, wheel_host
from tests.process.install.installers import UV_AND_LATER_PIP

FAMILY = {"torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126", "triton": "3.8.0"}
HTML = {"Content-Type": "text/html"}


def links(wheels: Iterable[TinyWheel], folder: str = "") -> str:
    lines = [f'<a href="{folder}{quote(wheel.filename)}">{wheel.filename}</a>' for wheel in wheels]
    return f"<!DOCTYPE html><html><body>{''.join(lines)}</body></html>"


def one_page(mirror: WheelHost) -> Site:
    """A flat mirror as a plain file server has it: a page for a folder, whose links are relative."""
    wheels = {wheel.filename: wheel for (where, _), them in mirror.wheels.items() if where == "cu126" for wheel in them}

    def site(path: str) -> Answer:
        if path == "/wheels/":
            return Answer(200, links(wheels.values()).encode(), HTML)
        wheel = wheels.get(path.removeprefix("/wheels/"))
        return Answer(404) if wheel is None else Answer(200, wheel.content)

    return site


def folders(mirror: WheelHost, place: Path) -> str:
    """The mirror's layout on the disk, as a copy of it."""
    for (backend, project), wheels in mirror.wheels.items():
        page = place / backend / project / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text(links(wheels, "../"), "utf-8")
        for wheel in wheels:
            (place / backend / wheel.filename).write_bytes(wheel.content)
    return place.as_uri()


@UV_AND_LATER_PIP
@pytest.mark.parametrize("kind", ["pages with hashes", "one page", "folder"])
def test_a_mirror_is_installed_from_and_each_page_read_once(
    world: World, kind: str, newest: str, tmp_path: Path
) -> None:
    mirror = wheel_host(hashes=kind == "pages with hashes")
    address = f"http://localhost:{world.server.server_port}"
    mirror.files_at = address
    world.server.sites["localhost"] = one_page(mirror) if kind == "one page" else mirror
    base = {
        "pages with hashes": f"{address}/whl",
        "one page": f"flat+{address}/wheels/",
        "folder": folders(mirror, tmp_path / "mirror"),
    }[kind]
    python = world.environment(newest)
    words = ("torch", "torchvision", "--installer", newest, "--index-base", base)

    first = world.install(*words, python=python)
    pages = Counter(asked.path for asked in world.server.log if asked.host == "localhost" and asked.path[-1] == "/")
    sources = world.sources()
    world.server.log.clear()
    world.install(*words, python=python)

    assert world.installed(python) == {**FAMILY, "numpy": "2.0.0", "filelock": "3.20.0"}
    asked = {"pages with hashes": [f"/whl/cu126/{name}/" for name in FAMILY], "one page": ["/wheels/"], "folder": []}[
        kind
    ]
    assert pages == dict.fromkeys(asked, 1)
    by_mirror = {} if kind == "folder" else {name: {"private"} for name in FAMILY}
    assert sources == {**by_mirror, "numpy": {"user"}, "filelock": {"user"}}
    unhashed = [line for line in first.stderr.splitlines() if "has no known sha256, so it is taken from" in line]
    assert len(unhashed) == (0 if mirror.hashes else len(FAMILY)), first.stderr
    assert world.server.log == []
