"""A request → the variables that hand the pick over to plain pip and uv: of a shell, of a command, of an image."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from html import escape
from shlex import quote

from torchpick.decide.environments import DEFAULT_INDEX
from torchpick.environment import shell as shells
from torchpick.environment.requirementfiles import file_of, not_below, requirement
from torchpick.environment.toolsettings import UV_PLACES, store_of
from torchpick.errors import InstallerError, NetworkError, UsageError
from torchpick.index import wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import ProjectCache
from torchpick.install.command import Command, store_folder, stored_file
from torchpick.install.files import (
    Hashes,
    best_wheel,
    check_mirror,
    fits,
    is_folder_index,
    on_mirror,
    open_host,
    project_page,
    torch_wheels,
)
from torchpick.install.job import exact_specifier, file_url
from torchpick.install.question import find_prefix, pick_build, read_wish
from torchpick.install.user_settings import UserSettings, note_indexes, read_settings
from torchpick.knowledge.locations import cache_dir
from torchpick.model.build import Build
from torchpick.model.machine import Note
from torchpick.model.package import Stack
from torchpick.model.pick import Pick
from torchpick.model.versions import release_key
from torchpick.run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.projects import ProjectReader

# Where an image keeps what the variables name.
_IN_IMAGE = "/opt/torchpick"
# Tools that take no constraint from pip's or uv's variables.
_OTHERS = ("poetry", "pdm", "pixi", "conda", "mamba", "micromamba", "pip-compile")
# What uv does in a project or for a script, where it reads no constraints from variables.
_OF_PROJECTS = ("sync", "lock", "add", "remove", "export", "run")
# Settings that name places which may have the very version, or make pip reject a page of links, as it has no dates.
_BESIDE = (
    *("index-url", "extra-index-url", "find-links", "uploaded-prior-to", "default-index", "index"),
    *UV_PLACES,
)
# The first release whose wheels for other vendors call their triton so (before it: `pytorch-triton-rocm`).
_TRITON_RENAMED = "2.10.0"
# How long it is believed that a page has nothing for this Python, and that it cannot be reached.
_DAY_S, _HOUR_S = 86400, 3600


def variables_for(run: Run, shell: str) -> tuple[Pick, Command]:
    """The pick, and the variables that hand it over as a command without words."""
    environ = run.environ
    pick = pick_build(run)
    check_vendor_alone(pick)
    store = store_folder(cache_dir(environ), lasting=True)
    if shell == "dockerfile":
        _check_image(run, pick)
    wheels, notes = list_files(run, pick)
    if shell == "dockerfile":
        # An image has neither this computer's settings nor its cache, and its uv is not ours to ask.
        return pick, variables_of(pick, _IN_IMAGE, UserSettings(), wheels)._replace(notes=notes)
    runner = environ.get("RUNNER_TEMP") if shell == "github" else None
    store = store_folder(os.path.join(runner, "torchpick")) if runner else store
    prefix = find_prefix(run)
    settings = read_settings(run, prefix)
    # What `pin` wrote into the environment gives way to this pick.
    variables = variables_of(pick, store, settings, wheels, (store_of(prefix),) if prefix else ())
    return pick, variables._replace(notes=(*note_indexes(settings, ("pip", "uv")), *notes))


# The architectures of Linux as images name them.
_ARCHITECTURES = {"linux-x86_64": "linux/amd64", "linux-aarch64": "linux/arm64"}


def dockerfile(run: Run, stack: Stack) -> str:
    """The Dockerfile of a stack that fits. Torch comes from its own index alone, everything else from the user's."""
    machine = stack.machine
    architecture = _ARCHITECTURES.get(machine.platform.name)
    if architecture is None:
        hint = "an image runs on Linux: `--platform linux-x86_64` or `--platform linux-aarch64`"
        raise UsageError(f"no image is made for {machine.platform.name}", hint=hint)
    if machine.jetsons and any(note.code == "VENDOR_INDEX" for note in stack.notes):
        hint = "take an image that has it, such as NVIDIA's l4t-jetpack for this release, and `torchpick url` in it"
        raise UsageError("torch for this JetPack takes CUDA from it, which an image of Python lacks", hint=hint)
    torch = stack.version("torch")
    if torch is None:
        raise UsageError("this environment has no torch", hint="an image for it needs nothing of torchpick")
    if machine.python.image is None:
        raise UsageError(f"there is no image of Python {machine.python.tag}", hint="`--python 3.12` names another")
    for pin in stack.packages:  # nobody could say which of two indexes answered
        if pin.index not in (DEFAULT_INDEX, stack.index_url):
            hint = f"`torchpick install {' '.join(stack.asked)}` in an image of your own says what to do about it"
            raise UsageError(f"{pin.requirement} comes from {pin.index}, which no line here may add", hint=hint)
    request = run.request._replace(requirements=(f"torch=={torch}",))
    _, variables = variables_for(run.with_request(request), "dockerfile")
    return "\n".join(
        (
            f"# {' '.join(stack.asked)} for {machine.in_short}.",
            "# The whole image of Python has a C compiler, which triton needs while a program runs.",
            f"FROM --platform={architecture} {machine.python.image}",
            "",
            "# Torch and its companions come from their own index, and nothing else does.",
            shells.variables("dockerfile", variables.set, variables.unset, variables.files),
            "",
            f"RUN python -m pip install --no-cache-dir {' '.join(map(quote, stack.requirements))}",
        )
    )


def command_of(run: Run, argv: Sequence[str]) -> tuple[Pick, Command]:
    """The pick, and the command as it is to be run; NoBuildError where no build runs."""
    pick, variables = variables_for(run, "sh")
    notes = (*variables.notes, *not_taken_notes(argv))
    return pick, variables._replace(installer=argv[0], argv=tuple(argv), notes=notes)


def not_taken_notes(argv: Sequence[str]) -> tuple[Note, ...]:
    """What takes torch from a file of its own."""
    name = os.path.basename(argv[0]).lower().removesuffix(".exe")
    of_uv = name == "uv" and argv[1:2] and argv[1] in _OF_PROJECTS
    is_apart = "--no-project" in argv and not any(word.startswith("--with") for word in argv)
    if not (name in _OTHERS or (of_uv and not is_apart)):
        return ()
    ways = "`torchpick extras` writes or shows what goes into those of a project, `torchpick pin` writes a script's"
    tool = f"uv {argv[1]}" if of_uv else name
    return (Note("NOT_TAKEN", f"`{tool}` takes torch as files of its own say, not by variables: {ways}"),)


def _check_image(run: Run, pick: Pick) -> None:
    """An image runs elsewhere: that this computer has no GPU says nothing of it."""
    request = run.request
    asked_for_cpu = request.cpu or request.allow_cpu or read_wish(run).backends
    if not (pick.machine.gpus or run.has_given_gpus or asked_for_cpu):
        hint = "name the GPU that the image is for, such as `--gpu t4 --driver 580`; `--cpu` makes one without"
        raise UsageError("there is no GPU here, and an image runs elsewhere", hint=hint)


def check_vendor_alone(pick: Pick) -> None:
    """Refuse a build that takes all it needs from its vendor's index: no setting says so of some packages alone."""
    vendor = pick.build.vendor
    if vendor is not None and vendor.alone:
        raise InstallerError(
            f"torch {pick.version} takes what it requires from {vendor.url} alone, which settings and locks cannot say",
            hint="`torchpick install torch` installs it from there, and all else from your own indexes",
            code="VENDOR_ALONE",
        )


def uv_index(pick: Pick) -> dict[str, object] | None:
    """The index of the pick as uv's settings have one: for the projects alone that name it; None for the user's own."""
    if not pick.index_url:
        return None
    if pick.is_flat:
        return {"name": "pytorch-mirror", "url": pick.index_url, "format": "flat", "explicit": True}
    return {"name": f"pytorch-{pick.build.backend}", "url": pick.index_url, "explicit": True}


def variables_of(
    pick: Pick,
    store: str,
    settings: UserSettings,
    files: Mapping[str, Sequence[ProjectFile]] = {},
    beside: tuple[str, ...] = (),
) -> Command:
    """What hands the pick over, beside the user's own settings, which must not get lost behind it.

    `files` are those of torch's family as their pages have them, for every Python; what lies in the
    folders `beside` an earlier run wrote.
    """
    pins, on_host = pick.build.pins, bool(pick.index_url)
    wheels = [wheel for of_project in files.values() for wheel in of_project]
    stored = stored_file(store, "links", ".html", links_page(wheels)) if wheels else {}
    unread = [name for name in pins if on_host and name not in files]
    links = [*map(file_url, stored), *dict.fromkeys(project_page(pick, name) for name in unread)]
    # Where the user's places may have the very version, an address alone says which file is meant; without any none is
    # named, as pip reads the file again for whatever requires torch.
    named = (setting for setting in (*settings.pip.values(), *settings.uv_places) if setting.name in _BESIDE)
    others = not_below((word for setting in named for word in setting.words), store, *beside)
    # So may another index of a CUDA build without a local label.
    unlabelled = "+" not in pick.build.version and pick.build.family != "cpu"
    exact = on_host and (unlabelled or bool(others))
    triton = {"triton": pick.build.libraries["triton"]} if exact and "triton" in files else {}
    versions = {**pins, **triton}
    lines = (_limit(pick, name, version, files.get(name, ()) if exact else ()) for name, version in versions.items())
    limits = stored_file(store, "constraints", ".txt", file_of(lines))
    ours, users = file_url(*limits), settings.pip_words("find-links")
    kept = not_below(users, store, *beside)
    uv_users = settings.environ.get("UV_FIND_LINKS", "")
    uv_links = (*links, *not_below(filter(str.strip, uv_users.split(",")), store, *beside))
    changed = {
        "PIP_CONSTRAINT": " ".join((ours, *not_below(settings.pip_words("constraint"), store, *beside))),
        "UV_CONSTRAINT": " ".join((ours, *not_below(settings.uv_words("UV_CONSTRAINT"), store, *beside))),
    }
    if links or len(kept) != len(users):  # a blank: an empty variable would let the configuration file speak again
        changed["PIP_FIND_LINKS"] = " ".join((*links, *kept)) or " "
    if uv_links:
        changed["UV_FIND_LINKS"] = ",".join(uv_links)
    unset = () if uv_links or not uv_users else ("UV_FIND_LINKS",)
    return Command("", (), changed, unset, stored | limits)


def _limit(pick: Pick, name: str, version: str, wheels: Iterable[ProjectFile]) -> str:
    """The one version; with files, the very one for the machine's Python."""
    wheel = next((wheel for wheel in wheels if fits(wheel, pick)), None)
    if wheel is None:
        return requirement(name, exact_specifier(version))
    return requirement(name, address=wheel.with_hash)


def links_page(wheels: Iterable[ProjectFile]) -> str:
    """One HTML page for `--find-links`. No date: uv needs none on such a page, and pip reads none in HTML."""
    links = "\n".join(f'<a href="{escape(wheel.with_hash)}">{escape(wheel.file)}</a><br/>' for wheel in wheels)
    return f"<!DOCTYPE html>\n<html>\n<body>\n{links}\n</body>\n</html>\n"


# The files for every Python.


def list_files(run: Run, pick: Pick) -> tuple[Mapping[str, tuple[ProjectFile, ...]], tuple[Note, ...]]:
    """What the pages of torch and its companions have of this very build, each read once and kept; with notes.

    A project whose page could not be read is not among them: the installer is given the page, and says what is wrong.
    One that was read and has no file of what is asked for is an error, as a version alone would be found elsewhere.
    """
    if not pick.index_url:
        return {}, ()
    check_mirror(read_settings(run, find_prefix(run)), pick.index_url)
    hashes = Hashes(pick, run.knowledge)
    files: dict[str, tuple[ProjectFile, ...]] = {}
    is_folder, is_down, wanted = is_folder_index(pick), False, ("torch", *pick.wish.companions)
    cache = ProjectCache(store_folder(cache_dir(run.environ)), _HOUR_S)
    with open_host(pick) as host:
        for name, version in {**pick.build.pins, **tritons_of(pick.build)}.items():
            key = "\0".join((project_page(pick, name), name, version, pick.build.platform))
            is_kept, wheels = (False, None) if is_folder else _kept_wheels(cache, key, pick)
            if not is_kept and (is_folder or not run.offline):
                wheels = None if is_down else _read_page(host, name, version, pick)
                is_down = wheels is None
                if wheels == () and name in wanted:
                    best_wheel(pick, host, hashes, name, f"=={version}")
                cache.keep_page(key, (time.time(), "", wheels))
            if wheels is None and name == "torch":
                wheels = _torch_of_table(pick, hashes) or None
            if wheels is not None:
                files[name] = tuple(map(hashes.check, wheels))
    fitting = (wheel for name in pick.build.pins for wheel in files.get(name, ()) if fits(wheel, pick))
    return files, tuple(hashes.notes(fitting))


def tritons_of(build: Build) -> Mapping[str, str]:
    """The triton of a build with its version, which is empty where torch alone says it."""
    family, version = build.family, build.libraries.get("triton", "")
    if family in ("rocm", "xpu"):
        is_renamed = release_key(build.torch) >= release_key(_TRITON_RENAMED)
        return {f"{'' if is_renamed else 'pytorch-'}triton-{family}": ""}
    return {"triton": version} if version[:1].isdigit() else {}


def _torch_of_table(pick: Pick, hashes: Hashes) -> tuple[ProjectFile, ...]:
    """Torch's files whose name and hash are known without a page."""
    if pick.is_flat:
        return ()
    named = (wheel for tag in pick.build.pythons for wheel in torch_wheels(pick.build, tag, pick.index_url))
    wheels = tuple(wheel for wheel in map(hashes.check, named) if wheel.sha256)
    return wheels if any(fits(wheel, pick) for wheel in wheels) else ()


def _read_page(host: ProjectReader, name: str, version: str, pick: Pick) -> tuple[ProjectFile, ...] | None:
    """The files of a project on its page; None where that cannot be reached."""
    platforms = (pick.build.platform, None)
    with suppress(NetworkError):
        return tuple(
            on_mirror(file, pick.index_url)
            for file in host.wheels(name) or ()
            if version in ("", file.name.version) and wheelnames.platform_of(file.name.platform) in platforms
        )
    return None


def _kept_wheels(cache: ProjectCache, key: str, pick: Pick) -> tuple[bool, Sequence[ProjectFile] | None]:
    """Whether an earlier run still knows of a page, and the files of it, None where it could not be reached."""
    read_at, _, wheels = cache.page(key, "") or (0.0, "", None)
    age = time.time() - read_at
    if wheels is None:
        return age < _HOUR_S, None
    is_of_use = age < _DAY_S or any(fits(wheel, pick) for wheel in wheels)
    return is_of_use, wheels if is_of_use else None
