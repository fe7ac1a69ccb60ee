"""Print or write the extras, groups and index settings of a project, so that every GPU gets a PyTorch that runs."""

from __future__ import annotations

import os

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.decide import demands
from torchpick.decide.demands import is_backend
from torchpick.environment import projectfile, rewrite
from torchpick.environment.projectfile import Project
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.packages import READ_PLATFORM, KnownPackages
from torchpick.model.address import public, redacted
from torchpick.model.build import TRIO
from torchpick.model.fields import envelope, written
from torchpick.model.pick import Request, Wish
from torchpick.model.table import Table
from torchpick.model.versions import named
from torchpick.projects import app, extras, published
from torchpick.projects.app import App
from torchpick.projects.extras import PLATFORMS, Plan
from torchpick.projects.published import Shop

HERE = "pyproject.toml"


def run(args: Arguments) -> int:
    there = _there(args)
    known = Knowledge(os.environ)
    project = _project(args, there)
    kind = args.for_ or ("library" if project.packaged and not args.groups else "app")
    # What is written is handed on: without a login (uv has UV_INDEX_NAME_USERNAME for it, and every tool netrc), and
    # not bound by the constraints of this computer.
    wish = demands.wish_of(Request(index_base=args.index_base), os.environ)
    wish = wish._replace(backends=(), index_base=public(wish.index_base))
    if kind == "app":
        project = project._replace(torch=",".join(filter(None, (project.torch, project.limit))))
    own = App(project, known.table(PLATFORMS).without_vendors(), KnownPackages(os.environ, READ_PLATFORM), wish)
    if kind == "library":
        plan = _library(args, Shop(known.every_build, known.rules, project), own)
    else:
        plan = app.plan(own, _backends(args) or own.backends(), groups=args.groups)
    if there is None or not args.write:
        return _printed(args, plan, kind, known.rules)
    return _finish(args, there, plan, kind, known.rules)


def _there(args: Arguments) -> rewrite.Text | None:
    """The project's file: the one that is named, else the one that lies here."""
    file = args.write or HERE
    there = rewrite.read_file(file)
    if not there.exists and args.write:
        raise TorchpickError(f"there is no {file}", hint="leave out `--write` to print the lines instead")
    return there if there.exists else None


def _project(args: Arguments, there: rewrite.Text | None) -> Project:
    """What the file says, and over it what the flags say."""
    found = projectfile.read_project(there.text, there.file) if there is not None else Project()
    asked = demands.narrowed(Wish(), args.words)
    others = [text for text in args.words if named(text) not in TRIO]
    if others:
        raise UsageError(f"`{others[0]}` is not pinned by a release", hint="torch, torchvision and torchaudio are")
    if asked.torch:
        found = found._replace(torch=asked.torch.replace(" ", ""))
    if asked.companions:
        found = found._replace(companions=tuple(asked.companions))
    return found


def _library(args: Arguments, shop: Shop, own: App) -> Plan:
    if args.groups:
        raise UsageError("`--groups` is for an app: a published library cannot name an index", hint="add `--for app`")
    found = published.extras(shop)
    return Plan((*found, *map(own.exact, _backends(args))))


def _backends(args: Arguments) -> tuple[str, ...]:
    """The backends that are asked for by name; each has an exact extra."""
    for backend in args.backend:
        if not is_backend(backend):
            raise UsageError(f"unknown backend `{backend}`", hint="such as cu126, cpu or rocm7.2")
    return tuple(dict.fromkeys(args.backend))


def _printed(args: Arguments, plan: Plan, kind: str, rules: Table) -> int:
    if args.json:
        print(console.dated(_json(plan, kind), rules.date))
    else:
        print(projectfile.add_settings("", extras.settings_of(plan), HERE), end="")
    return 0


def _finish(args: Arguments, there: rewrite.Text, plan: Plan, kind: str, rules: Table) -> int:
    text = projectfile.add_settings(there.text, extras.settings_of(plan), there.file)
    changed = text != there.text
    if changed:
        rewrite.write_file(there, text)
    if args.json:
        print(console.dated({**_json(plan, kind), "file": there.file, "changed": changed}, rules.date))
    elif changed:
        print(there.file)
    console.notes(args, _next(plan) if changed else f"{there.file} is up to date")
    return 0


def _next(plan: Plan) -> str:
    """The command that installs one of an app's extras."""
    if not plan.indexes:
        return ""
    among = ",".join(each.name for each in plan.extras)
    how = "--group" if plan.groups else "--extra"
    return f'then `uv sync {how} "$(torchpick label --among {among})"`; `uv run --no-sync` keeps what that installed'


def _json(plan: Plan, kind: str) -> dict[str, object]:
    facts = {
        "for": kind,
        "extras": [
            {**written(each, "name", "requirements"), "backend": each.backend or None, "serves": each.comment}
            for each in plan.extras
        ],
        "indexes": [{"name": each.name, "url": redacted(each.url)} for each in plan.indexes],
    }
    return envelope("extras", **facts)
