"""uv's command for a job: its own backend where it knows the tag, else our links page; the pins either way."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.install import plan, store, tools
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
        wish.index_base == WHEEL_HOST
        and wish.channel == "stable"
        and tools.takes(uv, "torch-backend")
        and tools.knows(uv, job.pick.build.backend)
    )


def command(  # noqa: PLR0913 # facts of the run, each from another place
    job: Job, uv: Uv, inherited: Inherited, copies: Copies, environ: Mapping[str, str], *, cooldown: bool
) -> Command:
    """The whole command; nothing of it is started here."""
    files: list[File] = [*copies.files.values()]
    argv = [uv.path, "pip", "install", "--python", job.target.python]
    argv += _config(job, inherited, files)
    argv += _torch(job, uv, files)
    argv += _users(job, copies, inherited, environ, with_links=not knows(uv, job))
    argv += _switches(job, uv, cooldown=cooldown)
    for path in job.asked.given.files:
        argv += ["-r", copies.path(path)]
    argv += [*job.passed_on, *plan.words(job)]
    notes = (*inherited.notes, *copies.notes, *plan.notes(job), *_own_notes(job, uv))
    return Command("uv", tuple(argv), inherited.set, inherited.unset, tuple(files), notes)


def _torch(job: Job, uv: Uv, files: list[File]) -> list[str]:
    """Where torch's family comes from, and its pins."""
    argv: list[str] = []
    if knows(uv, job):
        argv += ["--torch-backend", job.pick.build.backend]
    else:
        page, remote = plan.pages(job)
        files += [page] if page else []
        for each in ([page.path] if page else []) + remote:
            argv += ["--find-links", each]
    limits = store.file(job.place, "constraints", ".txt", plan.constraints(job))
    files.append(limits)
    return [*argv, "-c", limits.path]


def _config(job: Job, inherited: Inherited, files: list[File]) -> list[str]:
    """Uv's own files in a copy, where one of them had to be left out in part."""
    if inherited.uv_file is None:
        return []
    config = store.file(job.place, "uv", ".toml", inherited.uv_file, private=True)
    files.append(config)
    return ["--config-file", config.path]


def _users(
    job: Job, copies: Copies, inherited: Inherited, environ: Mapping[str, str], *, with_links: bool = True
) -> list[str]:
    """The user's own constraints and links: an option hides its variable, so what the variable says is said again."""
    found: list[str] = []
    for path in _words(environ, "UV_CONSTRAINT"):
        if not store.is_ours(path, job.place):
            found += ["-c", path]
    for path in job.asked.given.constraints:
        found += ["-c", copies.path(path)]
    if with_links and "UV_FIND_LINKS" not in inherited.unset:
        for each in _words({**environ, **inherited.set}, "UV_FIND_LINKS", ","):
            found += ["--find-links", each]
    return found


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
        found += _no_sources(job, uv)
    if cooldown and knows(uv, job) and tools.takes(uv, "exclude-newer-package"):
        # The wheel host dates its files since April 2026 only; a page of ours needs no date.
        for name in plan.kept_names(job):
            found += ["--exclude-newer-package", f"{name}=false"]
    return found


def _no_sources(job: Job, uv: Uv) -> list[str]:
    if not tools.takes(uv, "no-sources-package"):
        return ["--no-sources"]
    return [word for name in plan.kept_names(job) for word in ("--no-sources-package", name)]


def _own_notes(job: Job, uv: Uv) -> list[Note]:
    if knows(uv, job) or job.pick.wish.index_base != WHEEL_HOST or job.pick.wish.channel != "stable":
        return []
    text = f"this uv ({uv.path}) does not say that it knows {job.pick.build.backend}, so it is given a page of links"
    return [Note("UV_LACKS_BACKEND", text)]


def _words(environ: Mapping[str, str], name: str, separator: str | None = None) -> list[str]:
    return [part for part in environ.get(name, "").split(separator) if part.strip()]


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


def resolver(job: Job, uv: Uv, inherited: Inherited, copies: Copies, environ: Mapping[str, str]) -> Command:
    """`uv pip compile` over the user's own words: it weighs, and installs nothing."""
    return _compile(job, uv, inherited, copies, environ, plan.unpinned(job), ["--no-annotate"])


def reporter(job: Job, uv: Uv, inherited: Inherited, copies: Copies, environ: Mapping[str, str]) -> Command:
    """The same choice as the installation's, as a lock that names every file."""
    files: list[File] = []
    more = ["--format", "pylock.toml", *_torch(job, uv, files)]
    made = _compile(job, uv, inherited, copies, environ, [*plan.lines(job)], more)
    return made._replace(files=(*made.files, *files))


def _compile(  # noqa: PLR0913 # facts of the run, each from another place
    job: Job,
    uv: Uv,
    inherited: Inherited,
    copies: Copies,
    environ: Mapping[str, str],
    lines: list[str],
    more: list[str],
) -> Command:
    files = [*copies.files.values()]
    argv = [uv.path, "pip", "compile", "--quiet", "--no-header", "--python", job.target.python, *more]
    argv += _config(job, inherited, files)
    argv += _users(job, copies, inherited, environ)
    if plan.has_sources(job):
        argv += _no_sources(job, uv)
    argv += resolving(job.passed_on)
    argv += [switch for switch, wanted in (("--offline", job.offline), ("--no-deps", job.no_deps)) if wanted]
    needs = store.file(job.place, "needs", ".txt", "".join(f"{line}\n" for line in lines), private=True)
    files.append(needs)
    argv += [copies.path(path) for path in job.asked.given.files]
    argv.append(needs.path)
    return Command("uv", tuple(argv), inherited.set, inherited.unset, tuple(files))
