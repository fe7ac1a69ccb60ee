"""Whether a file comes from where it must come from, and what a person is told of its place."""

from __future__ import annotations

import pytest

from tests.installers import test_commands
from torchpick.environment.requirements import Given
from torchpick.errors import InstallerError
from torchpick.install import proof
from torchpick.installers.jobs import Job
from torchpick.installers.reporting import Item

HOST = "https://download.pytorch.org/whl/cu126"
MIRROR = "https://me:secret@mirror.example:8443/whl/cu126"
FAMILY = ("torch", "torchvision", "xformers")


@pytest.mark.parametrize(
    ("url", "index", "there"),
    [
        ("https://download-r2.pytorch.org/whl/cu126/t.whl", MIRROR, True),
        ("https://mirror.example:8443/other/t.whl", MIRROR, True),
        ("https://you@mirror.example:8443/t.whl", f"flat+{MIRROR}/all.html", True),
        ("http://mirror.example:8443/t.whl", MIRROR, False),
        ("https://mirror.example/t.whl", MIRROR, False),
        ("https://mirror.example.evil.example:8443/t.whl", MIRROR, False),
        ("https://pytorch.org.evil.example/whl/cu126/t.whl", HOST, False),
        ("file:///srv/whl/t.whl", "file:///srv/whl", True),
        ("file:///srv/whl/t.whl", HOST, False),
        ("https://[::1/t.whl", MIRROR, False),
        ("./t.whl", "", False),
    ],
)
def test_a_file_is_the_wheel_hosts_or_of_the_very_mirror(url: str, index: str, *, there: bool) -> None:
    assert proof.is_from(url, index) is there


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://me:secret@mirror.example:8443/a/b.whl", "mirror.example"),
        ("file:///srv/wheels/b.whl", "/srv/wheels"),
        ("/srv/wheels/b.whl", "/srv/wheels"),
        ("git+ssh://git@forge.example/b", "forge.example"),
        ("data:b", "data:b"),
    ],
)
def test_of_an_address_the_host_is_said_or_the_folder(url: str, said: str) -> None:
    assert proof.host_of(url) == said


def job(*words: str) -> Job:
    return test_commands.job(Given(words))


TORCH = Item("torch", "2.14.1+cu126", "https://evil.example/torch.whl#sha256=1")
NUMPY = Item("numpy", "9999", f"{HOST}/numpy.whl")


def test_each_file_that_comes_from_the_wrong_place_is_refused() -> None:
    for item, why in ((TORCH, f"only {HOST} may supply it"), (NUMPY, "nothing but torch's family")):
        with pytest.raises(InstallerError, match=why) as caught:
            proof.check((TORCH._replace(name="other"), item), job("torch"), FAMILY)
        assert caught.value.code == "WRONG_HOST"


def test_what_the_user_or_the_job_names_may_come_from_there() -> None:
    named = job("torch")._replace(files={"torch": "https://evil.example/torch.whl"})
    given = job("torch @ https://evil.example/torch.whl", f"numpy @ {HOST}/numpy.whl")

    proof.check((TORCH,), named, FAMILY)
    proof.check((TORCH, NUMPY), given, FAMILY)
    for name in ("xformers", "triton"):
        proof.check((NUMPY._replace(name=name),), job("torch"), FAMILY)


def test_the_note_names_every_host_once_with_what_comes_from_it() -> None:
    taken = (
        Item("numpy", "2.0", "https://user.example/numpy.whl"),
        Item("torch", "1", "https://user.example/t.whl"),
        Item("here", "1", "t.whl"),
    )
    files = {"triton": "https://download-r2.pytorch.org/whl/triton.whl"}

    found = proof.note(job("torch", "torchvision @ https://x.example/t.whl")._replace(taken=taken, files=files))

    assert found.code == "HOSTS_CHECKED"
    assert found.text == (
        "checked before the start: triton from download-r2.pytorch.org; torch from download.pytorch.org; "
        "numpy from user.example"
    )
