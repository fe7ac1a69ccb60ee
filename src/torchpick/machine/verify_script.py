"""Run small kernels on every GPU with the torch of this interpreter; a script for `python -c`, with KIND.

It runs in the target's Python and imports nothing of torchpick, nor of the current folder. It writes JSON lines to its
stdout, which it takes away from whatever torch and its libraries print: that goes to stderr. First comes what torch is
and how many devices it sees, or why there is none; then a line a device, without an error where it computed; at last
whether torch.compile works on the first of them, and what it lacks.
"""

import importlib.util
import os
import shutil
import sys
import sysconfig

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
            check(say, sys.argv[1])
        except BaseException as error:  # noqa: BLE001 # whatever a broken installation raises is the finding
            say(**words(error))


def words(error: BaseException) -> "dict[str, str]":
    return {"error": type(error).__name__, "text": str(error)[:4000]}


def check(say, kind: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 # it writes a line
    import torch  # type: ignore[import-not-found,unused-ignore]  # the target's

    if kind == "cpu":
        devices = ["cpu"]
    elif kind == "mps":
        devices = ["mps"] if torch.backends.mps.is_available() else []
    else:
        devices = [f"{kind}:{index}" for index in range(getattr(torch, kind).device_count())]
    say(torch=torch.__version__, devices=len(devices))
    for device in devices:
        result = {}  # type: dict[str, str]
        try:
            if ":" in device:
                result["name"] = getattr(torch, kind).get_device_name(device)
            result.update(wrong(torch, kind, device))
        except BaseException as error:  # noqa: BLE001
            result.update(words(error))
        say(**result)
    if devices and hasattr(torch, "compile"):
        say(compiles=compiles(torch, kind, devices[0]))


def compiles(torch, kind: str, device: str) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Why torch.compile does not work, empty where it does: what it needs beside torch, else its own words."""
    try:
        doubled = torch.compile(lambda numbers: numbers * 2 + 1)(torch.ones(64, device=device))
        return "" if doubled.sum().item() == 192.0 else "it computes something else"
    except BaseException as error:  # noqa: BLE001 # it fails in a hundred ways
        compilers = (os.environ.get("CXX" if kind == "cpu" else "CC"), "gcc", "g++", "clang", "cc", "cl")
        header = os.path.join(sysconfig.get_path("include"), "Python.h")
        lacks = [] if any(map(shutil.which, filter(None, compilers))) else ["a C compiler (gcc or clang) on PATH"]
        lacks += [] if os.path.exists(header) else ["Python.h (python3-dev or python3-devel has it)"]
        lacks += ["triton"] if kind in ("cuda", "xpu") and importlib.util.find_spec("triton") is None else []
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        return "it lacks " + " and ".join(lacks) if lacks else first[:400]


def wrong(torch, kind: str, device: str) -> "dict[str, str]":  # type: ignore[no-untyped-def]  # noqa: ANN001
    """A product of matrices, 64·64 entries of 2·2·64, a convolution, 6·6 entries of 3·3: empty where both are right."""
    twos = torch.full((64, 64), 2.0, device=device)
    product = (twos @ twos).sum()
    image, kernel = torch.ones(1, 1, 8, 8, device=device), torch.ones(1, 1, 3, 3, device=device)
    convolved = torch.nn.functional.conv2d(image, kernel).sum()
    if kind != "cpu":
        getattr(torch, kind).synchronize()  # an error of a kernel comes to light here at the latest
    if importlib.util.find_spec("numpy"):
        torch.ones(1).numpy()  # fails where torch was compiled against another NumPy
    result = product.item(), convolved.item()
    return {} if result == (1048576.0, 324.0) else {"error": "WRONG", "text": f"computed {result}"}


if __name__ == "__main__":
    main()
