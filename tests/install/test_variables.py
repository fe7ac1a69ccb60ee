from __future__ import annotations

import shlex

import pytest

from torchpick import api
from torchpick.environment import shell
from torchpick.environment.toolsettings import Setting, UvFile
from torchpick.install.env import Variables, file_url, variables_of
from torchpick.install.files import Wheel
from torchpick.install.installers import resolution_options
from torchpick.install.question import pick_build
from torchpick.install.user_settings import UserSettings
from torchpick.model.address import Address
from torchpick.model.pick import Request
from torchpick.run import start_run

PICK = api.pick(gpus=["sm_61", "sm_86"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")

HASH = "0" * 64
FILES = {
    "torch": "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl",
    "torchvision": "torchvision-0.29.1+cu126-py3-none-manylinux_2_28_x86_64.whl",
    "torchaudio": "torchaudio-2.11.0+cu126-cp312-cp312-manylinux_2_28_x86_64.whl",
}
READ = {
    name: [Wheel(name, file, Address(f"https://files.example/{file.replace('+', '%2B')}"), HASH)]
    for name, file in FILES.items()
}


def made(**own: object) -> dict[str, str]:
    return dict(variables_of(PICK, "/cache", UserSettings(**own), READ).set)  # type: ignore[arg-type]


def texts(found: Variables) -> dict[str, str]:
    """The content of each file, by the address that a variable has for it."""
    return {file_url(each.path): each.content for each in found.files}


def test_the_default_indexs_own_torch_is_held_by_its_version_alone() -> None:
    request = Request(gpus=("sm_86",), driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")
    pick = pick_build(start_run(request._replace(backends=("default",)), {}))
    links = Setting("find-links", ("https://own/links",), "pip.conf")

    found = variables_of(pick, "/cache", UserSettings(pip={"find-links": links}))

    (limits,) = found.files
    assert limits.content == "torch===2.15.0\ntorchvision===0.29.2\n"
    # The user's own links are in their settings already, and stay there.
    assert {name for name in found.set if name.startswith(("PIP_", "UV_"))} == {"PIP_CONSTRAINT", "UV_CONSTRAINT"}
    assert found.unset == ()


SETTINGS = {
    "pip's cooldown": {"pip": {"uploaded-prior-to": Setting("uploaded-prior-to", ("P3D",), "x")}},
    "pip's index": {"pip": {"index-url": Setting("index-url", ("https://own/x",), "x")}},
    "uv's default index": {"environ": {"UV_DEFAULT_INDEX": "https://own/x"}},
    "pip's extra index": {"pip": {"extra-index-url": Setting("extra-index-url", ("https://own/x",), "x")}},
    "pip's links": {"pip": {"find-links": Setting("find-links", ("https://own/x",), "x")}},
    "uv's index": {"environ": {"UV_INDEX": "https://own/x"}},
    "uv's links": {"environ": {"UV_FIND_LINKS": "https://own/x"}},
    "uv's file": {"uv_files": (UvFile("uv.toml", {"find-links": ["https://own/x"]}),)},
}


@pytest.mark.parametrize("own", SETTINGS.values(), ids=SETTINGS)
def test_beside_several_places_both_are_given_the_very_files(own: dict[str, object]) -> None:
    """Pip rejects a page without dates, and another place may have the very version."""
    found = variables_of(PICK, "/cache", UserSettings(**own), READ)  # type: ignore[arg-type]

    lines = [f"{name} @ {READ[name][0].url}#sha256={HASH}" for name in ("torch", "torchvision", "torchaudio")]
    assert texts(found)[found.set["PIP_CONSTRAINT"]].splitlines() == lines
    assert found.set["UV_CONSTRAINT"] == found.set["PIP_CONSTRAINT"]
    assert found.notes == ()
    unread = variables_of(PICK, "/cache", UserSettings(**own))  # type: ignore[arg-type]
    assert [note.code for note in unread.notes] == ["OTHER_PLACES"]


def test_the_users_words_stay_and_ours_of_an_earlier_time_go() -> None:
    said = {
        "find-links": Setting("find-links", ("/opt/wheels", "https://download.pytorch.org/whl/torch_stable.html"), "x"),
        "constraint": Setting("constraint", ("own.txt", "file:///cache/constraints-0.txt"), "x"),
    }
    found = made(pip=said, environ={"UV_CONSTRAINT": "own.txt file:///cache/constraints-0.txt"})

    assert found["PIP_FIND_LINKS"].split()[1:] == [*said["find-links"].words]
    assert found["PIP_CONSTRAINT"].split()[1:] == ["own.txt"]
    assert found["UV_CONSTRAINT"].split()[1:] == ["own.txt"]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("fish", ["set -e B", r"set -gx A 'it\'s \\n'"]),
        ("powershell", ["Remove-Item -ErrorAction Ignore Env:B", r"$env:A = 'it''s \n'"]),
        ("github", ["B=", r"A=it's \n"]),
        ("dockerfile", ["ENV B=", 'ENV A="it\'s \\\\n"']),
    ],
)
def test_each_shell_has_its_own_words(name: str, lines: list[str]) -> None:
    assert shell.variables(name, {"A": r"it's \n"}, ("B",), {}).splitlines() == lines


def test_files_go_where_an_image_has_them() -> None:
    there = variables_of(PICK, "/opt/torchpick", UserSettings(), READ)

    names = [each.path.rpartition("/")[2] for each in there.files]
    assert [each.path for each in there.files] == [f"/opt/torchpick/{name}" for name in names]
    assert there.set["UV_FIND_LINKS"] == there.set["PIP_FIND_LINKS"] == f"file:///opt/torchpick/{names[0]}"
    assert there.set["UV_CONSTRAINT"] == there.set["PIP_CONSTRAINT"] == f"file:///opt/torchpick/{names[1]}"
    assert there.to_dict() == {
        "set": dict(there.set),
        "unset": [],
        "files": {each.path: each.content for each in there.files},
    }


def test_files_for_another_python_are_not_named() -> None:
    """A constraint is for one environment; the page is for all of them."""
    other = READ["torchaudio"][0]._replace(file="torchaudio-2.11.0+cu126-cp313-cp313-manylinux_2_28_x86_64.whl")
    own = UserSettings(pip={"extra-index-url": Setting("extra-index-url", ("https://own/x",), "x")})

    found = variables_of(PICK, "/cache", own, {**READ, "torchaudio": [other, *READ["torchaudio"]]})
    alone = variables_of(PICK, "/cache", own, {**READ, "torchaudio": [other]})

    assert f"torchaudio @ {READ['torchaudio'][0].url}#" in texts(found)[found.set["PIP_CONSTRAINT"]]
    limits = texts(alone)[alone.set["PIP_CONSTRAINT"]]
    assert "torchaudio==2.11.0+cu126\n" in limits
    assert "torch @" in limits


def test_a_command_line_with_its_environment() -> None:
    line = shell.command(["uv", "a b"], {"X": "1 2"}, ["Y"], "sh")

    assert shlex.split(line) == ["env", "-u", "Y", "X=1 2", "uv", "a b"]
    assert shell.command(["uv"], {}, (), "sh") == "uv"


def test_what_is_passed_on_and_matters_to_a_resolution() -> None:
    words = (
        "--no-cache",
        "--index",
        "https://a",
        "--link-mode",
        "copy",
        "-ihttps://x",
        "--index-strategy=unsafe",
        "-n",
    )

    assert resolution_options(words) == ["--no-cache", "--index", "https://a", "--index-strategy=unsafe", "-n"]
