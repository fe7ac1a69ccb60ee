"""The flags that several commands share, and the typed namespace they land in."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from torchpick.model.machine import PLATFORMS
from torchpick.model.wish import CHANNELS
from torchpick.request import Request


class Asked(Namespace):
    """What argparse found; each command fills the part it declares."""

    command: str
    requirements: list[str]
    gpu: list[str] | None
    driver: str | None
    cuda_driver: str | None
    platform: str | None
    glibc: str | None
    python: str | None
    machine: str | None
    gpus: str | None
    only: str | None
    trust_pci: bool
    backend: list[str] | None
    channel: str
    cpu: bool
    allow_cpu: bool
    allow_unconfirmed: bool
    whole: bool
    index_base: str | None
    offline: bool
    json: bool
    quiet: bool
    verbose: bool
    color: str


def add_requirements(parser: ArgumentParser) -> None:
    """Torch and its companions as positional arguments, anywhere among the flags."""
    # Said here because argparse would else format its own usage at every intermixed parse.
    command = " [command]" if parser.prog == "torchpick" else ""
    parser.usage = f"{parser.prog}{command} [options] [REQ …]"
    parser.add_argument("requirements", nargs="*", metavar="REQ", help='such as "torch<2.12" torchvision')


def add_machine_flags(parser: ArgumentParser) -> None:
    """The flags that tell the machine; what is not told is detected."""
    group = parser.add_argument_group("the machine (what is not told is looked up on this one)")
    group.add_argument(
        "--gpu", action="append", metavar="SPEC", help='sm_61, 6.1, "GTX 1080 Ti", a100, gfx1100, none; repeat for more'
    )
    group.add_argument("--driver", metavar="VERSION", help="NVIDIA driver, such as 580.95.05")
    group.add_argument("--cuda-driver", metavar="X.Y", help="newest CUDA the driver speaks, such as 12.8")
    group.add_argument("--platform", metavar="NAME", help=", ".join(PLATFORMS))
    group.add_argument("--glibc", metavar="X.Y", help="glibc of that platform, such as 2.28")
    group.add_argument("--python", metavar="X.Y|PATH", help="3.12, 3.14t, or the interpreter to install for")
    group.add_argument(
        "--machine", metavar="FILE|-", help="machines as `torchpick detect --json` prints them, one a line"
    )
    group.add_argument(
        "--gpus", choices=("all", "visible"), help="which physical GPUs count (all, whatever the shell hides)"
    )
    group.add_argument("--only", metavar="INDEX,…", help="count only these of the GPUs found")
    group.add_argument(
        "--trust-pci", action="store_true", help="take the capability from the PCI id if no driver answers"
    )


def add_wish_flags(parser: ArgumentParser) -> None:
    """The flags that narrow the answer."""
    group = parser.add_argument_group("the answer")
    group.add_argument(
        "--backend", action="append", metavar="TAG", help="only this backend, such as cu126; repeat for more"
    )
    group.add_argument(
        "--channel", choices=CHANNELS, default="stable", help="stable, or what `refresh` read of another"
    )
    group.add_argument("--cpu", action="store_true", help="the cpu build (the same as --backend cpu)")
    group.add_argument("--allow-cpu", action="store_true", help="the cpu build where nothing else runs")
    group.add_argument("--allow-unconfirmed", action="store_true", help="also builds that nobody has seen published")
    group.add_argument("--whole", action="store_true", help="only builds whose every library serves the GPUs")
    group.add_argument("--index-base", metavar="URL", help="a mirror of the wheel host; flat+URL for one flat page")
    group.add_argument("--offline", action="store_true", help="use no network")


def add_output_flags(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the output")
    group.add_argument("--json", action="store_true", help="the same facts as one JSON object on stdout")
    group.add_argument("--quiet", action="store_true", help="no notes on stderr")
    group.add_argument("--verbose", action="store_true", help="tell on stderr what was tried")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colour (auto; NO_COLOR counts)"
    )


def add_decision_flags(parser: ArgumentParser) -> None:
    """All of them, for a command that decides."""
    add_machine_flags(parser)
    add_wish_flags(parser)
    add_output_flags(parser)


def machine_request(args: Asked) -> Request:
    """What the flags say of the machine alone."""
    return Request(
        gpus=None if args.gpu is None else tuple(args.gpu),
        driver=args.driver,
        cuda_driver=args.cuda_driver,
        platform=args.platform,
        glibc=args.glibc,
        python=args.python,
        machine=args.machine,
        visible_only=args.gpus == "visible",
        only=args.only,
        trust_pci=args.trust_pci,
    )


def request_of(args: Asked) -> Request:
    """The typed request behind the flags."""
    return machine_request(args)._replace(
        requirements=tuple(args.requirements),
        backends=tuple(args.backend or ()),
        channel=args.channel,
        cpu=args.cpu,
        allow_cpu=args.allow_cpu,
        allow_unconfirmed=args.allow_unconfirmed,
        whole=args.whole,
        index_base=args.index_base,
        offline=args.offline,
    )
