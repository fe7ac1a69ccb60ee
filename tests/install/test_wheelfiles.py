"""The files of torch's companions, as a mirror's or the wheel host's own pages name them."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.installers import test_commands
from torchpick import api
from torchpick.environment.requirements import Given
from torchpick.errors import NetworkError
from torchpick.index import listing, pages
from torchpick.install import wheelfiles
from torchpick.model.machine import Platform
from torchpick.model.pick import Pick

PLATFORM = Platform("linux", "x86_64", "2.35")
MIRROR = "https://mirror.example/whl"
TAG = "cp312-cp312-manylinux_2_28_x86_64"
VISION = "torchvision-0.29.1+cu126"
FILE = f"{VISION}-{TAG}.whl"


def picked(index_base: str | None = None) -> Pick:
    request = {"driver": "580.95.05", "python": "3.12", "platform": "linux-x86_64", "glibc": "2.35"}
    return api.pick(gpus=["sm_61"], index_base=index_base, **request)  # type: ignore[arg-type]  # all are words


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pages with files of both of the wheel host's names, of other versions and platforms; what was asked for."""
    seen: list[str] = []
    files = {
        f"https://download.pytorch.org/whl/cu126/{quote(FILE)}#sha256={'1' * 64}": "",
        f"https://download-r2.pytorch.org/whl/cu126/{quote(FILE.replace('312', '313'))}": "",
        f"https://elsewhere.example/{quote(FILE.replace('312', '311'))}": "",
        f"{quote(FILE.replace(TAG, 'py3-none-any'))}": "",
        f"{quote(FILE.replace('312', '314'))}": ' data-yanked="broken"',
        f"{quote(FILE.replace('manylinux_2_28_x86_64', 'win_amd64'))}": "",
        f"{quote(FILE.replace('0.29.1', '0.29.0'))}": "",
        f"{quote(FILE.replace('torchvision', 'torchtext'))}": "",
    }

    def fetch(url: str, *_: object) -> pages.Page:
        seen.append(url)
        body = "".join(f'<a href="{href}"{more}>{href}</a>' for href, more in files.items())
        return pages.Page(url, listing.parse(body.encode(), url))

    monkeypatch.setattr(pages, "fetch", fetch)
    return seen


def read(pick: Pick, *, offline: bool = False) -> dict[str, list[str]]:
    found = wheelfiles.companions_on_pages(pick, {"torchvision": "0.29.1+cu126"}, offline=offline)
    return {name: [wheel.url for wheel in wheels] for name, wheels in found.items()}


def test_a_copied_page_of_a_mirror_leads_to_the_mirror(asked: list[str]) -> None:
    found = wheelfiles.companions_on_pages(picked(MIRROR), {"torchvision": "0.29.1+cu126"}, offline=False)

    assert asked == [f"{MIRROR}/cu126/torchvision/"]
    newer, older, plain = FILE.replace("312", "313"), FILE.replace("312", "311"), FILE.replace(TAG, "py3-none-any")
    assert [(wheel.file, wheel.url, wheel.sha256) for wheel in found["torchvision"]] == [
        (FILE, f"{MIRROR}/cu126/{quote(FILE)}", "1" * 64),
        (newer, f"{MIRROR}/cu126/{quote(newer)}", None),
        (older, f"https://elsewhere.example/{quote(older)}", None),
        (plain, f"{MIRROR}/cu126/torchvision/{quote(plain)}", None),
    ]


def test_the_wheel_host_may_lead_to_another_of_its_names(asked: list[str]) -> None:
    found = read(picked())["torchvision"]

    assert asked == ["https://download.pytorch.org/whl/cu126/torchvision/"]
    assert [url.split("/")[2] for url in found][:3] == [
        "download.pytorch.org", "download-r2.pytorch.org", "elsewhere.example",
    ]  # fmt: skip


def test_offline_and_on_a_flat_page_nothing_is_read(asked: list[str]) -> None:
    assert read(picked(), offline=True) == {}
    assert read(picked(f"flat+{MIRROR}/all.html")) == {}
    assert asked == []


def test_a_host_that_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def fetch(url: str, *_: object) -> pages.Page:
        seen.append(url)
        raise NetworkError("no answer", hint="try again")

    monkeypatch.setattr(pages, "fetch", fetch)

    assert wheelfiles.companions_on_pages(picked(), {"torchvision": "1", "torchaudio": "2"}, offline=False) == {}
    assert len(seen) == 1


def test_a_member_that_was_judged_is_the_wheel_hosts_own_build_of_that_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built = {"xformers": ["0.0.35+cu126", "0.0.34+cu126", "0.0.36+cu126"], "torchtext": ["0.19.0+cu126"]}

    def fetch(url: str, *_: object) -> pages.Page:
        name = url.rstrip("/").rpartition("/")[2]
        body = "".join(f'<a href="{quote(f"{name}-{each}-{TAG}.whl")}">x</a>' for each in built.get(name, []))
        return pages.Page(url, listing.parse(body.encode(), url))

    monkeypatch.setattr(pages, "fetch", fetch)
    job = test_commands.job(Given(("torch", "xformers")), offline=False)
    job = job._replace(related={"xformers": "0.0.35", "torchtext": "0.18.0"})

    found = wheelfiles.addresses(job, PLATFORM, {"PIP_NO_INDEX": "1"})

    file = quote(f"xformers-0.0.35+cu126-{TAG}.whl")
    assert found["xformers"] == f"https://download.pytorch.org/whl/cu126/xformers/{file}"
    assert "torchtext" not in found

    there = job.target._replace(installed={"xformers": "0.0.35+cu126"})
    assert "xformers" not in wheelfiles.addresses(job._replace(target=there), PLATFORM, {"PIP_NO_INDEX": "1"})
