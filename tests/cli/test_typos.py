"""What people mistype is said or simply taken, before any index is asked."""

from __future__ import annotations

import pytest

from torchpick.cli import main
from torchpick.decide import typos
from torchpick.knowledge.packages import KnownPackages

GPU = ["--gpu", "RTX 4090", "--driver", "580.95.05", "--python", "3.12", "--offline"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["install", "pytorch"], "did you mean `torch`?"),
        (["url", "pytorch==2.9.1"], "did you mean `torch==2.9.1`?"),
        (["install", "torch", "torchvison"], "did you mean `torchvision`?"),
        (["plan", "torch-audio"], "did you mean `torchaudio`?"),
        (["install", "cuda"], "`--backend cu126`"),
        (["install", "cu126"], "`torchpick install torch --backend cu126`"),
        (["install", "requirements.txt"], "`torchpick install -r requirements.txt`"),
        (["torch", "3090"], "`--gpu 3090`"),
        (["docter"], "`torchpick doctor`"),
        (["plan", "vlm"], "did you mean `vllm`?"),
        (["vlm"], "did you mean `vllm`?"),
        (["install", "xformer==0.0.28"], "did you mean `xformers==0.0.28`?"),
        (["plan", "torch", "transfomers"], "did you mean `transformers`?"),
        (["plan", "bitsandbyte"], "did you mean `bitsandbytes`?"),
        (["lock", "flashattn"], "did you mean `flash-attn`?"),
        (["plan", "sglang", "acelerate[torch]"], "did you mean `accelerate[torch]`?"),
        (["install", "deepspede"], "did you mean `deepspeed`?"),
    ],
)
def test_a_typo_is_refused_with_what_was_meant(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, *GPU]) == 2

    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("file", ["requirements.txt", "pyproject.toml", "env/uv.lock", "environment.yml"])
def test_a_file_is_named_as_one(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", file, *GPU]) == 2

    assert f"`{file}` is a file, not a package" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["pytorch", "pytorch-cuda", "pytorch-gpu", "torch-gpu", "torch-cuda", "pytroch", "PyTorch_GPU"]
)
def test_torch_is_meant_by_every_name_that_it_is_often_given(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["url", f"{name}==2.9.1", *GPU]) == 2

    assert "did you mean `torch==2.9.1`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    ["torchrl", "torchx", "torchao", "torchmetrics", "torchtune", "torch-geometric", "torchio", "faiss-cpu", "whisper",
     "flash-attn-4", "cupy-cuda14x", "ctransformers", "x-transformers", "deepspeech", "gsplot", "tim", "jaxx"],
)  # fmt: skip
def test_a_package_of_a_like_name_is_no_typo(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["url", "torch", name, *GPU])

    assert "did you mean" not in capsys.readouterr().err


def test_no_package_of_the_table_is_taken_for_a_typo_of_another() -> None:
    known = KnownPackages({}, "")

    typos.refuse([*known, "transformers", "diffusers", "torchvision"], "plan", known)


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        (["--platform", "windows"], ["--platform", "windows-x86_64"]),
        (["--platform", "WSL2"], ["--platform", "linux-x86_64"]),
        (["--backend", "cuda12.6"], ["--backend", "cu126"]),
        (["--backend", "12.6"], ["--backend", "cu126"]),
        (["--driver", "v550.90"], ["--driver", "550.90"]),
        (["--gpu", "cpu"], ["--gpu", "none"]),
        (["--gpu", "mps"], ["--platform", "macos-arm64"]),
        (["--gpu", "gfx1100", "--backend", "rocm"], ["--gpu", "gfx1100"]),
        (["--backend", "cuda"], []),
    ],
)
def test_what_is_obvious_is_taken(short: list[str], whole: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    gpu = [] if "--gpu" in short or "macos-arm64" in whole else ["--gpu", "RTX 3090"]

    assert main(["url", *gpu, *short]) == 0
    taken = capsys.readouterr().out
    assert main(["url", *gpu, *whole]) == 0
    assert capsys.readouterr().out == taken
