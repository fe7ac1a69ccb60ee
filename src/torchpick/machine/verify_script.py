"""Run small kernels on every GPU with the torch of this interpreter; a script for `python -c`, with KIND SKIP.

It runs in the target's Python and imports nothing of torchpick, nor of the current folder. It writes JSON lines to its
stdout, which it takes away from whatever torch and its libraries print: that goes to stderr. It ends at the first GPU
that fails, because an error may spoil the process; the caller starts it again with the GPUs that are done in SKIP.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [folder for folder in sys.path if folder not in ("", os.getcwd())]
import json  # noqa: E402


def main() -> None:
    channel = os.dup(1)
    os.dup2(2, 1)
    with open(channel, "w", encoding="utf-8") as stream:

        def say(**facts: object) -> None:
            stream.write(json.dumps(facts) + "\n")
            stream.flush()

        try:
            check(say, sys.argv[1], {int(part) for part in sys.argv[2].split(",") if part})
        except BaseException as error:  # noqa: BLE001 # whatever a broken installation raises is the finding
            say(step="failed", error=type(error).__name__, text=str(error)[:4000])


def check(say, kind: str, skip: set[int]) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 # it writes a line
    import torch  # type: ignore[import-not-found,unused-ignore]  # the target's

    say(step="imported", torch=str(torch.__version__), cuda=torch.version.cuda)
    if kind == "cpu":
        found = ["cpu"]
    elif kind == "mps":
        found = ["mps"] if torch.backends.mps.is_available() else []
    else:
        found = [f"{kind}:{index}" for index in range(getattr(torch, kind).device_count())]
    say(step="found", devices=len(found))
    for index, device in enumerate(found):
        if index in skip:
            continue
        say(step="started", gpu=index, name=name_of(torch, kind, index))
        try:
            product, convolved = compute(torch, kind, device)
        except BaseException as error:  # noqa: BLE001
            say(step="done", gpu=index, ok=False, error=type(error).__name__, text=str(error)[:4000])
            return
        right = product == 1048576.0 and convolved == 324.0
        say(step="done", gpu=index, ok=right, text="" if right else f"computed {product} and {convolved}")


def name_of(torch, kind: str, index: int) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001 # the target's torch
    return str(getattr(torch, kind).get_device_name(index)) if kind in ("cuda", "xpu") else kind


def compute(torch, kind: str, device: str) -> tuple[float, float]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """A product of matrices, 64·64 entries of 2·2·64, and a convolution, 6·6 entries of 3·3."""
    twos = torch.full((64, 64), 2.0, device=device)
    product = (twos @ twos).sum()
    image, kernel = torch.ones(1, 1, 8, 8, device=device), torch.ones(1, 1, 3, 3, device=device)
    convolved = torch.nn.functional.conv2d(image, kernel).sum()
    if kind != "cpu":
        getattr(torch, kind).synchronize()  # an error of a kernel comes to light here at the latest
    return product.item(), convolved.item()


if __name__ == "__main__":
    main()
