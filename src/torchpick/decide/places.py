"""Other indexes: the address of a package's wheels there, and whether a version is known there. Pure."""

from __future__ import annotations

from torchpick.decide.demands import PackageDemand
from torchpick.model.build import Build
from torchpick.model.package import OtherIndex, Package
from torchpick.model.versions import major_minor, release_key


def address(place: OtherIndex, package: Package, torch: Build | None) -> str:
    """The place's URL, filled in as far as the package and torch say."""
    values = {"version": package.version}
    if torch is not None:
        values["torch"] = major_minor(torch.torch)
        values["release"] = torch.torch
        values["cu"] = torch.backend
    url = place.url
    for key, value in values.items():
        url = url.replace(f"{{{key}}}", value)
    return url


def content(place: OtherIndex, package: Package, torch: Build | None) -> str:
    """What lies there, as file names or a label say it."""
    text = place.text.replace("{version}", package.version)
    if torch is not None:
        text = text.replace("{major}", str(torch.cuda_major or "")).replace("{abi}", _abi(torch))
        text = text.replace("{torch}", major_minor(torch.torch))
    return text


def has(place: OtherIndex, package: Package) -> bool:
    """Whether this version is within what is known of the place."""
    bounds = ",".join(f"{operator}{bound}" for operator, bound in ((">=", place.since), ("<=", place.until)) if bound)
    return PackageDemand(package.name, bounds).admits(package.version)


def _abi(torch: Build) -> str:
    """Which C++ ABI a torch wheel for Linux has, as prebuilt wheels name it: the new one from 2.6.0+cu126 on."""
    release = release_key(torch.torch)
    new = release >= release_key("2.7") or (release >= release_key("2.6") and torch.backend == "cu126")
    return str(new).upper()
