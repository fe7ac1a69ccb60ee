"""What a run takes, leaves and brings again, by what is asked for and what is there; and what a shell is handed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import torchpick
from tests.install.jobs import PICK, TARGET, job
from torchpick.environment.requirements import RequirementArgs
from torchpick.environment.toolsettings import Setting
from torchpick.index import wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.install.env import variables_of
from torchpick.install.installers import UvInstaller, choose_installer, resolution_options
from torchpick.install.job import Job, constraints_file, requirement_words
from torchpick.install.user_settings import UserSettings
from torchpick.model.address import Address
from torchpick.model.build import VendorIndex

PLAIN = torchpick.pick(
    gpus=["sm_86"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35", backends=["default"]
)
BOTH = RequirementArgs(("torch", "torchvision"))


def there(given: RequirementArgs | None = None, installed: Mapping[str, str] = {}, **more: Any) -> Job:
    return job(given, target=TARGET._replace(installed=installed), **more)


@pytest.mark.parametrize(
    "word", ["--force-reinstall", "--reinstall", "--reinstall-package=a", "--ignore-installed", "-I"]
)
def test_what_is_there_is_not_fetched_again_unless_somebody_says_so(word: str) -> None:
    built = there(installed={"torch": "2.14.1+cu126"})

    assert built.keeps_installed("torch")
    assert not built.keeps_installed("torchvision")
    assert not built._replace(passed_on=("-v", word)).keeps_installed("torch")


def test_companions_of_another_build_move_with_torch_alone() -> None:
    others = {"torchvision": "0.29.1+cu130", "torchaudio": "2.11.0+cu126"}

    assert there(installed=others).companions_to_move == ["torchvision"]
    assert there(installed=others).family_to_install == ["torch", "torchvision"]
    assert requirement_words(there(installed=others)) == ["torch==2.14.1+cu126", "torchvision==0.29.1+cu126"]
    assert there(RequirementArgs(("numpy",)), others, needs=frozenset({"torch"})).companions_to_move == ["torchvision"]
    for stays in (
        there(RequirementArgs(("numpy",)), others),
        there(BOTH, others),
        there(installed=others, releases=">=2"),
    ):
        assert stays.companions_to_move == []


def test_of_the_very_version_another_build_is_installed_again_where_no_label_tells_it() -> None:
    pins = PLAIN.build.pins

    def again(torch: str, vision: str, cuda: str | None = PLAIN.build.cuda) -> list[str]:
        installed = {"torch": torch, "torchvision": vision}
        return there(BOTH, installed, pick=PLAIN, cuda_installed=cuda).family_to_reinstall

    assert again(pins["torch"], pins["torchvision"]) == []
    assert again(pins["torch"], pins["torchvision"], "9.9") == ["torch"]
    assert again(f"{pins['torch']}+cpu", f"{pins['torchvision']}+cpu") == ["torch", "torchvision"]
    assert again("2.0.0", "0.15.0") == []
    assert there(BOTH, {"torch": "2.14.1+cu130"}).family_to_reinstall == []


@pytest.mark.parametrize(
    ("given", "more", "says"),
    [
        (RequirementArgs(("torch",)), {}, False), (RequirementArgs(("a @ https://h/a-1-py3-none-any.WHL",)), {}, False),
        (RequirementArgs(("./lib",)), {}, True), (RequirementArgs(("torch",), editables=(".",)), {}, True),
        (RequirementArgs(("torch",), files=("setup.py",)), {}, True), (RequirementArgs(groups=()), {}, False),
    ],
)  # fmt: skip
def test_uv_is_kept_from_a_projects_own_sources_where_one_is_read(
    given: RequirementArgs, more: Mapping[str, Any], says: bool
) -> None:
    words = UvInstaller("/uv").command(there(given, **more)).argv

    kept = [words[place + 1] for place, word in enumerate(words) if word == "--no-sources-package"]
    assert kept[:1] == (["torch"] if says else [])
    assert ("triton" in kept) is says
    grouped = there(given)._replace(
        requirements=there(given).requirements._replace(given=RequirementArgs(groups=("g",)))
    )
    assert grouped.may_have_sources


def test_what_the_user_names_by_a_place_is_bound_by_nothing_of_ours() -> None:
    own = "torchvision @ https://own.example/torchvision-0.29.1-cp312-cp312-linux_x86_64.whl"
    made = there(RequirementArgs(("torch", own, "numpy")), pins={"numpy": "2.0", "torchao": "0.17.0"})

    (text,) = constraints_file(made).values()

    lines = text.splitlines()
    assert [line for line in lines if not line.startswith("torchaudio")] == [
        "numpy==2.0", "torchao==0.17.0", "torch==2.14.1+cu126",
    ]  # fmt: skip
    assert requirement_words(made) == ["torch==2.14.1+cu126", own, "numpy"]
    assert [*constraints_file(made._replace(releases=">=2.9,<=2.10")).values()] == ["torch>=2.9,<=2.10\n"]


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
        "--pre", "-C=a", "--pre",
    ]  # fmt: skip


OWN = Setting("index-url", ("https://own.example",), "/etc/pip.conf")
WHEELS = OWN._replace(words=("https://download.pytorch.org/whl/cu126",))
PIP, BY_UV = {"installed": {"pip": "26.3"}}, {"installed": {"pip": "26.3"}, "by_uv": True}
OF_PIP, OF_UV = {"pip": {"index-url": OWN}}, {"UV_INDEX": OWN.words[0]}


@pytest.mark.parametrize(
    ("target", "settings", "expected"),
    [
        (PIP, {}, "pip"), ({}, {}, "uv"), (BY_UV, {}, "uv"), (PIP, OF_PIP, "pip"),
        (BY_UV, OF_PIP, "pip PIP_FOR_ITS_SETTINGS"), ({"by_uv": True}, {"pip": {"index-url": WHEELS}}, "uv"),
        (BY_UV, {**OF_PIP, "of_folder": ("/etc/pip.conf",)}, "uv"), (BY_UV, {**OF_PIP, "environ": OF_UV}, "uv"),
        (PIP, {"environ": OF_UV}, "uv"), (PIP, {"environ": {"UV_INDEX": WHEELS.words[0]}}, "pip"),
    ],
)  # fmt: skip
def test_the_installer_that_reads_the_users_index_is_used(
    target: Mapping[str, Any], settings: Mapping[str, Any], expected: str
) -> None:
    chosen = choose_installer("auto", TARGET._replace(**target), "/uv", UserSettings(**settings))

    assert " ".join((chosen.name, *(note.code for note in chosen.notes))) == expected


def wheel(name: str, version: str) -> ProjectFile:
    file = f"{name}-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
    parsed = wheelnames.parse(file)
    assert parsed is not None
    return ProjectFile(file, Address(f"https://h.example/{file.replace('+', '%2B')}"), parsed, "a" * 64)


FILES = {"torch": (wheel("torch", "2.14.1+cu126"),), "triton": (wheel("triton", "3.8.0"),)}
LINKS = Setting("find-links", ("/srv",), "pip.conf")
PIPS = ("index-url", "extra-index-url", "find-links", "uploaded-prior-to")
UVS = ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")


@pytest.mark.parametrize(
    ("settings", "exact"),
    [
        (UserSettings(), False), (UserSettings(pip={"timeout": Setting("timeout", ("5",), "")}), False),
        *((UserSettings(pip={name: LINKS._replace(name=name)}), True) for name in PIPS),
        *((UserSettings({name: "https://h"}), True) for name in UVS),
        *((UserSettings(uv_files=(("uv.toml", {"index": [{"url": "h", "default": own}]}),)), True) for own in (0, 1)),
        (UserSettings(pip={"find-links": LINKS._replace(words=("/store/links-1.html", "file:///old/x"))}), False),
    ],
)  # fmt: skip
def test_where_another_place_may_have_that_version_the_very_file_is_named(settings: UserSettings, exact: bool) -> None:
    made = variables_of(PICK, "/store", settings, FILES, ("/old",))

    (limits,) = (text for path, text in made.files.items() if "constraints" in path)
    assert (f"torch @ {FILES['torch'][0].with_hash}" in limits) is exact
    assert ("torch==2.14.1+cu126" in limits) is not exact
    assert ("triton" in limits) is exact


def test_of_the_users_own_links_and_limits_those_stay_that_no_earlier_run_wrote() -> None:
    pip = {
        "find-links": LINKS._replace(words=("/srv", "/old/links.html")),
        "constraint": LINKS._replace(words=("/old/c.txt", "c.txt")),
    }
    environ = {"UV_FIND_LINKS": "/store/x.html, /srv b", "UV_CONSTRAINT": "/old/c.txt d.txt"}

    made = variables_of(PLAIN, "/store", UserSettings(environ, pip), {}, ("/old",))
    gone = variables_of(
        PLAIN,
        "/store",
        UserSettings({"UV_FIND_LINKS": "/store/x"}, {"find-links": LINKS._replace(words=("/old/x",))}),
        {},
        ("/old",),
    )

    assert [made.set[name].split()[1:] for name in ("PIP_CONSTRAINT", "UV_CONSTRAINT")] == [["c.txt"], ["d.txt"]]
    assert (made.set["PIP_FIND_LINKS"], made.set["UV_FIND_LINKS"], made.unset) == ("/srv", " /srv b", ())
    assert (gone.set["PIP_FIND_LINKS"], gone.unset) == (" ", ("UV_FIND_LINKS",))
