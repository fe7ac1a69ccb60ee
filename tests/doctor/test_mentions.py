"""GPU, driver, CUDA and torch are taken from the text, and what a program merely asks for is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.growth import in_line
from torchpick.doctor import posts, situation
from torchpick.doctor.situation import Situation
from torchpick.model.fields import Fields

WORDS = situation.read_words(
    Fields(json.loads((Path(__file__).parents[2] / "compat" / "words.json").read_text("utf-8")))
)
IN_WORDS = json.loads((Path(__file__).parent / "words.json").read_text("utf-8"))


LISTED = {"vllm": "0.6.3", "torchvision": "0.19.1"}
DEMANDS = (
    ("vllm 0.6.3", "torch", "==2.4.0"),
    ("torchvision 0.19.1", "torch", "==2.4.1"),
    ("xformers==0.0.27", "torch", "==2.4.0"),
)
TWO = Situation(torch="2.4.1+cu121", packages={"torchvision": "0.24.0+cu126"})


def of_text(text: bytes) -> Situation:
    return situation.read_situation(posts.plain(text, WORDS["rewritten"]), WORDS, WORDS["facts"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Found GPU0 GeForce GT 730 which is of cuda capability 3.0.", Situation("3.0", "GeForce GT 730")),
        (
            "NVIDIA A100-PCIE-40GB with CUDA capability sm_80 is not compatible with the current PyTorch installation.",
            Situation("sm_80", "NVIDIA A100-PCIE-40GB"),
        ),
        ("GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)", Situation(name="NVIDIA GeForce RTX 3090")),
        (
            "| NVIDIA-SMI 535.183.01   Driver Version: 535.183.01   CUDA Version: 12.2 |",
            Situation(driver="535.183.01", driver_cuda="12.2"),
        ),
        ("(found version 12020)", Situation(driver_cuda="12.2")),
        ("PyTorch version: 2.9.1+cu128", Situation(torch="2.9.1+cu128")),
        ("Your Tesla T4 GPU has compute capability 7.5.", Situation("7.5", "Tesla T4")),
        ("only supported on GPUs with compute capability of at least 8.0", Situation()),
        ("requires compute capability 9.0", Situation()),
        ("I use a GTX 1080 Ti and it fails", Situation(name="GTX 1080 Ti")),
        ("for GPU arch : gfx1103", Situation("gfx1103")),
        ("ptxas --gpu-name=sm_120a", Situation("sm_120a")),
        ("capability (CC) 6.0", Situation("6.0")),
        ("CUDA Compute Capability: 8.6", Situation("8.6")),
        ("Requires Compute Capability 8.6", Situation()),
        ("cuda capability of 12.1", Situation("12.1")),
        ("requires 7.0\ncompute capability 6.1\ncompute capability 5.0", Situation("6.1")),
        ("needs capability 7.5 or higher", Situation()),
        ("requires torch==2.5.0", Situation()),
        ("pip install torch==2.5.0", Situation()),
        ("pip install unsloth made torch slow on my RTX 4070", Situation(name="RTX 4070")),
        ("it replaced my torch 2.7.0+cu128 by torch 2.8.0+cpu", Situation(torch="2.8.0+cpu")),
        ("uv uninstalls torch==2.9.1+cu130", Situation()),
        ("RTX 5090, NVIDIA driver 570.124.06", Situation(name="RTX 5090", driver="570.124.06")),
        ("my rtx 3060 laptop, drivers 551.23", Situation(name="rtx 3060 laptop", driver="551.23")),
        ("I got a 5060 ti and the 575 driver", Situation(name="5060 ti", driver="575")),
        ("nvidia-driver-535 and my 3090", Situation(name="3090", driver="535")),
        ("RTX Pro 6000 Blackwell", Situation(name="RTX Pro 6000 Blackwell")),
        ("Which version of torch do I need? I have a GTX 1070", Situation(name="GTX 1070")),
        ("which CUDA do I need for my RTX 3060", Situation(name="RTX 3060")),
        ("how do I install torch for an RTX 5070", Situation(name="RTX 5070")),
        ("it needs an RTX 4090", Situation()),
        ("GTX 1080\u662f\u5426\u652f\u6301", Situation(name="GTX 1080")),
        ("Ultralytics 8.3.0 torch-2.5.1+cpu CPU", Situation(torch="2.5.1+cpu")),
        ("torch-2.5.1+cu124-cp312-cp312-win_amd64.whl", Situation(python="3.12")),
        ("2.1.2+cpu in a freshly installed Fooocus", Situation(torch="2.1.2+cpu")),
        ("pip install torchaudio==2.5.1+cu124", Situation()),
        ("pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime", Situation(torch="2.4.0", cuda="12.4")),
        ("6700XT on Fedora", Situation(name="6700XT")),
        ("my 780M", Situation(name="780M")),
        ("Ryzen 7 with Radeon 780M", Situation(name="Radeon 780M")),
        ("srun --mem=780M on an RTX 5090", Situation(name="RTX 5090")),
        ("the UNet has 860M params, the 860M model and 3090 tokens fit an RTX 5090", Situation(name="RTX 5090")),
        ("RX 64 bytes on my RTX 5090", Situation(name="RTX 5090")),
        ("RX Vega 64", Situation(name="RX Vega 64")),
        ("my torch version is 1.11.0, cuda 10.2", Situation(torch="1.11.0", cuda="10.2")),
        ("Nvidia driver version: 572.16\nCUDA used to build PyTorch: 12.4", Situation(driver="572.16", cuda="12.4")),
        ("Name: torch\nVersion: 2.3.0+cpu", Situation(torch="2.3.0+cpu")),
        ("[pip3] torchvision==0.20.1+cu124", Situation(packages={"torchvision": "0.20.1+cu124"})),
        ("Jetson Orin, JetPack 6.2", Situation(name="Orin", driver_cuda="12.6")),
        ("Jetson Xavier, jetpack 5.1.2", Situation(name="Xavier", driver_cuda="11.4")),
        ("JetPack SDK 4.6", Situation(driver_cuda="10.2")),
        ("JetPack 7", Situation(driver_cuda="13.0")),
        ("a line\nCUDA: 12.4", Situation(cuda="12.4")),
        ("a line\nName: xformers\nVersion: 0.0.32\nSummary: s", Situation(packages={"xformers": "0.0.32"})),
        ("GPU 0: Board of Nobody 12\nanother line", Situation(name="Board of Nobody 12")),
        ("Python 3.12.10 (tags)", Situation(python="3.12")),
        ("python version\uff1a3.8.16", Situation(python="3.8")),
        ("python3.10 -m pip", Situation(python="3.10")),
        ("requires Python 3.10", Situation()),
        ("Python 3.10+ or Python 3.9 and newer", Situation()),
        ("my torch went from 2.5.1+cu121 to 2.8.0+cpu", Situation(torch="2.8.0+cpu")),
        ("pytorch 2.3.1 cpu_generic_py310ha4c588e_0 conda-forge", Situation(torch="2.3.1+cpu")),
        ("[conda] pytorch 2.3.1 py3.10_cuda12.1_cudnn8.9.2_0 pytorch", Situation(torch="2.3.1+cu121")),
        ("pytorch 2.6.0 cuda126_mkl_py312_h30b5a27_300 conda-forge", Situation(torch="2.6.0+cu126")),
        ('name = "torch"\nversion = "2.7.1+cu128"', Situation(torch="2.7.1+cu128")),
        ("\u251c\u2500\u2500 torchvision v0.26.0", Situation(packages={"torchvision": "0.26.0"})),
        ("TeslaP40", Situation(name="TeslaP40")),
        ("Will it work with a GT 1030?", Situation(name="GT 1030")),
        ("it has requirement torch==2.6.0, but you have torch 2.7.1+cu126.", Situation(torch="2.7.1+cu126")),
        ("\u77ff\u5361P106-100\uff0c", Situation(name="P106-100")),
        ("a CMP 30HX", Situation(name="CMP 30HX")),
        ("after pacman -Syu (nvidia 590.44)", Situation(driver="590.44")),
        ("CUDA, 1080ti", Situation(name="1080ti")),
        ("an image of 1920 by 1080, a 1080 x 1920 one and a 1080p film", Situation()),
        ("pytorch 2.4.1-py3.11_cuda12.1_cudnn9.1.0_0 --> 2.4.1-cpu_generic_py311h0e9_1", Situation(torch="2.4.1+cpu")),
        ("CUDA Version: 12.1 of torch", Situation()),
        ("\u0434\u0440\u0430\u0439\u0432\u0435\u0440 472.12", Situation(driver="472.12")),
        ("\u9a71\u52a8\u7248\u672c\uff1a560.94", Situation(driver="560.94")),
        ("it works fine for 4090 but for 5090 not", Situation(name="5090")),
        ("I have a 3050 rows table and 2080 records", Situation()),
        (
            "numpy 1.26.1>=1.22.2\ntorch 2.1.0>=1.8.0",
            Situation(torch="2.1.0", packages={"numpy": "1.26.1", "torch": "2.1.0"}),
        ),
        ("torch 1.13.1+rocm5.2. It runs", Situation(torch="1.13.1+rocm5.2")),
        ("PyTorch 2.7 on my RTX 5090", Situation(name="RTX 5090", torch="2.7.0")),
        ("torch 2.10 with CUDA 13.0", Situation(torch="2.10.0", cuda="13.0")),
        ("torch 2.x, torch 2.4+ or PyTorch 2.6 and newer", Situation()),
        ("my A4000", Situation(name="A4000")),
        ("minimum compute capability 3.7", Situation()),
        ("GPU 0: Tesla T4\nGPU 1: Tesla K80", Situation(name="Tesla T4", others=("Tesla K80",))),
        ("0 Tesla T4 Off\n1 Tesla P100 Off", Situation(name="Tesla T4", others=("Tesla P100",))),
        ("an RTX 3090 and a GTX 1080", Situation(name="RTX 3090", others=("GTX 1080",))),
        ("an RTX 3090; with my GTX 1080 it ran", Situation(name="RTX 3090")),
        ("an RTX 4090 Laptop GPU\nGTX 1080", Situation(name="RTX 4090 Laptop GPU")),
        ("driver version: 470.57\ndriver version: 535.1", Situation(driver="470.57")),
        ("found version 11040\nCUDA Version: 12.2", Situation(driver_cuda="11.4")),
        ("found version 9020", Situation(driver_cuda="9.2")),
        ("torch==2.8.0\ntorch==2.9.1", Situation(torch="2.8.0", packages={"torch": "2.8.0"}, torches=("2.9.1",))),
        (
            "vllm 0.6.3 requires torch==2.4.0, but you have torch 2.2.0 which is incompatible.\n"
            "torchvision 0.19.1 requires torch==2.4.1\nBecause xformers==0.0.27 depends on torch==2.4.0,",
            Situation(torch="2.2.0", packages=LISTED, demands=DEMANDS),
        ),
        ("natten (0.1) depends on torch (>=2.0,<2.3)", Situation(demands=(("natten (0.1)", "torch", ">=2.0,<2.3"),))),
        ("torch v2.6.0+rocm6.4.1 and more", Situation(torch="2.6.0+rocm6.4.1")),
        ("2026-11-22 03:12:11 torch 2.9.1+cpu", Situation(torch="2.9.1+cpu")),
        ("x" * (1 << 16) + " torch 2.9.1", Situation()),
        ("no kernel image is available, Quadro P4000", Situation(name="Quadro P4000")),
        ("a Quadro RTX 4000 and", Situation(name="Quadro RTX 4000")),
        ("an RTX 4000 SFF Ada Generation", Situation(name="RTX 4000 SFF Ada Generation")),
        ("Titan Xp", Situation(name="Titan Xp")),
        ("MX150", Situation(name="MX150")),
        ("NVIDIA L40, see script.py#L20", Situation(name="NVIDIA L40")),
        ("see script.py#L20", Situation()),
        (
            "The current PyTorch install supports CUDA capabilities sm_50 sm_90. torch 2.5.1+cu124 driver 565.57",
            Situation(driver="565.57", torch="2.5.1+cu124"),
        ),
        ("to install torch 2.5.1", Situation()),
        ("stuck with the latest standard driver, 472.84", Situation(driver="472.84")),
        ("the drivers at 535.54 and", Situation(driver="535.54")),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.07  Release Build",
            Situation(driver="570.133.07"),
        ),
        ("Intel(R) Arc(TM) B580 Graphics", Situation(name="Arc(TM) B580")),
        ("torch 2.4.1+cu121, torchvision 0.24.0+cu126.", TWO),
        ("torch 2.4.1+cu121\n>>> torchvision.__version__\n'0.24.0+cu126'", TWO),
        ("PyTorch version: 2.0.1 + ROCm-5.4.2", Situation(torch="2.0.1+rocm5.4.2")),
        ("torch 2.9.1 (+cpu)", Situation(torch="2.9.1+cpu")),
        ("pip install torchvision 0.24.0", Situation()),
        ("it needs torchaudio 2.5.1, or newer", Situation()),
        ("take torchvision 0.24 or torchvision==0.24.0 then", Situation()),
    ],
)  # fmt: skip
def test_what_a_line_says(text: str, said: Situation) -> None:
    assert of_text(text.encode())._replace(facts={}) == said


@pytest.mark.parametrize(
    ("text", "platform", "fact"),
    [
        ("Windows 11", "windows-x86_64", "windows"), ("WSL 2 on Windows 11", "linux-x86_64", "wsl"),
        ("Windows 11 without WSL", "windows-x86_64", "windows"), ("macOS 14, M2 Max", "macos-arm64", "macos"),
        ("Intel MacBook Pro", "macos-x86_64", "intel"), ("Ubuntu 24.04 on a DGX Spark", "linux-aarch64", "aarch64"),
        ("docker compose up", None, "container"), ("NVIDIA Container Toolkit is installed", None, ""),
        ("HIP error: invalid device function", None, "amd"), ("ROCM used to build PyTorch: N/A", None, ""),
    ],
)  # fmt: skip
def test_what_is_said_of_the_surroundings(text: str, platform: str | None, fact: str) -> None:
    said = of_text(text.encode())

    assert said.platform == platform
    assert fact in said.facts if fact else not said.facts


@pytest.mark.parametrize(
    "text", ["GPU 0: ", "compute capability ", "Found GPU0 ", "NVIDIA ", "[2026-11-22 03:12:11] ", " ", "torch=="]
)
def test_the_time_grows_with_the_length_and_no_faster(text: str) -> None:
    in_line(lambda count: of_text(text.encode() * count), (500, 4000), floor=0.001)


def test_each_cause_that_is_known_by_words_has_texts_here() -> None:
    assert sorted(IN_WORDS["says"]) == sorted(name for name in WORDS["facts"] if name.isupper())


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in IN_WORDS["says"].items() for text in texts])
def test_a_cause_is_known_in_anybodys_words(name: str, text: str) -> None:
    assert name in of_text(text.encode()).facts


@pytest.mark.parametrize("text", IN_WORDS["innocent"])
def test_talk_of_the_same_things_is_no_cause(text: str) -> None:
    assert [name for name in of_text(text.encode()).facts if name.isupper()] == []


def test_no_expression_is_passed_over_that_a_text_has() -> None:
    lines = [form for forms in WORDS["facts"].values() for form in forms.split("\n")]
    forms = [(posts.literals(form), re.compile(f"(?im){form}")) for form in lines if posts.literals(form)]
    texts = [text for says in IN_WORDS["says"].values() for text in says]

    assert len(forms) > 400
    assert [
        form.pattern
        for literals, form in forms
        for text in texts
        if not all(part in text.lower() for part in literals) and form.search(text)
    ] == []
