"""A stack → a Dockerfile: the image of one whole environment, for a GPU that the building machine need not have."""

from __future__ import annotations

from shlex import quote

from torchpick.decide.environments import DEFAULT_INDEX
from torchpick.errors import UsageError
from torchpick.install import env
from torchpick.installers import shell
from torchpick.model.stack import Stack
from torchpick.session import Session

# The architectures of Linux as images name them.
_ARCHITECTURES = {"linux-x86_64": "linux/amd64", "linux-aarch64": "linux/arm64"}


def dockerfile(session: Session, stack: Stack) -> str:
    """The Dockerfile of a stack that fits. Torch comes from its own index alone, everything else from the user's."""
    machine = stack.machine
    architecture = _ARCHITECTURES.get(machine.platform.name)
    if architecture is None:
        hint = "an image runs on Linux: `--platform linux-x86_64` or `--platform linux-aarch64`"
        raise UsageError(f"no image is made for {machine.platform.name}", hint=hint)
    if machine.jetsons and any(note.code == "VENDOR_INDEX" for note in stack.notes):
        hint = "take an image that has it, such as NVIDIA's l4t-jetpack for this release, and `torchpick url` in it"
        raise UsageError("torch for this JetPack takes CUDA from it, which an image of Python lacks", hint=hint)
    torch = stack.version("torch")
    if torch is None:
        raise UsageError("this environment has no torch", hint="an image for it needs nothing of torchpick")
    if machine.python.image is None:
        raise UsageError(f"there is no image of Python {machine.python.tag}", hint="`--python 3.12` names another")
    _check_origins(stack)
    request = session.request._replace(requirements=(f"torch=={torch}",))
    _, variables, _ = env.variables_for(session.asking(request), "dockerfile")
    files = {each.path: each.content for each in variables.files}
    return "\n".join(
        (
            f"# {' '.join(stack.asked)} for {machine.in_short}.",
            "# The whole image of Python has a C compiler, which triton needs while a program runs.",
            f"FROM --platform={architecture} {machine.python.image}",
            "",
            "# Torch and its companions come from their own index, and nothing else does.",
            shell.variables("dockerfile", variables.set, variables.unset, files),
            "",
            f"RUN python -m pip install --no-cache-dir {' '.join(map(quote, stack.requirements))}",
        )
    )


def _check_origins(stack: Stack) -> None:
    """Wheels of a third index would need its address beside the user's own: nobody could say which one answered."""
    elsewhere = [each for each in stack.packages if each.index not in (DEFAULT_INDEX, stack.index_url)]
    if elsewhere:
        first = elsewhere[0]
        hint = f"`torchpick install {' '.join(stack.asked)}` in an image of your own says what to do about it"
        raise UsageError(f"{first.requirement} comes from {first.index}, which no line here may add", hint=hint)
