"""Show the builds that run, best first, and why the others are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from torchpick.cli import arguments, console, text
from torchpick.cli.arguments import Arguments
from torchpick.decide import environments
from torchpick.decide.answer import decided
from torchpick.decide.matrix import never_picked
from torchpick.decide.remarks import MISCOMPILED
from torchpick.errors import DetectionError, UsageError
from torchpick.install.question import answer_request, collect_question, read_wish
from torchpick.knowledge.packages import companions_of, other_companions
from torchpick.model.build import BUILD_NAMES, DEFAULT_INDEX, TRIO, Build, Reason, Verdict, backend_order
from torchpick.model.fields import written
from torchpick.model.machine import Machine, Note
from torchpick.model.package import Package, Stack
from torchpick.model.pick import Pick, Wish
from torchpick.model.versions import admits, grouped, named, normal, release_key, span
from torchpick.run import Run

_INFERRED = "~"
# The codes that say what may not run.
_DOUBTS = ("PARTIAL_LIBRARY", "PACKAGE_UNREAD")


def run(args: Arguments) -> int:
    if args.companions:
        return _companions(args)
    if len(args.words) == 1 and named(args.words[0]) not in TRIO:
        return _versions(args.words[0], args)
    run = console.start(args)
    pick = _weighed(run)
    if args.all:
        # The builds of other platforms and the default index's own.
        more = never_picked(run.knowledge.every_build, {machine.platform.name for machine in pick.machines})
        pick = pick._replace(considered=(*pick.considered, *more))
    if console.tell_as_json(pick, args):
        return 0 if pick.ok else 3
    shown = pick.considered if args.all else shortlist(pick)
    whole = shown if args.all else [verdict for verdict in shown if verdict.ok]
    picked = pick.verdicts[0].build if pick.ok else None
    alike = [[verdict] for verdict in whole] if args.all else _alike(whole)
    marked = [any(verdict.build is picked for verdict in verdicts) for verdicts in alike]
    _print(_builds(alike) if whole or not shown else [], marked, _passed_over(shown) if len(whole) < len(shown) else ())
    console.notes(args, *pick.every_note, *(note for note in pick.notes if note == MISCOMPILED))
    if left := len(pick.considered) - len(shown):
        note = f"{left} builds for other hardware or outside the request are left out; `--all` shows each by itself"
        console.notes(args, note)
    return 0 if pick.ok else 3


def _print(table: Sequence[Sequence[str]], marked: Sequence[bool], passed_over: Sequence[str]) -> None:
    """What runs, the rows in bold that are marked as its head is; then why all else is passed over."""
    bold, width = console.painter(), console.width()
    rows = zip(text.lines(table, width), (True, *marked), strict=False)
    blocks = ["\n".join(bold(row) if mark else row for row, mark in rows)] if table else []
    if passed_over:
        rejected = [part for line in passed_over for part in text.wrap(text.plain(line), width)]
        blocks.append("\n".join([bold("passed over"), *rejected]))
    print("\n\n".join(blocks))


def shortlist(pick: Pick) -> tuple[Verdict, ...]:
    """The builds a person asked about: of the machine's own family, and not ruled out by the request itself."""
    ruled_out = {Reason.NOT_REQUESTED, Reason.BACKEND_NOT_ALLOWED}
    return tuple(
        verdict
        for verdict in pick.considered
        if verdict.ok or (verdict.rank.preference >= 2 and not ruled_out & verdict.reasons)
    )


def _passed_over(shown: Sequence[Verdict]) -> list[str]:
    """The builds of these that do not run: a line for each reason and the releases and backends that have no other.

    Where the sentences differ, that of the best build stands for them.
    """
    releases = [*dict.fromkeys(verdict.build.torch for verdict in shown)]
    codes = {(verdict.build.torch, verdict.build.backend): code for verdict in shown for code, _ in [_verdict(verdict)]}
    by_code = grouped(
        (verdict.objections[0].code, verdict)
        for release in releases
        for verdict in shown
        if verdict.build.torch == release and not verdict.ok
    )
    rows: list[tuple[int, str]] = []
    for code, verdicts in by_code.items():
        spans: list[list[Verdict]] = []
        for verdict in verdicts:
            together = [*(spans[-1] if spans else ()), verdict]
            first, last = (releases.index(one.build.torch) for one in (together[0], verdict))
            torches = releases[first : last + 1]
            backends = {one.build.backend for one in together}
            if spans and {codes.get((torch, backend), code) for torch in torches for backend in backends} == {code}:
                spans[-1] = together
            else:
                spans.append([verdict])
        rows += [(releases.index(of_span[0].build.torch), _in_one_line(of_span)) for of_span in spans]
    return [row for _, row in sorted(rows)]


def _in_one_line(verdicts: Sequence[Verdict]) -> str:
    """`2.7.0 to 2.15.0 (cu128, cu130): NO_KERNELS, 2.15.0 cu130: holds no code for …`."""
    best, texts = verdicts[0], {text for _, text in map(_verdict, verdicts)}
    releases = [*dict.fromkeys(verdict.build.torch for verdict in reversed(verdicts))]
    backends = sorted({verdict.build.backend for verdict in verdicts}, key=backend_order)
    code, text = _verdict(best)
    which = f", {best.build.torch} {best.build.backend}" if len(texts) > 1 else ""
    return f"{span(releases)} ({', '.join(backends)}): {code}{which}: {text}"


def _alike(running: Iterable[Verdict]) -> list[list[Verdict]]:
    """These builds, those of a release together that run in the same way."""
    return list(grouped(((one.build.torch, one.build.platform, *_verdict(one)), one) for one in running).values())


def _builds(alike: Sequence[Sequence[Verdict]]) -> list[tuple[str, ...]]:
    """A row for those that are alike, best first, below their head; the platform where there are several."""
    several = len({verdicts[0].build.platform for verdicts in alike}) > 1
    rows = [("torch", "backend", *(("platform",) if several else ()), "CUDA", "verdict", "why")]
    for verdicts in alike:
        build = verdicts[0].build
        platform = (build.platform,) if several else ()
        backends = ", ".join(verdict.build.backend for verdict in verdicts)
        cuda = ", ".join(verdict.build.cuda or "-" for verdict in verdicts)
        rows.append((build.torch, backends, *platform, cuda, *_verdict(verdicts[0])))
    return rows


def _verdict(verdict: Verdict) -> tuple[str, str]:
    if verdict.ok:
        worst = min(verdict.fits, key=lambda fit: fit.fit, default=None)
        where = f" on {verdict.build.vendor.vendor}'s own index" if verdict.build.vendor else ""
        return "runs", "" if worst is None else f"{worst.fit.word} by {worst.via}{where}"
    first, *more = verdict.objections
    return first.code, first.text + (f" (and {len(more)} more)" if more else "")


def _companions(args: Arguments) -> int:
    """Which torchvision, torchaudio … belong to which torch, on which backend; no machine is looked at."""
    run = console.start(args)
    others = run.knowledge.file("companions.json", other_companions)
    pairs = [(build, companions_of(build, others)) for build in _builds_of_companions(args, run)]
    if args.json:
        rows = [{**written(build, *BUILD_NAMES), "companions": companions} for build, companions in pairs]
        return console.print_json(args, run.knowledge.rules.date, companions=rows)
    # One line for all backends of a release with the same companions; the labels are those of the backends.
    backends = grouped(((build.torch, _in_words(companions)), build.backend) for build, companions in pairs)
    cells = [(torch, ", ".join(names), versions) for (torch, versions), names in backends.items()]
    console.print_table([("torch", "backend", "companions"), *cells])
    console.notes(args, f"{_INFERRED} inferred: its metadata does not pin that torch")
    return 0


def _in_words(companions: Mapping[str, Mapping[str, str]]) -> str:
    return ", ".join(
        f"{name} {companion['version'].partition('+')[0]}{_INFERRED if companion['basis'] == 'inferred' else ''}"
        for name, companion in companions.items()
    )


def _builds_of_companions(args: Arguments, run: Run) -> list[Build]:
    platform = console.platform_named(args.platform)
    admitted = admits(read_wish(run).torch)
    builds = run.knowledge.table((platform,), default_index=DEFAULT_INDEX in args.backend).of(platform)
    chosen = [
        build for build in builds if admitted(build.torch) and (not args.backend or build.backend in args.backend)
    ]
    chosen.sort(key=lambda build: backend_order(build.backend))
    return sorted(chosen, key=lambda build: release_key(build.torch), reverse=True)


def _versions(name: str, args: Arguments) -> int:
    """The versions of one package; 3 where none of them runs."""
    run = console.start(args)
    rows = tuple(_each(run, normal(name)))
    (_, newest), *_ = rows
    status = 0 if any(stack.ok for _, stack in rows) else 3
    if args.json:
        best = next((stack for _, stack in rows if stack.ok), newest)
        answer = {**best.to_dict("list"), "versions": [_version(package.version, stack) for package, stack in rows]}
        print(console.dated(answer, run.knowledge.rules.date))
        return status
    table = _versions_table(rows)
    _print(table if len(table) > 1 else [], [False] * len(table), _versions_passed_over(rows))
    console.notes(args, *newest.machine.notes, *_torch_doubts(rows))
    return status


def _version(version: str, stack: Stack) -> dict[str, object]:
    answer = stack.to_dict("list")
    return {"version": version, "ok": stack.ok, "stack": answer["stack"], "objections": answer["objections"]}


def _each(run: Run, name: str) -> Iterator[tuple[Package, Stack]]:
    """Every known version of a package with the environment it would be in, newest first.

    A GPU that does not answer is a note, and the versions are judged by all else.
    """
    machine, wish = _ignoring_silent_driver(run.without_requirements())
    catalog = run.read_catalog(machine)
    facts = catalog.packages
    if name in facts and not facts[name].versions:
        why = f"no version of `{name}` is known for {machine.platform.name}"
        raise UsageError(why, hint=facts[name].refused or "`--platform` asks for another platform")
    if name not in facts:
        close = arguments.close_to(name, [*facts], 0.6)
        hint = f"`torchpick inspect {name}==VERSION` reads one of its wheels"
        raise UsageError(
            f"`{name}` is not a package of the table", hint=f"did you mean `{close[0]}`?" if close else hint
        )
    return environments.versions(machine, run.read_table((machine,), wish=wish), wish, name, catalog)


def _weighed(run: Run) -> Pick:
    """The pick, but a GPU that does not answer is a note, and the builds are judged by everything else."""
    if run.request.machine is not None:
        return answer_request(run).pick
    machine, wish = _ignoring_silent_driver(run)
    answer = answer_request(run, collect_question(run)._replace(wish=wish), machines=(machine,))
    return (answer if answer.stack is None else decided(answer)).pick


def _ignoring_silent_driver(run: Run) -> tuple[Machine, Wish]:
    """The machine and the wish; where a GPU does not answer, without GPUs but for the builds that have GPU code."""
    try:
        return run.find_machines()[0], read_wish(run)
    except DetectionError as error:
        if error.machine is None:
            raise
        note = Note(error.code, f"{error.message}, so no GPU was checked; {error.hint}")
        machine = error.machine._replace(gpus=(), trouble=None, notes=(*error.machine.notes, note))
        builds = run.read_table((machine,), "stable").of(machine.platform.name)
        for_gpus = tuple(sorted({build.backend for build in builds if build.family == "cuda"}))
        wish = read_wish(run)
        return machine, wish if wish.backends else wish._replace(backends=for_gpus)


def _versions_table(rows: Iterable[tuple[Package, Stack]]) -> list[tuple[str, ...]]:
    """The versions of a package that run, newest first, each with the torch it would be with."""
    cells: list[tuple[str, ...]] = [("version", "torch", "CUDA", "verdict", "why")]
    for package, stack in rows:
        if (pin := next((pinned for pinned in stack.packages if pinned.name == package.name), None)) is not None:
            why = "; ".join(note.text.removeprefix(f"{package.who}: ") for note in _doubts(stack))
            cells.append((package.version, stack.version("torch") or "-", pin.cuda or "-", pin.verdict, why))
    return cells


def _versions_passed_over(rows: Iterable[tuple[Package, Stack]]) -> list[str]:
    """A line for each reason and the versions in a row that have it; the newest's sentence stands for theirs."""
    lines = []
    for code, part in groupby(((package, *_reason(package, stack)) for package, stack in rows), lambda row: row[1]):
        (newest, _, why), *older = part
        if code:
            versions = span([*(package.version for package, *_ in older[-1:]), newest.version])
            which = f", {newest.version}" if any(text != why for *_, text in older) else ""
            lines.append(f"{versions}: {code}{which}: {why}")
    return lines


def _reason(package: Package, stack: Stack) -> tuple[str, str]:
    """What stands against it, the package's own first: code and sentence; empty where it runs."""
    objections = sorted(stack.objections, key=lambda objection: objection.name != package.name)
    if stack.ok or not objections:
        return ("", "") if stack.ok else ("NOT_JUDGED", "")
    return objections[0].objection.code, objections[0].objection.text


def _torch_doubts(rows: Iterable[tuple[Package, Stack]]) -> list[str]:
    """What the torch builds beside the versions lack, a line each: many versions are beside the same."""
    texts = (
        note.text for _, stack in rows for note in stack.notes if note.code in _DOUBTS and note not in _doubts(stack)
    )
    return [*dict.fromkeys(texts)]


def _doubts(stack: Stack) -> list[Note]:
    """The notes on whether a package of it runs, torch's own aside."""
    pinned = [f"{package.name} {package.version}" for package in stack.packages]
    return [note for note in stack.notes if note.code in _DOUBTS and any(who in note.text for who in pinned)]
