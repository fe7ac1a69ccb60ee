"""What uv is told of an environment elsewhere, and what neither it nor pip hears where a vendor supplies torch."""

from __future__ import annotations

import pytest

from tests.install.jobs import PICK, job
from torchpick.environment.requirements import RequirementArgs
from torchpick.environment.toolsettings import Setting
from torchpick.errors import InstallerError, UsageError
from torchpick.install.env import variables_of
from torchpick.install.installers import PipInstaller, UvInstaller, uv_platform
from torchpick.install.user_settings import UserSettings
from torchpick.model.build import VendorIndex
from torchpick.model.machine import Platform

NAMES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
ELSEWHERE: dict[str, str] = dict.fromkeys((*NAMES, "UV_DEFAULT_INDEX", "UV_INDEX_URL"), "https://evil.example/simple")


def test_where_a_vendor_supplies_torch_no_place_of_the_users_is_beside_its_index() -> None:
    vendor = VendorIndex("AMD", "https://v.example/whl", "--index-url", alone=True)
    verdicts = tuple(each._replace(build=each.build._replace(vendor=vendor)) for each in PICK.verdicts)
    asked = job(pick=PICK._replace(verdicts=verdicts), needs=frozenset({"torch"}))

    pip, uv = PipInstaller(("pip",), "26.0").command(asked), UvInstaller("/uv").command(asked)

    heard = {name for name, value in pip.environ(ELSEWHERE).items() if name.startswith("PIP_") and value.strip()}
    assert heard == {"PIP_INDEX_URL"}  # which the option hides
    assert pip.argv[1:4] == ("install", "--index-url", vendor.url)
    heard = {name for name in uv.environ(ELSEWHERE) if name.startswith("UV_")}
    assert heard == {"UV_DEFAULT_INDEX", "UV_INDEX_URL"}
    assert ("--no-config", "--default-index", vendor.url) == (uv.argv[3], *uv.argv[6:8])


def test_what_a_variable_of_the_users_names_stays_in_it_as_it_may_hold_a_password() -> None:
    """The process list is everybody's to read."""
    secret = "https://me:secret@mirror.example/"
    settings = UserSettings(environ={"UV_FIND_LINKS": f"{secret}links", "UV_CONSTRAINT": f"{secret}limits.txt"})
    asked = job(settings=settings)
    asked = asked._replace(requirements=asked.requirements._replace(given=RequirementArgs(constraints=("a b.txt",))))

    for case in (asked, asked._replace(pages=("/a,b",))):
        for command in (UvInstaller("/uv").command(case), UvInstaller("/uv").reporter(case)):
            assert "secret" not in " ".join(command.argv)
            environ = command.environ(settings.environ)
            assert environ["UV_FIND_LINKS"].split(",") == [*["file:///a%2Cb"][: len(case.pages)], f"{secret}links"]
            limits = environ["UV_CONSTRAINT"].split()
            assert [part.rpartition("/")[2] for part in limits[1:]] == ["a%20b.txt", "limits.txt"]
            assert "-c" not in command.argv


def test_what_an_earlier_pick_wrote_is_hidden_by_a_blank_and_the_users_own_stays() -> None:
    """An empty variable would let the configuration file speak again."""
    ours, own = "/store/constraints-1.txt", "/srv/own.txt"

    def said(*words: str) -> tuple[object, object]:
        pip = {name: Setting(name, words, "pip.conf") for name in ("constraint", "find-links")}
        installs = PipInstaller(("pip",), "26.0").command(job(settings=UserSettings(pip=pip)))
        hands_over = variables_of(default, "/store", UserSettings({"UV_FIND_LINKS": ",".join(words)}, pip))
        assert hands_over.unset == (("UV_FIND_LINKS",) if words == (ours,) else ())
        return installs.set.get("PIP_CONSTRAINT"), hands_over.set.get("PIP_FIND_LINKS")

    # A build of the default index, which no page of ours has.
    first = PICK.verdicts[0]._replace(build=PICK.build._replace(backend="default"))
    default = PICK._replace(verdicts=(first,))
    assert [said(), said(own), said(ours), said(ours, own)] == [
        (None, None), (None, None), (" ", " "), (own, own),
    ]  # fmt: skip


def test_pip_takes_pre_releases_where_development_builds_are_asked_for() -> None:
    picks = [PICK._replace(wish=PICK.wish._replace(channel=channel)) for channel in ("stable", "nightly", "test")]

    argv = [PipInstaller(("pip",), "26.0").command(job(pick=pick)).argv for pick in picks]

    assert ["--pre" in words for words in argv] == [False, True, True]


def test_pip_is_asked_what_it_can_answer() -> None:
    """An old one downloads every wheel for a lock; one that is only asked for torch's releases has no cooldown."""
    old, asked = PipInstaller(("pip",), "25.2"), job(releases=">=2", for_lock=True)
    assert (old.reporter(asked).unset, old.command(job()).unset) == (("PIP_UPLOADED_PRIOR_TO",), ())
    with pytest.raises(InstallerError, match=r"the pip to lock with is 25\.2, and torchpick needs 25\.3"):
        old.reporter(job(for_lock=True))
    limits = Setting("constraint", ("https://own.example/c.txt",), "pip.conf")
    remote = job(settings=UserSettings(pip={"constraint": limits}))
    assert old.command(remote).set == {}
    with pytest.raises(UsageError, match="is not on this computer"):
        old.command(remote._replace(offline=True))


@pytest.mark.parametrize(
    ("glibc", "known"), [("2.28", "2_28"), ("2.30", "2_28"), ("2.41", "2_40"), ("2.12", "2_17"), (None, "2_28")]
)
def test_uv_hears_the_newest_glibc_that_it_knows(glibc: str | None, known: str) -> None:
    machine = PICK.machine._replace(platform=Platform("linux", "aarch64", glibc))

    assert uv_platform(machine) == f"aarch64-manylinux_{known}"


def test_uv_hears_every_other_platform_as_rust_calls_it() -> None:
    names = ("windows-x86_64", "windows-arm64", "macos-x86_64", "macos-arm64")
    heard = [uv_platform(PICK.machine._replace(platform=Platform.parse(name))) for name in names]

    assert heard == [
        "x86_64-pc-windows-msvc", "aarch64-pc-windows-msvc", "x86_64-apple-darwin", "aarch64-apple-darwin",
    ]  # fmt: skip
