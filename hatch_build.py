"""README as a package's page, which has no files beside it: its links and pictures as whole addresses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class PackagePage(MetadataHookInterface):
    """README stays relative, so that it works in any checkout; `[project.urls]` says where the project lies."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(readme, metadata["urls"]["Source"])}


def absolute(text: str, home: str) -> str:
    raw = home.replace("github.com", "raw.githubusercontent.com")
    text = re.sub(r"(!\[[^\]]*\]\()(?!https:)", rf"\1{raw}/main/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!https:|#)", rf"\1{home}/blob/main/", text)
