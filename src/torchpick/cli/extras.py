"""Print or write the extras, groups and index settings of a project, so that every GPU gets a PyTorch that runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import unified_diff
from typing import Any

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.progress import start_progress
from torchpick.decide import demands
from torchpick.decide.demands import is_backend
from torchpick.environment import projectfile, rewrite, toml
from torchpick.environment.projectfile import MARK, Project
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.address import public, redacted
from torchpick.model.build import TRIO
from torchpick.model.fields import written
from torchpick.model.machine import Note
from torchpick.model.pick import Request, Wish
from torchpick.model.table import Table
from torchpick.model.versions import named, normal
from torchpick.projects import app, extras, othertools
from torchpick.projects.app import App, member_requirements, write_project
from torchpick.projects.backends import backend_names, family_of_all
from torchpick.projects.extras import PLATFORMS, Plan, Shop

HERE = "pyproject.toml"


def run(args: Arguments) -> int:
    if others := [text for text in args.words if named(text) not in TRIO]:
        raise UsageError(f"`{others[0]}` is not pinned by a release", hint="torch, torchvision and torchaudio are")
    there = _there(args)
    known = Knowledge(os.environ)
    tool = othertools.tool_of(there) if there is not None else "uv"
    if there is not None and tool != "uv" and args.for_ != "library":
        return _of_tool(args, there, tool, known)
    stands_alone = Project(packaged=not (args.groups or args.backend))
    project = projectfile.read_project(there.text, there.file) if there is not None else stands_alone
    kind = args.for_ or ("library" if project.packaged and not project.chooses else "app")
    table, notes = known.table(PLATFORMS).without_vendors(), tuple[Note, ...]()
    if kind == "library":
        plan = _library(args, project, known)
    else:
        members = member_requirements(there.file) if there is not None else ()
        authors = toml.read(projectfile.remove_settings(there.text, MARK), there.file) if there is not None else {}
        words = (*project.requirements, *members, *family_of_all(authors), *args.words)
        own = _app(args, there, project._replace(requirements=words), table)
        plan, notes = _taken_over(args, there, own, authors), tuple(own.notes)
    if there is not None and (args.write or args.dry_run):
        _finish(args, there, plan, kind, known.rules)
    elif args.json:
        console.print_json(args, known.rules.date, **_json(plan, kind))
    else:
        print(projectfile.add_settings("", extras.settings_of(plan), HERE), end="")
    console.notes(args, *notes)
    return 0


def _of_tool(args: Arguments, there: rewrite.Text, tool: str, known: Knowledge) -> int:
    """The one build of a project that uv does not lock."""
    is_project = tool in ("poetry", "pdm")
    project = projectfile.read_project(there.text, there.file) if is_project else Project()
    backends = [*_backends(args).values()]
    if len(backends) != 1:  # these tools lock one torch
        hint = "`--backend cu126` names one; `torchpick` says which runs on this machine"
        raise UsageError(f"a project of {tool} is for one backend", hint=hint)
    project = project._replace(requirements=(*project.requirements, *othertools.needs_of(there, tool), *args.words))
    own = _app(args, there, project, known.table(PLATFORMS).without_vendors())
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


def _app(args: Arguments, there: rewrite.Text | None, project: Project, table: Table) -> App:
    # What is written is handed on: without a login (uv has UV_INDEX_NAME_USERNAME for it, and every tool netrc).
    base = public(demands.wish_of(Request(index_base=args.index_base), os.environ).index_base)
    request = Request(index_base=base, offline=args.offline)
    run = console.start(args, request, report=start_progress(args))
    folder = os.path.dirname(os.path.abspath(there.file)) if there is not None else os.getcwd()
    # What the project does not have yet is read from the indexes that uv would ask for it.
    return App(run._replace(environ={"UV_PROJECT": folder, **run.environ}), project, table)


def _library(args: Arguments, project: Project, known: Knowledge) -> Plan:
    if args.groups or args.backend:
        flag = "--groups" if args.groups else "--backend"
        raise UsageError(f"`{flag}` is for an app: a published library cannot name an index", hint="use `--for app`")
    asked = demands.narrowed(Wish(), args.words).torch.replace(" ", "")
    project = project._replace(torch=asked or projectfile.torch_range(project.dependencies))
    return Plan(extras.ranges(Shop(known.every_build, known.rules, project)))


def _backends(args: Arguments) -> Mapping[str, str]:
    """The backends that are asked for, by the names of their extras."""
    for backend in args.backend:
        if not is_backend(backend):
            raise UsageError(f"unknown backend `{backend}`", hint="such as cu126, cpu or rocm7.2")
    return {normal(backend): backend for backend in args.backend}


def _taken_over(args: Arguments, there: rewrite.Text | None, own: App, data: Mapping[str, Any]) -> Plan:
    """The backends that are asked for, else those that the project has, else those that its users' GPUs need.

    `data` is the file without our lines.
    """
    kind, before = backend_names({} if there is None else toml.read(there.text, there.file))
    _, authors = backend_names(data)
    groups = args.groups or bool(before and kind == "group")
    backends = _backends(args) or before or {normal(backend): backend for backend in own.backends()}
    sources = toml.table_at(data, *projectfile.SOURCES)
    ours = {name: backend for name, backend in backends.items() if name not in authors}
    return app.plan(own, ours, tuple(authors), groups=groups, sources_before=sources)


def _finish(args: Arguments, there: rewrite.Text, plan: Plan, kind: str, rules: Table) -> None:
    text = projectfile.add_settings(there.text, extras.settings_of(plan), there.file)
    changed, locked = text != there.text, False
    if changed and not args.dry_run:
        locked = write_project(there, text, os.environ)
    if args.json:
        console.print_json(args, rules.date, **_json(plan, kind), file=there.file, changed=changed)
    elif args.dry_run:
        lines = (there.text.splitlines(keepends=True), text.splitlines(keepends=True))
        print("".join(unified_diff(*lines, there.file, there.file)), end="")
    elif changed:
        print(there.file)
    if not changed:
        console.notes(args, f"{there.file} is up to date")
    elif plan.indexes and not args.dry_run:
        first = "" if locked else "`uv lock`, and "
        console.notes(args, f"then {first}`torchpick run uv sync` on each machine installs what runs there")


def _json(plan: Plan, kind: str) -> dict[str, object]:
    return {
        "for": kind,
        "extras": [
            {**written(extra, "name", "requirements"), "backend": extra.backend or None, "serves": extra.comment}
            for extra in plan.extras
        ],
        "indexes": [{"name": name, "url": redacted(url)} for name, url in plan.indexes.items()],
    }
