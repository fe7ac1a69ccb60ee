"""Find what is wrong in an environment, or what an error text means: why, and what fixes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.install import install_remedy
from torchpick.cli.text import fit as fit_words
from torchpick.cli.text import note
from torchpick.decide import several
from torchpick.doctor.examination import Examination, examine
from torchpick.doctor.locked import JudgedChoice, JudgedLock, judge
from torchpick.environment import shell
from torchpick.errors import UsageError
from torchpick.machine import machinefiles
from torchpick.model.fields import written
from torchpick.model.finding import ERROR, SEVERITIES, Ailment, Finding, worst_first
from torchpick.model.fleet import Crowd, Hosts
from torchpick.model.machine import Machine
from torchpick.model.pick import Request
from torchpick.projects.lockfiles import Choice, LockFile, read_lock
from torchpick.run import Run


def run(args: Arguments) -> int:
    if args.json and args.fix:
        raise UsageError("`--json` and `--fix` both want stdout", hint="use only one of them")
    request = arguments.machine_request(args)._replace(
        index_base=args.index_base, backends=tuple(args.backend), cpu=args.cpu
    )
    run = console.start(args, request)
    if args.words:
        return _judge_locks(args, run)
    exam = examine(run)
    status = 0 if exam.ok else 3
    if args.json:
        return console.print_json(args, run.knowledge.rules.date, status, **_json(exam))
    console.print_blocks((_head(exam), *_parts(exam.findings)))
    console.notes(args, *(note.text for note in exam.subject.machine.notes))
    return _fix(args, exam, request) if args.fix else status


def _head(exam: Examination) -> list[tuple[str, str]]:
    """What was looked at, and how torch supports each GPU."""
    subject = exam.subject
    here, torch = subject.environment, subject.torch
    lines = [("looked at", f"{here.prefix} (Python {here.python.version}, {here.python.source})")]
    if torch is not None:
        how = "measured" if torch.measured else "declared"
        arches = "" if not torch.arches else f", built for {' '.join(map(str, torch.arches))} ({how})"
        lines.append(("torch", f"{torch.label}{arches}"))
    lines.append(("machine", subject.machine.in_short))
    lines += [("runs", f"{gpu}: {how}") for gpu, how in _supported(exam)]
    lines.append(("result", _count(exam.findings)))
    return lines


def _supported(exam: Examination) -> list[tuple[str, str]]:
    """How each GPU is supported: that it runs machine code of an older GPU is worth a line, not a warning."""
    torch, machine = exam.subject.torch, exam.subject.machine
    verdict = torch and torch.verdict
    # Where torch cannot be imported nothing is said to run.
    codes = (Ailment.TORCH_BROKEN, Ailment.REQUIREMENT_MISSING, Ailment.MISSING_LIBRARY)
    severe = (finding for finding in exam.findings if finding.severity == ERROR and finding.by_torch)
    if verdict is None or not verdict.ok or any(finding.ailment in codes for finding in severe):
        return []
    return list(dict.fromkeys((machine.label_of(fit.gpu), fit_words(fit.fit, fit.via)) for fit in verdict.fits))


def _json(exam: Examination) -> dict[str, object]:
    subject = exam.subject
    here, torch = subject.environment, subject.torch
    fix = exam.remedy
    return {
        "machine": subject.machine,
        "environment": {"source": here.python.source, **written(here, "prefix", "sites")},
        "torch": torch
        and {
            **written(torch, "version", "cuda", "backend", "arches", "measured"),
            "fits": () if torch.verdict is None else torch.verdict.fits,
        },
        "findings": exam.findings,
        "cure": fix
        and {
            "command": shell.line(fix.command, subject.run.shell),
            "version": fix.version,
            "keeps_version": fix.kept,
            "lost": fix.lost,
        },
    }


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
        console.say("there is nothing here that another build of torch fixes")
        return status
    command = shell.line(exam.remedy.command, exam.subject.run.shell)
    console.message(note(f"running {command}", "torchpick"))
    if status := install_remedy(args, exam.subject.run, exam.remedy, exam.remedy.pick):
        console.say(f"not fixed: `torchpick install` ended with status {status}")
        return status
    # Whatever was looked up before is of the environment as it was.
    again = examine(console.start(args, request))
    console.say(f"looked again: {_count(again.findings)}")
    for finding in again.findings:
        if finding.severity == ERROR:
            console.say(f"still {finding.code}: {finding.text}")
        elif finding.ailment is Ailment.LOCK_UNDOES:
            console.say(f"{finding.text}: {f'`{finding.cure}`' if finding.cure else finding.advice}")
    return 0 if again.ok else 3


# Of each lock, what every machine makes of it.
Verdicts = Sequence[tuple[Hosts, JudgedLock]]


def _judge_locks(args: Arguments, run: Run) -> int:
    """Every lock for every machine: 3 where one of these has nothing in a lock that runs."""
    if args.fix:
        raise UsageError("`--fix` changes an environment, and no lock", hint="`torchpick run uv sync` takes what runs")
    locks = [read_lock(word, run.environ) for word in args.words]
    crowds = _crowds(run)
    judged: list[tuple[LockFile, Verdicts]] = [
        (lock, [(crowd.hosts, judge(run, lock, crowd.machine)) for crowd in crowds]) for lock in locks
    ]
    every = [verdict for _, verdicts in judged for _, verdict in verdicts]
    status = 0 if all(verdict.ok for verdict in every) else 3
    if args.json:
        return console.print_json(args, run.knowledge.rules.date, status, **_locks_json(judged))
    names = (
        _name_of(one.choice, lock) for lock, verdicts in judged for _, verdict in verdicts for one in verdict.choices
    )
    blocks = (block for lock, verdicts in judged for block in _lock_blocks(run, lock, verdicts))
    console.print_blocks(blocks, max(11, *(len(name) + 2 for name in (*names, ""))))
    notes = (note for verdict in every for note in verdict.notes)
    console.notes(args, *dict.fromkeys((*notes, *(note for crowd in crowds for note in crowd.machine.notes))))
    return status


def _crowds(run: Run) -> tuple[Crowd, ...]:
    """The machines to judge for; those without a GPU too, for which a project may have a choice of its own."""
    if run.request.machine is None:
        return tuple(Crowd(machine, Hosts()) for machine in run.find_machines())
    fleet = machinefiles.read_machines(run.request, run.knowledge)
    return several.completed(fleet, run.knowledge.rules.drivers).crowds


def _lock_blocks(run: Run, lock: LockFile, verdicts: Verdicts) -> Iterator[Iterable[tuple[str, str]]]:
    """The file, and a block for each machine: every choice with its verdict, and which one is taken."""
    yield [("looked at", lock.file)]
    for hosts, verdict in verdicts:
        yield [
            *(("machine", line) for line in hosts.heading),
            ("machine", verdict.machine.in_short),
            *(line for one in verdict.choices for line in _choice_lines(one, _name_of(one.choice, lock))),
            *_lock_result(run, lock, verdict),
        ]


def _name_of(choice: Choice, lock: LockFile) -> str:
    """What a choice is called; of a workspace with its project."""
    name = choice.name or "always"
    return f"{choice.project} {name}" if len(lock.projects) > 1 else name


def _choice_lines(one: JudgedChoice, name: str) -> Iterator[tuple[str, str]]:
    """`cu126  torch 2.14.1+cu126: runs`, or what is against it, and what else there is to know."""
    label = one.torch.label if one.torch is not None else "no torch"
    if one.ok:
        is_unknown = any(finding.ailment is Ailment.UNKNOWN_ARCHES for finding in one.findings)
        yield name, label if is_unknown else f"{label}: runs"
    for finding in one.findings:
        if finding.severity == ERROR or one.ok:
            yield name, finding.text if finding.severity == ERROR else f"{finding.severity}: {finding.text}"


def _lock_result(run: Run, lock: LockFile, verdict: JudgedLock) -> Iterator[tuple[str, str]]:
    if not verdict.choices:
        yield "result", "nothing in it is torch or stands on CUDA"
        return
    if verdict.taken is not None:
        yield "result", f"{verdict.taken.choice.text} runs on this machine"
    else:
        yield "result", f"nothing that {lock.file} holds runs on this machine"
    if verdict.why_nothing_would is not None:
        yield from (("why", line) for line in verdict.why_nothing_would.splitlines())
    if (would_do := verdict.would_do) and verdict.instead is not None:
        asked = [demand.name for demand in verdict.instead.question.wanted] or ["torch"]
        versions = ", ".join(f"{name} {version}" for name, version in would_do.items())
        command = shell.line(["torchpick", "plan", *asked, *_machine_flags(run, verdict.machine)], run.shell)
        yield "do", f"{versions} would run: `{command}` shows all of it"
        if adding := verdict.adding(lock.file):
            yield "", f"`{shell.line(adding, run.shell)}` adds it to the project"


def _machine_flags(run: Run, machine: Machine) -> Sequence[str]:
    """The flags that describe a machine again, which a file described."""
    if run.request.machine is None:
        return run.request._replace(backends=(), cpu=False, index_base=None).flags
    gpus = dict.fromkeys(str(gpu.arch) for gpu in machine.counted if gpu.arch)
    driver = machine.driver and machine.driver.version
    request = Request(gpus=(*gpus,) or ("none",), driver=driver, platform=machine.platform.name)
    return request._replace(python=machine.python.version).flags


def _locks_json(judged: Sequence[tuple[LockFile, Verdicts]]) -> dict[str, object]:
    locks = [
        {"file": lock.file, "machines": [{**hosts.to_dict(), **verdict.to_dict()} for hosts, verdict in verdicts]}
        for lock, verdicts in judged
    ]
    every = (verdict for _, verdicts in judged for _, verdict in verdicts)
    choices = (one for verdict in every for one in (verdict.choices if verdict.taken is None else [verdict.taken]))
    findings = {finding.text: finding for one in choices for finding in one.findings}
    return {"locks": locks, "findings": worst_first(findings.values())}
