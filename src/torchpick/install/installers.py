"""Which installers there are and which is used; how pip and uv want it: their commands for a job. Nothing is started.

Torch's family goes by its very files, all else as the user's settings have it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import NamedTuple

from torchpick.decide.remarks import installs_from
from torchpick.environment import distributions, interpreter
from torchpick.environment.distributions import Environment
from torchpick.environment.requirementfiles import located, not_below
from torchpick.environment.toolsettings import Setting
from torchpick.environment.world import which
from torchpick.errors import InstallerError, UsageError
from torchpick.install.command import Command, stored_file
from torchpick.install.job import (
    Job,
    after_vendor,
    constraints_file,
    file_url,
    job_notes,
    repeat_option,
    requirement_lines,
    requirement_words,
)
from torchpick.install.user_settings import UserSettings, options_of
from torchpick.model.address import redacted
from torchpick.model.build import TRITONS
from torchpick.model.machine import Machine, Note
from torchpick.model.versions import numbers
from torchpick.run import Run


class PipInstaller(NamedTuple):
    """A pip for a target: its words up to `install`."""

    argv: tuple[str, ...]
    version: str
    notes: tuple[Note, ...] = ()

    @property
    def name(self) -> str:
        return "pip"

    def command(self, job: Job) -> Command:
        variables, limits = self._variables(job), constraints_file(job)
        argv = [*self.argv, "install", "-c", *limits, *self._users(job)]
        argv += ["--upgrade"] if job.upgrade else []
        argv += ["--no-deps"] if job.no_deps else []
        argv += ["--force-reinstall"] if job.family_to_reinstall else []
        argv += repeat_option("--find-links", job.pages)
        argv += [*job.passed_on, *requirement_words(job)]
        notes = (*self.notes, *job_notes(job))
        # Stand-ins have no dates; a cooldown of the user's holds again when it comes to installing.
        unset = ("PIP_UPLOADED_PRIOR_TO",) if job.releases else ()
        command = Command("pip", tuple(argv), variables, unset, limits, notes)
        return after_vendor(job, command, self._from_vendor)

    def _from_vendor(self, job: Job, family: list[str]) -> Command:
        """The vendor's index alone; a blank hides what pip.conf names besides."""
        argv = (*self.argv, "install", "--index-url", job.pick.index_url, *job.passed_on, *family)
        hidden = {"PIP_EXTRA_INDEX_URL": " ", "PIP_FIND_LINKS": " "}
        return Command("pip", argv, hidden | _import_paths(job.settings.environ))

    def reporter(self, job: Job) -> Command:
        """The installation's own command as a dry run."""
        if job.for_lock and not job.releases:
            _check_version(self.version, OLDEST_PIP_FOR_LOCKS, "the pip to lock with", job.target.program)
        command = self.command(job)
        start = command.argv.index("install") + 1
        # Where an index has no metadata file beside a wheel, pip would fetch the whole wheel to learn its needs.
        more = ("--ignore-installed", "--use-feature=fast-deps") if job.for_lock else ()
        return command._replace(argv=(*command.argv[:start], "--dry-run", *more, *command.argv[start:]))

    def _users(self, job: Job) -> list[str]:
        args = job.requirements.given
        argv = [*repeat_option("-c", args.constraints), *repeat_option("-r", args.files)]
        argv += ["--no-index"] if job.offline else []
        argv += ["--pre"] if job.pick.wish.channel != "stable" else []
        return [*argv, *repeat_option("--group", args.groups)]

    def _variables(self, job: Job) -> dict[str, str]:
        """What to set for the run: neither a constraint of an earlier pick nor the current folder may have a say.

        Files of projects are refused.
        """
        if job.elsewhere is not None:
            label = f"Python {job.elsewhere.python.version} on {job.elsewhere.platform.name}"
            hint = "leave out `--installer pip`, and install uv (`python -m pip install uv`), which resolves for others"
            raise InstallerError(f"pip resolves for its own machine only, and not for {label}", hint=hint)
        for path in job.requirements.opaque:
            hint = "`--installer uv`" if job.for_lock else "name its folder, or `--installer uv`"
            raise UsageError(f"{path} is not a requirements file for pip", hint=hint)
        constraints = job.settings.pip_words("constraint")
        users = not_below(constraints, *job.our_folders)
        remote = [word for word in users if "://" in located(word)]
        if remote and job.offline:  # pip would fetch it, `--no-index` or not
            hint = "download it, and name the file in your settings"
            raise UsageError(f"{redacted(remote[0])} is not on this computer, and `--offline` is given", hint=hint)
        # A blank: an empty variable would let the configuration file speak again.
        limits = {} if users == constraints else {"PIP_CONSTRAINT": " ".join(users) or " "}
        return limits | _import_paths(job.settings.environ)


def _import_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """PYTHONPATH without its empty and relative entries: by these pip would import modules of the current folder."""
    paths = environ.get("PYTHONPATH", "")
    absolute = os.pathsep.join(filter(os.path.isabs, paths.split(os.pathsep)))
    return {} if absolute == paths else {"PYTHONPATH": absolute}


# uv 0.13.8 knows these versions of glibc by name; the tags of torch's own wheels ask for 2.17 or 2.28.
_GLIBCS = ((2, 17), (2, 28), *((2, minor) for minor in range(31, 41)))
_PLATFORMS = {
    "windows-x86_64": "x86_64-pc-windows-msvc",
    "windows-arm64": "aarch64-pc-windows-msvc",
    "macos-arm64": "aarch64-apple-darwin",
    "macos-x86_64": "x86_64-apple-darwin",
}
# Options of `uv pip install` that `uv pip compile` knows as well: those with a value behind them, and switches.
_VALUED = (
    "--index", "--default-index", "--index-url", "-i", "--extra-index-url", "--find-links", "-f", "--index-strategy",
    "--keyring-provider", "--prerelease", "--resolution", "--exclude-newer", "--exclude-newer-package", "--no-binary",
    "--only-binary", "--allow-insecure-host", "--cert", "--config-setting", "-C", "--cache-dir",
)  # fmt: skip
_SWITCHES = (
    "--no-index", "--no-build", "--pre", "--system-certs", "--native-tls", "--no-sources", "--no-build-isolation",
    "--no-cache", "-n",
)  # fmt: skip


class UvInstaller(NamedTuple):
    path: str
    notes: tuple[Note, ...] = ()

    @property
    def name(self) -> str:
        return "uv"

    def command(self, job: Job) -> Command:
        limits = constraints_file(job)
        places, variables = _places(job, limits)
        argv = [self.path, "pip", "install", "--python", job.target.program, *places, *self._options(job)]
        argv += ["--upgrade"] if job.upgrade else []
        argv += repeat_option("--reinstall-package", job.family_to_reinstall)
        argv += repeat_option("-r", job.requirements.given.files)
        argv += [*repeat_option("--group", job.requirements.given.groups), *job.passed_on, *requirement_words(job)]
        notes = (*self.notes, *job_notes(job))
        command = Command("uv", tuple(argv), variables, files=limits, notes=notes)
        return after_vendor(job, command, self._from_vendor)

    def _from_vendor(self, job: Job, family: list[str]) -> Command:
        """The vendor's index alone: neither a variable nor a file of uv's names another one beside it."""
        where = ("--no-config", "--python", job.target.program, "--default-index", job.pick.index_url)
        argv = (self.path, "pip", "install", *where, *job.passed_on, *family)
        return Command("uv", argv, unset=("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"))

    def reporter(self, job: Job) -> Command:
        """What the installation would choose, as a lock that names every file."""
        limits = constraints_file(job)
        places, variables = _places(job, limits)
        environment = ["--python", job.target.program]
        if job.elsewhere is not None:
            version, platform = job.elsewhere.python.version, uv_platform(job.elsewhere)
            environment = ["--python-version", version, "--python-platform", platform]
        argv = [self.path, "pip", "compile", "--quiet", "--no-header", *environment, "--format", "pylock.toml"]
        argv += [*places, *self._options(job), *resolution_options(job.passed_on)]
        needs = stored_file(job.store, "needs", ".txt", requirement_lines(job))
        argv += [*repeat_option("--group", job.requirements.given.groups), *job.requirements.given.files, *needs]
        # uv takes an Apple machine for one of macOS 13 where nothing is said.
        macos = None if job.elsewhere is None else installs_from(job.pick.build)
        variables |= {} if macos is None else {"MACOSX_DEPLOYMENT_TARGET": macos}
        return Command("uv", tuple(argv), variables, files=needs | limits)

    def _options(self, job: Job) -> list[str]:
        argv = ["--no-deps"] if job.no_deps else []
        argv += ["--offline"] if job.offline else []
        if job.may_have_sources:
            names = [*job.family, *(name for name in TRITONS if name not in job.named)]
            argv += repeat_option("--no-sources-package", names)
        return argv


def _places(job: Job, limits: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Our constraints and pages as options, which hide the user's variables; where these name some, ours go in there.

    Everybody may read the process list, and a variable may hold a password.
    """
    settings = job.settings
    constraints = not_below(settings.uv_words("UV_CONSTRAINT"), *job.our_folders)
    links = [*filter(str.strip, settings.environ.get("UV_FIND_LINKS", "").split(","))] if job.pages else []
    argv, variables = list[str](), dict[str, str]()
    for option, ours, variable, separator, users in (
        ("-c", (*limits, *job.requirements.given.constraints), "UV_CONSTRAINT", " ", constraints),
        ("--find-links", job.pages, "UV_FIND_LINKS", ",", links),
    ):
        if users:
            variables[variable] = separator.join((*map(file_url, ours), *users))
        else:
            argv += repeat_option(option, ours)
    return argv, variables


def uv_platform(machine: Machine) -> str:
    """The platform as uv calls it, with the newest glibc it knows that is not newer than the machine's."""
    name, glibc = machine.platform.name, machine.platform.glibc
    if name in _PLATFORMS:
        return _PLATFORMS[name]
    limit = numbers(glibc)[:2] if glibc is not None else (2, 28)
    major, minor = max((version for version in _GLIBCS if version <= limit), default=_GLIBCS[0])
    return f"{name.partition('-')[2]}-manylinux_{major}_{minor}"


def resolution_options(passed_on: tuple[str, ...]) -> list[str]:
    """Of what is passed on to an installation, the part that matters to a resolution."""
    words = ((option, value)[: 2 if option in _VALUED else 1] for option, value in options_of(passed_on))
    return [word for parts in words if parts[0] in (*_VALUED, *_SWITCHES) for word in parts]


# pip's `--report` is as old as 22.2, and with it the resolver this relies on; `--python` came with 22.3.
OLDEST_PIP = (22, 2)
OLDEST_PIP_FOR_OTHERS = (22, 3)
# An older one downloads every wheel in a dry run (`prepare_linked_requirements_more`; read in 22.2 to 26.3).
OLDEST_PIP_FOR_LOCKS = (25, 3)

Installer = PipInstaller | UvInstaller


def choose_installer(
    wanted: str, target: Environment, uv: str | None, settings: UserSettings, oldest_pip: tuple[int, int] = OLDEST_PIP
) -> Installer:
    """The installer for this target. `auto`: see docs/install.md; settings of the current folder never choose it."""
    uv_words = {word for setting in _user_indexes(settings, settings.uv_places) for word in setting.words}
    unseen = [
        setting for setting in _user_indexes(settings, settings.pip_places) if not uv_words.issuperset(setting.words)
    ]
    if wanted == "pip" or (wanted == "auto" and uv is None):
        pip = _pip_for(target)
        if pip is None:
            hint = f"`{target.program} -m ensurepip`, or install uv"
            more = "" if uv else ", and no uv was found"
            raise InstallerError(f"{target.prefix} has no pip{more}", hint=hint, code="NO_INSTALLER")
        return pip
    if uv is None:
        hint = "install uv (`python -m pip install uv`), or set $UV to it"
        raise InstallerError("no uv was found: neither as a module, nor in $UV, nor on PATH", hint=hint)
    names = "; ".join(f"{', '.join(map(redacted, setting.words))} ({setting.source})" for setting in unseen)
    note = Note("SETTINGS_UNSEEN", f"uv does not read pip's settings, so it does not use {names}")
    with_uv = UvInstaller(uv, (note,) if unseen else ())
    for_uv = target.by_uv or target.pip is None or leading_numbers(target.pip) < oldest_pip or bool(uv_words)
    if wanted == "uv" or (for_uv and not unseen):
        return with_uv
    pip = _pip_for(target)
    if pip is None:
        return with_uv
    note = Note("PIP_FOR_ITS_SETTINGS", f"pip is used, as uv would not see {names}")
    return pip._replace(notes=(note,) if for_uv else ())


def _user_indexes(settings: UserSettings, places: Iterable[Setting]) -> list[Setting]:
    """The settings that name indexes of the user's own, outside the current folder."""
    outside = (setting for setting in places if setting.source not in settings.of_folder)
    return [setting for setting in outside if not all(map(settings.is_wheel_index, setting.words))]


def _pip_for(target: Environment) -> PipInstaller | None:
    return find_pip(target, *(pip_beside() if target.pip is None else (None, None)))


def find_target(run: Run) -> Environment:
    """The environment to install into, of the target interpreter; a version that was given must be its own."""
    (machine,) = run.find_machines()
    python = interpreter.installable(machine.python, run.request.python)
    return distributions.read_environment(python, run.environ, acts=True, metadata=False)


def find_uv(environ: Mapping[str, str]) -> str | None:
    """The uv to use: as a module beside torchpick, in $UV, on PATH."""
    paths = (_uv_module(), environ.get("UV"), which("uv", environ))
    return next((path for path in paths if path and os.path.isfile(path) and os.access(path, os.X_OK)), None)


def _uv_module() -> str | None:
    """The program of a uv package of this environment; that of a user's own site-packages is on PATH."""
    # Asking importlib costs 3 ms more, for every start without it.
    is_there = any(os.path.isfile(os.path.join(folder, "uv", "__init__.py")) for folder in sys.path if folder)
    if not is_there or sys.modules.get("uv", sys) is None:  # barred, as tests do
        return None
    return os.path.join(sys.prefix, *(("Scripts", "uv.exe") if os.name == "nt" else ("bin", "uv")))


def find_pip(target: Environment, python: str | None, version: str | None) -> PipInstaller | None:
    """The target's pip, else the pip of this version beside torchpick, which `python` starts, with `--python`."""
    if target.pip is not None:
        _check_version(target.pip, OLDEST_PIP, f"the pip in {target.prefix}", target.program)
        return PipInstaller(_start_words(target.program, target.python.version, target.packages), target.pip)
    if python is None or version is None:
        return None
    _check_version(version, OLDEST_PIP_FOR_OTHERS, "the pip beside torchpick", python)
    words = _start_words(python, ".".join(map(str, sys.version_info[:2])), sys.path)
    return PipInstaller((*words, "--python", target.program), version)


def _start_words(python: str, version: str, folders: Sequence[str]) -> tuple[str, ...]:
    """The words that start this Python's pip, and nothing of the current folder: `-m` alone looks there first."""
    if leading_numbers(version) >= (3, 11):
        return (python, "-P", "-m", "pip")
    paths = (os.path.join(folder, "pip") for folder in folders if folder)
    path = next((path for path in paths if os.path.isfile(os.path.join(path, "__main__.py"))), None)
    return (python, "-I", "-m", "pip") if path is None else (python, path)


def _check_version(version: str, oldest: tuple[int, int], whose: str, python: str) -> None:
    if leading_numbers(version) < oldest:
        raise InstallerError(
            f"{whose} is {version}, and torchpick needs {'.'.join(map(str, oldest))} or newer",
            hint=f"`{python} -m pip install -U pip`",
            code="OLD_INSTALLER",
        )


def leading_numbers(version: str) -> tuple[int, ...]:
    """The numbers at the front: `23.1.dev0` → (23, 1)."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def pip_beside() -> tuple[str | None, str | None]:
    """The interpreter and the version of the pip that is installed beside torchpick."""
    spec = find_spec("pip")
    if spec is None or spec.origin is None or not sys.executable:
        return None, None
    names = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
    versions = [match[1] for name in names if (match := re.fullmatch(r"pip-(.+)\.dist-info", name))]
    return (sys.executable, versions[0]) if versions else (None, None)
