"""What a run takes, leaves and brings again, by what is asked for and what is there; and what a shell is handed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import torchpick
from tests.install.jobs import PICK, TARGET, job
from torchpick.environment.requirements import RequirementArgs
from torchpick.install.installers import PipInstaller, UvInstaller, resolution_options
from torchpick.install.job import Job, constraints_file, job_notes
from torchpick.model.build import VendorIndex

PLAIN = torchpick.pick(
    gpus=["sm_86"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35", backends=["default"]
)
BOTH = RequirementArgs(("torch", "torchvision"))


def there(given: RequirementArgs | None = None, installed: Mapping[str, str] = {}, **more: Any) -> Job:
    return job(given, target=TARGET._replace(installed=installed), **more)


def test_of_the_very_version_another_build_is_installed_again_where_no_label_tells_it() -> None:
    pins = PLAIN.build.pins

    def again(torch: str, vision: str, cuda: str | None = PLAIN.build.cuda) -> list[str]:
        installed = {"torch": torch, "torchvision": vision}
        return there(BOTH, installed, pick=PLAIN, cuda_installed=cuda).family_to_reinstall

    assert again(pins["torch"], pins["torchvision"]) == []
    assert again(pins["torch"], pins["torchvision"], "9.9") == ["torch"]
    assert again(f"{pins['torch']}+cpu", f"{pins['torchvision']}+cpu") == ["torch", "torchvision"]
    assert again("2.0.0", "0.15.0") == []
    other = there(BOTH, {"torch": f"{pins['torch']}+cpu"}, pick=PLAIN)
    assert "--force-reinstall" in PipInstaller(("pip",), "26.0").command(other).argv
    assert not there(BOTH, {"torch": pins["torch"]}, pick=PLAIN, cuda_installed="9.9").keeps_installed("torch")
    assert there(BOTH, {"torch": "2.14.1+cu130"}).family_to_reinstall == []


def test_what_is_there_stays_unless_it_is_asked_for_again_or_would_break() -> None:
    here = there(installed={"torch": PICK.version, "torchvision": "0.20.0"})
    again = ("--force-reinstall", "--reinstall", "--reinstall-package=torch", "--ignore-installed", "-I", "-v")
    assert [here._replace(passed_on=(word,)).keeps_installed("torch") for word in again] == [False] * 5 + [True]

    (torch,) = here.requirements.wanted
    hashed = here._replace(requirements=here.requirements._replace(wanted=(torch._replace(hashed=True),)))
    named = there(BOTH, {"torchvision": "0.20.0"})
    assert [one.companions_to_move for one in (here, hashed, named)] == [["torchvision"], [], []]

    placed = job(RequirementArgs(("torch @ https://own.example/torch-2.9.1-py3-none-any.whl",)))
    assert [("torch==" in "".join(constraints_file(one).values())) for one in (here, placed)] == [True, False]

    few = PICK._replace(verdicts=(PICK.verdicts[0]._replace(build=PICK.build._replace(companions={})),))
    old = {"torch": "2.9.1", "torchaudio": "2.9.1"}
    same = {**old, "torch": PICK.version}
    jobs = [there(None, old, pick=few), there(None, same, pick=few), there(RequirementArgs(("mylib",)), old, pick=few)]
    assert [[note.code for note in job_notes(one)] for one in jobs] == [["COMPANION_STAYS"], [], []]


@pytest.mark.parametrize(
    ("words", "more", "after"),
    [
        (("torch",), {}, False), (("torch", "numpy"), {}, True), (("torch",), {"added": ("numpy==2",)}, True),
        (("torch", "torchvision @ https://own.example/torchvision-1-py3-none-any.whl"), {}, True),
    ],
)  # fmt: skip
def test_a_vendors_index_supplies_the_family_before_all_else(
    words: tuple[str, ...], more: Mapping[str, Any], after: bool
) -> None:
    vendor = VendorIndex("AMD", "https://v.example/whl", "--index-url", alone=True)
    verdicts = tuple(each._replace(build=each.build._replace(vendor=vendor)) for each in PICK.verdicts)
    asked = there(RequirementArgs(words), pick=PICK._replace(verdicts=verdicts), **more)

    command = UvInstaller("/uv").command(asked)
    of_file = asked.requirements.wanted[0]._replace(where="r.txt line 1")
    listed = asked._replace(requirements=asked.requirements._replace(wanted=(of_file,)))

    assert UvInstaller("/uv").command(listed).before is not None
    assert (command.before is not None) is after
    first = command.before or command
    assert (first.argv[7], first.argv[-1]) == (vendor.url, "torch==2.14.1+cu126")
    assert asked._replace(releases=">=2").from_vendor == []


def test_what_of_an_installation_matters_to_a_resolution() -> None:
    valued = (
        "--index", "--default-index", "--index-url", "-i", "--extra-index-url", "--find-links", "-f",
        "--index-strategy", "--keyring-provider", "--prerelease", "--resolution", "--exclude-newer",
        "--exclude-newer-package", "--no-binary", "--only-binary", "--allow-insecure-host", "--cert",
        "--config-setting", "-C", "--cache-dir",
    )  # fmt: skip
    switches = (
        "--no-index", "--no-build", "--pre", "--system-certs", "--native-tls", "--no-sources", "--no-build-isolation",
        "--no-cache", "-n",
    )  # fmt: skip
    words = [part for name in valued for part in (name, "-x=1")]

    assert resolution_options((*words, *switches)) == [*words, *switches]
    assert resolution_options(("--link-mode", "--pre", "--target", "x", "-v", "-C=a", "--target", "--pre")) == [
        "--pre", "-C", "a", "--pre",
    ]  # fmt: skip
