"""Known errors are found in any text, in one pass, however the text comes and whatever it is."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.table import checking
from tests.growth import in_line
from torchpick.doctor import posts, situation, steps, texts
from torchpick.doctor.endings import last_error
from torchpick.doctor.texts import Match, Search, Signature
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.finding import Ailment

FILE = Path(__file__).parents[2] / "compat" / "errors.json"
KNOWN = texts.read_signatures(Fields(json.loads(FILE.read_text("utf-8"))))
WORDS = situation.read_words(Fields(json.loads((FILE.parent / "words.json").read_text("utf-8"))))
WORLDS = [WORDS[kind] for kind in situation.WORLDS]
# The words of real logs, one for each error.
LINES: dict[str, str] = json.loads((Path(__file__).parent / "lines.json").read_text("utf-8"))


def search(text: str | bytes, size: int = 1 << 20, known: Mapping[str, Signature] = KNOWN) -> tuple[Match, ...]:
    data = text.encode() if isinstance(text, str) else text
    found = Search(known)
    for place in range(0, len(data), size):
        found.feed(data[place : place + size])
    return found.matches()


def ids(matches: tuple[Match, ...]) -> list[str]:
    return [match.signature.id for match in matches]


def test_there_are_many_and_each_has_a_line_here() -> None:
    assert len(KNOWN) >= 25
    assert sorted(name for name, row in KNOWN.items() if row.patterns) == sorted(LINES)


@pytest.mark.parametrize("name", LINES)
def test_the_line_of_a_real_log_is_recognised(name: str) -> None:
    found = {match.signature.id: match for match in search(f"Traceback:\n  {LINES[name]}\nbye\n")}

    assert name in found
    assert found[name].line == 2


def test_what_others_say_in_like_words_is_not_taken_for_it() -> None:
    others = ("cmake -DCMAKE_CUDA_ARCHITECTURES=89 ..", "Couldn't determine the version", "there is No Python at all")
    assert [ids(search(text)) for text in others] == [[], [], []]
    conflict = "trl 0.9 requires accelerate>=0.30, but you have accelerate 0.20 which is incompatible."
    assert ids(search(conflict))[0] == "RESOLVE_CONFLICT"


def test_what_a_command_asks_another_for_is_used_only_where_that_answers() -> None:
    commands = (code for row in KNOWN.values() for cure in row.cures for code in re.findall("`[^`]*`", cure))
    inner = [code for code in commands if "$(" in code]

    assert inner
    assert [code for code in inner if not re.match(r"`\w+=\$\(.+\) && .*\$", code)] == []


def test_every_finding_that_is_named_exists_and_every_sentence_is_one() -> None:
    codes = {ailment.name for ailment in Ailment}
    for signature in KNOWN.values():
        assert set(signature.findings) <= codes, signature.id
        steps = [step for *_, step in signature.steps]
        for sentence in (signature.title, signature.meaning, *signature.causes, *signature.cures, *steps):
            assert sentence == sentence.strip(), signature.id
            assert sentence, signature.id


def about(row: Signature, facts: Collection[str], text: str = "", **values: str | None) -> tuple[str, ...]:
    return steps.about(steps.fitting(row, facts), values, facts, WORLDS, steps.Doings(text).has).cures


@pytest.mark.parametrize(
    ("facts", "cures", "shown"),
    [
        ({"linux"}, ("on Linux `apt x`", "on Windows y; or z"), ("on Linux `apt x`",)),
        (
            {"linux", "windows"},
            ("on Linux `apt x`", "on Windows y; or z", "`export A=1`"),
            ("on Windows y; or z", "`set A=1`"),
        ),
        ({"macos"}, ("name it; set LD_LIBRARY_PATH", "on Windows y"), ("name it",)),
        ({"windows"}, ("on Linux x",), ("on Linux x",)),
        ({"k8s"}, ("in /etc/docker/daemon.json x", "or in Kubernetes y"), ("in Kubernetes y",)),
        ({"k8s", "docker"}, ("in /etc/docker/daemon.json x", "z"), ("in /etc/docker/daemon.json x", "z")),
        ({"uv"}, ("`pip install x`, then `pip uninstall -y y`",), ("`uv pip install x`, then `uv pip uninstall y`",)),
        ({"amd"}, ("a newer NVIDIA driver", "then a build for gfx1100"), ("a build for gfx1100",)),
        ({"amd", "nvidia"}, ("a newer NVIDIA driver", "or ROCm"), ("a newer NVIDIA driver", "or ROCm")),
        ({"nvidia"}, ("`x --nv` (for AMD `--rocm`)", "y"), ("`x --nv` (for AMD `--rocm`)", "y")),
        ({"macos"}, ("the CUDA toolkit; else y", 'or the device "mps"'), ('the device "mps"',)),
        ({"windows"}, ("take an older gcc, or take MSVC 14", "y"), ("take MSVC 14", "y")),
    ],
)
def test_a_step_for_another_world_is_left_out_and_the_next_stands_alone(
    facts: set[str], cures: tuple[str, ...], shown: tuple[str, ...]
) -> None:
    assert about(KNOWN["NO_KERNEL_IMAGE"]._replace(cures=cures, steps=()), facts) == shown


def test_no_condition_of_a_step_says_what_its_own_words_say() -> None:
    """What a step names is for another system is found in its words, so that none has to be told so."""
    told = [
        (row.id, step)
        for row in KNOWN.values()
        for where, unless, step in row.steps
        for system in unless & {"linux", "windows", "macos"}
        if where.isdisjoint({"linux", "windows", "macos"})
        and about(row._replace(steps=(), cures=(step, "x")), {system}) == ("x",)
    ]
    assert told == []


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("use float16 (`--dtype half`)", "then I gave --dtype half and now it says"),
        ("`export A_FLAG=1` before the program starts", "$ export A_FLAG=1\n$ python x.py"),
        ("update the driver, then `wsl --update` and `wsl --shutdown`", "I did wsl --update, wsl --shutdown"),
        ("restart the machine", "I have rebooted, and restarted the machine twice"),
        ("install FFmpeg (4 to 8)", "- FFmpeg 4.2.7"),
        ("nvcc of CUDA 12.8 or newer has it: install that toolkit", "Cuda compilation tools, release 13.0, V13.0.88"),
        ("take it: `--index-url https://a.example/cu118`", "> poetry source add x https://a.example/cu118"),
        ("`pip install --no-build-isolation x`; then z", "pip install x --no-build-isolation"),
    ],
)
def test_what_a_text_says_was_done_is_not_advised_again(step: str, text: str) -> None:
    row = KNOWN["NO_KERNEL_IMAGE"]._replace(cures=(step, "y"), steps=())
    assert about(row, (), text) == ("y",)
    assert about(row, (), "should I do that?") == (step, "y")
    (alone,) = about(row._replace(cures=(step,)), (), text)
    assert "is done already" in alone


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("`CUDA_LAUNCH_BLOCKING=1` names it", "For debugging consider passing CUDA_LAUNCH_BLOCKING=1"),
        ("update the driver", "I have not updated the driver, and FFmpeg 4.2"),
        ("install a newer FFmpeg", "FFmpeg 4.2"),
        ("keep it (no `pip install torch`)", "!pip install torch"),
        ("`torchpick install torch` and `--dtype half`", "I gave --dtype half"),
        ("`pip install torch`", "pip install torch==2.1"),
        ("restart the machine", "please restarted the machine"),
        ("nvcc of CUDA 12.8 or newer has it: install that toolkit", "CUDA toolkit 11.5"),
        ("take a newer driver (`nvidia-smi` names it)", "Driver Version: 545.84"),
        ("install torch and torchvision from NVIDIA's index for this JetPack", "torch 2.4.0+cpu"),
        pytest.param("toolkit 12.8 or newer: install that toolkit", f"toolkit {'9' * 5000}.0", id="no version"),
    ],
)
def test_what_others_advise_or_what_is_another_thing_is_not_done(step: str, text: str) -> None:
    assert about(KNOWN["NO_KERNEL_IMAGE"]._replace(cures=(step, "y"), steps=()), (), text) == (step, "y")


PLACEHOLDERS = re.compile(r"\b(?:NAME|PACKAGE|VERSION|X\.Y\.Z|REQUIRED|PUBLISHED|SUPPORTED|BACKEND)\b")


@pytest.mark.parametrize("system", ["linux", "windows", "macos", "", "amd", "nvidia"])
@pytest.mark.parametrize("package", ["vllm", None])
def test_nothing_is_left_to_fill_in_and_something_to_be_done(system: str, package: str | None) -> None:
    unknown = dict.fromkeys(("REQUIRED", "PUBLISHED", "SUPPORTED", "BACKEND", "triton==X.Y.Z"))
    values = {"PACKAGE": package, "torch==X.Y.Z": "torch", " --gpu NAME --driver VERSION": "", **unknown}
    rows = (steps.fitting(row, {system}) for row in KNOWN.values())
    told = [steps.about(row, values, {system}, WORLDS, lambda _: False) for row in rows]

    said = {row.id: " ".join((*row.cures, row.meaning, row.title, *row.causes)) for row in told}
    assert [name for name, text in said.items() if PLACEHOLDERS.search(text)] == []
    assert [row.id for row in told if not row.cures] == []
    assert [row.id for row in told if re.match(r"(?:or|then|else|and)\b", row.cures[0])] == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{error}\n{error}\n", 1),
        ("{error}\n\nit says\n{error}\n", 4),  # what comes first in a post is its title
        ("I tried\nno kernel image is available, it says\n{error}\n{error}\n", 3),
        ("Traceback\n{error}\n\nDuring handling of the above exception, another exception occurred:\n\n{error}\n", 6),
        ("Traceback\n{error}\n\nThe above exception was the direct cause of the following exception:\n\n{error}\n", 2),
    ],
)
def test_the_line_is_that_of_the_error_which_ended_it(text: str, line: int) -> None:
    (match,) = search(text.format(error=LINES["NO_KERNEL_IMAGE"]))

    assert match.line == line


@given(order=st.permutations(sorted(LINES)[:12]), size=st.integers(1, 200), noise=st.text(max_size=60))
def test_how_the_text_is_cut_does_not_matter(order: list[str], size: int, noise: str) -> None:
    text = "".join(f"{noise}\n{LINES[name]}\n" for name in order)

    assert search(text, size) == search(text)


def test_the_first_place_is_told_and_a_long_line_is_cut() -> None:
    line = "x" * 3000 + " CUDA out of memory " + "y" * 3000
    (match,) = search(f"\n\n{line}\n{line}\n")

    assert match.line == 3
    assert "CUDA out of memory" in match.text
    assert len(match.text) < 310


def test_a_text_without_an_end_of_line_is_searched_whole() -> None:
    for before in (0, 5000, 100_000):
        text = "z" * before + "cudaErrorNoDevice" + "z" * before
        assert ids(search(text, 1024)) == ["NO_DEVICE"], before


@pytest.mark.parametrize("size", [5_000_000, pytest.param(50_000_000, marks=pytest.mark.long)])
def test_a_large_log_streams_by(size: int) -> None:
    """In memory that does not grow with it: what waits for its line's end is bounded by a chunk."""
    block = b"".join(
        b"INFO step %d loss 0.123 torch cuda error CUDA version /usr/lib/python3\n" % n for n in range(14_000)
    )

    found = Search(KNOWN)
    most = 0
    for _ in range(size // len(block)):
        found.feed(block)
        most = max(most, len(found.rest))
    found.feed(b"RuntimeError: Torch not compiled with CUDA enabled")

    assert ids(found.matches()) == ["NOT_COMPILED_WITH_CUDA"]
    assert most < 1 << 20


@pytest.mark.parametrize("text", [b"undefined symbol: _ZN", b"could not run 'torchvision::", b"libcudart.so."])
def test_text_made_to_be_slow_takes_no_longer_per_byte(text: bytes) -> None:
    """Half of a pattern, over and over."""
    in_line(lambda size: search(text * (size // len(text))), (300_000, 1_200_000), floor=0.005)


def test_a_rule_of_dashes_above_an_error_takes_no_longer_per_byte() -> None:
    in_line(lambda size: last_error(b"-" * size + b"x\nValueError: bad", 1 << 20), (10_000, 40_000), floor=0.005)


def test_utf_16_is_understood_as_windows_shells_write_it() -> None:
    data = LINES["NO_KERNEL_IMAGE"].encode("utf-16")
    chunks: Iterator[bytes] = iter([data[:7], data[7:]])

    found = Search(KNOWN)
    for chunk in posts.decoded(chunks):
        found.feed(chunk)

    assert ids(found.matches()) == ["NO_KERNEL_IMAGE"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"patterns": ["*a*"]}, "signatures[0].patterns[0]"),
        ({"patterns": ["a really long naïve text"]}, "signatures[0].patterns[0]"),
        ({"no_use": [{"what": "x"}]}, "signatures[0].no_use[0]"),
        ({"more": 1}, "signatures[0]"),
        ({"title": 1}, "signatures[0].title"),
    ],
)
def test_a_file_that_is_not_of_its_form_is_refused_with_the_place(change: dict[str, object], path: str) -> None:
    row = {**json.loads(FILE.read_text("utf-8"))["signatures"][0], **change}

    assert [where for where, _ in checking.schema_faults("errors.json", {"schema": 1, "signatures": [row]})] == [path]


def one_of(*patterns: str, id: str = "ONE") -> Signature:  # noqa: A002 # as the field is called
    return Signature(id, "title", patterns, "meaning", (), (), (), (), (), install=True, follows=())


def place(text: str | bytes, *patterns: str, size: int = 1 << 20) -> int | None:
    """The line in which a pattern is found."""
    found = search(text, size, {"ONE": one_of(*patterns)})
    return found[0].line if found else None


@pytest.mark.parametrize(
    ("text", "pattern", "line"),
    [
        # Two lines on, and not three: from the longest of the texts, to either side.
        ("short\nx\nlongest", "short*longest", 3), ("short\nx\nx\nlongest", "short*longest", None),
        ("longest\nx\nshort", "longest*short", 1), ("longest\nx\nx\nshort", "longest*short", None),
        ("the long\nest\nx\nshort\nx\nx", "long est*short", 1),
        ("the long\nest\nx\nx\nshort", "long est*short", None),
        # Empty lines count for nothing.
        ("longest\n\n\n\n\nshort", "longest*short", 1),
        # What begins in vain may begin anew: in the next line, and further on in a long one.
        ("longest\nlongest\nx\nshort\nx", "longest*short", 2), ("longest\nx\nx\nlongest", "longest*short", None),
        ("x\nlongest" + "x" * 5000 + "longest short\n", "longest*short", 2),
        # So many bytes before and behind.
        ("short" + "x" * (2048 - 5) + "longest\n", "short*longest", 1),
        ("short" + "x" * (2049 - 5) + "longest\n", "short*longest", None),
        ("longest" + "x" * (4096 - 12) + "short\n", "longest*short", 1),
        ("longest" + "x" * (4097 - 12) + "short\n", "longest*short", None),
    ],
)  # fmt: skip
def test_how_far_apart_the_texts_of_a_pattern_may_stand(text: str, pattern: str, line: int | None) -> None:
    assert place(text, pattern) == line


def test_a_line_that_comes_in_pieces_is_looked_at_once() -> None:
    found = Search({"ONE": one_of("longest*longest")})
    for chunk in (b"x\nlongest", b" end\n", b"x\n"):
        found.feed(chunk)

    assert found.matches() == ()


def test_a_pattern_needs_a_text_of_six_letters() -> None:
    row = json.loads(FILE.read_text("utf-8"))["signatures"][0]

    changed = {**row, "patterns": ["abcdef*x"], "meaning": "M" * 5000}
    (read,) = texts.read_signatures(Fields({"signatures": [changed]})).values()
    assert (read.patterns, read.meaning) == (("abcdef*x",), "M" * 5000)
    assert [*read.no_use] == row["no_use"]
    for pattern in ("*", "abcde*fghij"):
        file = {"schema": 1, "signatures": [{**row, "patterns": ["abcdef", pattern]}]}
        assert [where for where, _ in checking.schema_faults("errors.json", file)] == ["signatures[0].patterns[1]"]
    del row["follows"]
    with pytest.raises(ShapeError, match="is missing"):
        texts.read_signatures(Fields({"signatures": [row]}))
