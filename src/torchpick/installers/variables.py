"""The variables under which plain `pip install` and `uv pip install` take the pick. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from torchpick.environment.requirementfiles import not_below
from torchpick.environment.requirementline import file_of, requirement
from torchpick.installers import links, store
from torchpick.installers.links import Wheel
from torchpick.installers.own_settings import OwnSettings, SettingChanges
from torchpick.model.machine import Note
from torchpick.model.pick import Pick

# Settings that name places beside the one index, or make pip reject a page, as no page of links has dates.
_BESIDE = (
    *("extra-index-url", "find-links", "uploaded-prior-to"),
    *("index", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"),
)
_OTHER_PLACES = Note(
    "OTHER_PLACES",
    "your settings name several places, and one with torch in this very version could supply it; `torchpick install` "
    "names the very files",
)


def of(
    pick: Pick, place: str, own: OwnSettings, read: Mapping[str, Sequence[Wheel]] = {}, *changes: SettingChanges
) -> SettingChanges:
    """What hands the pick over, beside the user's own settings, which must not get lost behind it.

    `read` are the files of torch's family as their pages have them, for every Python; `changes` are made besides.
    """
    pins, on_host = pick.build.pins, bool(pick.index_url)
    changed = {name: value for each in changes for name, value in each.set.items()}
    unset = [name for each in changes for name in each.unset]
    wheels = [wheel for mine in read.values() for wheel in mine]
    files = [store.file(place, "links", ".html", links.page(wheels))] if wheels else []
    unread = [name for name in pins if on_host and name not in read]
    pages = [*(address(each.path) for each in files), *dict.fromkeys(links.page_of(pick, name) for name in unread)]
    # Where several places may have the very version, an address alone says which file is meant.
    others = (word for each in (*own.pip.values(), *own.uv_places) if each.name in _BESIDE for word in each.words)
    # So may another index of a CUDA build without a local label.
    unlabelled = "+" not in pick.build.version and pick.build.family != "cpu"
    exact = on_host and (unlabelled or bool(_users(others, own, place)))
    lines = (_limit(pick, name, read.get(name, ()) if exact else ()) for name in pins)
    files.append(store.file(place, "constraints", ".txt", file_of(lines)))
    ours, uv_limits = address(files[-1].path), own.environ.get("UV_CONSTRAINT", "").split()
    changed["PIP_CONSTRAINT"] = " ".join((ours, *not_below(own.pip_words("constraint"), place)))
    changed["UV_CONSTRAINT"] = " ".join((ours, *not_below(uv_limits, place)))
    said = own.pip_words("find-links")
    kept = _users(said, own, place)
    if pages or len(kept) != len(said):  # a blank: an empty variable would let the configuration file speak again
        changed["PIP_FIND_LINKS"] = " ".join((*pages, *kept)) or " "
    if for_uv := (*pages, *_users(own.environ.get("UV_FIND_LINKS", "").split(","), own, place)):
        changed["UV_FIND_LINKS"] = ",".join(for_uv)
    else:
        unset.append("UV_FIND_LINKS")
    if on_host and "UV_TORCH_BACKEND" in unset:  # GitHub can unset nothing, and uv takes no empty one
        changed["UV_TORCH_BACKEND"] = pick.build.backend
    notes = [*(note for each in changes for note in each.notes), *([_OTHER_PLACES] if exact and unread else [])]
    left_out = tuple(name for name in dict.fromkeys(unset) if name not in changed)
    return SettingChanges(changed, left_out, tuple(notes), tuple(files))


def _users(words: Iterable[str], own: OwnSettings, place: str) -> list[str]:
    """What the user names besides: neither our files nor a PyTorch wheel index."""
    return [word for word in not_below(words, place) if word.strip() and not own.is_wheel_index(word)]


def _limit(pick: Pick, name: str, wheels: Iterable[Wheel]) -> str:
    """The one version; with files, the very one for the machine's Python."""
    mine = next(filter(links.suits(pick), wheels), None)
    if mine is None:
        return requirement(name, f"=={pick.build.pins[name]}")
    return requirement(name, address=links.address(mine))


def address(path: str) -> str:
    """A path as a URL: pip and uv split these variables at blanks, whatever the quoting."""
    plain = path.replace("\\", "/")
    return "file://" + quote(plain if plain.startswith("/") else f"/{plain}", safe="/:")
