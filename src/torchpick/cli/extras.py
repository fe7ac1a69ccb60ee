"""Print or write the extras, groups and index settings of a project, so that every GPU gets a PyTorch that runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.progress import start_progress
from torchpick.decide import demands
from torchpick.decide.demands import is_backend
from torchpick.environment import projectfile, rewrite, toml
from torchpick.environment.projectfile import MARK
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.address import public, redacted
from torchpick.model.build import TRIO
from torchpick.model.fields import written
from torchpick.model.pick import Request
from torchpick.model.table import Table
from torchpick.model.versions import named, normal
from torchpick.projects import app, othertools
from torchpick.projects.app import PLATFORMS, App, Plan
from torchpick.projects.backends import backend_names, family_of_all
from torchpick.projects.takeover import member_requirements, write_project

HERE = "pyproject.toml"


def run(args: Arguments) -> int:
    there = _there(args)
    known = Knowledge(os.environ)
    tool = othertools.tool_of(there) if there is not None else "uv"
    _check_words(args)
    if there is not None and tool != "uv":
        return _of_tool(args, there, tool, known)
    members = member_requirements(there.file) if there is not None else ()
    authors = toml.read(projectfile.remove_settings(there.text, MARK), there.file) if there is not None else {}
    python, needs = _needs(there)
    own = _app(args, there, python, (*needs, *members, *family_of_all(authors), *args.words), known)
    plan = _taken_over(args, there, own, authors)
    if there is not None and (args.write or args.dry_run):
        _finish(args, there, plan, known.rules)
    elif args.json:
        console.print_json(args, known.rules.date, **_json(plan))
    else:
        print(projectfile.add_settings("", app.settings_of(plan), HERE), end="")
    console.notes(args, *own.notes)
    return 0


def _needs(there: rewrite.Text | None) -> tuple[str, tuple[str, ...]]:
    """The Pythons that a project is for, and all that a lock of it has to hold at once."""
    if there is None:
        return "", ()
    return projectfile.read_requires_python(there.text, there.file), projectfile.read_requirements(
        there.text, there.file
    )


def _of_tool(args: Arguments, there: rewrite.Text, tool: str, known: Knowledge) -> int:
    """The one build of a project that uv does not lock."""
    python, needs = _needs(there) if tool in ("poetry", "pdm") else ("", othertools.needs_of(there, tool))
    backends = [*_backends(args).values()]
    if len(backends) != 1:  # these tools lock one torch
        hint = "`--backend cu126` names one; `torchpick` says which runs on this machine"
        raise UsageError(f"a project of {tool} is for one backend", hint=hint)
    own = _app(args, there, python, (*needs, *args.words), known)
    file, text = othertools.write(there, tool, own, backends[0])
    before = there if file == there.file else rewrite.read_file(file)
    if not args.write or args.dry_run:
        print(text, end="")
    elif before.text != text or not before.exists:
        rewrite.write_file(before, text)
        print(file)
        command = {"poetry": "poetry lock", "pip-tools": f"pip-compile {os.path.basename(file)}"}[tool]
        console.notes(args, f"then `{command}`")
    else:
        console.notes(args, f"{file} is up to date")
    console.notes(args, *own.notes)
    return 0


def _there(args: Arguments) -> rewrite.Text | None:
    """The project's file: the one that is named, else the one that lies here."""
    file = args.write or HERE
    there = rewrite.read_file(file)
    if not there.exists and (args.write or args.dry_run):
        raise TorchpickError(f"there is no {file}", hint="leave out `--write` to print the lines instead")
    return there if there.exists else None


def _check_words(args: Arguments) -> None:
    others = [text for text in args.words if named(text) not in TRIO]
    if others:
        raise UsageError(f"`{others[0]}` is not pinned by a release", hint="torch, torchvision and torchaudio are")


def _app(
    args: Arguments, there: rewrite.Text | None, python: str, requirements: Sequence[str], known: Knowledge
) -> App:
    # What is written is handed on: without a login (uv has UV_INDEX_NAME_USERNAME for it, and every tool netrc).
    base = public(demands.wish_of(Request(index_base=args.index_base), os.environ).index_base)
    request = Request(index_base=base, offline=args.offline)
    run = console.start(args, request, report=start_progress(args))
    folder = os.path.dirname(os.path.abspath(there.file)) if there is not None else os.getcwd()
    # What the project does not have yet is read from the indexes that uv would ask for it.
    run = run._replace(environ={"UV_PROJECT": folder, **run.environ})
    return App(run, python, requirements, known.table(PLATFORMS).without_vendors())


def _backends(args: Arguments) -> Mapping[str, str]:
    """The backends that are asked for, by the names of their extras."""
    for backend in args.backend:
        if not is_backend(backend):
            raise UsageError(f"unknown backend `{backend}`", hint="such as cu126, cpu or rocm7.2")
    return {normal(backend): backend for backend in args.backend}


def _own_backends(there: rewrite.Text | None) -> tuple[str, Mapping[str, str]]:
    """The backends that the file has, whether as extras or as groups."""
    return ("extra", {}) if there is None else backend_names(toml.read(there.text, there.file))


def _taken_over(args: Arguments, there: rewrite.Text | None, own: App, data: Mapping[str, Any]) -> Plan:
    """The backends that are asked for, else those that the project has, else those that its users' GPUs need.

    `data` is the file without our lines.
    """
    kind, before = _own_backends(there)
    _, authors = backend_names(data)
    groups = args.groups or bool(before and kind == "group")
    backends = _backends(args) or before or {normal(backend): backend for backend in own.backends()}
    sources = toml.table_at(data, *projectfile.SOURCES)
    ours = {name: backend for name, backend in backends.items() if name not in authors}
    return app.plan(own, ours, tuple(authors), groups=groups, sources_before=sources)


def _finish(args: Arguments, there: rewrite.Text, plan: Plan, rules: Table) -> None:
    text = projectfile.add_settings(there.text, app.settings_of(plan), there.file)
    changed, locked = text != there.text, False
    if changed and not args.dry_run:
        locked = write_project(there, text, os.environ)
    if args.json:
        console.print_json(args, rules.date, **_json(plan), file=there.file, changed=changed)
    elif args.dry_run:
        lines = (there.text.splitlines(keepends=True), text.splitlines(keepends=True))
        print("".join(unified_diff(*lines, there.file, there.file)), end="")
    elif changed:
        print(there.file)
    if not changed:
        console.notes(args, f"{there.file} is up to date")
    elif not args.dry_run:
        first = "" if locked else "`uv lock`, and "
        console.notes(args, f"then {first}`torchpick run uv sync` on each machine installs what runs there")


def _json(plan: Plan) -> dict[str, object]:
    return {
        "extras": [
            {**written(extra, "name", "requirements", "backend"), "serves": extra.comment} for extra in plan.extras
        ],
        "indexes": [{"name": name, "url": redacted(url)} for name, url in plan.indexes.items()],
    }
