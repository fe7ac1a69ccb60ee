"""What is installed for a Python, read in place: its metadata and its files, and none of its code."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from torchpick.environment import interpreter
from torchpick.environment.world import (
    World,
    full_version,
    is_same,
    is_shared,
    named,
    prefix_of,
    program_of,
    settings_of,
    start_of,
    text_of,
    tool_environment,
    with_pth,
)
from torchpick.errors import InstallerError, TorchpickError, UsageError
from torchpick.model.arch import Arch
from torchpick.model.fields import ShapeError
from torchpick.model.machine import Python
from torchpick.model.metadata import MOST_REQUIRES, read_headers
from torchpick.model.versions import grouped, normal

# Bounds on what is read: torch's RECORD has 1.5 MB.
_MOST_METADATA = 4 << 20
_MOST_RECORD = 64 << 20
_MOST_LINE = 4096

# What could not be read, and why.
Faults = list[tuple[str, str]]
_BINARY = re.compile(r"\.(?:so(?:\.[0-9]+)*|dll|pyd)$", re.IGNORECASE)


class Distribution(NamedTuple):
    """An installed project: where it lies, what it requires, and what of its metadata could not be read."""

    name: str
    version: str
    folder: str
    info: str
    requires: tuple[str, ...] = ()
    installer: str | None = None
    faults: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


class Environment(NamedTuple):
    """A Python, the folder of its environment, and what is installed there.

    `sites` are the folders of its search path, in order, and `distributions` what lies in them; an installer fills
    `packages`, and `installed` are the versions in these. `torches` are the folders that hold a torch package.
    `managed` is the message of PEP 668, `tool` the program whose own environment it is, `conda` whether it is
    conda's, `faults` what could not be read, and why.
    """

    python: Python
    prefix: str
    sites: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    installed: Mapping[str, str] = {}
    conda: bool = False
    torches: tuple[str, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()
    by_uv: bool = False
    managed: str | None = None
    tool: str | None = None

    @property
    def program(self) -> str:
        """What to call its Python by in a command."""
        return self.python.executable or "python"

    @property
    def pip(self) -> str | None:
        """The version of the pip in it, if there is one."""
        return self.installed.get("pip")

    @property
    def emptied(self) -> Environment:
        """With nothing in it but its pip."""
        return self._replace(installed={} if self.pip is None else {"pip": self.pip})

    def find(self, name: str) -> Distribution | None:
        """The one that an import would meet first."""
        return next((package for package in self.distributions if package.name == name), None)

    def named(self, start: str) -> list[Distribution]:
        """Every first one whose name begins so."""
        names = dict.fromkeys(package.name for package in self.distributions if package.name.startswith(start))
        return [package for name in names if (package := self.find(name)) is not None]


def read_environment(
    python: str | Python,
    environ: Mapping[str, str],
    *,
    source: str = "given",
    acts: bool = False,
    metadata: bool = True,
) -> Environment:
    """The environment of an interpreter or folder. Without `metadata` only names and versions are read.

    Its Python is asked only where the files of its folder do not show it all: of one whose version is known, where its
    packages are. That of a `.venv` here is not even asked then, unless what asks `acts`.
    """
    known = python if isinstance(python, Python) else None
    path = python if isinstance(python, str) else str(python.executable)
    prefix = path if os.path.isdir(path) else prefix_of(path)
    settings = settings_of(prefix)
    by_files = not acts and _lies_here(prefix, environ)
    is_alone = settings is not None and not is_shared(settings)
    environment = _of_folders(prefix, known or interpreter.python_by_files(prefix, source), environ)
    if not by_files and not (environment.sites and (known or is_alone)):
        environment = locate(path, environ)
    source = known.source if known else source
    environment = environment._replace(python=environment.python._replace(source=source))
    return _with_contents(environment, metadata=metadata)


def _lies_here(prefix: str, environ: Mapping[str, str]) -> bool:
    """Whether it is a `.venv` that was found here or above: a question starts nothing in it."""
    choice = interpreter.find_environment(World.here()._replace(environ=environ))
    return choice is not None and choice.lies_in_a_folder and is_same(choice.python, prefix)


def locate(python: str, environ: Mapping[str, str]) -> Environment:
    """Where the Python at a path, of a command or in an environment's folder keeps packages, by its own answer.

    What is installed is not read. Raises TorchpickError where it does not run.
    """
    path = named(python, environ, os.getcwd())
    program = program_of(path) if path is not None and os.path.isdir(path) else path
    prefix = os.devnull if path is None else path if os.path.isdir(path) else prefix_of(path)
    settings = settings_of(prefix)
    if program is None or not os.path.exists(program):
        if settings is None:
            hint = "specify an interpreter with `--python`"
            raise UsageError(f"`{python}` is neither a Python nor an environment", hint=hint)
        made_by = settings.get("home", "no folder")
        message = f"the interpreter of {prefix} is gone; it was made by the Python in {made_by}"
        raise TorchpickError(message, hint="create the environment again", code="BROKEN_PYTHON")
    # Without a pyvenv.cfg the interpreter itself knows its folder, whichever link or wrapper led to it.
    deadline = time.monotonic() + interpreter.ANSWER_S
    machine, answer = interpreter.ask(program, environ, deadline, prefix="" if settings is None else prefix)
    try:
        return Environment(
            python=machine.python,
            prefix=answer.text("prefix"),
            sites=interpreter.search_path(answer, settings, environ),
            packages=tuple(dict.fromkeys(answer.texts("packages"))),
            by_uv="uv" in (settings or {}),  # it leaves its version in pyvenv.cfg
            managed=_manager_of(answer.text("stdlib")) if settings is None else None,
        )
    except ShapeError as error:
        raise interpreter.broken(program, str(error)[:200]) from error


def _of_folders(prefix: str, python: Python, environ: Mapping[str, str]) -> Environment:
    """What an environment's files say of it; the folders of a Python that it shares are where that one's are.

    Without folders where they do not show where its packages are.
    """
    prefix = os.path.abspath(prefix)
    settings = settings_of(prefix)
    is_environment = settings is not None or os.path.isdir(os.path.join(prefix, "conda-meta"))
    threaded = "t" if python.free_threaded else ""
    name = f"{'pypy' if python.implementation == 'pp' else 'python'}{python.version}{threaded}"
    library = os.path.join(prefix, "Lib") if os.name == "nt" else os.path.join(prefix, "lib", name)
    packages = os.path.join(library, "site-packages")
    if not (is_environment and os.path.isdir(packages)):
        return Environment(python, prefix)
    sites = [*filter(None, environ.get("PYTHONPATH", "").split(os.pathsep)), packages]
    if settings is not None and is_shared(settings):
        above = os.path.dirname(settings.get("home", os.devnull))
        folders = (f"lib/python{python.version}/site-packages", "lib/python3/dist-packages", "Lib/site-packages")
        sites += [os.path.join(above, *folder.split("/")) for folder in folders]
    return Environment(
        python=python._replace(exact=python.exact or full_version(settings)),
        prefix=prefix,
        sites=with_pth(sites),
        packages=(packages,),
        by_uv="uv" in (settings or {}),
        managed=_manager_of(library) if settings is None else None,
    )


def _with_contents(environment: Environment, *, metadata: bool) -> Environment:
    sites, prefix = environment.sites, environment.prefix
    faults: Faults = []
    contents = {site: in_folder(site, faults, metadata=metadata) for site in sites}
    # Of two folders the first has the project.
    filled = [package for folder in environment.packages for package in contents.get(folder) or in_folder(folder)]
    return environment._replace(
        tool=tool_environment(prefix),
        distributions=tuple(package for packages in contents.values() for package in packages),
        installed={package.name: package.version for package in reversed(filled)},
        conda=os.path.isdir(os.path.join(prefix, "conda-meta")),
        torches=tuple(site for site in sites if start_of(os.path.join(site, "torch", "version.py"), 1)),
        faults=tuple(faults),
    )


def check_installable(environment: Environment, passed_on: tuple[str, ...]) -> None:
    """Refuse, before anything starts, what an installer would refuse or what would break another tool."""
    if environment.tool:
        hint = "make an environment (`python3 -m venv .venv`) and name it: `--python .venv/bin/python`"
        message = f"{environment.prefix} is an environment that {environment.tool} keeps for one program"
        raise InstallerError(message, hint=hint, code="TOOL_ENVIRONMENT")
    options = {word.partition("=")[0] for word in passed_on}
    if environment.managed and not options & {"--break-system-packages", "--target", "-t", "--prefix"}:
        hint = (
            "make an environment: `python3 -m venv .venv`, then `--python .venv/bin/python`; "
            "or insist: `torchpick install … -- --break-system-packages`"
        )
        message = f"{environment.prefix} is externally managed: {environment.managed}"
        raise InstallerError(message, hint=hint, code="EXTERNALLY_MANAGED")


def _manager_of(stdlib: str) -> str | None:
    """The words of an EXTERNALLY-MANAGED file (PEP 668), or None where pip may install."""
    file = os.path.join(stdlib, "EXTERNALLY-MANAGED")
    if not os.path.isfile(file):
        return None
    match = re.search(r"^Error\s*=\s*(.*)", text_of(file), re.MULTILINE)
    return match[1].strip() if match else "the system's package manager owns it"


VERSION_FILE = "torch/version.py"
_VERSION = re.compile(r"^__version__\s*=\s*['\"]([^'\"]{1,64})['\"]", re.MULTILINE)
_CUDA = re.compile(r"^cuda(?:\s*:[^=\n]{1,40})?\s*=\s*['\"](\d{1,3}\.\d{1,3})[.\d]*['\"]", re.MULTILINE)
_HIP = re.compile(r"^hip(?:\s*:[^=\n]{1,40})?\s*=\s*['\"](\d{1,3}\.\d{1,3})[^'\"]{0,40}['\"]", re.MULTILINE)


class TorchFacts(NamedTuple):
    """What PyTorch reports about itself: torch/version.py and the compiled list of architectures."""

    version: str | None = None
    cuda: str | None = None
    hip: str | None = None
    flags: tuple[Arch, ...] = ()


def parse_version_file(text: str) -> TorchFacts:
    """Read torch/version.py, which is never run."""
    version, cuda, hip = (pattern.search(text) for pattern in (_VERSION, _CUDA, _HIP))
    return TorchFacts(version and version[1], cuda and cuda[1], hip and hip[1])


def torch_facts(folders: Iterable[str]) -> TorchFacts:
    """What the torch in these folders says of itself; nothing where there is none."""
    texts = (text_of(os.path.join(folder, VERSION_FILE)) for folder in folders)
    return parse_version_file(next(filter(None, texts), ""))


def in_folder(folder: str, faults: Faults | None = None, *, metadata: bool = False) -> list[Distribution]:
    """The projects in one folder, by the names of their metadata; what could not be read joins the faults."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info")))
    except OSError as error:
        if faults is not None:
            faults.append((folder, f"cannot be read: {error.strerror}"))
        return []
    packages = (_distribution(folder, name, metadata=metadata) for name in names)
    return [package for package in packages if package is not None]


def find_installed(name: str, folders: Iterable[str]) -> Distribution | None:
    """One project with its metadata; the first folder wins."""
    packages = (package for folder in folders for package in in_folder(folder) if package.name == name)
    first = next(packages, None)
    return None if first is None else _distribution(first.folder, first.info, metadata=True)


def _distribution(folder: str, info: str, *, metadata: bool) -> Distribution | None:
    """One project; what its metadata lacks is taken from the folder's name."""
    name, _, version = info.rpartition(".")[0].partition("-")
    version = version.partition("-py")[0] if info.endswith(".egg-info") else version
    if not name or name.startswith("~"):  # pip moves aside what it replaces, and forgets it where it is killed
        return None
    if not metadata:
        return Distribution(normal(name), version, folder, info)

    inside = os.path.join(folder, info)
    file = os.path.join(inside, "METADATA" if info.endswith(".dist-info") else "PKG-INFO")
    if os.path.isfile(inside):  # an old .egg-info is the metadata itself
        file = inside
    data = start_of(file, _MOST_METADATA)
    faults = []
    if not (data or b"").strip():
        problem = "is empty" if data is not None else "cannot be read" if os.path.exists(file) else "is missing"
        faults.append(f"{os.path.basename(file)} {problem}")
    if info.endswith(".dist-info") and not os.path.isfile(os.path.join(inside, "RECORD")):
        faults.append("RECORD is missing")
    headers = grouped(read_headers((data or b"").decode("utf-8", "replace")))
    installer = text_of(os.path.join(inside, "INSTALLER")) if normal(name) == "torch" else ""
    return Distribution(
        name=normal(headers.get("name", [""])[0][:200] or name),
        version=headers.get("version", [""])[0][:200] or version,
        folder=folder,
        info=info,
        requires=tuple(headers.get("requires-dist", ())[:MOST_REQUIRES]),
        installer=installer.strip()[:40] or None,
        faults=tuple(faults),
    )


def files(package: Distribution) -> tuple[str, ...]:
    """The files of a project, by its RECORD; without one (conda, Debian) those of its own folders."""
    record = start_of(os.path.join(package.folder, package.info, "RECORD"), _MOST_RECORD + 1) or b""
    if not record.strip() or len(record) > _MOST_RECORD:  # a monstrous one is nobody's list of files
        return tuple(_files_below(package))
    # A NUL or an endless line is somebody's joke, not a file of ours. Behind a name, which may hold commas, stand the
    # hash and the size.
    lines = (line for line in record.decode("utf-8", "replace").splitlines() if len(line) < _MOST_LINE)
    return tuple(dict.fromkeys(line.rsplit(",", 2)[0].strip('"') for line in lines if line and "\0" not in line))


def libraries(package: Distribution) -> tuple[str, ...]:
    """The shared libraries among them; of those outside its folder (bin/, share/) the ones that are there."""
    names = (name for name in files(package) if name[:1] != "/" and _BINARY.search(name))
    return tuple(name for name in names if name[:2] != ".." or os.path.exists(os.path.join(package.folder, name)))


def _files_below(package: Distribution) -> Iterator[str]:
    tops = text_of(os.path.join(package.folder, package.info, "top_level.txt")).split()
    for top in filter(str.isidentifier, tops or [package.info.partition("-")[0]]):
        for root, below, names in os.walk(os.path.join(package.folder, top)):
            below.sort()
            yield from (os.path.relpath(os.path.join(root, name), package.folder) for name in sorted(names))


def overwritten(package: Distribution, other: Distribution) -> str | None:
    """A library that two projects both installed, the later over the earlier; None where they share none."""
    if package.folder != other.folder:
        return None
    names = set(libraries(package))
    return next((name for name in libraries(other) if name in names), None)
