"""Show the builds that run, best first, and why the others are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    alike = [[verdict] for verdict in whole] if args.all else _alike(whole)
    _print(_builds(alike) if whole or not shown else [], () if args.all else _builds_passed_over(shown))
    console.notes(args, *pick.every_note, *(note for note in pick.notes if note == MISCOMPILED))
    if left := len(pick.considered) - len(shown):
        note = f"{left} builds for other hardware or outside the request are left out; `--all` shows each by itself"
        console.notes(args, note)
    return 0 if pick.ok else 3


def _print(table: Sequence[Sequence[str]], passed_over: Sequence[str]) -> None:
    """What runs, best first; then why all else is passed over."""
    bold, width = console.painter(), console.width()
    blocks = [text.headed(table, width, bold)] if table else []
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


def _builds_passed_over(shown: Sequence[Verdict]) -> list[str]:
    newest_first = sorted(shown, key=lambda verdict: release_key(verdict.build.torch), reverse=True)
    return _passed_over(
        (verdict.build.torch, verdict.build.backend, *_verdict(verdict)) for verdict in newest_first if not verdict.ok
    )


def _passed_over(rejected: Iterable[tuple[str, str, str, str]]) -> list[str]:
    """A line for each code: `9 of 2.7.0 to 2.15.0 (cu128, cu130): NO_KERNELS, 2.15.0 cu130: holds no code for …`.

    Of versions, newest first, each with its backend, code and sentence; where these differ, that of the newest stands.
    """
    lines = []
    for code, rows in grouped((code, (*which, why)) for *which, code, why in rejected).items():
        newest, backend, why = rows[0]
        backends = ", ".join(sorted({backend for _, backend, _ in rows if backend}, key=backend_order))
        where = f" ({backends})" if backends else ""
        best = f", {newest} {backend}".rstrip() if len({text for *_, text in rows}) > 1 else ""
        versions = [*dict.fromkeys(version for version, *_ in reversed(rows))]
        count = f"{len(rows)} of " if len(versions) > 1 else ""
        lines.append(f"{count}{span(versions)}{where}: {code}{best}: {why}")
    return lines


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
    rejected = ((package.version, "", *_reason(package, stack)) for package, stack in rows if not stack.ok)
    _print(table if len(table) > 1 else [], _passed_over(rejected))
    # What the torch beside them lacks is said once: many versions are beside the same.
    of_torch = (
        note for _, stack in rows for note in stack.notes if note.code in _DOUBTS and note not in _doubts(stack)
    )
    console.notes(args, *newest.machine.notes, *dict.fromkeys(of_torch))
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


def _reason(package: Package, stack: Stack) -> tuple[str, str]:
    """What stands against it, the package's own first: code and sentence."""
    objections = sorted(stack.objections, key=lambda objection: objection.name != package.name)
    return (objections[0].objection.code, objections[0].objection.text) if objections else ("NOT_JUDGED", "")


def _doubts(stack: Stack) -> list[Note]:
    """The notes on whether a package of it runs, torch's own aside."""
    pinned = [f"{package.name} {package.version}" for package in stack.packages]
    return [note for note in stack.notes if note.code in _DOUBTS and any(who in note.text for who in pinned)]
