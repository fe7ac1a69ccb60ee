"""What goes into a public bug report names nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.doctor.report import scrubbed

HOMES, USERS = ("/home/anna", "/data/people/anna"), ("anna",)


ROOT = "/" + "root"  # the home of the first user


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/anna/secret project/.venv", "~ project/.venv"),
        ("/home/anna/work/.venv/bin/python: gone", "~: gone"),
        ("/data/people/anna/env", "~"),
        ("/data/people/annabel/env", "PATH"),
        ("'/home/bob/x', next", "'~', next"),
        ("/Users/Carol/env", "~"),
        (r"C:\Users\Dave\env and more", "~ and more"),
        (f"{ROOT}/.venv", "~"),
        (f"/opt{ROOT}/lib", f"/opt{ROOT}/lib"),
        ("by Anna, of anna-lab", "by user, of user-lab"),
        ("https://anna:hunter2@mirror.example/whl/cu126", "https://****@HOST/whl/cu126"),
        ("https://x.example/whl?api_token=abc&x=1", "https://HOST/whl?****"),
        ("ghp_0123456789abcdef in a text", "**** in a text"),
        ("HF_TOKEN=hf_abcdefgh1234", "HF_TOKEN=****"),
        ("MY_PASSWORD: pa55", "MY_PASSWORD: ****"),
        ("torch 2.9.1+cu128 holds no code for sm_61", "torch 2.9.1+cu128 holds no code for sm_61"),
        ("LD_LIBRARY_PATH=/usr/local/cuda/lib64:/home/anna/lib", "LD_LIBRARY_PATH=/usr/local/cuda/lib64:~"),
        ("LD_LIBRARY_PATH=/opt/cuda:/scratch/p123/lib:/lib64", "LD_LIBRARY_PATH=/opt/cuda:PATH:/lib64"),
        ("index-url in /srv/team/pip.conf leads to", "index-url in PATH leads to"),
        ("https://download.pytorch.org/whl/cu126", "https://download.pytorch.org/whl/cu126"),
        ("file:///srv/whl and http://10.1.2.3:8080/whl", "file://PATH and http://HOST/whl"),
        (r"D:\work\envs\x lacks it", "PATH lacks it"),
        (r"\\fileserver\share\envs", "PATH"),
        ("torch/nn/ and lib/libtorch.so are gone", "torch/nn/ and lib/libtorch.so are gone"),
        ("`/env/of/team/bin/python -m pip`", "`ENV/bin/python -m pip`"),
    ],
)
def test_names_homes_and_tokens_are_left_out(text: str, expected: str) -> None:
    assert scrubbed(text, HOMES, USERS, {"/env/of/team": "ENV"}) == expected


@given(
    st.lists(
        st.sampled_from(["/home/anna", "anna", "Anna", " ", "/x", ":", "\n", "torch", "https://anna@h/"]), max_size=12
    )
)
def test_whatever_stands_around_it_the_name_is_gone(parts: list[str]) -> None:
    text = scrubbed("".join(parts), HOMES, USERS)

    assert "/home/" not in text
    if all(part not in ("anna", "Anna") for part in parts):
        assert "anna" not in text.lower()


def test_a_name_that_is_a_word_of_ours_does_not_tear_the_text_apart() -> None:
    assert scrubbed("the root cause is torch", ("/",), ("root", "torch", "x", "")) == "the root cause is torch"


@pytest.mark.parametrize(
    "word", ["root", "user", "torch", "python", "cuda", "nvidia", "admin", "runner", "jovyan", "ubuntu", "linux"]
)
def test_each_name_that_many_computers_have_stays(word: str) -> None:
    assert scrubbed(f"the {word} of {word.title()}", (), (word,)) == f"the {word} of {word.title()}"


@pytest.mark.parametrize(
    ("text", "homes", "places", "expected"),
    [
        ("/ab/c", ("/ab",), {}, "~"), ("/a/c", ("/a",), {}, "PATH"), ("/AX/c", ("/aX/",), {}, "~"),
        ("/ab/c", (), {"/ab": "ENV"}, "ENV/c"), ("/a/c", (), {"/a": "ENV"}, "PATH"),
        ("/aX/c", (), {"/aX/": "ENV"}, "ENV/c"),
        ("/env/of/c", (), {"/env": "LONGER", "/env/of": "IN"}, "IN/c"),
        ("/env/of/c", (), {"/env/of": "IN", "/env": "LONGER"}, "IN/c"),
        ("c:\\WINDOWS\\x", (), {}, "c:\\WINDOWS\\x"), ("c:\\own\\x", (), {}, "PATH"),
        ("/System/x and /Library/y and /usr/z", (), {}, "/System/x and /Library/y and /usr/z"),
        ("https://anna@own.example/x", (), {}, "https://****@HOST/x"),
        ("https://github.com/x and https://api.github.com/y", (), {}, "https://github.com/x and https://api.github.com/y"),
        ("by bob, not by al", (), {}, "by user, not by al"),
    ],
)  # fmt: skip
def test_what_is_a_home_a_place_and_a_name(
    text: str, homes: tuple[str, ...], places: dict[str, str], expected: str
) -> None:
    assert scrubbed(text, homes, ("bob", "al"), places) == expected
