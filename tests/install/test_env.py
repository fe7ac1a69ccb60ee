"""`torchpick env`: what it refuses before it writes a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pytest

from tests.install.jobs import PICK
from torchpick.cli import main
from torchpick.environment import toolsettings
from torchpick.errors import InstallerError
from torchpick.index import pages
from torchpick.install.env import check_vendor_alone, tritons_of, uv_index, variables_of
from torchpick.install.user_settings import UserSettings
from torchpick.machine import computer
from torchpick.machine.given import MachineOverrides
from torchpick.model.build import Build, VendorIndex
from torchpick.model.machine import Machine


def without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    really_detect = computer.detect

    def detect(facts: MachineOverrides, **how: Any) -> Machine:  # whatever the real one takes
        return really_detect(facts._replace(gpus=()), **how)

    monkeypatch.setattr(computer, "detect", detect)


def test_an_image_is_not_for_the_cpu_because_this_computer_has_no_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_gpus(monkeypatch)

    for words in (["--cpu"], ["--allow-cpu"], ["--backend", "cu126"], ["--gpu", "none"]):
        assert main(["env", "--shell", "dockerfile", "--offline", *words]) == 0
    capsys.readouterr()
    status = main(["env", "--shell", "dockerfile", "--offline"])
    out, err = capsys.readouterr()

    assert status == 2
    assert out.startswith("RUN ")
    assert "--gpu t4" in err


@pytest.mark.parametrize(
    ("base", "entry"),
    [
        ("https://mirror/whl/", {"name": "pytorch-cu126", "url": "https://mirror/whl/cu126", "explicit": True}),
        (
            "flat+https://mirror/wheels/",
            {"name": "pytorch-mirror", "url": "https://mirror/wheels/", "format": "flat", "explicit": True},
        ),
    ],
)
def test_uv_asks_the_index_of_the_pick_for_what_names_it_alone(base: str, entry: dict[str, object]) -> None:
    assert uv_index(PICK._replace(wish=PICK.wish._replace(index_base=base))) == entry


@pytest.mark.parametrize(
    ("backend", "torch", "tritons"),
    [
        ("rocm6.4", "2.9.1", {"pytorch-triton-rocm": ""}), ("rocm7.2", "2.10.0", {"triton-rocm": ""}),
        ("xpu", "2.9.1", {"pytorch-triton-xpu": ""}), ("xpu", "2.10.0", {"triton-xpu": ""}),
        ("cu126", "2.14.1", {"triton": "3.8.0"}), ("cpu", "2.14.1", {}),
    ],
)  # fmt: skip
def test_the_triton_of_a_build_by_the_name_of_its_release(backend: str, torch: str, tritons: dict[str, str]) -> None:
    libraries = {"triton": "3.8.0"} if backend == "cu126" else {"triton": "<4"}

    assert tritons_of(PICK.build._replace(backend=backend, torch=torch, libraries=libraries)) == tritons


@pytest.mark.parametrize(("alone", "refused"), [(True, True), (False, False), (None, False)])
def test_only_what_a_vendors_index_must_supply_alone_no_settings_can_say(alone: bool | None, refused: bool) -> None:
    vendor = None if alone is None else VendorIndex("AMD", "https://v.example/whl", "--index-url", alone=alone)
    first = PICK.verdicts[0]._replace(build=PICK.build._replace(vendor=vendor))
    with (
        pytest.raises(InstallerError, match="alone, which settings and locks cannot say") if refused else nullcontext()
    ):
        check_vendor_alone(PICK._replace(verdicts=(first,)))


def test_an_exact_file_is_named_where_another_place_may_have_the_version() -> None:
    """A user's own index, or a CUDA build without a label; what earlier runs wrote is no place of the user's."""
    file = f"torch-{PICK.version}-cp312-cp312-manylinux_2_28_x86_64.whl"
    links = pages.files(f'<a href="{file}#sha256={"0" * 64}">x</a>'.encode(), "https://h.example/")
    plain = PICK.build._replace(version="2.14.1", companions={})

    def handed(environ: Mapping[str, str], build: Build = PICK.build) -> tuple[bool, dict[str, str]]:
        pip = toolsettings.strongest(toolsettings.pip_variables(environ))
        pick = PICK._replace(verdicts=(PICK.verdicts[0]._replace(build=build),))
        made = variables_of(
            pick, "/s", UserSettings(environ, pip), dict.fromkeys(build.pins, ()) | {"torch": links}, ("/e",)
        )
        (limits,) = (text for path, text in made.files.items() if "constraints" in path)
        theirs = {name: re.sub(r"file:///s/\w+-\w+\.\w+", "", made.set.get(name, "")) for name in environ}
        assert made.unset == ()
        return "torch @ https://h.example/" in limits, theirs

    assert handed({}) == (False, {})
    assert handed({}, plain)[0]
    assert not handed({}, plain._replace(backend="cpu", cuda=None))[0]
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX", "UV_FIND_LINKS", "PIP_UPLOADED_PRIOR_TO"):
        assert handed({name: "https://own.example"})[0], name
    own = {"UV_FIND_LINKS": "/e/links.html, ,/own", "UV_CONSTRAINT": "/e/c.txt /own.txt"}
    assert handed(own) == (True, {"UV_FIND_LINKS": ",/own", "UV_CONSTRAINT": " /own.txt"})
    assert handed({"PIP_FIND_LINKS": "/e/links.html"}) == (False, {"PIP_FIND_LINKS": ""})
