"""A tag, a version and a changelog that do not agree release nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.shipping import release, version
from torchpick.model import VERSION

ROOT = Path(__file__).parents[2]
OWNER = "example"
RELEASED = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-11-30\n\n- New.\n\n## [1.1.0] - 2026-01-01\n\n- Old.\n"


def test_the_version_is_the_packages() -> None:
    assert version.version_in(ROOT) == VERSION


def test_what_agrees_may_be_released() -> None:
    assert version.disagreements("1.2.0", "v1.2.0", RELEASED) == []


@pytest.mark.parametrize(("number", "tag", "changelog", "says"), [
        ("1.2.0", "v1.2.1", RELEASED, "the tag must be v1.2.0"), ("1.2.0", "1.2.0", RELEASED, "the tag must be v1.2.0"),
        ("1.3.0", "v1.3.0", RELEASED, "no section `## [1.3.0]"),
        ("1.2.0", "v1.2.0", RELEASED.replace(" - 2026-11-30", ""), "has no date"),
        ("1.2.0", "v1.2.0", RELEASED.replace("- New.\n", ""), "is empty"),
        ("1.2.0", "v1.2.0", RELEASED.replace("[Unreleased]\n", "[Unreleased]\n\n- Newer.\n"), "still has entries"),
])  # fmt: skip
def test_what_does_not_agree_is_named(number: str, tag: str, changelog: str, says: str) -> None:
    assert says in " ".join(version.disagreements(number, tag, changelog))


def test_the_notes_of_a_release_are_its_section() -> None:
    assert version.notes("v1.2.0", RELEASED) == "- New."


def test_a_rehearsal_takes_what_is_not_yet_released() -> None:
    unreleased = "# Changelog\n\n## [Unreleased]\n\n- New.\n"

    assert version.disagreements("1.2.0", None, unreleased) == []
    assert version.disagreements("1.2.0", "v1.2.0", unreleased)
    assert version.disagreements("1.2.0", None, "# Changelog\n")


@pytest.mark.parametrize(("file", "address", "found"), [
        ("README.md", f"https://github.com/{OWNER}/torchpick/blob/main/docs/users.md", True),
        ("README.md", f"https://raw.githubusercontent.com/{OWNER}/torchpick/main/docs/pictures/a.svg", True),
        ("docs/images/README.md", f"https://github.com/{OWNER}/torchpick", True),
        ("scripts/shipping/site.py", f"https://github.com/{OWNER}/torchpick", True),
        ("README.md", "https://github.com/somebody/torchpick", False),
        ("README.md", f"https://github.com/{OWNER}/another", False),
])  # fmt: skip
def test_an_address_that_stands_for_the_projects_own_is_found(
    file: str, address: str, found: bool, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"see {address}\n", "utf-8")

    assert release.placeholders(tmp_path) == [file] * found
