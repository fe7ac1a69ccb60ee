"""uv's command for a job: its own backend where it knows the tag, else our links page; the pins either way."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.install import plan, store
from torchpick.install.command import Command
from torchpick.install.copies import Copies
from torchpick.install.inherited import Inherited
from torchpick.install.plan import Job
from torchpick.install.store import File
from torchpick.install.tools import Uv
from torchpick.model.machine import Note
from torchpick.model.wish import WHEEL_HOST


def knows(uv: Uv, job: Job) -> bool:
    """Whether `--torch-backend` leads this uv to the very index: its base is fixed, and so is its list of tags."""
    wish = job.pick.wish
    return (
        "torch-backend" in uv.flags
        and job.pick.build.backend in uv.backends
        and wish.index_base == WHEEL_HOST
        and wish.channel == "stable"
    )


def command(job: Job, uv: Uv, inherited: Inherited, copies: Copies, environ: Mapping[str, str], *, cooldown: bool) -> Command:  # noqa: PLR0913 # facts of the run, each from another place
    """The whole command; nothing of it is started here."""
    files: list[File] = [*copies.files.values()]
    argv = [uv.path, "pip", "install", "--python", job.target.python]
    if inherited.uv_file is not None:
        config = store.file(job.place, "uv", ".toml", inherited.uv_file, private=True)
        files.append(config)
        argv += ["--config-file", config.path]
    more, wanted = _places(job, uv, inherited, environ)
    argv += more
    files += wanted
    limits = store.file(job.place, "constraints", ".txt", plan.constraints(job))
    files.append(limits)
    argv += ["-c", limits.path]
    # An option hides its variable, so what the variable says is said again.
    for path in _words(environ, "UV_CONSTRAINT"):
        if not store.is_ours(path, job.place):
            argv += ["-c", path]
    for path in job.asked.given.constraints:
        argv += ["-c", copies.path(path)]
    argv += _switches(job, uv, cooldown=cooldown)
    for path in job.asked.given.files:
        argv += ["-r", copies.path(path)]
    argv += [*job.passed_on, *plan.words(job)]
    notes = (*inherited.notes, *copies.notes, *plan.notes(job), *_own_notes(job, uv))
    return Command("uv", tuple(argv), inherited.set, inherited.unset, tuple(files), notes)


def _places(job: Job, uv: Uv, inherited: Inherited, environ: Mapping[str, str]) -> tuple[list[str], list[File]]:
    """Where torch is to come from."""
    if knows(uv, job):
        return ["--torch-backend", job.pick.build.backend], []
    page, remote = plan.pages(job)
    argv: list[str] = []
    for each in ([page.path] if page else []) + remote:
        argv += ["--find-links", each]
    for each in _words({**environ, **inherited.set}, "UV_FIND_LINKS", ","):
        if "UV_FIND_LINKS" not in inherited.unset:
            argv += ["--find-links", each]
    return argv, [page] if page else []


def _switches(job: Job, uv: Uv, *, cooldown: bool) -> list[str]:
    found = []
    if job.upgrade:
        found.append("--upgrade")
    if job.no_deps:
        found.append("--no-deps")
    if job.offline:
        found.append("--offline")
    if plan.must_reinstall(job):
        found += ["--reinstall-package", "torch"]
    if plan.has_sources(job):
        if "no-sources-package" in uv.flags:
            for name in plan.kept_names(job):
                found += ["--no-sources-package", name]
        else:
            found.append("--no-sources")
    if cooldown and knows(uv, job) and "exclude-newer-package" in uv.flags:
        # The wheel host dates its files since April 2026 only; a page of ours needs no date.
        for name in plan.kept_names(job):
            found += ["--exclude-newer-package", f"{name}=false"]
    return found


def _own_notes(job: Job, uv: Uv) -> list[Note]:
    if knows(uv, job) or job.pick.wish.index_base != WHEEL_HOST or job.pick.wish.channel != "stable":
        return []
    text = f"this uv ({uv.path}) does not say that it knows {job.pick.build.backend}, so it is given a page of links"
    return [Note("UV_LACKS_BACKEND", text)]


def _words(environ: Mapping[str, str], name: str, separator: str | None = None) -> list[str]:
    return [part for part in environ.get(name, "").split(separator) if part.strip()]
