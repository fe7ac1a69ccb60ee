"""The wheel host as the table has it: each build of one platform and Python, with what the real wheels require."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fakes.indexes import WHEEL_HOST, WheelHost
from tests.fakes.tinywheel import TinyWheel
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.packages import catalog_of
from torchpick.model.build import Build
from torchpick.model.versions import release_key

PLATFORM = "linux-x86_64"
# From this torchvision on it asks for this torch and what is newer; before, a companion asked for the very one.
_LOOSE, _FROM = "0.29.1", "2.14.0"
# The last torchaudio asks for none.
_FREE = "2.11.0"
# Other people's projects that the host has too; no environment may have them from there.
_SHADOWS = ("numpy", "filelock", "requests")


def stocked(tag: str) -> WheelHost:
    """The host with every build that has a wheel for this Python (`cp312`)."""
    host, knowledge = WheelHost(), Knowledge({})
    requires = catalog_of(knowledge, PLATFORM).torch_requirements
    table = knowledge.table((PLATFORM,), "stable", base=f"https://{WHEEL_HOST}/whl")
    for build in table.builds[PLATFORM]:
        if tag in build.pythons and build.tags:
            _stock(host, build, tag, requires(build.torch))
    return host


def _stock(host: WheelHost, build: Build, tag: str, plain: tuple[str, ...]) -> None:
    suffix = f"{tag}-{tag}-{build.tags[0]}"
    triton = build.libraries.get("triton") if build.family == "cuda" else None
    known = host.wheels.get((build.backend, "triton"), ())
    if triton is not None and all(wheel.version != triton for wheel in known):
        host.add(build.backend, TinyWheel("triton", triton, suffix))
    needs = (*plain, *((f'triton=={triton}; platform_system == "Linux"',) if triton else ()))
    host.add(build.backend, TinyWheel("torch", build.version, suffix, needs))
    for name, version in build.companion_pins.items():
        if all(wheel.version != version for wheel in host.wheels.get((build.backend, name), ())):
            host.add(build.backend, TinyWheel(name, version, suffix, tuple(_of_companion(name, version, build.torch))))
    if (build.backend, _SHADOWS[0]) not in host.wheels:
        for name in _SHADOWS:
            host.add(build.backend, TinyWheel(name, "9999.0.0"))


def _of_companion(name: str, version: str, torch: str) -> Iterator[str]:
    """What a companion requires, as its own metadata says it."""
    release = release_key(version)
    if name == "torchvision":
        yield from ("numpy", "pillow!=8.3.*,>=5.3.0")
        yield f"torch>={_FROM}" if release >= release_key(_LOOSE) else f"torch=={torch}"
    elif release < release_key(_FREE):
        yield f"torch=={torch}"
