"""Whether there is one whole torch, with all files of what goes with it, and whether what keeps it has the same."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from torchpick.doctor import depends, remedy
from torchpick.doctor.depends import OF_TORCH
from torchpick.doctor.locked import judge
from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.environment import distributions
from torchpick.environment.world import uv_project
from torchpick.errors import TorchpickError
from torchpick.model.build import TRIO
from torchpick.model.finding import NOTE, Ailment, Finding
from torchpick.model.versions import grouped, normal, some_of
from torchpick.projects import backends
from torchpick.projects.lockfiles import Choice, read_lock

# Frameworks that need no torch: an environment that has one, and where nothing asks for torch, lacks none.
_FRAMEWORKS = re.compile(
    r"(?:jax|jaxlib|jax-cuda\d+-p.*|tensorflow(?:-.*)?|tf-nightly.*|cupy(?:-.*)?|paddlepaddle(?:-.*)?|mindspore"
    r"|onnxruntime(?:-.*)?|ctranslate2|llama-cpp-python|xgboost|mxnet(?:-.*)?)"
)
# What an import needs. Headers, stubs, licences and data are taken out of images on purpose.
_CODE = re.compile(r"\.(?:py|so(?:\.[0-9]+)*|dll|pyd|dylib)$", re.IGNORECASE)
_SPARE = re.compile(r"(?:^|/)(?:tests?|testing|include|share|examples?|benchmarks?|docs?)/")
_MOST_SHOWN = 50


def missing(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """No torch, in an environment that should have one: nothing else was made for GPUs there, or something asks."""
    here = subject.environment
    if subject.torch is not None or here.find("torch") is not None:
        return
    is_other = any(_FRAMEWORKS.fullmatch(package.name) for package in here.distributions)
    if not is_other or any(depends.on(here, "torch")):
        yield Finding(
            Ailment.TORCH_MISSING,
            f"torch is not installed for {here.python.executable or here.prefix}",
            {"python": here.python.executable, "searched": list(here.sites)},
            by_torch=True,
        )


def broken(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Installed by its metadata, and not there; or there without some of its files."""
    torch, recorded = subject.torch, subject.environment.find("torch")
    if recorded is None:
        if torch is not None and (left := _left_by_pip(subject)):
            yield Finding(
                Ailment.TORCH_BROKEN,
                f"{torch.label} has no metadata, and {left} beside it is left of an installation that was broken off",
                {"folder": torch.folder, "left": left},
                by_torch=True,
            )
        return
    if torch is None:
        yield Finding(
            Ailment.TORCH_BROKEN,
            f"{recorded.label} is recorded as installed, and torch/version.py is empty or not there",
            {"folder": recorded.folder, "version": recorded.version},
            by_torch=True,
        )
    elif lost := gone(recorded):
        yield Finding(
            Ailment.TORCH_BROKEN,
            f"{torch.label} lacks {some_of(lost)}",
            {"folder": torch.folder, "missing": list(lost)},
            by_torch=True,
        )


def _left_by_pip(subject: EnvironmentUnderTest) -> str | None:
    """The old torch, which pip moves aside under a name of its own until the new one is there, metadata last."""
    if subject.torch_alone:  # its metadata is not looked at then
        return None
    sites = subject.environment.torches[:1]
    return next((path.name for site in sites for path in sorted(Path(site).glob("~orch*"))), None)


def undone(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """An installed torch that the lock of the project does not have."""
    here = subject.environment
    torch = here.find("torch")
    from torchpick.install import job  # what installs is loaded for an environment alone, not for a text

    found = torch and job.find_undone(here.prefix, torch.version, subject.run.environ)
    if torch and found:
        what, remedy, locked = found
        seen = {"installed": torch.version, "locked": list(locked)}
        weight = NOTE if torch.version in locked else None
        yield Finding(Ailment.LOCK_UNDOES, what, seen, advice=remedy, weight=weight)


def twice(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Two torches on the search path, or two records of one."""
    here = subject.environment
    records = [os.path.join(one.folder, one.info) for one in here.distributions if one.name == "torch"]
    places = max(here.torches, records, key=len)
    if len(places) > 1:
        uninstall = remedy.by_installer(here, subject.run.shell, "uninstall", "torch")
        yield Finding(
            Ailment.TORCH_TWICE,
            f"torch is there {len(places)} times: {', '.join(places)}",
            {"folders": [*places]},
            advice=f"`{uninstall}` until none is left, then install one",
        )


def unreadable(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Folders and libraries that cannot be read, and metadata that is broken where it matters."""
    here, torch = subject.environment, subject.torch
    faults = [(*fault, "") for fault in (here.faults if subject.torch_alone else (*here.faults, *subject.unread))]
    if torch and here.find("torch") is None and not _left_by_pip(subject):
        faults.append((os.path.join(torch.folder, "torch"), "has no metadata, so no installer knows of it", "torch"))
    for package in here.distributions:
        # conda and Debian leave out RECORD on purpose.
        by_pip = not here.conda and "dist-packages" not in package.folder
        problems = ", ".join(fault for fault in package.faults if by_pip or not fault.startswith("RECORD"))
        if problems and (package.name in TRIO or package.name.startswith(OF_TORCH)):
            faults.append((os.path.join(package.folder, package.info), problems, package.name))
    for where, what, name in faults:
        # pip refuses to replace what has no RECORD.
        advice = f"remove that folder, and install {name} again" if name else None
        yield Finding(Ailment.UNREADABLE, f"{where} {what}", {"where": where, "what": what}, advice=advice)


def gone(package: distributions.Distribution) -> tuple[str, ...]:
    """Recorded code that is not there; whole folders are looked at."""
    if any(fault.startswith("RECORD") for fault in package.faults):
        return ()
    paths = (path for path in distributions.files(package) if _CODE.search(path) and not _SPARE.search(path))
    parts = (path.rpartition("/") for path in paths if not path.startswith(("/", "..")))
    wanted = grouped((folder, name) for folder, _, name in parts)
    lost: list[str] = []
    for folder, names in sorted(wanted.items()):
        try:
            there = {*os.listdir(os.path.join(package.folder, folder))}
        except (FileNotFoundError, NotADirectoryError):
            there = set()
        except OSError:
            continue
        # A source may have been compiled and left out (`compileall -b`).
        there |= {name.removesuffix("c") for name in there if name.endswith(".pyc")}
        lost += (f"{folder}/{name}".removeprefix("/") for name in sorted({*names} - there))
    return tuple(lost[:_MOST_SHOWN])


def lasting(subject: EnvironmentUnderTest) -> tuple[list[str], str] | None:
    """The command that brings what runs here and that the next sync keeps, and what that is.

    None where no project keeps the environment, and where no extra or group of it is a backend.
    """
    if subject.torch_alone or subject.machine.trouble is not None:
        return None
    from torchpick.install import job  # what installs is loaded for an environment alone, not for a text

    project = job.project_of_environment(subject.environment.prefix, subject.run.environ)
    if project is None:
        return None
    file = os.path.join(project, "uv.lock")
    try:
        lock = read_lock(file, subject.run.environ)
        judged = judge(subject.run, lock, subject.machine)
        best = (judged.taken and judged.taken.choice) or next((one.choice for one in judged.choices), Choice(""))
        package = best.project if len(lock.projects) > 1 else ""
        adopted = backends.read_backends(project, package)
        if adopted is None or (judged.taken is not None and best.name not in map(normal, adopted.names)):
            return None
        if judged.taken is None:
            adding = judged.adding(file)
            return (adding, "then `torchpick run uv sync` takes it") if adding and not package else None
    except TorchpickError:  # whoever asks for the lock itself hears of it
        return None
    where = [] if uv_project(os.getcwd()) == project else ["--project", project]
    words = ["sync", *(["--package", package] if package else [])]
    request = subject.run.request._replace(python=None, platform=None, glibc=None, macos=None, backends=(), cpu=False)
    brings = f"that is {judged.taken.packages['torch'].labelled}, which {file} holds"
    return ["torchpick", "run", *request.flags, "uv", *where, *words], brings
