"""Stand-ins for torch wheels: name, version and requirements, so that a resolver can weigh builds unfetched.

They are only ever shown to a dry run; the wheels themselves come from the wheel host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from torchpick.model.build import Build
from torchpick.model.noun import Noun
from torchpick.model.versions import grouped, release_key


class Stub(Noun):
    name: str
    version: str
    requires: tuple[str, ...] = ()


def of_builds(builds: Iterable[Build], torch_requirements: Callable[[str], Sequence[str]]) -> tuple[Stub, ...]:
    """Torch, with what a release of it requires, and its companions, each of which needs its very torch.

    One that belongs to several torches needs one of their releases: which of them it is, the pick decides.
    """
    builds = [*builds]
    needs = grouped((pin, build) for build in builds for pin in build.companion_pins.items())
    found = [Stub(name, version, (_one_of(mine),)) for (name, version), mine in needs.items()]
    torches = (Stub("torch", build.version, tuple(torch_requirements(build.torch))) for build in builds)
    return tuple(sorted({*torches, *found}))


def _one_of(builds: list[Build]) -> str:
    if len(builds) == 1:
        return f"torch=={builds[0].version}"
    releases = sorted({build.torch for build in builds}, key=release_key)
    return f"torch>={releases[0]},<={releases[-1]}"


@contextmanager
def shelf(stubs: Iterable[Stub]) -> Iterator[str]:
    """A folder for `--find-links` that holds exactly these."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="torchpick-stubs-") as folder:
        for stub in stubs:
            _write(folder, stub)
        yield folder


def _write(folder: str, stub: Stub) -> None:
    from zipfile import ZipFile

    stem = f"{stub.name}-{stub.version}"
    requires = "".join(f"Requires-Dist: {line}\n" for line in stub.requires)
    with ZipFile(os.path.join(folder, f"{stem}-py3-none-any.whl"), "w") as archive:
        info = f"{stem}.dist-info"
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {stub.name}\nVersion: {stub.version}\n{requires}"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
