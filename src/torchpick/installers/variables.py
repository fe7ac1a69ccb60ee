"""The variables under which plain `pip install` and `uv pip install` take the pick. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from torchpick.environment.toolsettings import Setting
from torchpick.installers import links, store
from torchpick.installers.links import Wheel
from torchpick.installers.own_settings import SettingChanges
from torchpick.installers.store import StoredFile
from torchpick.model.build import is_wheel_host
from torchpick.model.fields import written
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick


class Variables(Noun):
    """What to set, what to unset, the files that the values name, and what they cannot do."""

    set: Mapping[str, str]
    unset: tuple[str, ...]
    files: tuple[StoredFile, ...]
    notes: tuple[Note, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {**written(self, "set", "unset"), "files": {each.path: each.content for each in self.files}}


class UserSettings(Noun):
    """What holds around the variables: the user's settings, which must not get lost behind them.

    `uv_linked` says that a setting of uv's names pages or folders of files.
    """

    pip: Mapping[str, Setting] = {}
    for_pip: SettingChanges = SettingChanges()
    for_uv: SettingChanges = SettingChanges()
    uv_constraints: tuple[str, ...] = ()
    uv_links: tuple[str, ...] = ()
    uv_linked: bool = False
    uv_knows: bool = True
    uv_cooldown: bool = False


def of(pick: Pick, place: str, around: UserSettings, read: Mapping[str, Sequence[Wheel]] = {}) -> Variables:
    """`read` are the files of torch and its companions, as their pages have them."""
    pins = pick.build.pins
    page, remote = _pages(pick, place, pins, read)
    limits = store.file(place, "constraints", ".txt", "".join(f"{name}=={version}\n" for name, version in pins.items()))
    found_at = [*((address(page.path),) if page else ()), *remote]
    changed: dict[str, str] = {**around.for_pip.set, **around.for_uv.set}
    unset = [*around.for_pip.unset, *around.for_uv.unset]
    if pick.by_backend and around.uv_knows and not around.uv_cooldown:
        changed["UV_TORCH_BACKEND"] = pick.build.backend
    elif links_of_uv := dict.fromkeys((*found_at, *around.uv_links)):
        changed["UV_FIND_LINKS"] = ",".join(links_of_uv)
    else:
        unset.append("UV_FIND_LINKS")
    files = [limits, *((page,) if page else ())]
    # Pip rejects a page without dates, and reads none in HTML; a direct address is not asked for its date. And where
    # several places of the user's may have the very version, an address alone says which file is meant. A build of the
    # user's own index may come from any of them.
    elsewhere = bool(pick.index_url)
    shared, linked = elsewhere and _shared(around, place), elsewhere and around.uv_linked
    for_pip = shared or (elsewhere and ("uploaded-prior-to" in around.pip or links.is_ambiguous(pick.build)))
    direct = _direct(pick, pins, read) if for_pip or linked else None
    exact = limits if direct is None else store.file(place, "constraints", ".txt", direct)
    pip_limits, uv_limits = exact if for_pip else limits, exact if linked else limits
    files += [exact] if exact is not limits else []
    changed["UV_CONSTRAINT"] = " ".join((address(uv_limits.path), *around.uv_constraints))
    said = around.pip.get("find-links")
    words = said.words if said else ()
    kept = [word for word in store.not_ours(words, place) if not is_wheel_host(word)]
    pages = found_at if pip_limits is limits else []
    if pages or len(kept) != len(words):  # a blank: an empty variable would let the configuration file speak again
        changed["PIP_FIND_LINKS"] = " ".join(dict.fromkeys((*pages, *kept))) or " "
    said = around.pip.get("constraint")
    changed["PIP_CONSTRAINT"] = " ".join((address(pip_limits.path), *store.not_ours(said.words if said else (), place)))
    notes = [_OTHER_PLACES] if (shared or linked) and direct is None else []
    left_out = tuple(name for name in dict.fromkeys(unset) if name not in changed)
    return Variables(changed, left_out, tuple(files), tuple(notes))


_OTHER_PLACES = Note(
    "OTHER_PLACES",
    "your settings name several places, and one with torch in this very version could supply it; `torchpick install` "
    "names the very files",
)


def _shared(around: UserSettings, place: str) -> bool:
    """Whether the user's settings name places for pip beside the one index."""
    said = [each for name in ("extra-index-url", "find-links") if (each := around.pip.get(name)) is not None]
    return any(not is_wheel_host(word) for each in said for word in store.not_ours(each.words, place))


def _pages(
    pick: Pick, place: str, pins: Mapping[str, str], read: Mapping[str, Sequence[Wheel]]
) -> tuple[StoredFile | None, list[str]]:
    """The links page, for every Python of the build, and the remote pages of what could not be read.

    A build of the user's own index needs neither.
    """
    if not pick.index_url:
        return None, []
    found = [wheel for name in pins for wheel in read.get(name, ())]
    page = store.file(place, "links", ".html", links.page(found)) if found else None
    return page, list(dict.fromkeys(links.page_of(pick, name) for name in pins if name not in read))


def _direct(pick: Pick, pins: Mapping[str, str], read: Mapping[str, Sequence[Wheel]]) -> str | None:
    """Constraints that name the very files, for the machine's Python; None where one is not known."""
    if not read.keys() >= pins.keys():
        return None
    mine = {name: [*filter(links.suits(pick), read[name])] for name in pins}
    lines = (links.requirement(mine[name][0]) if mine[name] else f"{name}=={pins[name]}" for name in pins)
    return "".join(f"{line}\n" for line in lines)


def address(path: str) -> str:
    """A path as a URL: pip and uv split these variables at blanks, whatever the quoting."""
    plain = path.replace("\\", "/")
    return "file://" + quote(plain if plain.startswith("/") else f"/{plain}", safe="/:")
