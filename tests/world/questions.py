"""What every command is asked: a GPU, its driver, requirements, and the exit status that is right."""

from __future__ import annotations

from typing import NamedTuple

from packaging.requirements import Requirement


class WorldQuestion(NamedTuple):
    gpu: str
    driver: str
    requirements: tuple[str, ...]
    status: int = 0

    @property
    def text(self) -> str:
        return " ".join(self.requirements)

    @property
    def is_of_family(self) -> bool:
        """Whether torch and its companions alone are asked for."""
        return {Requirement(each).name for each in self.requirements} <= {"torch", "torchvision", "torchaudio"}


_NO_BUILD = 3
_REFUSED = 1  # by the resolver
_NEWEST = "580.95.05"

QUESTIONS = (
    # torch's family alone
    WorldQuestion("GTX 1080 Ti", _NEWEST, ("torch",)),
    WorldQuestion("GTX 1080 Ti", _NEWEST, ("torch", "torchvision", "numpy")),
    WorldQuestion("GTX 980", "525.147.05", ("torch", "torchvision")), WorldQuestion("V100", "535.183.01", ("torch",)),
    WorldQuestion("T4", "550.127.08", ("torch", "torchvision", "torchaudio")),
    WorldQuestion("A100", "535.183.01", ("torch<2.8", "torchvision")),
    WorldQuestion("RTX 4090", "570.86.10", ("torch>=2.9", "torchaudio")), WorldQuestion("H100", _NEWEST, ("torch",)),
    WorldQuestion("RTX 5090", "570.86.10", ("torch", "torchvision")),
    WorldQuestion("B200", _NEWEST, ("torch==2.9.1",)), WorldQuestion("RTX 5090", "560.28.03", ("torch",), _NO_BUILD),
    WorldQuestion("GTX 1080 Ti", _NEWEST, ("torch==2.15.0",), _NO_BUILD),
    # packages that the table knows
    WorldQuestion("RTX 3090", _NEWEST, ("xformers==0.0.29.post3",)), WorldQuestion("A100", "535.183.01", ("vllm",)),
    WorldQuestion("H100", _NEWEST, ("vllm",)), WorldQuestion("GTX 1080 Ti", _NEWEST, ("vllm",), _NO_BUILD),
    WorldQuestion("GTX 1080 Ti", _NEWEST, ("sglang",), _NO_BUILD),
    WorldQuestion("GTX 1080 Ti", _NEWEST, ("torch", "bitsandbytes")),
    WorldQuestion("T4", "550.127.08", ("torch", "onnxruntime-gpu")),
    WorldQuestion("RTX 3090", "535.183.01", ("faster-whisper", "torch")),
    # packages that it does not know
    WorldQuestion("GTX 1080 Ti", _NEWEST, ("transformers[torch]",)),
    WorldQuestion("T4", "550.127.08", ("torch", "torchvision", "transformers")),
    WorldQuestion("V100", "535.183.01", ("torch", "sentence-transformers")),
    WorldQuestion("H100", _NEWEST, ("accelerate[testing]",)),
    WorldQuestion("RTX 4090", "570.86.10", ("torch", "torchvision", "kornia")),
    WorldQuestion("T4", "550.127.08", ("torchmetrics",)), WorldQuestion("A100", "535.183.01", ("timm", "torch<2.10")),
    WorldQuestion("GTX 1080 Ti", _NEWEST, ("diffusers[torch]",)),
    WorldQuestion("RTX 3090", _NEWEST, ("open-clip-torch",)), WorldQuestion("A100", "535.183.01", ("lightning",)),
    WorldQuestion("A100", _NEWEST, ("deepspeed", "torch")),
    # what pins an older torch, or wants one CUDA with another package
    WorldQuestion("RTX 4090", _NEWEST, ("lerobot",)), WorldQuestion("RTX 4090", _NEWEST, ("chatterbox-tts",)),
    WorldQuestion("RTX 5090", "610.43.02", ("chatterbox-tts",), _NO_BUILD),
    WorldQuestion("T4", "550.127.08", ("fairseq2",)),
    WorldQuestion("RTX 4090", _NEWEST, ("faster-whisper", "sentence-transformers")),
    WorldQuestion("RTX 4090", _NEWEST, ("vllm", "transformers")),
    WorldQuestion("RTX 4090", _NEWEST, ("vllm", "numpy")),
    WorldQuestion("RTX 4090", _NEWEST, ("jax[cuda12]", "torch==2.15.0"), _NO_BUILD),
    WorldQuestion("RTX 5090", "575.57.08", ("torch", "bitsandbytes")),
    WorldQuestion("RTX 4090", _NEWEST, ("fbgemm-gpu", "torch")),
    WorldQuestion("GTX 1080 Ti", _NEWEST, ("torch", "setuptools==69.5.1")),
    WorldQuestion("RTX 4090", _NEWEST, ("openai-whisper",)),
    # what no index has
    WorldQuestion("T4", "550.127.08", ("torch", "requests>=999"), _REFUSED),
    WorldQuestion("GTX 1080 Ti", _NEWEST, ("torch", "idna>=99"), _REFUSED),
)  # fmt: skip
