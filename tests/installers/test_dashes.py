"""What stands after `--`, as pip and uv would read it."""

from __future__ import annotations

import pytest

from torchpick.errors import UsageError
from torchpick.installers import dashes

WHEELS = "https://download.pytorch.org/whl/cu126"


@pytest.mark.parametrize(
    ("words", "option", "value"),
    [
        (["-r", "a.txt"], "--requirement", "a.txt"),
        (["-ra.txt"], "--requirement", "a.txt"),
        (["-r=a.txt"], "--requirement", "a.txt"),
        (["-Uqr", "a.txt"], "--requirement", "a.txt"),
        (["--requirem", "a.txt"], "--requirement", "a.txt"),
        (["--requirements=a.txt"], "--requirement", "a.txt"),
        (["--con", "a.txt"], "--constraint", "a.txt"),
        (["--overrides", "a.txt"], "--override", "a.txt"),
        (["--fi", "x"], "--find-links", "x"),
        (["-qfx"], "--find-links", "x"),
        (["--pypi-url=x"], "--index-url", "x"),
        (["--index", "x"], "--extra-index-url", "x"),
        (["-i"], "--index-url", ""),
    ],
)
def test_an_option_is_read_however_it_is_written(words: list[str], option: str, value: str) -> None:
    (found,) = dashes.read(words)

    assert (found.option, found.value, list(found.words)) == (option, value, words)


@pytest.mark.parametrize(
    "words",
    [
        ["--require-hashes"],
        ["--no-index"],
        ["--pre"],
        ["--no-cache-dir"],
        ["-U"],
        ["-I"],
        ["--config-settings", "a=b"],
        ["-C", "fir=b"],
        ["-ttarget"],
        ["--"],
        ["-"],
        [""],
        ["numpy"],
    ],
)
def test_other_words_stay_what_they_are(words: list[str]) -> None:
    assert [each.option for each in dashes.read(words)] == [""] * len(words)
    assert not dashes.names_places(words)
    dashes.check(words)


def test_files_are_taken_out_and_the_rest_stays_in_order() -> None:
    words = ["-U", "-r", "a.txt", "--no-deps", "--constr=b.txt", "-cb2.txt", "numpy"]

    assert dashes.files(words, dashes.CONSTRAINT) == ("b.txt", "b2.txt")
    assert dashes.parted(words) == (("numpy",), ("-U", "--no-deps"))


def test_what_is_to_be_installed_is_parted_from_the_options_and_their_values() -> None:
    words = ["./proj", "-C", "a=b", "--proxy", "http://p", "-e", "./mine", "--group=dev", "-v", "--", "torch"]

    parted = dashes.parted(words)

    assert parted.requirements == ("./proj", "torch")
    assert parted.options == ("-C", "a=b", "--proxy", "http://p", "-v", "--")
    assert dashes.files(words, dashes.EDITABLE) == ("./mine",)
    assert dashes.files(words, dashes.GROUP) == ("dev",)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-i", WHEELS], "wheel index"),
        (["-i" + WHEELS], "wheel index"),
        (["-qUi" + WHEELS], "wheel index"),
        (["--ext=" + WHEELS], "wheel index"),
        (["--index=a.b=" + WHEELS], "wheel index"),
        (["--anything", WHEELS], "wheel index"),
        (["--torch-backend=cu130"], "leads around the pick"),
        (["--config-file", "x"], "leads around the pick"),
        (["--directory", "x"], "leads around the pick"),
        (["torch @ https://x/torch-1.0-py3-none-any.whl"], "another file of torch's family"),
        (["./TorchVision-1.0-py3-none-any.whl"], "another file of torch's family"),
        ([WHEELS + "/torch-2.14.1%2Bcu126-cp312-cp312-linux_x86_64.whl"], "another file of torch's family"),
    ],
)
def test_what_leads_around_the_pick_is_refused(words: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        dashes.check(words)


@pytest.mark.parametrize("word", ["torch", "torch==2.14.1", "numpy @ https://x/numpy-1.0-py3-none-any.whl", "torch@"])
def test_names_and_files_of_others_are_the_installers(word: str) -> None:
    dashes.check(["--reinstall-package", word])
