"""The wheel host and a user's index on loopback, with small wheels for the builds that the table knows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.fakes.indexes import SimpleIndex, WheelHost
from tests.fakes.loopback import Answer, Loopback
from tests.fakes.tinywheel import TinyWheel
from torchpick.knowledge import compat
from torchpick.model.build import Build

# What the companions' own METADATA asks of torch (torchaudio 2.11.0: nothing).
_METADATA = json.loads(Path(__file__).parents[2].joinpath("evidence", "companions.json").read_text("utf-8"))["requires"]
# The first Python of a release, as its METADATA says it.
_PYTHON = {"cp38": ">=3.8", "cp39": ">=3.9", "cp310": ">=3.10", "cp311": ">=3.11"}


class Host(NamedTuple):
    """`own` is the user's own index with the default index's torch; `base` is the wheel host's `/whl`."""

    server: Loopback
    user: SimpleIndex

    @property
    def own(self) -> str:
        return f"{self.server.url}/simple"

    @property
    def base(self) -> str:
        return f"{self.server.url}/whl"

    def asked_of_the_wheel_host(self) -> set[str]:
        """The projects whose pages were asked for there."""
        paths = [asked.path.strip("/").split("/") for asked in self.server.log if asked.path.startswith("/whl/")]
        return {parts[2] for parts in paths if len(parts) == 3 and not parts[2].endswith((".whl", ".metadata"))}


@contextmanager
def hosts(releases: Iterable[str], *wheels: TinyWheel) -> Iterator[Host]:
    """Both hosts, with these releases of torch and its companions, and what else a test needs on the user's index."""
    host, user = WheelHost(), SimpleIndex(TinyWheel("filelock", "3.20.0"), TinyWheel("numpy", "2.3.0"), *wheels)
    # Shadow copies: whoever takes these took something else than torch from the wheel host.
    for backend in ("cpu", "cu126", "cu132"):
        host.add(backend, TinyWheel("filelock", "9999.0"), TinyWheel("numpy", "9999.0"))
    wanted, seen = set(releases), set[tuple[str, str]]()
    for build in compat.Knowledge(os.environ).every_build:
        if (
            build.torch in wanted
            and build.tags
            and build.backend in ("default", "cpu", "cu118", "cu126", "cu128", "cu130", "cu132")
        ):
            for wheel in _wheels(build):
                # One companion may belong to several releases of torch.
                if (build.backend, wheel.filename) not in seen:
                    seen.add((build.backend, wheel.filename))
                    (user.add if build.backend == "default" else _to(host, build.backend))(wheel)

    def site(path: str) -> Answer:
        return host(path) if path.startswith("/whl/") else user(path)

    server = Loopback({"127.0.0.1": site})
    host.files_at = server.url
    with server.running():
        yield Host(server, user)


def _to(host: WheelHost, backend: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 # a bound add
    return lambda wheel: host.add(backend, wheel)


def _wheels(build: Build) -> Iterator[TinyWheel]:
    first = min(build.pythons, key=lambda tag: int(tag[3:].rstrip("t")))
    for python in build.pythons:
        tag = f"{python.rstrip('t')}-{python}-{build.tags[0]}"
        yield TinyWheel("torch", build.version, tag, ("filelock",), requires_python=_PYTHON.get(first, ">=3.8"))
        for name, version in build.companions.items():
            if version is not None:
                asked = _METADATA[name].get(version.partition("+")[0]) or ""
                requires = (f"torch{asked}", "numpy") if asked else ("numpy",)
                yield TinyWheel(name, version, tag, requires)
