"""Completion for shells: their scripts, and the words that each of these asks for, with what they mean."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from torchpick.cli import COMMANDS
from torchpick.cli.arguments import Arguments, Flag, Parser
from torchpick.errors import UsageError
from torchpick.knowledge import locations
from torchpick.knowledge.compat import Knowledge
from torchpick.model.build import backend_order, family_of
from torchpick.model.machine import PLATFORMS

SHELLS = ("bash", "zsh", "fish", "powershell")
# NVIDIA's oldest GPUs that builds since torch 2.0 hold code for are Maxwell's.
_OLDEST_MAJOR = 5
Words = Iterator[tuple[str, str]]


def run(args: Arguments) -> int:
    if args.words == ["words"]:
        sys.stdout.writelines(f"{word}\t{about}\n" for word, about in completions(args.passed_on))
        return 0
    if len(args.words) != 1 or args.words[0] not in SHELLS:
        raise UsageError("completion for which shell?", hint=f"one of {', '.join(SHELLS)}")
    print(locations.text_of_ours("cli", "shells", f"completion.{args.words[0]}"), end="")
    return 0


def completions(words: Sequence[str]) -> Words:
    """What may stand after these words, each with what it means; the shell filters them."""
    typed = [word for word in words if word != "="]
    command = typed[0] if typed and typed[0] in COMMANDS else "pick"
    flags = Parser(command).flags
    for flag in flags:
        if typed and typed[-1] in flag.names and flag.metavar:
            yield from _values(flag)
            return
    if not typed:
        for name in COMMANDS:  # each with the first sentence of its help
            lines = Parser(name).lines[2:]
            yield name, " ".join(lines[: lines.index("")]).partition(". ")[0].rstrip(".")
    if command == "completion":
        yield from ((shell, "") for shell in SHELLS)
    yield from ((name, flag.about) for flag in flags for name in flag.names if name.startswith("--"))
    yield "--help", "what it does, with examples"


def _values(flag: Flag) -> Words:
    """What a flag takes, where that is a list; nothing for a file, which the shell knows."""
    knowledge = Knowledge(os.environ)
    match flag.dest:
        case "platform":
            yield from ((name, "") for name in PLATFORMS)  # not all that is understood
        case "gpu":
            yield from _gpus(knowledge)
        case "driver":
            yield from ((str(branch), "the newest of this branch") for branch in knowledge.rules.drivers.branches)
        case "backend":
            builds = {build.backend: build for shelf in knowledge.table(PLATFORMS).builds.values() for build in shelf}
            for backend in sorted(builds, key=backend_order, reverse=True):
                cuda = builds[backend].cuda
                yield backend, family_of(backend) if cuda is None else f"CUDA {cuda}"
        case _:
            yield from ((choice, "") for choice in flag.choices)


def _gpus(knowledge: Knowledge) -> Words:
    """Names without blanks, which no shell has to quote, that mean one GPU."""
    names, others = knowledge.gpu_names, knowledge.other_names
    for product, capability in reversed(names.products):
        word = _word(product, "GeForce ")
        gpu = names.written(word)
        if gpu is not None and gpu.arch is not None and gpu.arch.major >= _OLDEST_MAJOR and not {*word} & {*"(/"}:
            yield word, f"NVIDIA, {capability}"
    for name, targets in others.amd_named:
        if " " not in targets.strip() and "(" not in name:
            yield _word(name, "Radeon "), f"AMD, {targets.strip()}"
    yield from ((_word(product), "Intel") for product in others.intel_products if "(" not in product)
    yield from ((_word(chip), "Apple") for chip in others.apple_chips)
    yield "none", "no GPU"


def _word(name: str, brand: str = "") -> str:
    """A name as one word, without the brand where the rest begins with a letter."""
    rest = name.removeprefix(brand)
    return (rest if rest[:1].isalpha() else name).replace(" ", "-")
