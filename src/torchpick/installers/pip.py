"""pip's command for a job: torch's family by its very files, all else as the user's settings have it."""

from __future__ import annotations

from torchpick.environment import toolsettings
from torchpick.environment.inherited import Inherited, of_pip
from torchpick.environment.targets import Target
from torchpick.environment.toolsettings import Setting
from torchpick.errors import InstallerError, UsageError
from torchpick.installers import away, jobs, settings_files, store, tools
from torchpick.installers.command import Command
from torchpick.installers.inherits import OwnSettings
from torchpick.installers.jobs import Job
from torchpick.installers.store import StoredFile
from torchpick.installers.tools import Pip
from torchpick.model.build import is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.noun import Noun

# pip's `--group` (its news for 25.1).
OLDEST_FOR_GROUPS = (25, 1)
# Settings that name places beside the one index.
_BESIDE = ("extra-index-url", "find-links")


class PipInstaller(Noun):
    """A pip for a target: its words up to `install`, and what it inherits."""

    argv: tuple[str, ...]
    version: str
    inherited: Inherited = Inherited()
    cooldown: Setting | None = None
    notes: tuple[Note, ...] = ()
    files: tuple[StoredFile, ...] = ()
    away: Setting | None = None  # what leads out of the target
    several: bool = False  # whether the user's settings name more places than one index

    @property
    def name(self) -> str:
        return "pip"

    def alone(self, job: Job) -> bool:  # noqa: ARG002 # every index of the user counts for pip
        return False

    def shared(self, job: Job) -> bool:
        return self.several or jobs.names_places(job)

    def command(self, job: Job) -> Command:
        _check_hashes(job)
        self._check(job)
        copies = job.copies
        files: list[StoredFile] = [*self.files, *copies.files.values()]
        argv = [*self.argv, "install"]
        limits = store.file(job.place, "constraints", ".txt", jobs.constraints(job))
        files.append(limits)
        argv += ["-c", limits.path]
        for path in job.asked.given.constraints:
            argv += ["-c", copies.path(path)]
        if job.upgrade:
            argv.append("--upgrade")
        if job.no_deps:
            argv.append("--no-deps")
        if job.offline:
            argv.append("--no-index")
        if job.pick.wish.channel != "stable":
            argv.append("--pre")
        if jobs.reinstalled(job):
            argv.append("--force-reinstall")
        for path in job.asked.given.files:
            argv += ["-r", copies.path(path)]
        argv += self._groups(job)
        argv += [*job.passed_on, *jobs.words(job)]
        notes = (*self.notes, *self.inherited.notes, *copies.notes, *jobs.notes(job))
        return Command("pip", tuple(argv), self.inherited.set, self.inherited.unset, tuple(files), notes)

    def _check(self, job: Job) -> None:
        """Refuse what would lead away, and files of projects: pip takes any file for lines of requirements."""
        away.check(self.away, job.passed_on, job.target.prefix)
        for path in job.asked.opaque:
            hint = "name its folder, or `--installer uv`"
            raise UsageError(f"{path} is not a requirements file for pip", hint=hint)

    def _groups(self, job: Job) -> list[str]:
        if job.asked.given.groups and tools.version_of(self.version) < OLDEST_FOR_GROUPS:
            oldest = ".".join(map(str, OLDEST_FOR_GROUPS))
            hint = f"`{self.argv[0]} -m pip install -U pip`, or `--installer uv`"
            message = f"pip {self.version} does not know dependency groups; {oldest} and newer do"
            raise InstallerError(message, hint=hint, code="OLD_INSTALLER")
        return jobs.groups(job)

    def resolver(self, job: Job) -> Command:
        """`pip install --dry-run` over the user's own words: it weighs, and installs nothing."""
        self._check(job)
        argv = [*self.argv, "install", "--dry-run", "--ignore-installed"]
        for path in job.asked.given.constraints:
            argv += ["-c", job.copies.path(path)]
        for path in job.asked.given.files:
            argv += ["-r", job.copies.path(path)]
        argv += self._groups(job)
        if job.offline:
            argv.append("--no-index")
        argv += [*job.passed_on, *jobs.unpinned(job, paths_as_given=True)]
        # The stand-ins have no dates; a cooldown of the user's holds again when it comes to installing.
        unset = (*self.inherited.unset, "PIP_UPLOADED_PRIOR_TO")
        return Command("pip", tuple(argv), self.inherited.set, unset, (*self.files, *job.copies.files.values()))

    def reporter(self, job: Job) -> Command:
        """The installation's own command as a dry run."""
        command = self.command(job)
        place = command.argv.index("install") + 1
        return command._replace(argv=(*command.argv[:place], "--dry-run", *command.argv[place:]))


def _check_hashes(job: Job) -> None:
    """Once one requirement has a hash, pip takes none without."""
    bare = next((each for each in job.asked.wanted if not each.hashed), None) if job.asked.hashed else None
    if bare is not None:
        hint = "give it one, or `--installer uv`, which checks the hashes that there are"
        raise UsageError(f"{bare.source} has no hash, and pip takes none without beside those that have one", hint=hint)


def of(pip: Pip, own: OwnSettings, target: Target, place: str, notes: tuple[Note, ...] = ()) -> PipInstaller:
    """The pip with what the user's settings mean to it; constraints of ours in them must not bind this decision."""
    inherited = of_pip(own.pip, own.environ, own.pip_files)
    said = own.pip.get("constraint")
    stores = (place, toolsettings.store_of(target.prefix))
    words = said.words if said is not None else ()
    kept = store.not_ours(words, *stores)
    if len(kept) != len(words):
        inherited = inherited._replace(set={**inherited.set, "PIP_CONSTRAINT": " ".join(kept) or " "})
    named = settings_files.of_pip(own, place, [word for word in words if word not in kept])
    inherited = inherited._replace(set={**inherited.set, **named.set}, notes=(*inherited.notes, *named.copies.notes))
    files = tuple(named.copies.files.values())
    places = [said for said in own.pip.values() if said.name in _BESIDE]
    several = any(not is_wheel_host(word) for said in places for word in store.not_ours(said.words, *stores))
    cooldown = own.pip.get("uploaded-prior-to")
    return PipInstaller(pip.argv, pip.version, inherited, cooldown, notes, files, away.of_pip(own), several)
