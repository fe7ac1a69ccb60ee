"""Wheels that the table does not know, read by ranges: METADATA, what they link, code per library.

What is read of all that is asked for at once is bounded, in bytes, in number and in time. Each wheel is read once ever:
its reading is kept by its sha256, and `torchpick inspect` finds it there too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from torchpick.errors import TorchpickError
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import ReadingLimits, Web
from torchpick.knowledge.locations import cache_dir
from torchpick.knowledge.packages import package_of
from torchpick.model.fields import written
from torchpick.model.package import Package, PackageFacts, WheelRule
from torchpick.wheels import inspect_target, wheelfiles
from torchpick.wheels.inspect_target import ReadOptions
from torchpick.wheels.readings import Reading, Readings
from torchpick.wheels.wheelfiles import OwnCuda, Row, SurveyWheel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report


# Of the wheels that are read at once, and fewer with each that was read before for the same question; where one has
# more, its smaller libraries tell what it links, and the beginning of its main ones most of what they were built for.
MOST_BYTES = 60_000_000
MOST_WHEELS = 8  # for one question
MOST_SECONDS = 120.0


def read_wheels(  # noqa: PLR0913 # what is read, for what, and how much was read before
    files: Sequence[ProjectFile],
    packages: Mapping[str, PackageFacts],
    platform: str,
    environ: Mapping[str, str],
    report: Report,
    before: int = 0,
) -> list[Package | str]:
    """Each wheel as a version of the table; where it cannot be read, the reason. `before` them so many were read."""
    torch = packages.get("torch")
    own_cuda = {} if torch is None else {row.version: row.cuda for row in torch.versions}
    todo = files[: max(0, MOST_WHEELS - before)]
    lacking = [f"no more than {MOST_WHEELS} wheels are read for one question"] * (len(files) - len(todo))
    if not todo:
        return [*lacking]
    names = ", ".join(f"{file.project} {file.version}" for file in todo)
    news = f"reading which GPUs and which CUDA {names} {'were' if len(todo) > 1 else 'was'} built for"
    shares = before + len(todo)
    limits = ReadingLimits(bytes=float("inf"), seconds=MOST_SECONDS)
    with closing(Web(environ, limits, report)) as web, web.running(news):
        options = ReadOptions(report=report, readings=Readings(cache_dir(environ)), web=web)
        rows = web.side_by_side(
            lambda file: _read_wheel(file, packages[file.project], options, own_cuda, platform, shares), todo
        )
    return [*(row.message if isinstance(row, TorchpickError) else row for row in rows.values()), *lacking]


def _read_wheel(  # noqa: PLR0913 # what is read, how, and for whom
    file: ProjectFile, facts: PackageFacts, options: ReadOptions, own_cuda: OwnCuda, platform: str, shares: int
) -> Package | str:
    if not file.name.is_wheel:
        return "it is not a wheel"
    rule = facts.rule if facts.in_table else None
    options = options._replace(most=MOST_BYTES // shares, main="" if rule is None else rule.main)
    try:
        reading = inspect_target.read_target(file.with_hash, options)
        row = package_of_reading((file, ("any",), (platform,)), rule, reading, own_cuda)
    except ValueError:
        return "its METADATA cannot be understood"
    return package_of(facts.name, row) if row is not None else "what is read of so large a wheel does not show it"


def package_of_reading(wheel: SurveyWheel, rule: WheelRule | None, reading: Reading, own_cuda: OwnCuda) -> Row | None:
    """A reading as a version of the table; None where too little of it was read to judge it."""
    with_code = [library for library in reading.libraries if library.holds_code]
    code = [{**written(library, "path", "sass", "ptx"), "whole": library.complete} for library in with_code]
    line = {**wheelfiles.evidence_line(wheel, reading), "code": code}
    unread = line["libraries_unread"]
    row = wheelfiles.make_row(line, rule or WheelRule(), own_cuda)
    libraries = row["code"] or []
    if rule is None:
        return {**row, "code": as_one_library(str(wheel[0].project), libraries, all_read=not unread)}
    decisive = rule.per_cuda or not rule.main or any(library["main"] for library in libraries)
    return row if not unread or (decisive and (row["cuda"] or rule.per_cuda)) else None


def as_one_library(name: str, code: list[Row], *, all_read: bool) -> list[Row] | None:
    """Which libraries of an unknown project decide nobody knows: all of them together must support the GPU."""
    if not code:
        return [] if all_read else None
    arches = dict.fromkeys(arch for library in code for arch in library["arches"].split())
    whole = all_read and all(library.get("whole", True) for library in code)
    union = {"path": f"{name}/{name}", "main": True, "cuda": None, "arches": " ".join(arches), "whole": whole}
    return [union, *({**library, "main": False} for library in code)]
