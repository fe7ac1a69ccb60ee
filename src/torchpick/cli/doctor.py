"""Find what is wrong in an environment, why, and the command that mends it.

The environment is read in place: its metadata, and the GPU code in its libraries. Nothing of it is imported or changed.
It is the one of --python (an interpreter or an environment's folder), else the active one. The exit status is 3 where
something will not run. docs/doctor.md tells of every code.

examples:
  torchpick doctor                                              this environment on this machine
  torchpick doctor --python .venv --gpu MX330 --driver 580.95   another machine
  torchpick doctor --fix                                        show the command that mends torch, and run it
  torchpick doctor --report                                     a block of text for a bug report
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser

from torchpick import examination
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.doctor.facts import Distribution
from torchpick.emit import answer, findings, words
from torchpick.emit.text import plain
from torchpick.errors import UsageError
from torchpick.examination import Examination, examine
from torchpick.model import envelope


class Doctor(Asked):
    run: bool
    fix: bool
    report: bool


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--run", action="store_true", help="also run a small kernel on each GPU with this torch")
    doing = parser.add_mutually_exclusive_group()
    doing.add_argument("--fix", action="store_true", help="show the command that mends torch, and run it")
    doing.add_argument("--report", action="store_true", help="one block of text for a bug report, without names")
    arguments.add_machine_flags(parser)
    parser.add_argument("--index-base", metavar="URL", help="a mirror of the wheel host, for the command that mends")
    arguments.add_output_flags(parser)


def run(args: Doctor) -> int:
    if args.json and (args.fix or args.report):
        other = "--fix" if args.fix else "--report"
        raise UsageError(f"`--json` and `{other}` both want stdout", hint=f"leave out `{other}`")
    request = arguments.machine_request(args)._replace(index_base=args.index_base)
    if args.run and (request.gpus is not None or request.machine is not None or request.platform is not None):
        raise UsageError("`--run` runs on this machine, and another was told", hint="leave one of them out")
    exam = examine(request, tell=console.waiting)
    if args.run:
        exam = examination.run(exam)
    status = 0 if exam.ok else 3
    if args.json:
        print(envelope.dumps(_json(exam, status)))
        return status
    if args.report:
        print(_report(exam))
        return status
    bold = console.bold if console.coloured(args.color, sys.stdout) else str
    print(findings.page(_head(exam), exam.findings, console.width(), bold))
    if not args.quiet:
        sys.stdout.flush()
        for note in exam.facts.machine.notes:
            print(f"note: {plain(note.text)}", file=sys.stderr)
    return _fix(exam) if args.fix else status


def _head(exam: Examination) -> list[tuple[str, str]]:
    """What was looked at, and how torch serves each GPU."""
    facts = exam.facts
    here, torch = facts.environment, facts.torch
    lines = [("looked at", f"{here.prefix} (Python {here.version}, {here.source})")]
    if torch is not None:
        how = "measured" if torch.measured else "declared"
        arches = "" if torch.arches is None else f", built for {' '.join(map(str, torch.arches))} ({how})"
        lines.append(("torch", f"{torch.label}{arches}"))
    lines += [("machine", line) for line in answer.found(facts.machine)[:-1]]
    lines.append(("machine", answer.found(facts.machine)[-1].rpartition(", Python")[0]))
    lines += [("runs", f"{gpu}: {how}") for gpu, how in _served(exam)]
    lines += [("ran", text) for text in exam.ran]
    lines.append(("result", findings.count(exam.findings)))
    return lines


def _served(exam: Examination) -> list[tuple[str, str]]:
    """How each GPU is served: that machine code of an older GPU will do is said, not warned of."""
    torch, machine = exam.facts.torch, exam.facts.machine
    verdict = None if torch is None else torch.verdict
    if verdict is None or not verdict.ok:
        return []
    labels = {gpu.index: gpu.label for gpu in machine.gpus}
    return list(dict.fromkeys((labels[fit.gpu], words.fit(fit.fit, fit.via)) for fit in verdict.fits))


def _json(exam: Examination, status: int) -> dict[str, object]:
    facts = exam.facts
    here, torch = facts.environment, facts.torch
    found = None
    if torch is not None:
        found = {
            "version": torch.version,
            "cuda": torch.cuda,
            "backend": torch.backend,
            "arches": None if torch.arches is None else [str(arch) for arch in torch.arches],
            "measured": torch.measured,
            "fits": [] if torch.verdict is None else [fit.to_json() for fit in torch.verdict.fits],
        }
    cure = None
    if exam.cure is not None and exam.command is not None:
        cure = {
            "command": shlex.join(exam.command),
            "version": exam.cure.version,
            "keeps_version": exam.cure.kept,
            "lost": list(exam.cure.lost),
        }
    return envelope.new(
        "doctor",
        status="ok" if status == 0 else "no_build",
        exit_status=status,
        machine=facts.machine.to_json(),
        environment={"prefix": here.prefix, "source": here.source, "sites": list(here.sites)},
        torch=found,
        findings=[finding.to_json() for finding in exam.findings],
        cure=cure,
        ran=list(exam.ran),
    )


def _report(exam: Examination) -> str:
    """Versions, GPUs, driver and findings; nothing that names a person."""
    from torchpick import __version__
    from torchpick.doctor import report

    facts = exam.facts
    here = facts.environment
    python = facts.machine.python
    lines = [
        f"torchpick {__version__}",
        f"Python {python.tag}, {here.source}",
        *answer.found(facts.machine),
        *(f"GPU {gpu.index}: from {gpu.source}" for gpu in facts.machine.gpus),
        *(f"{name}={value}" for name, value in sorted(facts.shell.variables.items())),
        "installed: " + (", ".join(one.label for one in _relevant(exam)) or "nothing of torch"),
        *([f"torch is {facts.torch.version}"] if facts.torch is not None else []),
        findings.count(exam.findings),
        *(f"{each.severity} {each.code}: {each.text}" for each in exam.findings),
        *(f"cure: {line}" for line in dict.fromkeys(each.cure for each in exam.findings if each.cure)),
    ]
    homes = [path for path in (os.path.expanduser("~"), os.environ.get("HOME"), os.environ.get("USERPROFILE")) if path]
    users = [name for name in (os.environ.get(key) for key in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")) if name]
    users += [os.path.basename(home.rstrip("/\\")) for home in homes]
    text = "\n".join(plain(line) for line in lines)
    return f"```\n{report.scrubbed(text, homes, users)}\n```"


def _relevant(exam: Examination) -> list[Distribution]:
    """The projects that a reader of a bug report asks about."""
    starts = ("torch", "nvidia-", "triton", "pytorch-", "xformers", "flash-attn", "bitsandbytes", "vllm", "cuda-")
    packages = {package.name for package in exam.facts.packages}
    every = exam.facts.environment.named("")
    return [one for one in every if one.name.startswith(starts) or one.name in packages or one.name == "numpy"]


def _fix(exam: Examination) -> int:
    """Run exactly the command that was shown; its status is ours."""
    from torchpick import cli

    status = 0 if exam.ok else 3
    if exam.command is None:
        print("torchpick: there is nothing here that another build of torch mends", file=sys.stderr)
        return status
    shown = shlex.join(exam.command)
    print(f"torchpick: running {plain(shown)}", file=sys.stderr)
    sys.stderr.flush()
    return cli.main(exam.command[1:])
