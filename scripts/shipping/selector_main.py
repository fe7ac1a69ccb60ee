"""The command line and the function of the single-file selector; scripts/build-selector carries this module in it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.pick import NOTHING_RUNS, Pick, pip_line
from torchpick.model.request import Limit, Request
from torchpick.session import Session

_KNOWN: list[Knowledge] = []


class _Alone(Session):
    """No setting of this user binds: the same file gives the same answer everywhere."""

    @property
    def limits(self) -> tuple[Limit, ...]:
        return ()


def select(  # the flags of the command, by name
    gpus: Sequence[str],
    *,
    driver: str | None = None,
    cuda_driver: str | None = None,
    platform: str | None = None,
    glibc: str | None = None,
    python: str | None = None,
    torch: str = "",
    companions: Sequence[str] = (),
    backends: Sequence[str] = (),
    index_base: str | None = None,
    allow_cpu: bool = False,
    allow_unconfirmed: bool = False,
) -> Pick:
    """The build for the machine that is given: its `version`, `index_url` and `requirements`, and `line` of it for pip.

    Nothing is detected. Raises an error with a `hint` and an `exit_status`: 3 where no build runs.
    """
    request = Request(
        requirements=(f"torch{torch}", *companions),
        gpus=tuple(gpus) or ("none",),
        driver=driver,
        cuda_driver=cuda_driver,
        platform=platform,
        glibc=glibc,
        python=python,
        backends=tuple(backends),
        index_base=index_base,
        allow_cpu=allow_cpu,
        allow_unconfirmed=allow_unconfirmed,
    )
    # No variable and no cache of this user counts: the same file gives the same answer everywhere.
    if not _KNOWN:
        _KNOWN.append(Knowledge({"TORCHPICK_CACHE_DIR": f"{__file__}.no-cache"}))
    session = _Alone(request, _KNOWN[0].environ)
    session.knowledge = _KNOWN[0]
    return session.pick(everything=False)


def line(pick: Pick) -> str:
    """The pick as one line of pip's arguments."""
    return pip_line(pick.build, pick.wish)


def main(words: Sequence[str] | None = None) -> int:
    """Print the line for pip, or the error; the exit status is torchpick's."""
    parser = argparse.ArgumentParser(
        prog="torchpick-select.py",
        description="Print pip's arguments for the PyTorch build that runs on the GPU that is given.",
        epilog="example: python torchpick-select.py --gpu sm_61 --driver 580.95.05 --platform linux-x86_64",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("requirements", nargs="*", metavar="REQ", help="`torch<2.12`, `torchvision`")
    add("--gpu", action="append", required=True, metavar="SPEC", help="sm_61, 6.1, `GTX 1080 Ti`, none; repeat")
    add("--driver", metavar="VERSION", help="such as 580.95.05; the newest that supports the GPU without it")
    add("--cuda-driver", metavar="X.Y", help="the CUDA that the driver supports, such as 12.8")
    add("--platform", metavar="NAME", help="linux-x86_64, windows-x86_64, …; this computer's without it")
    add("--glibc", metavar="X.Y", help="such as 2.28")
    add("--python", metavar="X.Y", help="3.12, 3.14t; the Python that runs this without it")
    add("--backend", action="append", default=[], metavar="NAME", help="only this backend; repeat")
    add("--index-base", metavar="URL", help="a mirror of the wheel host")
    add("--allow-cpu", action="store_true", help="take the CPU build where nothing else runs")
    add("--allow-unconfirmed", action="store_true", help="take builds that were not seen on the index too")
    args = parser.parse_args(words)
    torch = [text for text in args.requirements if _is_torch(text)]
    try:
        if len(torch) > 1:
            raise UsageError("torch is named twice", hint="such as `torch>=2.5,<2.8`")
        pick = select(
            args.gpu,
            driver=args.driver,
            cuda_driver=args.cuda_driver,
            platform=args.platform,
            glibc=args.glibc,
            python=args.python,
            torch=torch[0].strip()[len("torch") :] if torch else "",
            companions=[text for text in args.requirements if not _is_torch(text)],
            backends=args.backend,
            index_base=args.index_base,
            allow_cpu=args.allow_cpu,
            allow_unconfirmed=args.allow_unconfirmed,
        )
    except TorchpickError as error:
        print(NOTHING_RUNS)
        hint = f"\n\nhint: {error.hint}" if error.hint else ""
        print(f"error: {error}{hint}", file=sys.stderr)
        return error.exit_status
    except ModuleNotFoundError as error:
        print(NOTHING_RUNS)
        print(f"error: this request needs torchpick itself, or the `{error.name}` package", file=sys.stderr)
        return 2
    print(line(pick))
    return 0


def _is_torch(text: str) -> bool:
    rest = text.strip()
    return rest.startswith("torch") and not rest[len("torch") :][:1].isalnum()
