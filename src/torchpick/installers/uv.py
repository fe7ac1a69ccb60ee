"""uv's commands for a job: torch's family by its very files, all else as the user's settings have it."""

from __future__ import annotations

from torchpick.decide.remarks import installs_from
from torchpick.environment.requirementfiles import not_below
from torchpick.environment.requirementline import file_of, requirement
from torchpick.installers import job as jobs
from torchpick.installers import store, tools
from torchpick.installers.job import Job
from torchpick.installers.run import Command
from torchpick.model.build import TRITONS
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pythons import NEVER
from torchpick.model.versions import numbers

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


class UvInstaller(Noun):
    """A uv by its path."""

    path: str
    notes: tuple[Note, ...] = ()

    @property
    def name(self) -> str:
        return "uv"

    def command(self, job: Job) -> Command:
        """The installation."""
        limits = jobs.constraints(job)
        files = [limits]
        python = ("--python", job.target.program)
        argv = [self.path, "pip", "install", *python, "-c", limits.path, *self._users(job, files)]
        argv += ["--upgrade"] if job.upgrade else []
        argv += jobs.behind("--reinstall-package", jobs.reinstalled(job))
        argv += jobs.behind("-r", job.asked.given.files)
        argv += [*jobs.groups(job), *job.passed_on, *jobs.words(job)]
        notes = (*self.notes, *jobs.notes(job))
        command = Command("uv", tuple(argv), files=tuple(files), notes=notes)
        return jobs.after_vendor(job, command, self._from_vendor)

    def _from_vendor(self, job: Job, family: list[str]) -> Command:
        """The vendor's index alone: neither a variable nor a file of uv's names another one beside it."""
        where = ("--no-config", "--python", job.target.program, "--default-index", job.pick.index_url)
        argv = (self.path, "pip", "install", *where, *job.passed_on, *family)
        return Command("uv", argv, unset=("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"))

    def resolver(self, job: Job) -> Command:
        """`uv pip compile` over the user's own words: it weighs, and installs nothing."""
        return self._compile(job, [])

    def reporter(self, job: Job) -> Command:
        """The same choice as the installation's, as a lock that names every file."""
        limits = jobs.constraints(job)
        made = self._compile(job, [*tools.LOCK, "-c", limits.path])
        return made._replace(files=(*made.files, limits))

    def _compile(self, job: Job, more: list[str]) -> Command:
        files: list[store.StoredFile] = []
        argv = [self.path, "pip", "compile", "--quiet", "--no-header", *self._environment(job), *more]
        argv += [*self._users(job, files), *resolving(job.passed_on)]
        # An option hides its variable, and links of ours are given beside the user's.
        links = job.own.environ.get("UV_FIND_LINKS", "").split(",")
        argv += jobs.behind("--find-links", filter(str.strip, links))
        needs = store.file(job.place, "needs", ".txt", jobs.lines(job), private=True)
        files.append(needs)
        argv += [*jobs.groups(job), *job.asked.given.files, needs.path]
        # uv takes an Apple machine for one of macOS 13 where nothing is said.
        macos = None if job.elsewhere is None else installs_from(job.pick.build)
        variables = {} if macos is None else {"MACOSX_DEPLOYMENT_TARGET": macos}
        return Command("uv", tuple(argv), variables, files=tuple(files))

    def _environment(self, job: Job) -> list[str]:
        if job.elsewhere is None:
            return ["--python", job.target.program]
        return ["--python-version", job.elsewhere.python.version, "--python-platform", platform_of(job.elsewhere)]

    def _users(self, job: Job, files: list[store.StoredFile]) -> list[str]:
        """The user's own constraints: an option hides its variable, so what that says is said again."""
        own = not_below(job.own.environ.get("UV_CONSTRAINT", "").split(), *jobs.ours(job))
        argv = jobs.behind("-c", (*own, *job.asked.given.constraints))
        if job.left_out:
            # What is never to be installed, whoever needs it; the option hides the user's variable, which is repeated.
            ours = store.file(
                job.place, "overrides", ".txt", file_of(requirement(name, marker=NEVER) for name in job.left_out)
            )
            files.append(ours)
            paths = (ours.path, *job.own.environ.get("UV_OVERRIDE", "").split())
            argv += jobs.behind("--overrides", paths)
        argv += ["--no-deps"] if job.no_deps else []
        argv += ["--offline"] if job.offline else []
        return [*argv, *self._no_sources(job)] if jobs.has_sources(job) else argv

    def _no_sources(self, job: Job) -> list[str]:
        if not tools.takes(self.path, "no-sources-package"):
            return ["--no-sources"]
        names = [*job.family, *(name for name in TRITONS if name not in job.named)]
        return jobs.behind("--no-sources-package", names)


def platform_of(machine: Machine) -> str:
    """The platform as uv calls it, with the newest glibc it knows that is not newer than the machine's."""
    name, glibc = machine.platform.name, machine.platform.glibc
    if name in _PLATFORMS:
        return _PLATFORMS[name]
    has = numbers(glibc)[:2] if glibc is not None else (2, 28)
    fitting = [each for each in _GLIBCS if each <= has] or [_GLIBCS[0]]
    return f"{name.partition('-')[2]}-manylinux_{fitting[-1][0]}_{fitting[-1][1]}"


def resolving(passed_on: tuple[str, ...]) -> list[str]:
    """Of what is passed on to an installation, the part that matters to a resolution."""
    found: list[str] = []
    rest = iter(passed_on)
    for word in rest:
        name, mark, _ = word.partition("=")
        if name in (*_VALUED, *_SWITCHES):
            found.append(word)
        if name in _VALUED and not (mark and name.startswith("--")):
            found += [value for value in (next(rest, None),) if value is not None]
    return found
