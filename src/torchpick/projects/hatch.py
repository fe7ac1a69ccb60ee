"""A metadata hook for hatchling: a library's extras for old GPUs, from the table at build time.

Hatchling loads it by the entry point of this name; nothing else imports it, and hatchling is no dependency.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface
from hatchling.plugin import hookimpl

from torchpick.decide import wishes
from torchpick.environment import projectfile, rewrite
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.request import Request
from torchpick.projects import app, library, naming
from torchpick.projects.served import PLATFORMS

_FIELD = "optional-dependencies"
_TABLE = "tool.hatch.metadata.hooks.torchpick"
_OPTIONS = ("torch", "names", "backends", _FIELD, "enable-by-default", "path", "dependencies")


class TorchpickMetadataHook(MetadataHookInterface):
    """Fills `optional-dependencies`, which the project lists as dynamic."""

    PLUGIN_NAME = "torchpick"

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the extras into the metadata of the build."""
        try:
            metadata[_FIELD] = self._extras(metadata)
        except TorchpickError as error:
            # Hatchling shows what a hook raises; the hint is half of the message.
            raise ValueError(f"torchpick: {error.message} ({error.hint})") from error

    def _extras(self, metadata: Mapping[str, Any]) -> dict[str, list[str]]:
        if _FIELD in metadata:
            hint = f"move your own extras to [{_TABLE}.{_FIELD}], and list `{_FIELD}` in `dynamic`"
            raise UsageError(f"[project.{_FIELD}] is static, so no hook may add to it", hint=hint)
        options = self.config
        if unknown := sorted(set(options) - set(_OPTIONS)):
            raise UsageError(
                f"`{unknown[0]}` is not an option of {_TABLE}", hint=f"there are {', '.join(_OPTIONS[:4])}"
            )
        # The shipped table alone: two builds by one torchpick agree, whatever lies in somebody's cache.
        knowledge = Knowledge({"TORCHPICK_CACHE_DIR": os.devnull})
        project = projectfile.read(rewrite.read(os.path.join(self.root, "pyproject.toml")).text)
        if "torch" in options:
            project = project._replace(torch=_text(options, "torch").replace(" ", ""))
        shop = library.Shop(knowledge.every_build, knowledge.rules, project)
        named = [
            (name, naming.kinds(",".join(_list(gpus)), knowledge)) for name, gpus in _table(options, "names").items()
        ]
        found = list(library.extras(shop, named))
        wish = wishes.of(Request(), {})
        builds = knowledge.table(PLATFORMS)
        found += [app.exact(builds, project, tag, tag, wish) for tag in _list(options.get("backends", []))]
        own = {name: _list(requirements) for name, requirements in _table(options, _FIELD).items()}
        if clash := sorted(set(own) & {extra.name for extra in found}):
            raise UsageError(f"the extra `{clash[0]}` is yours and torchpick's", hint="choose another name for it")
        return {**own, **{extra.name: list(extra.requirements) for extra in found}}


def _text(options: Mapping[str, Any], name: str) -> str:
    value = options[name]
    if not isinstance(value, str):
        raise UsageError(f"`{_TABLE}.{name}` must be a string", hint='such as torch = ">=2.5"')
    return value


def _list(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"a value of {_TABLE} must be a list of strings", hint='such as backends = ["cu126"]')
    return value


def _table(options: Mapping[str, Any], name: str) -> Mapping[str, object]:
    value = options.get(name, {})
    if not isinstance(value, Mapping):
        raise UsageError(f"`{_TABLE}.{name}` must be a table", hint='such as names = { nvidia-old = ["sm_61"] }')
    return value


@hookimpl
def hatch_register_metadata_hook() -> type[MetadataHookInterface]:
    return TorchpickMetadataHook
