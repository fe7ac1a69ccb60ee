"""uv's command for a job: its own backend where it knows the tag, else the very files; the pins either way."""

from __future__ import annotations

from torchpick.environment.inherited import Inherited, of_uv
from torchpick.environment.toolsettings import Setting
from torchpick.errors import UsageError
from torchpick.installers import away, dashes, jobs, settings_files, store, tools
from torchpick.installers.command import Command
from torchpick.installers.inherits import OwnSettings
from torchpick.installers.jobs import Job
from torchpick.installers.store import StoredFile
from torchpick.model.build import is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pythons import NEVER


class UvInstaller(Noun):
    """A uv, what it inherits, and the user's constraints and links, which an option of ours would hide.

    `linked` says that a setting of the user's names pages or folders of files, which uv asks beside any index.
    """

    path: str
    inherited: Inherited = Inherited()
    constraints: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    linked: bool = False
    cooldown: Setting | None = None
    notes: tuple[Note, ...] = ()
    files: tuple[StoredFile, ...] = ()
    away: Setting | None = None  # what leads out of the target

    @property
    def name(self) -> str:
        return "uv"

    def knows(self, job: Job) -> bool:
        """Whether `--torch-backend` leads this uv to the very index: its list of tags is fixed too."""
        return (
            job.pick.by_backend
            and tools.takes(self.path, "torch-backend")
            and tools.knows(self.path, job.pick.build.backend)
        )

    def alone(self, job: Job) -> bool:
        linked = self.linked or dashes.names_links((*job.passed_on, *jobs.in_files(job)))
        return self.knows(job) and not linked

    def shared(self, job: Job) -> bool:
        return self.linked or jobs.names_places(job)

    def command(self, job: Job) -> Command:
        away.check(self.away, job.passed_on, job.target.prefix)
        files: list[StoredFile] = [*self.files, *job.copies.files.values()]
        argv = [self.path, "pip", "install", "--python", job.target.python]
        argv += self._config(job, files)
        argv += self._torch(job, files)
        argv += self._users(job, with_links=False)
        argv += self._overrides(job, files)
        argv += self._switches(job)
        for path in job.asked.given.files:
            argv += ["-r", job.copies.path(path)]
        argv += jobs.groups(job)
        argv += [*job.passed_on, *jobs.words(job)]
        notes = (*self.notes, *self.inherited.notes, *job.copies.notes, *jobs.notes(job), *self._own_notes(job))
        return Command("uv", tuple(argv), self.inherited.set, self.inherited.unset, tuple(files), notes)

    def resolver(self, job: Job) -> Command:
        """`uv pip compile` over the user's own words: it weighs, and installs nothing."""
        return self._compile(job, jobs.unpinned(job), ["--annotate", "--annotation-style", "split"])

    def reporter(self, job: Job) -> Command:
        """The same choice as the installation's, as a lock that names every file."""
        files: list[StoredFile] = []
        more = [*tools.LOCK, *self._torch(job, files)]
        made = self._compile(job, [*jobs.lines(job)], more)
        return made._replace(files=(*made.files, *files))

    def _compile(self, job: Job, lines: list[str], more: list[str]) -> Command:
        files = [*self.files, *job.copies.files.values()]
        argv = [self.path, "pip", "compile", "--quiet", "--no-header", "--python", job.target.python, *more]
        argv += self._config(job, files)
        argv += self._users(job)
        argv += self._overrides(job, files)
        if jobs.has_sources(job):
            argv += self._no_sources(job)
        argv += resolving(job.passed_on)
        argv += [switch for switch, wanted in (("--offline", job.offline), ("--no-deps", job.no_deps)) if wanted]
        needs = store.file(job.place, "needs", ".txt", "".join(f"{line}\n" for line in lines), private=True)
        files.append(needs)
        argv += [*jobs.groups(job), *(job.copies.path(path) for path in job.asked.given.files)]
        argv.append(needs.path)
        return Command("uv", tuple(argv), self.inherited.set, self.inherited.unset, tuple(files))

    def _torch(self, job: Job, files: list[StoredFile]) -> list[str]:
        """Where torch's family comes from, and its pins."""
        argv: list[str] = []
        if self.knows(job):
            argv += ["--torch-backend", job.pick.build.backend]
        limits = store.file(job.place, "constraints", ".txt", jobs.constraints(job))
        files.append(limits)
        return [*argv, "-c", limits.path]

    def _config(self, job: Job, files: list[StoredFile]) -> list[str]:
        """Uv's own files in a copy, where one of them had to be left out in part."""
        if self.inherited.uv_file is None:
            return []
        config = store.file(job.place, "uv", ".toml", self.inherited.uv_file, private=True)
        files.append(config)
        return ["--config-file", config.path]

    def _users(self, job: Job, *, with_links: bool = True) -> list[str]:
        """The user's own constraints and links: an option hides its variable, so what that says is said again."""
        mine = {file.path for file in self.files}
        constraints = [path for path in self.constraints if path in mine or not store.is_ours(path, job.place)]
        constraints += [job.copies.path(path) for path in job.asked.given.constraints]
        argv = [word for path in constraints for word in ("-c", path)]
        if with_links:
            argv += [word for link in self.find_links for word in ("--find-links", link)]
        return argv

    def _overrides(self, job: Job, files: list[StoredFile]) -> list[str]:
        """What is never to be installed, whoever needs it; the option hides the user's variable, which is repeated."""
        if not job.left_out:
            return []
        lines = "".join(f"{name} ; {NEVER}\n" for name in job.left_out)
        ours = store.file(job.place, "overrides", ".txt", lines)
        files.append(ours)
        return [word for path in (ours.path, *self.overrides) for word in ("--overrides", path)]

    def _switches(self, job: Job) -> list[str]:
        argv = []
        if job.upgrade:
            argv.append("--upgrade")
        if job.no_deps:
            argv.append("--no-deps")
        if job.offline:
            argv.append("--offline")
        argv += [word for name in jobs.reinstalled(job) for word in ("--reinstall-package", name)]
        if jobs.has_sources(job):
            argv += self._no_sources(job)
        if self.cooldown is not None and self.knows(job) and tools.takes(self.path, "exclude-newer-package"):
            # The wheel host dates its files since April 2026 only; a page of ours needs no date.
            for name in jobs.kept_names(job):
                argv += ["--exclude-newer-package", f"{name}=false"]
        return argv

    def _no_sources(self, job: Job) -> list[str]:
        if not tools.takes(self.path, "no-sources-package"):
            return ["--no-sources"]
        return [word for name in jobs.kept_names(job) for word in ("--no-sources-package", name)]

    def _own_notes(self, job: Job) -> list[Note]:
        if self.knows(job) or not job.pick.by_backend:
            return []
        backend = job.pick.build.backend
        text = f"this uv ({self.path}) does not seem to support {backend}, so it is given the addresses of the files"
        return [Note("UV_LACKS_BACKEND", text)]


def of(path: str, own: OwnSettings, place: str, notes: tuple[Note, ...] = ()) -> UvInstaller:
    """The uv with what the user's settings mean to it."""
    if folder := own.environ.get("UV_WORKING_DIR"):
        hint = "unset it, and run torchpick in that folder"
        raise UsageError(f"UV_WORKING_DIR leads uv to the files of another folder, {folder}", hint=hint)
    named = settings_files.of_uv(own, place)
    inherited = of_uv(own.environ, own.uv_files)
    inherited = inherited._replace(set={**inherited.set, **named.set}, notes=(*inherited.notes, *named.copies.notes))
    links = find_links(own, inherited)
    return UvInstaller(
        path=path,
        inherited=inherited,
        constraints=tuple(map(named.copies.path, own.environ.get("UV_CONSTRAINT", "").split())),
        overrides=tuple(map(named.copies.path, own.environ.get("UV_OVERRIDE", "").split())),
        find_links=links,
        linked=bool(links) or linked_in_files(own),
        cooldown=own.uv_cooldown,
        notes=notes,
        files=tuple(named.copies.files.values()),
        away=away.of_uv(own),
    )


def linked_in_files(own: OwnSettings) -> bool:
    """Whether a file of uv's names pages or folders of files, which uv asks beside any index."""
    return any(said.name == "find-links" and not all(map(is_wheel_host, said.words)) for said in own.uv)


def find_links(own: OwnSettings, inherited: Inherited) -> tuple[str, ...]:
    """The user's UV_FIND_LINKS, without what was left out of it."""
    if "UV_FIND_LINKS" in inherited.unset:
        return ()
    said = inherited.set.get("UV_FIND_LINKS", own.environ.get("UV_FIND_LINKS", ""))
    return tuple(part for part in said.split(",") if part.strip())


# Options of `uv pip install` that `uv pip compile` knows as well, and whether a value follows.
_FOR_RESOLVING = {
    "--index": True, "--default-index": True, "--index-url": True, "-i": True, "--extra-index-url": True,
    "--find-links": True, "-f": True, "--no-index": False, "--index-strategy": True, "--keyring-provider": True,
    "--prerelease": True, "--resolution": True, "--exclude-newer": True, "--exclude-newer-package": True,
    "--no-build": False, "--no-binary": True, "--only-binary": True, "--allow-insecure-host": True, "--cert": True,
    "--system-certs": False, "--native-tls": False, "--no-sources": False, "--no-build-isolation": False,
    "--config-setting": True, "-C": True, "--overrides": True, "--override": True, "--no-cache": False, "-n": False,
    "--cache-dir": True,
}  # fmt: skip


def resolving(passed_on: tuple[str, ...]) -> list[str]:
    """Of what is passed on to an installation, the part that matters to a resolution."""
    found: list[str] = []
    rest = iter(passed_on)
    for word in rest:
        name, mark, _ = word.partition("=")
        takes = _FOR_RESOLVING.get(name)
        if takes is None:
            continue
        found.append(word)
        if takes and not (mark and name.startswith("--")):
            found += [value for value in (next(rest, None),) if value is not None]
    return found
