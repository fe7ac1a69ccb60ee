"""What the text says of its machine is what the answer is about, unless the user says otherwise."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from tests import tables
from tests.doctor.homes import Home
from torchpick.cli import main
from torchpick.doctor import explanation, posts
from torchpick.doctor.explanation import Explanation
from torchpick.model.arch import Arch
from torchpick.model.finding import Ailment
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python
from torchpick.model.pick import Request
from torchpick.run import Run, start_run

pytestmark = pytest.mark.process
CASES = json.loads((Path(__file__).parent / "explanation.json").read_text("utf-8"))

KERNELS = "CUDA error: no kernel image is available for execution on the device"
DRIVER = "The NVIDIA driver on your system is too old (found version 12020)"


def explained(home: Home, *lines: str, request: Request | None = None, **environ: str) -> Explanation:
    variables = {"HOME": str(home.root), "VIRTUAL_ENV": str(home.root), **environ}
    run = start_run(request or Request(), variables)
    return explanation.explain(["\n".join(lines).encode()], run)


def notes(found: Explanation) -> list[tuple[str, str]]:
    return [
        (note.code, note.text) for note in found.notes if "_TEXT" in note.code or note.code.startswith(("NO", "GPU_IS"))
    ]


def here(found: Explanation) -> list[tuple[str, list[str]]]:
    """What was recognised, and what of it doctor finds here."""
    return [
        (error.match.signature.id, [finding.code for finding in error.findings if isinstance(finding.ailment, Ailment)])
        for error in found.errors
    ]


# What torch itself prints of every GPU that it has no code for.
OF_TORCH = (
    "NVIDIA GeForce RTX 5060 Ti with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
    KERNELS,
)


@pytest.mark.parametrize(
    ("name", "arch", "lines", "command"), CASES["a_gpu_of_the_text_that_is_here_keeps_the_driver_that_is_here"]
)
def test_a_gpu_of_the_text_that_is_here_keeps_the_driver_that_is_here(
    name: str, arch: str, lines: tuple[str, ...], command: str | None, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Machine(
        Platform("linux", "x86_64", "2.35"), Python("3.12", "cp", False, None, "test"),
        Driver("570.86.10", None, "nvml"), (Gpu(0, "nvidia", name, Arch.parse(arch), source="nvml"),),
    )  # fmt: skip
    find = Run.find_machine
    monkeypatch.setattr(Run, "find_machine", lambda run: find(run) if run.has_given_gpus else seen)

    found = explained(home, *lines)

    is_here = command == "torchpick install torch"
    assert found.errors[0].command == command
    assert [code for code, _ in notes(found) if code.endswith("TEXT") or code == "GPU_IS_HERE"] == [
        "GPU_IS_HERE" if is_here else "MACHINE_OF_THE_TEXT"
    ]
    assert found.machine is not None
    assert (found.machine.driver == seen.driver) is is_here


@pytest.mark.parametrize(("text", "gpu", "codes"), CASES["of_the_text_only_what_the_given_gpu_can_have_is_taken"])
def test_of_the_text_only_what_the_given_gpu_can_have_is_taken(
    text: str, gpu: str, codes: list[str], home: Home
) -> None:
    found = explained(home.torch(), text, KERNELS, request=Request(gpus=(gpu,)))

    assert [code for code, _ in notes(found)] == codes


def test_a_name_that_is_no_gpu_is_not_taken(home: Home) -> None:
    found = explained(home, "GPU 0: Whatever 9000 (UUID: GPU-1)", KERNELS, request=Request(gpus=("none",)))

    assert notes(found) == []


def test_a_refusal_for_the_driver_stands_under_the_error_of_the_text_and_beside_nothing_that_denies_it(
    home: Home,
) -> None:
    blackwell = Request(gpus=("RTX 5090",), driver="565.57.01")

    for text, code in ((KERNELS, "NO_KERNELS"), (DRIVER, "DRIVER_TOO_OLD")):
        (error,) = explained(home, text, request=blackwell).errors
        assert [(finding.code, finding.cure) for finding in error.findings] == [(code, None)]
        assert "with driver 570.26 or newer: torch" in (error.findings[0].advice or "")
        # A newer driver and another wheel do help.
        folklore = [fix["what"] for fix in error.match.signature.no_use if "driver" in fix["what"]]
        assert all("for a wheel without code" in what for what in folklore)


@pytest.mark.parametrize(
    ("text", "gpu", "driver"), CASES["a_package_s_error_is_not_answered_by_installing_the_newest_torch"]
)
def test_a_package_s_error_is_not_answered_by_installing_the_newest_torch(
    text: str, gpu: str, driver: str, home: Home
) -> None:
    (error,) = explained(home, text, request=Request(gpus=(gpu,), driver=driver)).errors

    assert error.command is None
    advice = ("`torchpick plan", "goes with torch", "for one CUDA", "torch's own")
    assert any(words in cure for cure in error.cause.cures for words in advice)


def test_what_is_to_be_typed_on_the_machine_itself_names_no_platform(home: Home) -> None:
    given = Request(gpus=("sm_61",), driver="580.95.05", platform="linux-x86_64", glibc="2.35", python="3.12")
    found = explained(home, "torch==2.9.1+cu130", KERNELS, request=given)

    command = found.errors[0].command
    assert command is not None
    assert command.startswith("torchpick install torch==")
    assert command.endswith("--gpu sm_61 --driver 580.95.05")
    assert "--platform" not in command


def test_the_start_and_the_end_of_a_long_log_are_read_for_what_it_is_about(home: Home) -> None:
    """Errors are looked for in all of it."""
    home.torch()
    run = start_run(Request(gpus=("sm_61",)), {"VIRTUAL_ENV": str(home.root), "HOME": os.sep})
    steps = (b"step 1 of 2 is done\n" + b"x" * posts.MOST_TEXT)[: posts.MOST_TEXT] + b"\n"
    chunks = [b"all is well\n", steps, b"torch 2.9.1\n", steps, b"torch 2.9.1+cu130\n" + KERNELS.encode()]

    found = explanation.explain(chunks, run)

    assert [error.match.signature.id for error in found.errors] == ["NO_KERNEL_IMAGE"]
    assert [text for code, text in notes(found) if code == "TORCH_OF_THE_TEXT"] == [
        "the text names torch 2.9.1+cu130, so that one is judged"
    ]


def test_what_was_seen_of_the_machine_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(0, "nvidia", "Tesla T4", Arch.parse("sm_75"))
    seen = Note("SEEN", "seen here")
    found = Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"), None, (gpu,), notes=(seen,))
    monkeypatch.setattr(Run, "find_machine", lambda _: found)

    assert explained(home.torch(), "torch==2.0.1", KERNELS).notes[1:] == (seen,)


@pytest.mark.parametrize(("lines", "ids"), CASES["a_torch_of_a_listing_without_a_label_is_the_default_index_s"])
def test_a_torch_of_a_listing_without_a_label_is_the_default_index_s(
    lines: tuple[str, ...], ids: list[list[object]], home: Home
) -> None:
    assert [[*one] for one in here(explained(home, *lines))][: len(ids) or None] == ids


def test_an_amd_gpu_that_runs_another_s_code_keeps_its_torch(home: Home) -> None:
    (error,) = explained(home, "torch 2.0.1+rocm5.4.2 on gfx1032: HIP error: invalid device function").errors

    assert error.command is None
    assert "`export HSA_OVERRIDE_GFX_VERSION=10.3.0`" in (error.findings[0].advice or "")
    assert not any("`export HSA_OVERRIDE" in cure for cure in error.cause.cures)
    newer = explained(home, "torch 2.0.1+rocm5.4.2 on gfx1100: HIP error: invalid device function").errors[0]
    assert newer.command


def test_a_torch_that_cannot_run_is_said_beside_an_error_that_says_nothing_of_it(home: Home) -> None:
    lines = ("CUBLAS_STATUS_NOT_INITIALIZED", "torch 2.5.1+cu124, RTX 5080, driver 580.95.05")

    assert here(explained(home, *lines)) == [("CUBLAS_NOT_INITIALIZED", []), ("NO_KERNEL_IMAGE", ["NO_KERNELS"])]


def test_no_torch_is_advised_for_another_program(home: Home) -> None:
    (error,) = explained(home, "cupy: CUDA driver version is insufficient for CUDA runtime version", "RTX 3090").errors

    assert (error.cause.id, error.command) == ("PACKAGE_DRIVER", None)


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("site-packages/torch_sparse/_version.so: undefined symbol: _ZN3c10", "torch_sparse"),
        ("flash_attn_2_cuda.so: undefined symbol: _ZN3c10", "flash-attn"),
    ],
)
def test_what_is_to_be_done_names_the_package_of_the_text(text: str, package: str, home: Home) -> None:
    (error,) = explained(home, text).errors

    assert f"`torchpick plan torch {package}` names versions" in " ".join(error.cause.cures)


def test_of_a_package_that_nobody_names_no_name_stands_in_what_is_to_be_done(home: Home) -> None:
    (error,) = explained(home, "mine.so: undefined symbol: _ZN3c10").errors

    asks, installs, _ = error.cause.cures
    assert asks.startswith("which torch is it?")
    assert installs == "install the extension's release for this torch, or the torch that it names"


@pytest.mark.parametrize(("lines", "says"), CASES["the_release_of_a_package_is_that_of_the_one_search"])
def test_the_release_of_a_package_is_that_of_the_one_search(
    lines: tuple[str, ...], says: tuple[str, ...], home: Home
) -> None:
    error = explained(home, *lines).errors[0]

    done = " ".join(error.cause.cures)
    assert [words for words in says if words not in done] == [], done


@pytest.mark.usefixtures("made_up")
@pytest.mark.parametrize(
    ("text", "words"), CASES["a_command_that_is_printed_is_taken_and_gives_the_build_that_was_promised"]
)
def test_a_command_that_is_printed_is_taken_and_gives_the_build_that_was_promised(
    text: str, words: str, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home.root)
    monkeypatch.setenv("VIRTUAL_ENV", str(home.root))
    monkeypatch.setenv("TORCHPICK_COMPAT_DIR", str(tables.LIVE))  # the frozen one knows no wheels outside indexes
    error = explained(home, text, TORCHPICK_COMPAT_DIR=str(tables.LIVE)).errors[0]
    told = " ".join((f"`{error.command}` {error.findings[0].brings}", *error.cause.cures))
    commands = re.findall(r"(?:goes with torch (\S+): )?`torchpick (install [^`]*)`(?: that is ([^\s,;]+))?", told)

    assert any(words in f"torchpick {command}" for _, command, _ in commands), told
    for before, command, after in commands:
        flags = [] if "--gpu" in command else ["--gpu", "sm_86", "--driver", "550.54.14"]
        status = main([*shlex.split(command), *flags, "--dry-run", "--offline"])
        assert (status, (before or after) in "".join(capsys.readouterr())) == (0, True), command


@pytest.mark.parametrize(("lines", "cause"), CASES["the_words_around_a_line_that_fits_many_causes_decide"])
def test_the_words_around_a_line_that_fits_many_causes_decide(lines: tuple[str, ...], cause: str, home: Home) -> None:
    assert explained(home, *lines).errors[0].cause.id == cause


@pytest.mark.parametrize(
    ("lines", "platform"),
    [
        (("torch", "platform_machine == 'aarch64' or sys_platform == 'darwin'", "on Windows 11"), "windows-x86_64"),
        (("hint: You're on Windows (`win_amd64`), but no wheels", "manylinux_2_28_aarch64"), "windows-x86_64"),
        (("Operating System :: MacOS", "Programming Language :: Python :: 3.9", "Ubuntu 24.04"), "linux-x86_64"),
    ],
)
def test_a_marker_a_classifier_and_a_list_of_tags_are_no_machine(
    lines: tuple[str, ...], platform: str, home: Home
) -> None:
    assert explained(home, *lines).facts == (f"{platform} (line {1 if 'You' in lines[0] else 3})",)


def test_a_capability_of_hip_chooses_no_build_of_cuda(home: Home) -> None:
    found = explained(home, KERNELS, "GPU 0: AMD Radeon RX 7900 XTX; Compute Capability: 11.0", "torch 2.9.1+rocm6.4")

    assert found.machine is not None
    assert [str(gpu.arch) for gpu in found.machine.gpus] == ["gfx1100"]
    assert [finding.cure for error in found.errors for finding in error.findings if finding.cure] == []


@pytest.mark.parametrize("text", CASES["a_torch_without_a_label_is_not_for_cuda_where_another_backend_is_named"])
def test_a_torch_without_a_label_is_not_for_cuda_where_another_backend_is_named(text: str, home: Home) -> None:
    errors = explained(home, text).errors

    assert errors
    assert "NVIDIA GPUs" not in "".join(finding.text for error in errors for finding in error.findings)
    assert "OTHER_VENDOR_BUILD" not in [code for _, codes in here(explained(home, text)) for code in codes]


@pytest.mark.parametrize(
    ("text", "there", "gone"), CASES["what_is_to_be_done_is_for_the_backend_and_the_system_of_the_text"]
)
def test_what_is_to_be_done_is_for_the_backend_and_the_system_of_the_text(
    text: str, there: str, gone: str, home: Home
) -> None:
    cures = " ".join(explained(home, text).errors[0].cause.cures)

    assert there in cures
    assert gone not in cures


def test_an_end_that_is_not_known_is_said_beside_what_was_only_warned_of(home: Home) -> None:
    ends = ("Traceback (most recent call last):", '  File "a.py", line 3', "ModuleNotFoundError: No module named 'a.b'")
    found = explained(home, "UserWarning: CUDA initialization: " + DRIVER, *ends)

    assert found.ending == (4, ends[-1], "a.py", False, True)
    assert explained(home, *ends, f"RuntimeError: {KERNELS}").ending is None


@pytest.mark.parametrize(
    "lines",
    [
        ("/usr/bin/ld: cannot find -lcuda: No such file", "collect2: error: ld returned 1 exit status"),
        ("nvcc: not found, CUDA_HOME environment variable is not set", "error: metadata-generation-failed"),
        ("RuntimeError: it could not be loaded, for:", "no kernel image is available for execution on the device"),
    ],
)
def test_what_closes_or_goes_on_with_an_error_that_is_known_is_no_end_of_its_own(
    lines: tuple[str, ...], home: Home
) -> None:
    found = explained(home, "torch", *lines)

    assert found.errors
    assert found.ending is None


def test_an_error_of_cuda_in_a_text_that_speaks_of_a_mac_alone_is_of_another_machine(home: Home) -> None:
    line = f"RuntimeError: {KERNELS}"
    cause = explained(home, f"\u5728Mac M1\u4e0a\u9762 {line}").errors[0].cause

    assert cause.id == "OTHER_MACHINE"
    found = explained(home, f"from my MacBook to the server: {line}", "RTX 5090, torch 2.9.1+cu128")
    assert "OTHER_MACHINE" not in [error.cause.id for error in found.errors]
    assert found.machine is not None
    assert found.machine.platform.os == "linux"


@pytest.mark.parametrize(("text", "cause"), CASES["a_torch_that_fits_is_not_to_blame_where_no_gpu_is_seen"])
def test_a_torch_that_fits_is_not_to_blame_where_no_gpu_is_seen(text: str, cause: str, home: Home) -> None:
    assert [error.cause.id for error in explained(home, text).errors] == [cause]


def test_of_a_release_without_a_label_it_is_said_where_none_of_its_builds_runs(home: Home) -> None:
    (error,) = explained(home, "torch 2.5.1 on an RTX 5090, driver 575.57").errors

    assert error.findings[0].code == "NO_KERNELS"
    assert error.command == "torchpick install torch==2.7.0 --gpu 'RTX 5090' --driver 575.57"
    assert explained(home, "torch 2.5.1 on an RTX 3090, driver 575.57").errors == ()


@pytest.mark.parametrize(("lines", "code", "says"), CASES["a_listing_without_an_error_is_judged_by_what_goes_together"])
def test_a_listing_without_an_error_is_judged_by_what_goes_together(
    lines: tuple[str, ...], code: str | None, says: str, home: Home
) -> None:
    found = explained(home, "pip list", *lines)

    assert [error.findings[0].code for error in found.errors] == ([] if code is None else [code])
    assert all(says in error.findings[0].text for error in found.errors)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Windows\ntorch 2.1.0\ntorchvision 0.16.0\nCUDA None", "CPU_BUILD"),  # the default index's wheel there
        ("Ubuntu\ntorch 2.1.0\ntorchvision 0.16.0\nCUDA None", "CUDA_NOT_AVAILABLE"),
    ],
)
def test_a_listing_tells_a_cpu_build_without_a_gpu(text: str, cause: str, home: Home) -> None:
    assert [error.cause.id for error in explained(home, text).errors] == [cause]


def test_the_python_of_the_text_decides_which_release_there_is(home: Home) -> None:
    text = "Quadro K620, torch.cuda.is_available() returns False"

    (error,) = explained(home, f"python version: 3.8.16, {text}").errors
    assert "2.4.1" in error.cause.cures[0]
    (error,) = explained(home, text).errors
    assert "2.4.1" not in error.cause.cures[0]


@pytest.mark.parametrize(("text", "gpus"), CASES["every_gpu_of_the_machine_counts"])
def test_every_gpu_of_the_machine_counts(text: str, gpus: list[str], home: Home) -> None:
    found = explained(home, KERNELS, text)

    assert found.machine is not None
    assert [str(gpu.arch) for gpu in found.machine.gpus] == gpus


def test_without_a_driver_there_is_a_command_for_each_range_of_drivers(home: Home) -> None:
    found = explained(home, "GTX 1070", KERNELS)

    (error,) = found.errors
    assert error.command is None
    assert not error.is_here
    assert error.cause.cures[:2] == (
        "with driver 525 or newer: `torchpick install torch --gpu 'GTX 1070' --driver 525`, which is 2.14.1+cu126",
        "with driver 450 to 524: `torchpick install torch --gpu 'GTX 1070' --driver 450`, which is 2.7.1+cu118",
    )
    assert "DRIVER_ASSUMED" not in {note.code for note in found.notes}


CONFLICT = "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed."


@pytest.mark.parametrize(("lines", "says"), CASES["a_conflict_is_answered_by_the_torch_that_is_required"])
def test_a_conflict_is_answered_by_the_torch_that_is_required(lines: tuple[str, ...], says: str, home: Home) -> None:
    error = explained(home, CONFLICT, "Python 3.11", *lines).errors[0]

    assert error.cause.id == "RESOLVE_CONFLICT"
    assert error.cause.cures[0].startswith(says)
    assert "torch==2.2.0" not in " ".join(error.cause.cures) or "vllm 0.6.3 requires torch>=" in lines[0]


def test_a_long_text_that_names_nothing_of_torch_is_of_something_else(home: Home) -> None:
    conflict = "hint: The `requires-python` value (>=3.9) includes Python versions that are not supported"
    long = "\n".join([conflict, *["our package wants another one, as its authors say"] * 10])

    assert explained(home, long).errors == ()
    assert explained(home, conflict).errors != ()
    assert explained(home, long, "torch 2.9.1").errors != ()
    assert explained(home, "my game does not use the GPU, only the CPU").errors == ()


def test_a_cause_of_its_own_has_no_command_for_torch(home: Home) -> None:
    listing = (
        "ERROR: Could not find a version that satisfies the requirement torch==2.6.0 (from versions: 2.2.1, 2.2.2)"
    )

    (error,) = explained(home, "macOS 14", listing).errors
    assert (error.cause.id, error.command) == ("X86_64_PYTHON_ON_MAC", None)


@pytest.mark.parametrize(
    ("text", "first", "gone"), CASES["what_fits_the_text_is_first_and_what_it_rules_out_is_left_out"]
)
def test_what_fits_the_text_is_first_and_what_it_rules_out_is_left_out(
    text: str, first: str, gone: str, home: Home
) -> None:
    cures = explained(home, *text.split("\n")).errors[0].cause.cures

    assert cures[0].startswith(first)
    assert not any(cure.startswith(gone) for cure in cures)


@pytest.mark.parametrize(("text", "cause", "cure"), CASES["what_the_text_says_of_versions_is_in_its_answer"])
def test_what_the_text_says_of_versions_is_in_its_answer(text: str, cause: str, cure: str | None, home: Home) -> None:
    error = explained(home, text).errors[0]

    assert error.cause.id == cause
    assert cure is None or error.cause.cures[0] == cure


def test_of_the_builds_that_a_torch_may_be_it_is_one_that_fails_so(home: Home) -> None:
    line = "NVIDIA A100 with CUDA capability sm_80 is not compatible with the current PyTorch installation."
    error = explained(home, "Python 3.9, PyTorch version (v1.10.1)", line).errors[0]

    assert "torch==1.10.1" in error.cause.cures[0]
    assert "which is 1.10.1+cu113" in error.cause.cures[0]


@pytest.mark.parametrize(("text", "cause"), CASES["the_surroundings_that_the_text_names_decide"])
def test_the_surroundings_that_the_text_names_decide(text: str, cause: str, home: Home) -> None:
    error = explained(home, text).errors[0]

    assert (error.cause.id, error.command) == (cause, None)


def test_a_torch_that_the_text_names_is_not_installed_once_more(home: Home) -> None:
    text = "torch 2.0.1 is there\nModuleNotFoundError: No module named 'torch'"

    assert explained(home, text, request=Request(gpus=("sm_86",), driver="580.1")).errors[0].command is None


@pytest.mark.parametrize(
    ("folder", "flags"), CASES["what_is_beside_torch_comes_along_into_the_environment_of_the_program"]
)
def test_what_is_beside_torch_comes_along_into_the_environment_of_the_program(
    folder: str, flags: str, home: Home
) -> None:
    frames = [f'  File "{folder}/site-packages/{name}/__init__.py", line 2' for name in ("torchvision", "torch/cuda")]

    found = explained(home, "RTX 5090", "driver 580.65.06", *frames, OF_TORCH[0].replace("5060 Ti", "5090"), KERNELS)

    assert found.errors[0].command == f"torchpick install torch{flags}".replace("sm_120", "sm_120 --driver 580.65.06")
