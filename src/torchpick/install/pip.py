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
    direct = cooldown is not None or links.is_ambiguous(job.pick.build)
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


def _direct(job: Job, cooldown: Setting | None) -> str:
    """Constraints that name the very files: no index and no page is asked for them."""
    index = job.pick.index_url
    flat = job.pick.wish.index_base.startswith("flat+")
    found = [] if flat else links.known(job.pick.build, job.pins, (job.target.tag,), index)[0]
    lines = {wheel.name: links.requirement(wheel) for wheel in reversed(found)}
    for name, version in job.pins.items():
        if name in lines:
            continue
        if cooldown is not None and any(each.name == name for each in job.asked.wanted):
            raise InstallerError(
                f"{cooldown.source} sets uploaded-prior-to, and the page of {name} on the wheel host has no dates",
                hint="unset it for this run, or `--installer uv`",
                code="COOLDOWN",
            )
        lines[name] = f"{name}=={version}"
    return "".join(f"{lines[name]}\n" for name in job.pins) + plan.relatives(job)


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
    # The stand-ins have no dates; a cooldown of the user's holds again when it comes to installing.
    unset = (*inherited.unset, "PIP_UPLOADED_PRIOR_TO")
    return Command("pip", tuple(argv), inherited.set, unset, tuple(copies.files.values()))


def reporter(command: Command) -> Command:
    """The installation's own command as a dry run."""
    place = command.argv.index("install") + 1
    return command._replace(argv=(*command.argv[:place], "--dry-run", *command.argv[place:]))
