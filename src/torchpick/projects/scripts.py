"""One script's own metadata (PEP 723): the pick written into it for `uv run SCRIPT.py`, and taken out again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchpick.environment import projectfile, rewrite, toml
from torchpick.errors import TorchpickError, UsageError
from torchpick.install.env import check_vendor_alone, uv_index
from torchpick.install.files import project_page
from torchpick.install.pin import Pinned
from torchpick.install.question import pick_build, read_wish
from torchpick.model.build import TRIO
from torchpick.model.pick import Pick
from torchpick.model.versions import named
from torchpick.run import Run

# The reference implementation's own expression (PEP 723), for the block of this type.
_BLOCK = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


def pin(run: Run, file: str) -> Pinned:
    """Write the pick into the script; what it says of torch itself narrows the pick."""
    script = _read(file)
    before = _unpinned(script.text, file)
    requirements = tuple(_requirements(_toml(before, file)))
    narrowed = run.with_request(run.request._replace(requirements=(*run.request.requirements, *requirements)))
    pick = pick_build(narrowed)
    after = _with(before, projectfile.add_settings(_toml(before, file), _settings(narrowed, pick), file))
    if _unpinned(after, file) != before:
        hint = "`torchpick run uv run --with torch` takes the pick without a change to the file"
        raise TorchpickError(f"{file} could not be put back byte for byte, so nothing was written", hint=hint)
    if after != script.text:
        rewrite.write_file(script, after)
    return pick, (file,), [*rewrite.note_password(script._replace(text=before), after)]


def unpin(file: str) -> bool:
    """Take the pick out of the script, which is then what it was; whether anything was done."""
    script = _read(file)
    text = _unpinned(script.text, file)
    if text != script.text:
        rewrite.write_file(script, text)
    return text != script.text


def _read(file: str) -> rewrite.Text:
    script = rewrite.read_file(file)
    if not script.exists:
        raise UsageError(f"there is no {file}", hint="name a Python script with inline metadata")
    if len(_BLOCK.findall(script.text)) != 1:
        hint = f"`uv add --script {file} torch` makes one"
        raise UsageError(f"{file} has no block of inline metadata (`# /// script`)", hint=hint, code="NO_METADATA")
    return script


def _lines(text: str) -> list[str]:
    """The lines of the block as they stand, each with its `#`."""
    return [line for match in _BLOCK.finditer(text) for line in match["content"].splitlines()]


def _toml(text: str, file: str) -> str:
    inner = "".join(f"{line[1:].removeprefix(' ')}\n" for line in _lines(text))
    toml.read(inner, f"the block of {file}")
    return inner


def _with(text: str, inner: str) -> str:
    """The script with another text in its block; lines that stay are left as they stand, blanks at their end too."""
    lines = {line[1:].removeprefix(" "): line for line in _lines(text)}
    block = "".join(lines.get(line, f"# {line}".rstrip()) + "\n" for line in inner.splitlines())
    return _BLOCK.sub(lambda match: match[0].replace(match["content"], block, 1), text)


def _unpinned(text: str, file: str) -> str:
    inner = _toml(text, file)
    left = projectfile.remove_settings(inner, projectfile.PIN)
    return text if left == inner else _with(text, left)


def _requirements(inner: str) -> Iterator[str]:
    """What the script asks of torch and its companions on every machine."""
    for text in toml.texts(toml.read(inner).get("dependencies")):
        if named(text) not in TRIO:
            continue
        requirement = projectfile.parse_requirement(text)
        if requirement.url:
            raise TorchpickError(f"`{text}` names a file, so there is nothing to pick", hint="leave the URL out")
        if requirement.marker is None:
            yield f"{named(text)}{requirement.specifier}"


def _settings(run: Run, pick: Pick) -> projectfile.ProjectSettings:
    check_vendor_alone(pick)
    pins = pick.build.pins
    # A page that the host does not have ends uv's run, so only what the script itself names is linked.
    linked = (name for name in pins if name == "torch" or name in read_wish(run).companions)
    pages = [*dict.fromkeys(project_page(pick, name) for name in linked if pick.index_url)]
    links = projectfile.ProjectSetting(("tool", "uv", "find-links"), pages) if pages else None
    return projectfile.settings_of_pins(pins, uv_index(pick), links)
