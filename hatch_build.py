"""What a package has and a checkout has not: README as a page of its own, and the compact indexes of compat/.

A page has no files beside it, so its links and pictures are whole addresses.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class PackagePage(MetadataHookInterface):
    """README stays relative, so that it works in any checkout; `[project.urls]` says where the project lies."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(readme, metadata["urls"]["Source"])}


class Indexes(BuildHookInterface[Any]):
    """compat/index/ is made whenever a wheel is, that of an editable install too, which reads it in the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version, build_data
        sys.path[:0] = [self.root, str(Path(self.root, "src"))]
        from scripts.table import index

        index.write(Path(self.root, "compat"))


def absolute(text: str, home: str) -> str:
    raw = home.replace("github.com", "raw.githubusercontent.com")
    text = re.sub(r"(!\[[^\]]*\]\()(?!https:)", rf"\1{raw}/main/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!https:|#)", rf"\1{home}/blob/main/", text)
