"""Stand-ins for torch wheels: name, version and nothing else, so that a resolver can weigh builds unfetched.

They are only ever shown to a dry run; the wheels themselves come from the wheel host.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256

from torchpick.errors import InstallerError
from torchpick.model.build import Build
from torchpick.model.noun import Noun
from torchpick.model.versions import release_key


class Stub(Noun):
    name: str
    version: str
    requires: str = ""


def of_builds(builds: Iterable[Build]) -> tuple[Stub, ...]:
    """Torch and its companions; a companion needs its very torch, which keeps the family together.

    One that belongs to several torches needs one of their releases: which of them it is, the pick decides.
    """
    torches: set[Stub] = set()
    needs: dict[tuple[str, str], list[Build]] = {}
    for build in builds:
        torches.add(Stub("torch", build.version))
        for name, version in build.companion_pins.items():
            needs.setdefault((name, version), []).append(build)
    found = [Stub(name, version, _one_of(mine)) for (name, version), mine in needs.items()]
    return tuple(sorted((*torches, *found)))


def _one_of(builds: list[Build]) -> str:
    if len(builds) == 1:
        return f"torch=={builds[0].version}"
    releases = sorted({build.torch for build in builds}, key=release_key)
    return f"torch>={releases[0]},<={releases[-1]}"


def shelf(place: str, stubs: tuple[Stub, ...]) -> str:
    """A folder for `--find-links` that holds exactly these; named by its content, made once."""
    digest = sha256(repr(stubs).encode()).hexdigest()[:16]
    folder = os.path.join(place, f"stubs-{digest}")
    if os.path.isdir(folder):
        return folder
    part = f"{folder}.{os.getpid()}.part"
    try:
        os.makedirs(part, exist_ok=True)
        for stub in stubs:
            _write(part, stub)
        os.rename(part, folder)
    except OSError as error:
        if not os.path.isdir(folder):  # another run was quicker
            hint = "set another folder with TORCHPICK_CACHE_DIR"
            raise InstallerError(f"{folder}: cannot be written: {error.strerror}", hint=hint) from error
    finally:
        if os.path.isdir(part):
            from shutil import rmtree

            rmtree(part, ignore_errors=True)
    return folder


def _write(folder: str, stub: Stub) -> None:
    from zipfile import ZipFile

    stem = f"{stub.name}-{stub.version}"
    requires = f"Requires-Dist: {stub.requires}\n" if stub.requires else ""
    with ZipFile(os.path.join(folder, f"{stem}-py3-none-any.whl"), "w") as archive:
        info = f"{stem}.dist-info"
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {stub.name}\nVersion: {stub.version}\n{requires}"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
