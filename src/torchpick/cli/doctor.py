"""Find what is wrong in an environment, why, and the command that fixes it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from torchpick.cli import answer, arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import block, plain
from torchpick.cli.text import fit as fit_words
from torchpick.doctor.examination import Examination, examine
from torchpick.errors import UsageError
from torchpick.model.address import redacted
from torchpick.model.fields import envelope, written
from torchpick.model.finding import ERROR, SEVERITIES, Ailment, Finding
from torchpick.model.pick import Request
from torchpick.run import start_run


def run(args: Arguments) -> int:
    if args.json and args.fix:
        raise UsageError("`--json` and `--fix` both want stdout", hint="use only one of them")
    request = arguments.machine_request(args)._replace(
        index_base=args.index_base, backends=tuple(args.backend), cpu=args.cpu
    )
    run = start_run(request, report=console.waiting)
    exam = examine(run)
    status = 0 if exam.ok else 3
    if args.json:
        print(console.dated(_json(exam, status), run.knowledge.rules.date))
        return status
    width, bold = console.width(), console.painter()
    print("\n\n".join(block(part, width, bold) for part in (_head(exam), *_parts(exam.findings))))
    console.notes(args, *(note.text for note in exam.subject.machine.notes))
    return _fix(args, exam, request) if args.fix else status


def _head(exam: Examination) -> list[tuple[str, str]]:
    """What was looked at, and how torch supports each GPU."""
    subject = exam.subject
    here, torch = subject.environment, subject.torch
    lines = [("looked at", f"{here.prefix} (Python {here.version}, {here.source})")]
    if torch is not None:
        how = "measured" if torch.measured else "declared"
        arches = "" if not torch.arches else f", built for {' '.join(map(str, torch.arches))} ({how})"
        lines.append(("torch", f"{torch.label}{arches}"))
    *gpus, place = answer.found(subject.machine)
    lines += [("machine", line) for line in (*gpus, place.rpartition(", Python")[0])]
    lines += [("runs", f"{gpu}: {how}") for gpu, how in _supported(exam)]
    lines.append(("result", _count(exam.findings)))
    return lines


def _supported(exam: Examination) -> list[tuple[str, str]]:
    """How each GPU is supported: that it runs machine code of an older GPU is worth a line, not a warning."""
    torch, machine = exam.subject.torch, exam.subject.machine
    verdict = torch and torch.verdict
    if verdict is None or not verdict.ok or any(_stops_import(finding) for finding in exam.findings):
        return []
    labels = {gpu.index: gpu.label for gpu in machine.gpus}
    return list(dict.fromkeys((labels[fit.gpu], fit_words(fit.fit, fit.via)) for fit in verdict.fits))


def _stops_import(finding: Finding) -> bool:
    """Whether torch cannot be imported, so that nothing is said to run."""
    codes = (Ailment.TORCH_BROKEN, Ailment.REQUIREMENT_MISSING, Ailment.MISSING_LIBRARY)
    return finding.ailment in codes and finding.severity == ERROR and finding.by_torch


def _json(exam: Examination, status: int) -> dict[str, object]:
    subject = exam.subject
    here, torch = subject.environment, subject.torch
    found = None
    if torch is not None:
        fits = () if torch.verdict is None else torch.verdict.fits
        found = {**written(torch, "version", "cuda", "backend", "arches", "measured"), "fits": fits}
    fix, cure = exam.remedy, None
    if fix is not None:
        cure = {"command": fix.text, "version": fix.version, "keeps_version": fix.kept, "lost": fix.lost}
    return envelope(
        "doctor",
        status,
        machine=subject.machine,
        environment=written(here, "prefix", "source", "sites"),
        torch=found,
        findings=exam.findings,
        cure=cure,
    )


def _parts(findings: Sequence[Finding]) -> Iterator[Iterable[tuple[str, str]]]:
    """Every finding, the worst first, then the commands that fix several of them."""
    cures = Counter(finding.cure for finding in findings if finding.cure is not None)
    shared = [cure for cure, many in cures.items() if many > 1]
    for finding in findings:
        yield lines(finding, shared)
    for cure in shared:
        fixed = [finding for finding in findings if finding.cure == cure]
        brings = dict.fromkeys(finding.brings for finding in fixed if finding.brings)
        codes = ", ".join(dict.fromkeys(finding.code for finding in fixed))
        yield [("run", cure), ("", f"fixes {codes}"), *(("", words) for words in brings)]


def lines(finding: Finding, shared: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """One finding as labelled lines; a `shared` command is said once, after all of them."""
    yield finding.severity, finding.code
    yield "", finding.text
    yield "why", finding.ailment.why
    if finding.cure is not None and finding.cure not in shared:
        yield "run", finding.cure
    remark = finding.advice if finding.cure in shared else finding.remark
    if remark is not None:
        yield "note" if finding.cure is not None else "do", remark


def _count(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 note`."""
    counted = Counter(finding.severity for finding in findings)
    found = [f"{counted[each]} {each}{'s' if counted[each] > 1 else ''}" for each in SEVERITIES if counted[each]]
    return ", ".join(found) or "nothing wrong"


def _fix(args: Arguments, exam: Examination, request: Request) -> int:
    """Install exactly what was shown, and look again: 0 only where no error is left."""
    status = 0 if exam.ok else 3
    if exam.remedy is None or exam.remedy.pick is None:
        print("torchpick: there is nothing here that another build of torch fixes", file=sys.stderr)
        return status
    print(f"torchpick: running {plain(redacted(exam.remedy.text))}", file=sys.stderr)
    sys.stderr.flush()
    from torchpick.cli.install import install_remedy  # what an examination alone has no use for

    if status := install_remedy(args, exam.subject.run, exam.remedy, exam.remedy.pick):
        print(f"torchpick: not fixed: `torchpick install` ended with status {status}", file=sys.stderr)
        return status
    # Whatever was looked up before is of the environment as it was.
    again = examine(start_run(request, report=console.waiting))
    print(f"torchpick: looked again: {_count(again.findings)}", file=sys.stderr)
    for finding in again.findings:
        if finding.severity == ERROR:
            print(f"torchpick: still {finding.code}: {plain(redacted(finding.text))}", file=sys.stderr)
        elif finding.ailment is Ailment.LOCK_UNDOES:
            print(f"torchpick: {plain(redacted(f'{finding.text}: {finding.remark}'))}", file=sys.stderr)
    return 0 if again.ok else 3
