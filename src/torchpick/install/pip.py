"""pip's command for a job: our links page and the pins; never a second index."""

from __future__ import annotations

from torchpick.errors import InstallerError
from torchpick.install import links, plan, store
from torchpick.install.command import Command
from torchpick.install.copies import Copies
from torchpick.install.inherited import Inherited
from torchpick.install.plan import Job
from torchpick.install.settings import Setting
from torchpick.install.store import File
from torchpick.install.tools import Pip


def command(job: Job, pip: Pip, inherited: Inherited, copies: Copies, cooldown: Setting | None) -> Command:
    """The whole command; nothing of it is started here. `cooldown` is the user's `uploaded-prior-to`."""
    files: list[File] = [*copies.files.values()]
    argv = [*pip.argv, "install"]
    direct = cooldown is not None or _is_ambiguous(job)
    page, remote = plan.pages(job)
    if not direct:
        for each in ([page.path] if page else []) + remote:
            argv += ["--find-links", each]
        files += [page] if page else []
    limits = store.file(job.place, "constraints", ".txt", _direct(job, cooldown) if direct else plan.constraints(job))
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
    if plan.must_reinstall(job):
        argv.append("--force-reinstall")
    for path in job.asked.given.files:
        argv += ["-r", copies.path(path)]
    argv += [*job.passed_on, *plan.words(job)]
    notes = (*inherited.notes, *copies.notes, *plan.notes(job))
    return Command("pip", tuple(argv), inherited.set, inherited.unset, tuple(files), notes)


def _is_ambiguous(job: Job) -> bool:
    """Whether the user's own index may hold the same version as another build: a CUDA build without a local label."""
    return not job.labelled and job.pick.build.family != "cpu"


def _direct(job: Job, cooldown: Setting | None) -> str:
    """Constraints that name the very files: no index and no page is asked for them."""
    lines = []
    for name, version in job.pins.items():
        found = links.wheels(job.pick.build, name, version, job.target.tag, job.pick.index_url)
        if found and not job.pick.wish.index_base.startswith("flat+"):
            lines.append(f"{name} @ {found[0].url}" + (f"#sha256={found[0].sha256}" if found[0].sha256 else ""))
        elif cooldown is None or not any(each.name == name for each in job.asked.wanted):
            lines.append(f"{name}=={version}")
        else:
            hint = "unset it for this run, or `--installer uv`"
            raise InstallerError(
                f"{cooldown.source} sets uploaded-prior-to, and the page of {name} on the wheel host has no dates",
                hint=hint,
                code="COOLDOWN",
            )
    return "\n".join(lines) + "\n" + plan.relatives(job)


def resolver(job: Job, pip: Pip, inherited: Inherited, copies: Copies) -> Command:
    """`pip install --dry-run` over the user's own words: it weighs, and installs nothing."""
    argv = [*pip.argv, "install", "--dry-run", "--ignore-installed"]
    for path in job.asked.given.constraints:
        argv += ["-c", copies.path(path)]
    for path in job.asked.given.files:
        argv += ["-r", copies.path(path)]
    if job.offline:
        argv.append("--no-index")
    argv += [*job.passed_on, *plan.unpinned(job, paths_as_given=True)]
    return Command("pip", tuple(argv), inherited.set, inherited.unset, tuple(copies.files.values()))


def reporter(command: Command) -> Command:
    """The installation's own command as a dry run."""
    place = command.argv.index("install") + 1
    return command._replace(argv=(*command.argv[:place], "--dry-run", *command.argv[place:]))
