"""pip's commands for a job: torch's family by its very files, all else as the user's settings have it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torchpick.environment.requirementfiles import located, not_below
from torchpick.errors import InstallerError, UsageError
from torchpick.installers import job as jobs
from torchpick.installers.job import Job
from torchpick.installers.run import Command
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted


class PipInstaller(Noun):
    """A pip for a target: its words up to `install`."""

    argv: tuple[str, ...]
    version: str
    notes: tuple[Note, ...] = ()

    @property
    def name(self) -> str:
        return "pip"

    def command(self, job: Job) -> Command:
        """The installation."""
        variables, limits = self._variables(job), jobs.constraints(job)
        argv = [*self.argv, "install", "-c", limits.path, *self._users(job)]
        argv += ["--upgrade"] if job.upgrade else []
        argv += ["--no-deps"] if job.no_deps else []
        argv += ["--force-reinstall"] if jobs.reinstalled(job) else []
        argv += [*job.passed_on, *jobs.words(job)]
        notes = (*self.notes, *jobs.notes(job))
        command = Command("pip", tuple(argv), variables, files=(limits,), notes=notes)
        return jobs.after_vendor(job, command, self._from_vendor)

    def _from_vendor(self, job: Job, family: list[str]) -> Command:
        """The vendor's index alone; a blank hides what pip.conf names besides."""
        argv = (*self.argv, "install", "--index-url", job.pick.index_url, *job.passed_on, *family)
        return Command("pip", argv, {"PIP_EXTRA_INDEX_URL": " ", "PIP_FIND_LINKS": " ", **_imports(job.own.environ)})

    def resolver(self, job: Job) -> Command:
        """A dry run over the user's own words: it weighs, and installs nothing."""
        variables = self._variables(job)
        argv = [*self.argv, "install", "--dry-run", "--ignore-installed", *self._users(job)]
        argv += ["--no-deps"] if job.no_deps else []
        argv += job.passed_on
        for each in job.asked.wanted:
            if not each.where:
                argv += ["-e", each.text] if each.editable else [each.text]
        # The stand-ins have no dates; a cooldown of the user's holds again when it comes to installing.
        return Command("pip", (*argv, *job.added), variables, ("PIP_UPLOADED_PRIOR_TO",))

    def reporter(self, job: Job) -> Command:
        """The installation's own command as a dry run."""
        command = self.command(job)
        place = command.argv.index("install") + 1
        # Where an index has no metadata file beside a wheel, pip would fetch the whole wheel to learn its needs.
        more = ("--ignore-installed", "--use-feature=fast-deps") if job.for_lock else ()
        return command._replace(argv=(*command.argv[:place], "--dry-run", *more, *command.argv[place:]))

    def _users(self, job: Job) -> list[str]:
        """The user's own files and groups."""
        argv = [*jobs.behind("-c", job.asked.given.constraints), *jobs.behind("-r", job.asked.given.files)]
        argv += ["--no-index"] if job.offline else []
        argv += ["--pre"] if job.pick.wish.channel != "stable" else []
        return [*argv, *jobs.groups(job)]

    def _variables(self, job: Job) -> dict[str, str]:
        """What to set for the run: neither a constraint of an earlier pick nor the current folder may have a say.

        Files of projects, and a mix of requirements with and without a hash are refused.
        """
        if job.elsewhere is not None:
            label = f"Python {job.elsewhere.python.version} on {job.elsewhere.platform.name}"
            hint = "leave out `--installer pip`, and install uv (`python -m pip install uv`), which resolves for others"
            raise InstallerError(f"pip resolves for its own machine only, and not for {label}", hint=hint)
        for path in job.asked.opaque:
            hint = "name its folder, or `--installer uv`"
            raise UsageError(f"{path} is not a requirements file for pip", hint=hint)
        bare = next((each for each in job.asked.wanted if not each.hashed), None) if job.asked.hashed else None
        if bare is not None:
            hint = "give it one, or `--installer uv`, which checks the hashes that there are"
            message = f"{bare.source} has no hash, and pip takes none without beside those that have one"
            raise UsageError(message, hint=hint)
        said = job.own.pip_words("constraint")
        users = not_below(said, *jobs.ours(job))
        remote = [word for word in users if "://" in located(word)]
        if remote and job.offline:  # pip would fetch it, `--no-index` or not
            hint = "download it, and name the file in your settings"
            raise UsageError(f"{redacted(remote[0])} is not on this computer, and `--offline` is given", hint=hint)
        # A blank: an empty variable would let the configuration file speak again.
        limits = {} if users == said else {"PIP_CONSTRAINT": " ".join(users) or " "}
        return limits | _imports(job.own.environ)


def _imports(environ: Mapping[str, str]) -> dict[str, str]:
    """PYTHONPATH without its empty and relative entries: by these pip would import modules of the current folder."""
    paths = environ.get("PYTHONPATH", "")
    absolute = os.pathsep.join(filter(os.path.isabs, paths.split(os.pathsep)))
    return {} if absolute == paths else {"PYTHONPATH": absolute}
