"""Whether the torch of an environment really computes on each GPU: real kernels, in its own Python, with a deadline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from torchpick.environment import child
from torchpick.errors import InstallerError
from torchpick.knowledge import locations
from torchpick.machine import probe
from torchpick.model.machine import Gpu, Machine

# `import torch` took 8 s from a cold disk; a first CUDA context, lazy loading and cuDNN some more. PTX that the driver
# must compile takes minutes, once.
DEADLINE_S = 180.0
JIT_DEADLINE_S = 1200.0

# Which of torch's device modules runs a build of each family (ROCm devices are called cuda too), and for whose GPUs.
_KINDS = {"cuda": "cuda", "rocm": "cuda", "xpu": "xpu"}
_COMPUTE_WITH = {"cuda": ("nvidia", "amd"), "xpu": ("intel",)}


def devices_to_check(family: str, machine: Machine) -> tuple[str, tuple[Gpu, ...]]:
    """The kind of device that a build of this family computes on, and the GPUs of a machine that have to."""
    kind = _KINDS.get(family, "mps" if "apple" in machine.vendors else "cpu")
    return kind, tuple(gpu for gpu in machine.used if gpu.vendor in _COMPUTE_WITH.get(kind, ()))


class Ran(NamedTuple):
    """The result for one GPU; `gpu` is its index in the machine, None where no GPU is concerned."""

    gpu: int | None
    name: str
    ok: bool
    error: str = ""
    text: str = ""


# The torch that ran (None if it could not be imported), what it ran, and why torch.compile does not work: empty where
# it does, None where that was not tried.
Results = tuple[str | None, tuple[Ran, ...], str | None]


def run_kernels(python: str, kind: str, gpus: Sequence[Gpu], environ: Mapping[str, str], deadline_s: float) -> Results:
    """Run the kernels with this interpreter's torch; `kind` is cuda, xpu, mps or cpu, `gpus` must compute."""
    # As `-c`, since the folder of a script goes to the front of sys.path, and ours holds a pip.py.
    script = locations.text_of_ours("machine", "verify_script.py")
    try:
        ended = child.run([python, "-c", script, kind], _environ(environ, kind, gpus), deadline_s)
    except OSError as error:
        raise InstallerError(f"{python} does not start: {error.strerror}", hint="`--python PATH`") from error
    died = {"error": "DIED", "text": _ending(ended, deadline_s)}
    head, *done = ended.values or [died]
    compiles = done.pop()["compiles"] if done and "compiles" in done[-1] else None
    if compiles is None and ended.status is None and "torch" in head and len(done) == head["devices"]:
        compiles = died["text"]
    if "torch" not in head:
        return None, (Ran(None, "torch", ok=False, **head),), None
    done += [died] if len(done) < head["devices"] else []
    done += [{"error": "DIED", "text": "the check ended before its turn"}] * (head["devices"] - len(done))
    done += [{"error": "NOT_SEEN", "text": "torch does not see it"}] * (len(gpus) - len(done))
    ran = []
    for number, result in enumerate(done):
        index, name = (gpus[number].index, gpus[number].label) if number < len(gpus) else (None, kind)
        # Under torch's own name of the GPU, if it tells one: a machine that was described may be another than this one.
        ran.append(Ran(index, name, ok="error" not in result)._replace(**result))
    return head["torch"], tuple(ran), compiles


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


def _ending(ended: child.ChildResult, deadline_s: float) -> str:
    if ended.status is None:
        how = f"it did not finish within {deadline_s:.0f} s"
    elif ended.status < 0:
        how = f"it was ended by {probe.signal_name(-ended.status)}"
    else:
        how = f"it ended with status {ended.status}"
    return f"{how}: {ended.last_words[:400]}" if ended.last_words else how
