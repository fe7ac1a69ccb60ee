"""The version, the changelog and the tag of a release, held against one another.

usage: python -m scripts.shipping.version TAG    prints what the release of this tag says of itself
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

_HEADING = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)
_VERSION = re.compile(r'^VERSION = "([^"]+)"$', re.MULTILINE)
ROOT = Path(__file__).parents[2]
VERSION_FILE = Path("src", "torchpick", "model", "__init__.py")


class Section(NamedTuple):
    """One heading of the changelog, with its date and the text below it."""

    name: str
    date: str | None
    text: str


def version_in(root: Path) -> str:
    """The version as the package itself says it; pyproject.toml takes it from the same line."""
    match = _VERSION.search((root / VERSION_FILE).read_text(encoding="utf-8"))
    if match is None:
        raise SystemExit(f"error: {VERSION_FILE} does not say VERSION")
    return match[1]


def sections(changelog: str) -> list[Section]:
    headings = list(_HEADING.finditer(changelog))
    ends = [*(heading.start() for heading in headings[1:]), *([len(changelog)] if headings else [])]
    return [
        Section(heading[1], heading[2], changelog[heading.end() : end].strip())
        for heading, end in zip(headings, ends, strict=True)
    ]


def disagreements(version: str, tag: str | None, changelog: str) -> list[str]:
    """What keeps this version from being released; without a tag an [Unreleased] section may still stand for it."""
    found = []
    if tag is not None and tag != f"v{version}":
        found.append(f"the tag is {tag} and the version {version}: the tag must be v{version}")
    by_name = {section.name: section for section in sections(changelog)}
    section = by_name.get(version)
    if section is None and tag is None:
        section = by_name.get("Unreleased")
    if section is None:
        found.append(f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD`")
    elif not section.text:
        found.append(f"the section [{section.name}] of CHANGELOG.md is empty")
    elif section.name == version and section.date is None:
        found.append(f"the section [{version}] of CHANGELOG.md has no date")
    if tag is not None and (unreleased := by_name.get("Unreleased")) is not None and unreleased.text:
        found.append("CHANGELOG.md still has entries under [Unreleased]: move them under the version")
    return found


def notes(tag: str, changelog: str) -> str:
    """The changelog's section of a version."""
    return {section.name: section.text for section in sections(changelog)}[tag.removeprefix("v")]


if __name__ == "__main__":
    print(notes(sys.argv[1], (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
