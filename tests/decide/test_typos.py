"""What people mistype is said or simply taken, before any index is asked."""

from __future__ import annotations

import pytest

from torchpick.cli import main
from torchpick.decide import refusal
from torchpick.errors import UsageError

GPU = ["--gpu", "RTX 4090", "--driver", "580.95.05", "--python", "3.12", "--offline"]


@pytest.mark.parametrize(("words", "hint"), [
        (["install", "pytorch"], "did you mean `torch`?"), (["url", "pytorch==2.9.1"], "did you mean `torch==2.9.1`?"),
        (["install", "torch", "torchvison"], "did you mean `torchvision`?"),
        (["plan", "torch-audio"], "did you mean `torchaudio`?"), (["install", "cuda"], "`--backend cu126`"),
        (["install", "requirements.txt"], "`torchpick install -r requirements.txt`"),
        (["torch", "3090"], "`--gpu` a GPU"), (["docter"], "`torchpick doctor`"),
])  # fmt: skip
def test_a_typo_is_refused_with_what_was_meant(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, *GPU]) == 2

    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    ["torchrl", "torchx", "torchao", "torchmetrics", "torchtune", "torch-geometric", "torchio", "faiss-cpu", "whisper",
     "flash-attn-4", "cupy-cuda14x", "ctransformers", "x-transformers", "deepspeech", "gsplot", "tim", "jaxx"],
)  # fmt: skip
def test_a_package_of_a_like_name_is_no_typo(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["url", "torch", name, *GPU])

    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(("short", "whole"), [
        (["--platform", "WSL2"], ["--platform", "linux-x86_64"]),
        (["--gpu", "gfx1100", "--backend", "rocm"], ["--gpu", "gfx1100"]), (["--backend", "cuda"], []),
])  # fmt: skip
def test_what_is_obvious_is_taken(short: list[str], whole: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    gpu = [] if "--gpu" in short or "macos-arm64" in whole else ["--gpu", "RTX 3090"]

    assert main(["url", *gpu, *short]) == 0
    taken = capsys.readouterr().out
    assert main(["url", *gpu, *whole]) == 0
    assert capsys.readouterr().out == taken


NONE = "`--backend cu126` names what torch is for, `--gpu` a GPU, `torch==2.9.1` a version"


@pytest.mark.parametrize(("command", "words", "what", "hint"), [
        ("install", "requirements.txt env/dev-requirements.txt", "a file, not a package", "`torchpick install -r {}`"),
        ("lock", "requirements.txt", "a file, not a package", "`torchpick lock -r {}`"),
        ("plan", "requirements.txt", "a file, not a package", "`torchpick plan -r {}`"),
        ("plan", "pyproject.toml uv.lock a.yml b/a.yaml", "a file, not a package", "requirements files go after `-r`"),
        ("plan", "cu126 cpu xpu rocm7.2 cuda cuda12 cuda-12 cuda12.6 cuda_12.6 cuda-12.6 cudatoolkit cuda-toolkit "
         "cudnn nvcc nvidia-cuda nvidia-driver nvidia-drivers-580 nvidia-driver-550", "not a package", NONE),
        ("plan", "3090 970 RTX-4090 gtx1080ti 1080-Ti 4070-super 4070super rtx GTX geforce Radeon A100 a30 b200 h20 "
         "L40s L4 v100 T4 p100 K80 2.9.1 v2.9.1 V2.9.1 torch-2.9.1 torch-v2.9.1 torchvision-0.24.0", "not a package",
         NONE),
])  # fmt: skip
def test_what_is_something_else_than_a_package_is_said_to_be_that(
    command: str, words: str, what: str, hint: str
) -> None:
    for word in words.split():
        with pytest.raises(UsageError) as caught:
            refusal.refuse(["numpy", word], command)

        assert (str(caught.value), caught.value.hint) == (f"`{word}` is {what}", hint.format(word))


@pytest.mark.parametrize(("word", "meant"), [
        ("tourch>=2", "torch>=2"),  # a letter is too much
        ("torchvison[x]", "torchvision[x]"), ("torchaudoi", "torchaudio"), ("torchvusion", "torchvision"),
        ("pytorch-cuda[x]>=2", "torch[x]>=2"), ("Torch_GPU", "torch"), ("pytroch", "torch"),
        ("torchh", ""),  # an end may be on purpose, a number too, and the first letter is right
        ("torch1audio", ""), ("porch", ""), ("a100==1", ""), ("torchxyion", ""),  # two letters
        *((word, "") for word in ("cud", "cu1", "cu1268", "rocm", "90", "39000", "a1", "a1000", "t", "a.cfg", "vlm")),
])  # fmt: skip
def test_one_letter_off_a_name_of_torch_is_a_typo(word: str, meant: str) -> None:
    if not meant:
        refusal.refuse([word], "plan")
        return

    with pytest.raises(UsageError) as caught:
        refusal.refuse([word], "plan")

    name = word.lower().replace("_", "-").partition(">")[0].partition("[")[0]
    really = f"A package really called `{name}` goes into a file, after `-r`"
    assert str(caught.value) == f"`{word}` is not a package of PyTorch's"
    assert caught.value.hint == f"did you mean `{meant}`? {really}"
