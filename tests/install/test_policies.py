"""What binds the choice of files: who says it, in what order, and for which projects."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from torchpick.environment import requirements
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import UsageError
from torchpick.install.policies import Policies, read_policies
from torchpick.install.user_settings import read_user_settings


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


def read(
    *words: str, environ: Mapping[str, str] | None = None, installer: str | None = None, lines: str = ""
) -> Policies:
    """By an environment without settings of its own, and a requirements file with these lines."""
    Path("requirements.txt").write_text(lines, "utf-8")
    environ = {"XDG_CONFIG_DIRS": "/nonexistent", **(environ or {})}
    own = read_user_settings(environ, "/nonexistent/env")
    asked = requirements.read_requirements(RequirementArgs(files=("requirements.txt",)), environ)
    return read_policies(own, installer, asked, words)


def formats(found: Policies, *projects: str) -> list[str]:
    """Of each project whether it comes as a wheel alone, as its source alone, or as it is."""
    return [
        "wheel" if found.wheels_alone(project) else "source" if found.sources_alone(project) else "any"
        for project in projects
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--only-binary", ":all:"), ["wheel", "wheel"]), (("--only-binary", "a_lamp,b"), ["wheel", "wheel"]),
        (("--only-binary", ":all:", "--no-binary", "a-lamp"), ["source", "wheel"]),
        (("--no-binary", "a-lamp", "--only-binary", ":all:"), ["wheel", "wheel"]),
        (("--no-binary", ":all:", "--only-binary=A.Lamp"), ["wheel", "source"]),
        (("--only-binary", ":all:", "--only-binary", ":none:"), ["any", "any"]),
        (("--only-binary", "a-lamp", "--no-binary", "a-lamp"), ["source", "any"]),
        (("--no-binary", ":all:", "--no-binary", ":none:"), ["any", "any"]),
        (("--only-binary", "a-lamp", "--no-binary", ":all:"), ["source", "source"]),
        (("--no-build-package", "A.Lamp", "--no-binary-package", "b"), ["wheel", "source"]),
        (("--no-build",), ["wheel", "wheel"]), (("--verbose", "--quiet"), ["any", "any"]),
    ],
)  # fmt: skip
def test_wheels_and_sources_are_told_apart_as_pip_does(words: tuple[str, ...], expected: list[str]) -> None:
    assert formats(read(*words), "a-lamp", "b") == expected


def test_uv_reads_its_files_and_pip_its_own(here: Path) -> None:
    (here / "uv.toml").write_text(
        'prerelease = "allow"\nno-build-package = ["a"]\nexclude-newer-package = { b = "2026-01-01T00:00:00Z" }\n'
        'override-dependencies = ["numpy<2"]\n[pip]\nno-deps = true\nno-binary = ["c"]\n',
        "utf-8",
    )
    (here / "pip.conf").write_text("[install]\npre = true\n", "utf-8")

    uv = read(installer="uv")
    pip = read(installer="pip", environ={"PIP_CONFIG_FILE": str(here / "pip.conf")})

    assert uv.pre == f"prerelease in {here / 'uv.toml'}"
    assert formats(uv, "a", "b", "c") == ["wheel", "any", "source"]
    assert uv.rules("b").uploaded_before == "2026-01-01T00:00:00Z"
    assert uv.rules("a").uploaded_before is None
    assert uv.no_deps
    assert [each.text for each in uv.overrides] == ["numpy<2"]
    assert pip.pre == f"pre in {here / 'pip.conf'}"
    assert not pip.overrides


VARIABLES = {
    "PIP_PRE": "1", "PIP_NO_DEPS": "y", "PIP_UPLOADED_PRIOR_TO": "2026-02-01T00:00:00+01:00",
    "UV_PRERELEASE": "allow", "UV_EXCLUDE_NEWER": "2026-03-01T00:00:00z",
}  # fmt: skip
OF_PIP = ("pre in PIP_PRE", "no-deps in PIP_NO_DEPS", "2026-01-31T23:00:00Z")
OF_UV = ("prerelease in UV_PRERELEASE", "", "2026-03-01T00:00:00Z")


@pytest.mark.parametrize(
    ("installer", "expected"), [("pip", OF_PIP), ("uv", OF_UV), (None, (OF_UV[0], OF_PIP[1], OF_UV[2]))]
)
def test_variables_count_for_the_installer_that_reads_them(installer: str | None, expected: tuple[str, ...]) -> None:
    found = read(installer=installer, environ=VARIABLES)

    assert (found.pre, found.no_deps, found.cooldown("a")[0]) == expected


@pytest.mark.parametrize(
    ("words", "environ", "lines", "pre"),
    [
        (("--all-releases", ":all:"), {}, "", "`--all-releases :all:`"), (("--all-releases", "a"), {}, "", ""),
        (("--pre", "--all-releases", "a"), {}, "", "`--pre`"), (("--pre", "--prerelease", "if-necessary"), {}, "", ""),
        (("--prerelease=allow",), {}, "", "`--prerelease allow`"), ((), {"PIP_PRE": "0"}, "", ""),
        ((), {"PIP_ALL_RELEASES": ":all:"}, "", "all-releases in PIP_ALL_RELEASES"),
        ((), {}, "--pre\n", "pre in {} line 1"), ((), {}, "a\n--all-releases :all:\n", "all-releases in {} line 2"),
    ],
)  # fmt: skip
def test_who_takes_pre_releases(
    words: tuple[str, ...], environ: dict[str, str], lines: str, pre: str, here: Path
) -> None:
    assert read(*words, environ=environ, lines=lines).pre == pre.format(here / "requirements.txt")


def test_what_is_said_of_one_project_goes_before_what_is_said_of_all(here: Path) -> None:
    (here / "uv.toml").write_text("no-build = false\nno-deps = false\n", "utf-8")
    days = ("--exclude-newer-package", "A.b=2026-01-02T00:00:00Z", "--exclude-newer", "2026-01-01T00:00:00Z")

    found = read(*days, lines="--no-binary c\n--only-binary d")

    assert [found.cooldown(name)[0][:10] for name in ("a-b", "b")] == ["2026-01-02", "2026-01-01"]
    assert formats(found, "c", "d", "e") == ["source", "wheel", "any"]
    assert not found.no_deps


def test_an_override_holds_where_its_marker_does_and_takes_a_requirement_out_elsewhere() -> None:
    texts = ("torch<2 ; a == 'x'", "torch>=1", "numpy ; a == 'x'")
    overrides = tuple(requirements.parse(text.replace("a ==", "os_name ==")) for text in texts)

    assert Policies(overrides=overrides).specifiers(lambda marker: not marker) == {"torch": (">=1",), "numpy": ()}
    assert Policies(overrides=overrides).specifiers(lambda _: True) == {"torch": ("<2", ">=1"), "numpy": ("",)}


SPANS = [
    ("P7D", {"days": 7}), ("PT36H", {"hours": 36}), ("2 weeks", {"weeks": 2}), ("1 day 12 hours ago", {"hours": 36}),
    ("PT90M", {"minutes": 90}), ("3mins 1w", {"minutes": 3, "weeks": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("word", "span"), SPANS)
def test_a_span_counts_from_now(word: str, span: Mapping[str, int]) -> None:
    before = datetime.now(timezone.utc)
    text, _ = read("--exclude-newer", word).cooldown("a")

    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    assert timedelta(seconds=-2) < moment - (before - timedelta(**span)) < timedelta(minutes=5)


@pytest.mark.parametrize("words", [("--exclude-newer", "2026-03-01"), ("--exclude-newer-package", "a=2026-03-01")])
def test_a_day_ends_with_it_for_uv_and_begins_with_it_for_pip(words: tuple[str, str]) -> None:
    uv, pip = read(*words), read("--uploaded-prior-to", "2026-03-01")

    ends, begins = uv.rules("a").uploaded_before, pip.rules("a").uploaded_before
    assert ends is not None
    assert begins is not None
    days = [datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (ends, begins)]
    assert days[0] - days[1] == timedelta(days=1)
    assert days[1].astimezone().strftime("%Y-%m-%d %H:%M") == "2026-03-01 00:00"


@pytest.mark.parametrize("word", ["yesterday", "2026-13-01", "P", "P1M", "99999999 weeks", "9" * 9999])
def test_what_is_no_time_is_refused_with_its_place(word: str) -> None:
    with pytest.raises(UsageError, match="`--uploaded-prior-to"):
        read("--uploaded-prior-to", word)
