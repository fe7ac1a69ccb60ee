"""Print or write the extras, groups and index settings of a project, so that every GPU gets a PyTorch that runs.

A library that is published to an index (--for library) gets ranges that the default index satisfies; --backend adds
exact extras, which fail loudly without the wheel host. An application in a checkout (--for app) gets an extra or, with
--groups, a dependency group for each backend, with the indexes and sources of --tool. The range of torch and the rest
are read from pyproject.toml. What the author wrote is never overwritten.

examples:
  torchpick extras                                     for ./pyproject.toml, printed
  torchpick extras --torch ">=2.5" --for library       without a file
  torchpick extras --write pyproject.toml              into the file; a second run changes nothing
  torchpick extras --for app --tool uv --name old=cu126 --name new=cu132 --name cpu=cpu
  torchpick extras --name nvidia-old=sm_50,sm_61
"""

from __future__ import annotations

import os
from argparse import ArgumentParser

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.decide import demands
from torchpick.decide.answer import TRIO
from torchpick.decide.wishes import is_backend
from torchpick.environment import marks, projectfile, rewrite
from torchpick.environment.projectfile import Project
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.packages import READ_PLATFORM, KnownPackages
from torchpick.model import envelope
from torchpick.model.redaction import public, redacted
from torchpick.model.request import Request, Wish
from torchpick.model.table import Table
from torchpick.model.versions import named, normal
from torchpick.projects import app, declared, published
from torchpick.projects.declared import Plan
from torchpick.projects.published import Shop
from torchpick.projects.served import PLATFORMS, generations, named_kinds
from torchpick.session import Session

HERE = "pyproject.toml"


class ExtrasArguments(Arguments):
    torch: str | None
    name: list[str] | None
    kind: str | None
    tool: str | None
    groups: bool
    write: str | None


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument("--for", dest="kind", choices=("library", "app"), help="what the project is (guessed)")
    parser.add_argument("--torch", metavar="RANGE", help='the range of torch, such as ">=2.5" (the project\'s own)')
    parser.add_argument(
        "--name",
        action="append",
        metavar="NAME=WHAT",
        help="an extra by a name of yours: NAME=GPU,… for a library, NAME=BACKEND for an app; repeat for more",
    )
    parser.add_argument("--backend", action="append", metavar="TAG", help="an exact extra, such as cu126; repeat")
    parser.add_argument("--tool", choices=projectfile.TOOLS, help="whose tables an app gets (guessed, else uv)")
    parser.add_argument("--groups", action="store_true", help="dependency groups instead of extras")
    parser.add_argument("--index-base", metavar="URL", help="a mirror of the wheel host")
    group = parser.add_argument_group("the output")
    group.add_argument("--write", metavar="FILE", help="write into this file")
    group.add_argument("--json", action="store_true", help="the same facts as one JSON object on stdout")
    group.add_argument("--quiet", action="store_true", help="no notes on stderr")


def run(args: ExtrasArguments) -> int:
    there = _there(args)
    session = Session(Request(index_base=args.index_base))
    known = session.knowledge
    project = _project(args, there)
    kind = args.kind or ("library" if project.packaged and not args.tool and not args.groups else "app")
    # What is written is handed on: without a login (uv has UV_INDEX_NAME_USERNAME for it, and every tool netrc), and
    # not bound by the constraints of this computer.
    wish = session.wish._replace(backends=(), limits=(), index_base=public(session.wish.index_base))
    builds = known.table(PLATFORMS)
    if kind == "library":
        plan = _library(args, Shop(known.every_build, known.rules, project), known, builds, wish)
    else:
        plan = _app(args, builds, app.completed(project, KnownPackages(os.environ, READ_PLATFORM)), wish)
    if there is None or not args.write:
        return _printed(args, plan, kind)
    return _finish(args, there, plan, kind)


def _there(args: ExtrasArguments) -> rewrite.Text | None:
    """The project's file: the one that is named, else the one that lies here."""
    file = args.write or HERE
    there = rewrite.read(file)
    if not there.exists and args.write:
        raise TorchpickError(f"there is no {file}", hint="leave out `--write` to print the lines instead")
    return there if there.exists else None


def _project(args: ExtrasArguments, there: rewrite.Text | None) -> Project:
    """What the file says, and over it what the flags say."""
    found = projectfile.read(there.text, there.file) if there is not None else Project()
    asked = demands.narrowed(Wish(), args.requirements)
    others = [text for text in args.requirements if named(text) not in TRIO]
    if others:
        raise UsageError(f"`{others[0]}` is not pinned by a release", hint="torch, torchvision and torchaudio are")
    ranges = [each for each in (args.torch or "", asked.torch) if each]
    if ranges:
        found = found._replace(torch=",".join(ranges).replace(" ", ""))
    if asked.companions:
        found = found._replace(companions=tuple(asked.companions))
    return found


def _names(args: ExtrasArguments) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for text in args.name or ():
        name, mark, what = text.partition("=")
        if not mark or not what.strip() or named(name) != normal(name.strip()):
            raise UsageError(f"`--name {text}` is not NAME=WHAT", hint="such as `--name nvidia-old=sm_61`")
        if name.strip() in dict(found):
            raise UsageError(f"`{name.strip()}` is named twice", hint="use only one of them")
        found.append((name.strip(), what.strip()))
    return found


def _library(args: ExtrasArguments, shop: Shop, knowledge: Knowledge, builds: Table, wish: Wish) -> Plan:
    if args.tool or args.groups:
        what = "--tool" if args.tool else "--groups"
        raise UsageError(f"`{what}` is for an app: a published library cannot name an index", hint="add `--for app`")
    project = shop.project
    named = [(name, named_kinds(what, knowledge)) for name, what in _names(args)]
    exact = [app.exact(builds, project, backend, backend, wish) for backend in _backends(args)]
    found = () if args.backend and not named else published.extras(shop, named)
    if not named and not args.quiet and (lost := published.left_out(shop)):
        console.notes(
            args,
            f"no release of the default index in the range supports {generations(lost)}: "
            "`torchpick list --gpu …` says what does",
        )
    return Plan((*found, *exact))


def _backends(args: ExtrasArguments) -> list[str]:
    found = list(dict.fromkeys(args.backend or ()))
    for backend in found:
        if not is_backend(backend):
            raise UsageError(f"unknown backend `{backend}`", hint="such as cu126, cpu or rocm7.2")
    return found


def _app(args: ExtrasArguments, builds: Table, project: Project, wish: Wish) -> Plan:
    names = dict(_names(args)) | {each: each for each in _backends(args)}
    for backend in names.values():
        if not is_backend(backend):
            raise UsageError(f"unknown backend `{backend}`", hint="such as `--name old=cu126`")
    tool = args.tool or project.tool or "uv"
    if tool == "uv":
        project = project._replace(torch=",".join(filter(None, (project.torch, project.limit))))
    chosen = names or app.backends(builds, project, wish)
    return app.plan(builds, project, chosen, tool, wish, groups=args.groups)


def _printed(args: ExtrasArguments, plan: Plan, kind: str) -> int:
    if args.json:
        print(envelope.dumps({**envelope.new("extras"), **_json(plan, kind)}))
    else:
        print(marks.merged("", declared.wanted(plan))[0], end="")
    return 0


def _finish(args: ExtrasArguments, there: rewrite.Text, plan: Plan, kind: str) -> int:
    text, clashes = marks.merged(there.text, declared.wanted(plan))
    if clashes:
        raise _clash(there.file, clashes)
    changed = text != there.text
    if changed:
        rewrite.write(there, text)
    if args.json:
        print(envelope.dumps({**envelope.new("extras"), **_json(plan, kind), "file": there.file, "changed": changed}))
    elif changed:
        print(there.file)
    console.notes(args, _next(plan) if changed else f"{there.file} is up to date")
    return 0


def _next(plan: Plan) -> str:
    """The command that installs one of an app's extras."""
    if not plan.indexes:
        return ""
    among = ",".join(each.name if each.name == each.backend else f"{each.name}={each.backend}" for each in plan.extras)
    if plan.tool == "poetry":
        return f'then `poetry install --extras "$(torchpick label --among {among})"`'
    return f'then `uv sync {"--group" if plan.groups else "--extra"} "$(torchpick label --among {among})"`'


def _clash(file: str, clashes: tuple[marks.Clash, ...]) -> TorchpickError:
    said = [f"{each.place} is\n  {each.theirs}\nand would be\n  {each.ours}" for each in clashes]
    hint = "nothing was written; write ours there by hand, or choose other names with `--name`"
    return TorchpickError(f"{file} says otherwise: " + "\n".join(said), hint=hint, code="CLASH")


def _json(plan: Plan, kind: str) -> dict[str, object]:
    return {
        "for": kind,
        "tool": plan.tool or None,
        "extras": [
            {
                "name": each.name,
                "requirements": list(each.requirements),
                "backend": each.backend or None,
                "serves": list(each.comment),
            }
            for each in plan.extras
        ],
        "indexes": [{"name": each.name, "url": redacted(each.url)} for each in plan.indexes],
    }
