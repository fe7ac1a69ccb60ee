"""Whether the torch of an environment really computes on each GPU: real kernels, in its own Python, with a deadline."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence

from torchpick.environment import child
from torchpick.errors import InstallerError
from torchpick.knowledge import locations
from torchpick.model.fields import written
from torchpick.model.machine import Gpu, Machine
from torchpick.model.noun import Noun

# `import torch` took 8 s from a cold disk; a first CUDA context, lazy loading and cuDNN some more. PTX that the driver
# must compile takes minutes, once.
DEADLINE_S = 180.0
JIT_DEADLINE_S = 1200.0


def kind_of(family: str, *, apple: bool) -> str:
    """Which of torch's device modules runs a build of this family; ROCm devices are called cuda too."""
    return {"cuda": "cuda", "rocm": "cuda", "xpu": "xpu"}.get(family, "mps" if apple else "cpu")


# Whose GPUs have to compute with each kind of build.
_COMPUTE_WITH = {"cuda": ("nvidia", "amd"), "xpu": ("intel",)}


def of_kind(kind: str, machine: Machine) -> tuple[Gpu, ...]:
    """The GPUs of a machine that have to compute with this kind of build."""
    return tuple(gpu for gpu in machine.gpus if gpu.counted and gpu.vendor in _COMPUTE_WITH.get(kind, ()))


def deadline(*, compiles: bool) -> float:
    """How long a GPU may take; longer where the driver compiles the code first."""
    return JIT_DEADLINE_S if compiles else DEADLINE_S


class Ran(Noun):
    """The result for one GPU; `gpu` is its index in the machine, None where no GPU is concerned."""

    gpu: int | None
    name: str
    ok: bool
    error: str = ""
    text: str = ""

    def to_json(self) -> dict[str, object]:
        return written(self)


Done = dict[int, Ran]  # by the GPU's place


class Verified(Noun):
    """All that was run, and the torch that ran it (None if it could not be imported)."""

    torch: str | None
    ran: tuple[Ran, ...]

    @property
    def ok(self) -> bool:
        return all(each.ok for each in self.ran)


def run(
    python: str, kind: str, gpus: Sequence[Gpu], environ: Mapping[str, str], deadline_s: float = DEADLINE_S
) -> Verified:
    """Run the kernels with this interpreter's torch; `kind` is cuda, xpu, mps or cpu, `gpus` must compute."""
    done: Done = {}
    torch: str | None = None
    for _ in range(len(gpus) + 1):
        lines, ended = _once(python, kind, sorted(done), _environ(environ, kind, gpus), deadline_s)
        torch = next((str(line["torch"]) for line in lines if line.get("step") == "imported"), torch)
        failure = _read(lines, ended, gpus, done)
        if failure is not None:
            return Verified(torch, (*done.values(), failure))
        if not _left(lines, done):
            break
    missing = [gpu for place, gpu in enumerate(gpus) if place not in done]
    nothing = [Ran(gpu.index, gpu.label, ok=False, error="NOT_SEEN", text="torch does not see it") for gpu in missing]
    return Verified(torch, (*(done[key] for key in sorted(done)), *(nothing if kind != "cpu" else ())))


def _read(lines: list[dict[str, object]], ended: str, gpus: Sequence[Gpu], done: Done) -> Ran | None:
    """Take over what is done; a failure that concerns no GPU is returned."""
    open_: Ran | None = None
    for line in lines:
        place, step = line.get("gpu"), line.get("step")
        if step == "failed":
            return Ran(None, "torch", ok=False, error=str(line.get("error")), text=str(line.get("text")))
        if not isinstance(place, int):
            continue
        if step == "started":
            gpu = gpus[place] if place < len(gpus) else None
            name = str(line.get("name") or "") if gpu is None else gpu.label
            index = place if gpu is None else gpu.index
            open_ = Ran(index, name, ok=False, error="DIED", text=ended)
            # Where nothing more comes, that is what came of it.
            done[place] = open_
        elif step == "done" and open_ is not None:
            ok, error, text = line.get("ok") is True, str(line.get("error") or ""), str(line.get("text") or "")
            done[place] = open_._replace(ok=ok, error=error, text=text)
    if open_ is None and not any(line.get("step") == "found" for line in lines):
        return Ran(None, "torch", ok=False, error="DIED", text=ended)
    return None


def _left(lines: list[dict[str, object]], done: Done) -> bool:
    """Whether devices remain that the script did not come to."""
    count = next((line["devices"] for line in lines if line.get("step") == "found"), 0)
    return isinstance(count, int) and len(done) < count


def _environ(environ: Mapping[str, str], kind: str, gpus: Sequence[Gpu]) -> dict[str, str]:
    """Every GPU that counts, in the machine's order, whatever the shell hides; without UUIDs the shell's own view."""
    changed = dict(environ)
    if kind != "cuda" or not gpus or any(gpu.vendor != "nvidia" for gpu in gpus):
        return changed
    uuids = [gpu.uuid for gpu in gpus if gpu.uuid and gpu.uuid.startswith("GPU-")]
    if len(uuids) == len(gpus):
        changed["CUDA_VISIBLE_DEVICES"] = ",".join(uuids)
    else:
        changed.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    return changed


def _once(
    python: str, kind: str, skip: Sequence[int], environ: Mapping[str, str], deadline_s: float
) -> tuple[list[dict[str, object]], str]:
    """One start of the script: the lines it wrote, and in words how it ended."""
    # As `-c`, since the folder of a script goes to the front of sys.path, and ours holds a pip.py.
    script = locations.read(os.path.join(os.path.dirname(os.path.abspath(__file__)), "verify_script.py")).decode()
    try:
        ended = child.run([python, "-c", script, kind, ",".join(map(str, skip))], environ, deadline_s)
    except OSError as error:
        raise InstallerError(f"{python} does not start: {error.strerror}", hint="`--python PATH`") from error
    words = f": {ended.last_words[:400]}" if ended.last_words else ""
    return _lines(ended.answer), f"{_ending(ended.status, deadline_s)}{words}"


def _ending(status: int | None, deadline_s: float) -> str:
    if status is None:
        return f"it did not finish within {deadline_s:.0f} s"
    return f"it ended with status {status}" if status >= 0 else f"it was ended by {signal.Signals(-status).name}"


def _lines(answer: bytes) -> list[dict[str, object]]:
    found = []
    for line in answer.decode("utf-8", "replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:  # cut off in the middle
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
