"""Plan one whole environment: every pin, where it comes from, whether it runs here, and why. Or its lock."""

from __future__ import annotations

import os

from torchpick.cli import console
from torchpick.cli.arguments import Arguments, order_of
from torchpick.cli.progress import start_progress
from torchpick.cli.text import plain
from torchpick.decide import refusal
from torchpick.decide.answer import older_drivers
from torchpick.environment import rewrite
from torchpick.errors import TorchpickError, UsageError
from torchpick.install.env import dockerfile
from torchpick.install.handover import plan_environment
from torchpick.model.fields import written
from torchpick.model.package import Stack
from torchpick.model.versions import some_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.lock import Lock

DEFAULT = "pylock.torch.toml"


def run(args: Arguments) -> int:
    if args.dockerfile and args.json:
        raise UsageError("--dockerfile and --json are two forms of one answer", hint="use only one of them")
    progress = start_progress(args)
    run = console.start(args, report=progress)
    with progress.during("index"):
        stack, again = plan_environment(run, order_of(args))
    if args.json:
        print(console.dated(stack.to_dict(args.command), run.read_table().date))
        return 0 if stack.ok else 3
    if stack.ok and args.dockerfile:
        lines = dockerfile(run, stack)
        print(lines)
        console.notes(args, console.of_password(lines, image=True))
    elif stack.ok:
        console.print_table(_pins(stack))
        beside = _download(stack)
        if again is not None:
            spans = older_drivers(stack.machine, run.knowledge.rules.drivers, again)
            beside += [("older drivers", span) for span in spans]
        if beside:
            print()
            console.print_blocks([beside], 15)
    else:
        why, remedy = refusal.explain_no_environment(stack)
        console.error(TorchpickError(why, hint=remedy))
    # Why a package is not newer stands in the table.
    console.notes(args, *stack.machine.notes, *(note for note in stack.notes if note.code != "PACKAGE_MOVED"))
    return 0 if stack.ok else 3


def _pins(stack: Stack) -> list[tuple[str, ...]]:
    """Every pin, what it is for, whether it runs, and why it was chosen."""
    rows: list[tuple[str, ...]] = [("package", "version", "CUDA", "verdict", "from", "why")]
    for package in stack.packages:
        page = package.index.partition("/download/")[0]
        rows.append((package.name, package.version, package.cuda or "-", package.verdict, page, package.why))
    return rows


def _download(stack: Stack) -> list[tuple[str, str]]:
    """How much there is to fetch, as far as the index says."""
    if stack.download is None:
        return []
    size, unknown = stack.download
    text = f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB" if size >= 1e6 else "under 1 MB"
    they = "it requires" if len(unknown) == 1 else "they require"
    left = f", without {some_of(unknown)} and what {they}" if unknown else ""
    return [("download", f"{text} at least{left}")]


def run_lock(args: Arguments) -> int:
    from torchpick.install.lock import is_lock_name, make_lock  # with libraries that no plan needs

    path = args.output
    if os.path.isdir(path):
        raise UsageError(f"`-o {path}` is a folder", hint=f"give a file: `-o {os.path.join(path, DEFAULT)}`")
    if not is_lock_name(path):
        hint = f"pip and uv recognize a lock by its name: pylock.toml or pylock.NAME.toml, such as `-o {DEFAULT}`"
        raise UsageError(f"`-o {path}` is not a valid name for a lock", hint=hint)
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise UsageError(f"`-o {path}`: there is no such folder", hint="create it first")
    progress = start_progress(args)
    with progress.during("lock"):
        made = make_lock(console.start(args, installer=args.installer, report=progress), order_of(args))
    path = os.path.normpath(path)
    rewrite.put(path, made.text)
    if args.json:
        print(console.as_json(made.pick, "lock", lock=_lock_facts(made, path)))
        return 0
    console.notes(args, *dict.fromkeys(note.text for note in (*made.pick.every_note, *made.notes)))
    print(plain(path))
    return 0


def _lock_facts(made: Lock, path: str) -> dict[str, object]:
    packages = [
        {**written(each, "name", "version"), "files": [{"url": url, "sha256": sha256} for url, sha256, _ in each.files]}
        for each in made.packages
    ]
    return {"path": path, **written(made, "environment", "notes"), "packages": packages}
