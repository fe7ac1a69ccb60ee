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
from torchpick.model.verdict import companions


class Stub(Noun):
    name: str
    version: str
    requires: str = ""


def of_builds(builds: Iterable[Build]) -> tuple[Stub, ...]:
    """Torch and its companions; a companion needs its very torch, which keeps the family together."""
    found: dict[tuple[str, str], Stub] = {}
    for build in builds:
        found["torch", build.version] = Stub("torch", build.version)
        for name, version in companions(build).items():
            found.setdefault((name, version), Stub(name, version, f"torch=={build.version}"))
    return tuple(sorted(found.values()))


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
            hint = "name another folder with TORCHPICK_CACHE_DIR"
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
