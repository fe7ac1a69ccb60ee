"""What no wheel says of itself: main libraries, names that are dlopened, pins that METADATA leaves out, other indexes.

Each with its source. What a wheel does say is in evidence/packages.jsonl.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torchpick.model.package import OtherIndex, WheelRule


class Beyond(NamedTuple):
    """A requirement that METADATA does not state, for the versions within `versions`."""

    versions: str
    requirement: str
    source: str


class Source(NamedTuple):
    """A version that is no wheel on the default index: what its setup.py compiles for and asks."""

    version: str
    arches: tuple[str, ...]
    requires: tuple[str, ...]
    source: str


class Rule(NamedTuple):
    """The facts of one project. `main` matches the libraries it cannot do without (empty: none of them decides)."""

    main: str = ".*"
    links_torch: bool | None = None
    cuda: Mapping[str, str] = {}  # specifier → the CUDA it links, where no NEEDED says it
    dlopens: Mapping[str, tuple[str, ...]] = {}  # specifier → libraries
    preloads: bool = False
    spares: tuple[str, ...] = ()  # how libraries begin that modules of it link and it goes on without
    few: tuple[str, ...] = ()  # architectures that next to no module of a library holds
    per_cuda: bool = False  # whether it has a library for each CUDA and loads that of torch's own
    extras: bool = False  # whether the requirements of its extras are kept
    beyond: tuple[Beyond, ...] = ()
    minor_fallback: str | None = None  # the versions that load a library of another CUDA of torch's major
    optional: bool = False  # whether it goes on without any of its libraries
    jit: Mapping[str, str] = {}  # specifier → the oldest GPU for which it compiles its kernels at run time
    cuda_extras: Mapping[str, str] = {}  # extra → the CUDA major that it chooses, where its name does not say it
    places: tuple[OtherIndex, ...] = ()
    rivals: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    source_only: str | None = None
    refused: str | None = None
    advice: str | None = None

    @property
    def wheel(self) -> WheelRule:
        """What the table passes on, for the versions that it does not know."""
        said = {name: value for name, value in self._asdict().items() if name in WheelRule._fields}
        return WheelRule(**{**said, "beyond": {each.versions: each.requirement for each in self.beyond}})

    @property
    def told(self) -> dict[str, object]:
        """The same as the files have it: what differs from the rule of most projects."""
        usual = WheelRule()._asdict()
        values: dict[str, object] = {
            **self.wheel._asdict(),
            "dlopens": {text: list(names) for text, names in self.dlopens.items()},
            "spares": list(self.spares),
            "few": list(self.few),
        }
        return {name: value for name, value in values.items() if value != usual[name] and value != []}


_README = "README of torchcodec, compatibility table"
_CODEC = (
    (">=0.12", "torch>=2.11"),
    (">=0.11,<0.12", "torch==2.11.*"),
    (">=0.10,<0.11", "torch==2.10.*"),
    (">=0.8,<0.10", "torch==2.9.*"),
    (">=0.6,<0.8", "torch==2.8.*"),
    (">=0.3,<0.6", "torch==2.7.*"),
)
# Its C++ is that of one torch: 1.9.0 needs c10::report_overflow, which libc10 of 2.14 has and that of 2.15.0 has not.
_FBGEMM = (
    "compatibility table of fbgemm_gpu/docs/src/general/Releases.rst (pytorch/FBGEMM@71d6f8b2); 1.7 to 1.9, which it "
    "has not yet, by the order of the releases and the c10 symbols that their libraries need: libc10 and libc10_cuda "
    "of 2.14 alone export all of 1.9.0's, of 2.13.0 alone all of 1.8.0's, of 2.11 and 2.12 all of 1.7.0's"
)
_FBGEMM_TORCH = (
    ("1.9.*", "2.14.*"),
    ("1.8.*", "2.13.*"),
    ("1.7.*", "2.12.*"),
    ("1.6.*", "2.11.*"),
    ("1.5.*", "2.10.*"),
    ("1.4.*", "2.9.*"),
    ("1.3.*", "2.8.*"),
    ("1.2.*", "2.7.*"),
    ("1.1.*", "2.6.*"),
    ("1.0.*", "2.5.*"),
    ("0.8.*", "2.4.*"),
    ("0.7.*", "2.3.*"),
    ("0.6.*", "2.2.*"),
    ("0.5.*", "2.1.*"),
    ("0.4.*", "2.0.*"),
)
_JAX = ("libcudart.so.{}", "libcublas.so.{}", "libcudnn.so.9")
# What the setup.py of mamba-ssm and that of causal-conv1d compile for.
_STATE_SPACES = ("sm_75", "sm_80", "sm_87", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
_OWN_RELEASES = (
    "the default index has its source alone: install torch first, then a wheel of its releases by URL, or build it "
    "with `--no-build-isolation` and the compiler of torch's CUDA or ROCm"
)


def _jax(major: str) -> Rule:
    """The plugin: its extra `with-cuda` asks for NVIDIA's wheels, and it loads them for its pjrt too."""
    names = tuple(name.format(major) for name in _JAX)
    return Rule(cuda={"": major}, dlopens={"": names}, preloads=True, extras=True)


def _cupy(major: str, *rivals: str) -> Rule:
    """Its installation guide has cuDNN as one of the "optional dependencies", and the module for it is tried."""
    return Rule(cuda={"": major}, rivals=rivals, extras=True, preloads=True, spares=("libcudnn",))


RULES: dict[str, Rule] = {
    "vllm": Rule(
        main=r"vllm/_(C|moe_C)(_stable_libtorch)?\.abi3\.so",
        links_torch=True,
        few=("sm_52", "compute_52"),  # one or two of 105 modules of _C; Pascal never ran
        places=(
            OtherIndex(
                "https://wheels.vllm.ai/{version}/cu129", "{version}+cu129, for CUDA 12.9", (12,), "0.20.0", "0.32.0"
            ),
            OtherIndex(
                "https://github.com/vllm-project/vllm/releases", "{version}+cu129 and +cpu", (12,), "0.20.0", "0.32.0"
            ),
        ),
        advice="llama-cpp-python can be built for older GPUs: https://abetlen.github.io/llama-cpp-python/whl has "
        "wheels for each CUDA",
    ),
    "sglang": Rule(main="", extras=False),
    "sglang-kernel": Rule(
        main=r".*/common_ops\.abi3\.so",
        links_torch=True,
        rivals=("sgl-kernel",),
        places=(
            OtherIndex("https://docs.sglang.io/whl/cu130", "{version}+cu130", (13,)),
            OtherIndex("https://docs.sglang.io/whl/cu129", "{version}+cu129 up to sglang 0.5.19", (12,)),
        ),
    ),
    "sgl-kernel": Rule(
        main=r".*/common_ops\.abi3\.so",
        links_torch=True,
        rivals=("sglang-kernel",),
        places=(OtherIndex("https://docs.sglang.io/whl/{cu}", "{version}+cuNNN"),),
    ),
    # README: "SM75 (Turing) and later".
    "flashinfer-python": Rule(
        main="",
        extras=True,
        jit={"": "sm_75"},
        places=(OtherIndex("https://flashinfer.ai/whl/{cu}", "flashinfer-jit-cache"),),
    ),
    # Up to 0.0.22 it pins torch 2.0.1 and older, whose own wheels are for CUDA 11.
    "xformers": Rule(main=r"xformers/_C\.(so|pyd)", links_torch=True, cuda={"<0.0.22.post1": "11"}),
    # bitsandbytes/cextension.py of 0.50.2, get_cuda_bnb_library_path; 0.49.2 takes the exact CUDA alone.
    "bitsandbytes": Rule(per_cuda=True, minor_fallback=">=0.50"),
    # torchao/__init__.py of 0.9.0 and 0.18.0 loads its libraries in a `try`: what fails is a line in the log.
    "torchao": Rule(main="", links_torch=True, optional=True),
    "torchcodec": Rule(
        main=r".*/libtorchcodec_core\d\.(so|dll)",
        links_torch=True,
        beyond=tuple(Beyond(*row, _README) for row in _CODEC),
    ),
    "torchtext": Rule(
        links_torch=True, beyond=(Beyond("==0.18.0", "torch<2.4", "its C++ library is that of torch 2.3"),)
    ),
    "torchdata": Rule(),
    "unsloth": Rule(main=""),
    "unsloth-zoo": Rule(main=""),
    "transformer-engine-cu12": Rule(
        main=r".*libtransformer_engine\.so", cuda={"": "12"}, rivals=("transformer-engine-cu13",)
    ),
    "transformer-engine-cu13": Rule(
        main=r".*libtransformer_engine\.so", cuda={"": "13"}, rivals=("transformer-engine-cu12",)
    ),
    "auto-gptq": Rule(
        links_torch=True,
        cuda={"": "12"},
        places=(OtherIndex("https://huggingface.github.io/autogptq-index/whl/{cu}", "{version}"),),
    ),
    "autoawq": Rule(main=""),
    "ctranslate2": Rule(
        main=r".*/(lib)?ctranslate2[^/]*\.(so.*|dll)",
        links_torch=False,
        cuda={">=4.8": "12.8", "<4.8": "12"},  # 4.8.5: PTX ISA 8.7, which CUDA 12.8 brought
        # Strings of the libraries: 4.8.5 names no cuDNN any more, 4.5.0 carries only its loader.
        dlopens={
            ">=4.8": ("libcublas.so.12",),
            ">=4.5,<4.8": ("libcublas.so.12", "libcudnn.so.9"),
            "<4.5": ("libcublas.so.12", "libcudnn.so.8"),
        },
    ),
    "faster-whisper": Rule(main=""),
    "whisperx": Rule(main=""),
    "onnxruntime-gpu": Rule(
        main=r".*/(lib)?onnxruntime_providers_cuda\.(so|dll)", links_torch=False, extras=True, rivals=("onnxruntime",)
    ),
    "jax": Rule(main="", extras=True, cuda_extras={"cuda": "12"}),
    "jax-cuda12-plugin": _jax("12"),
    "jax-cuda12-pjrt": Rule(cuda={"": "12"}, links_torch=False),
    "jax-cuda13-plugin": _jax("13"),
    "jax-cuda13-pjrt": Rule(cuda={"": "13"}, links_torch=False),
    "cupy-cuda11x": _cupy("11", "cupy-cuda12x", "cupy-cuda13x"),
    "cupy-cuda12x": _cupy("12", "cupy-cuda11x", "cupy-cuda13x"),
    "cupy-cuda13x": _cupy("13", "cupy-cuda11x", "cupy-cuda12x"),
    "tensorflow": Rule(
        main=r".*/libtensorflow_cc\.so.*",
        links_torch=False,
        cuda={"": "12"},
        dlopens={"": ("libcudart.so.12", "libcublas.so.12", "libcudnn.so.9")},
        preloads=True,
        extras=True,
        cuda_extras={"and-cuda": "12"},
    ),
    "faiss-gpu": Rule(main=r".*libfaiss[^/]*\.so", links_torch=False, cuda={"": "12"}, rivals=("faiss-gpu-cu12",)),
    "faiss-gpu-cu12": Rule(main=r".*libfaiss[^/]*\.so", links_torch=False, cuda={"": "12"}, rivals=("faiss-gpu",)),
    # README: "for Hopper and Blackwell GPUs". flash_attn/cute/interface.py of 4.0.0b36 lets 8.x through the forward
    # pass, and not through the backward pass.
    "flash-attn-4": Rule(main="", jit={"": "sm_90"}),
    "nvidia-cutlass-dsl": Rule(main="", jit={"": ""}, links_torch=False),
    # README: "all NVIDIA GPUs from SM75+ (Turing architecture)".
    "humming-kernels": Rule(main="", jit={"": "sm_75"}),
    # README of DeepGEMM: for sm_90 and sm_100.
    "sgl-deep-gemm": Rule(main="", links_torch=True, jit={"": "sm_90"}),
    "sgl-flash-mla": Rule(main="", links_torch=True),
    "sgl-deep-ep": Rule(main=r"deep_ep(/_C|_cpp)\..*\.so", links_torch=True),
    "xgboost": Rule(
        cuda={">=3.4": "13", "<3.4": "12"}, dlopens={"": ("libnccl.so.2",)}, preloads=True, links_torch=False
    ),
    "nvidia-dali-cuda120": Rule(main=r"nvidia/dali/libdali.*", cuda={"": "12"}, links_torch=False),
    "nvidia-dali-cuda130": Rule(main=r"nvidia/dali/libdali.*", cuda={"": "13"}, links_torch=False),
    "sageattention": Rule(
        main="",
        places=(OtherIndex("https://comfy-org.github.io/wheels", "SageAttention 2"),),
    ),
    "spconv-cu124": Rule(cuda={"": "12.4"}, links_torch=False),
    "spconv-cu126": Rule(cuda={"": "12.6"}, links_torch=False),
    "spconv": Rule(main="", advice="plain spconv is the CPU build: name spconv-cu126"),
    "open3d": Rule(main=r".*libOpen3D\.so.*", links_torch=False, cuda={"": "12"}),
    "gsplat": Rule(main="", jit={"": ""}, places=(OtherIndex("https://docs.gsplat.studio/whl", "up to pt24cu124"),)),
    "nerfacc": Rule(main="", jit={"": ""}),
    "lmdeploy": Rule(main=r".*/_turbomind[^/]*\.so", links_torch=False, cuda={"": "12"}),
    "fbgemm-gpu": Rule(
        main=r".*fbgemm_gpu_py\.so",
        links_torch=True,
        beyond=tuple(Beyond(f"=={versions}", f"torch=={torch}", _FBGEMM) for versions, torch in _FBGEMM_TORCH),
    ),
    "timm": Rule(main=""),
    "speechbrain": Rule(main=""),
    "accelerate": Rule(main=""),
    # No wheel on the default index: what their own setup.py says.
    "flash-attn": Rule(
        links_torch=True,
        sources=(
            Source(
                "2.8.3.post2", ("sm_80", "sm_90", "sm_100", "sm_120"), ("torch",), "setup.py, FLASH_ATTN_CUDA_ARCHS"
            ),
        ),
        source_only="the default index has its source alone: install torch first, then a wheel of its releases by "
        "URL, or build it with `--no-build-isolation` and the compiler of torch's CUDA or ROCm, for hours",
        advice="flash-attn 2 is built for sm_80, sm_90, sm_100 and sm_120; torch's own scaled_dot_product_attention, "
        "or xformers, runs on older GPUs",
    ),
    "mamba-ssm": Rule(
        links_torch=True,
        sources=(
            Source(
                "2.3.2.post1",
                _STATE_SPACES,
                ("torch",),
                "setup.py",
            ),
        ),
        source_only=_OWN_RELEASES,
    ),
    "causal-conv1d": Rule(
        links_torch=True,
        sources=(
            Source(
                "1.7.0",
                _STATE_SPACES,
                ("torch",),
                "setup.py, as mamba-ssm",
            ),
        ),
        source_only=_OWN_RELEASES,
    ),
    "gptqmodel": Rule(
        links_torch=True,
        sources=(Source("7.7.0", (), ("torch>=2.14.1",), "pyproject.toml of its source archive"),),
        places=(OtherIndex("https://github.com/ModelCloud/GPTQModel/releases", "{version}"),),
        source_only="the default index has its source alone: build it with `--no-build-isolation` beside torch",
    ),
    "deepspeed": Rule(
        links_torch=False,
        sources=(Source("0.19.8", (), ("torch>=2.0.0",), "setup.py of its source archive"),),
        source_only="the default index has its source alone, but for a wheel of 2020 (never ask for wheels only); its "
        "operators are compiled at first use",
    ),
    # From torch 2.13 on data.pyg.org has pyg-lib alone (a project that looked, id 65984994240).
    "torch-scatter": Rule(
        links_torch=True,
        sources=(Source("2.1.2", (), ("torch",), "its source archive"),),
        source_only="the default index has its source alone",
    ),
    "torch-sparse": Rule(
        links_torch=True,
        sources=(Source("0.6.18", (), ("torch",), "its source archive"),),
        source_only="the default index has its source alone",
    ),
    "torch-cluster": Rule(
        links_torch=True,
        sources=(Source("1.6.3", (), ("torch",), "its source archive"),),
        source_only="the default index has its source alone",
    ),
    "pyg-lib": Rule(refused="is not on the default index: its wheels lie at https://data.pyg.org/whl"),
    "mmcv": Rule(
        links_torch=True,
        sources=(Source("2.2.0", (), ("torch",), "its source archive"),),
        places=(
            OtherIndex(
                "https://download.openmmlab.com/mmcv/dist",
                "with its ops, in cuNNN/torchX.Y/index.html; the newest that is known is cu121/torch2.4",
            ),
        ),
        source_only="the default index has its source alone, which builds no mmcv._ext without MMCV_WITH_OPS=1",
    ),
    "llama-cpp-python": Rule(
        sources=(Source("0.3.36", (), (), "its source archive"),),
        places=(OtherIndex("https://abetlen.github.io/llama-cpp-python/whl", "cuNNN wheels"),),
        source_only="the default index has its source alone, and a plain build is for the CPU, on a Mac "
        "for Metal; CMAKE_ARGS=-DGGML_CUDA=on builds it for NVIDIA's GPUs and -DGGML_HIP=on for AMD's",
    ),
    "flash-attn-3": Rule(links_torch=True, source_only="the default index has no wheel of it"),
    "triton-windows": Rule(main=""),
    "natten": Rule(links_torch=True, source_only="the default index has its source alone"),
    "nunchaku": Rule(refused="on the default index is another project of that name"),
    "apex": Rule(
        refused="on the default index is another project of that name; NVIDIA's apex is built from "
        "https://github.com/NVIDIA/apex",
    ),
    "detectron2": Rule(
        refused="is not on the default index: build it from https://github.com/facebookresearch/detectron2"
    ),
}
