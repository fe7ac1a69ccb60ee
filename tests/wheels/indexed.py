"""An index on loopback with wheels of GPU code; it counts what is asked of each."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from urllib.parse import quote

from tests.fakes.loopback import Answer, Loopback
from tests.wheels import making


class GpuIndex:
    """`/simple/NAME/` and `/files/FILE`, as an index of packages has them."""

    def __init__(self, count: int, *, versions: int = 1, filler: int = 200_000) -> None:
        self.wheels: dict[str, dict[str, bytes]] = {}
        for place in range(count):
            for version in range(versions):
                self._add(f"gpu{place:02}", f"1.{version}", place * versions + version, filler)

    def _add(self, name: str, version: str, seed: int, filler: int) -> None:
        code = making.library(making.module("sm_80"), making.module(f"sm_{(70, 75, 86, 90)[seed % 4]}"))
        members = {
            f"{name}/_C.so": code,
            f"{name}/data.bin": making.noise(seed, filler),
            f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            "Requires-Dist: torch>=2.10\nRequires-Python: >=3.10\n\nLong words.\n".encode(),
        }
        file = f"{name}-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
        self.wheels.setdefault(name, {})[file] = making.wheel(members, stored=True)

    @property
    def names(self) -> list[str]:
        return list(self.wheels)

    def __call__(self, path: str) -> Answer:
        parts = path.strip("/").split("/")
        if len(parts) == 2 and parts[0] == "simple" and parts[1] in self.wheels:
            links = "".join(
                f'<a href="/files/{quote(file)}#sha256={sha256(content).hexdigest()}">{file}</a>'
                for file, content in self.wheels[parts[1]].items()
            )
            return Answer(200, f"<html><body>{links}</body></html>".encode(), {"Content-Type": "text/html"})
        if len(parts) == 2 and parts[0] == "files":
            content = next((files[parts[1]] for files in self.wheels.values() if parts[1] in files), None)
            return Answer(404) if content is None else Answer(200, content)
        return Answer(404)

    def serve(self, delay_s: float = 0.0) -> Loopback:
        return Loopback({"127.0.0.1": self}, delay_s=delay_s)


def asked(server: Loopback) -> Counter[str]:
    """How often each file was asked for."""
    return Counter(one.path.rpartition("/")[2] for one in server.log if one.path.startswith("/files/"))
