"""The variables under which plain `pip install` and `uv pip install` take the pick. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from torchpick.environment.requirementfiles import not_below
from torchpick.environment.requirementline import file_of, requirement
from torchpick.environment.toolsettings import UV_PLACES
from torchpick.installers import links, store
from torchpick.installers.job import exactly
from torchpick.installers.links import Wheel
from torchpick.installers.own_settings import OwnSettings
from torchpick.installers.store import StoredFile
from torchpick.model.fields import written
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick

# Settings that name places which may have the very version, or make pip reject a page of links, as it has no dates.
_BESIDE = (
    *("index-url", "extra-index-url", "find-links", "uploaded-prior-to", "default-index", "index"),
    *UV_PLACES,
)
_OTHER_PLACES = Note(
    "OTHER_PLACES",
    "your settings name indexes, and one with torch in this very version could supply it; `torchpick install` names "
    "the very files",
)


class Variables(Noun):
    """The variables to set and to take away, the files that their values name, and what a person should know."""

    set: Mapping[str, str] = {}
    unset: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    files: tuple[StoredFile, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {**written(self, "set", "unset"), "files": {each.path: each.content for each in self.files}}


def of(pick: Pick, place: str, own: OwnSettings, read: Mapping[str, Sequence[Wheel]] = {}) -> Variables:
    """What hands the pick over, beside the user's own settings, which must not get lost behind it.

    `read` are the files of torch's family as their pages have them, for every Python.
    """
    pins, on_host = pick.build.pins, bool(pick.index_url)
    changed: dict[str, str] = {}
    wheels = [wheel for mine in read.values() for wheel in mine]
    files = [store.file(place, "links", ".html", links.page(wheels))] if wheels else []
    unread = [name for name in pins if on_host and name not in read]
    pages = [*(address(each.path) for each in files), *dict.fromkeys(links.page_of(pick, name) for name in unread)]
    # Where the user's places may have the very version, an address alone says which file is meant; without any none is
    # named, as pip reads the file again for whatever requires torch.
    others = (word for each in (*own.pip.values(), *own.uv_places) if each.name in _BESIDE for word in each.words)
    # So may another index of a CUDA build without a local label.
    unlabelled = "+" not in pick.build.version and pick.build.family != "cpu"
    exact = on_host and (unlabelled or bool(not_below(others, place)))
    triton = {"triton": pick.build.libraries["triton"]} if exact and "triton" in read else {}
    limits = {**pins, **triton}
    lines = (_limit(pick, name, version, read.get(name, ()) if exact else ()) for name, version in limits.items())
    files.append(store.file(place, "constraints", ".txt", file_of(lines)))
    ours, uv_limits = address(files[-1].path), own.environ.get("UV_CONSTRAINT", "").split()
    changed["PIP_CONSTRAINT"] = " ".join((ours, *not_below(own.pip_words("constraint"), place)))
    changed["UV_CONSTRAINT"] = " ".join((ours, *not_below(uv_limits, place)))
    said = own.pip_words("find-links")
    kept = not_below(said, place)
    if pages or len(kept) != len(said):  # a blank: an empty variable would let the configuration file speak again
        changed["PIP_FIND_LINKS"] = " ".join((*pages, *kept)) or " "
    uv_links = own.environ.get("UV_FIND_LINKS", "")
    if for_uv := (*pages, *not_below(filter(str.strip, uv_links.split(",")), place)):
        changed["UV_FIND_LINKS"] = ",".join(for_uv)
    unset = () if for_uv or not uv_links else ("UV_FIND_LINKS",)
    return Variables(changed, unset, (_OTHER_PLACES,) if exact and unread else (), tuple(files))


def _limit(pick: Pick, name: str, version: str, wheels: Iterable[Wheel]) -> str:
    """The one version; with files, the very one for the machine's Python."""
    mine = next(filter(links.suits(pick), wheels), None)
    if mine is None:
        return requirement(name, exactly(version))
    return requirement(name, address=links.address(mine))


def address(path: str) -> str:
    """A path as a URL: pip and uv split these variables at blanks, whatever the quoting."""
    plain = path.replace("\\", "/")
    return "file://" + quote(plain if plain.startswith("/") else f"/{plain}", safe="/:")
