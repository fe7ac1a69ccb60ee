"""Writing settings into somebody's project file: nothing of theirs is lost, moved or overwritten."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.growth import in_line
from torchpick.environment import projectfile, toml
from torchpick.environment.projectfile import MARK, PIN, remove_settings, settings_of_pins
from torchpick.errors import TorchpickError
from torchpick.projects.extras import Extra, Plan, settings_of

LIBRARY = Plan((Extra("nvidia-old", ("torch>=2.5,<2.8",), ("Maxwell to Hopper", "no wheel on 3.14")),))


def app(*names: str, groups: bool = False) -> Plan:
    extras = tuple(Extra(each, (f"torch==2.14.1+{each}",), ("all",), each) for each in names)
    indexes = {f"pytorch-{each}": f"https://wheels.example/whl/{each}" for each in names}
    kind = "group" if groups else "extra"
    sources = {"torch": tuple({"index": f"pytorch-{each}", kind: each} for each in names)}
    return Plan(extras, groups, indexes, sources, conflicts=names)


PINS = {"torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126"}
PLANS = [
    LIBRARY, app("cpu", "cu126", "cu132"), app("cpu", "cu126", groups=True),
]  # fmt: skip

# Pieces of project files as people write them; what may hold something of ours is among them.
PIECES = [
    '# a comment at the top\n\n[build-system]\nrequires = ["hatchling"]  # blank\nbuild-backend = "hatchling.build"\n',
    '[project]\nname = "mylib" # a name\nversion = "1"\ndependencies = [\n  "torch>=2.5", # hand-made\n]\n',
    '[project.optional-dependencies]\ndev = ["pytest"]  # keep\n# the last line of the table\n',
    '[project.scripts]\nrun = "mylib:main"\n', '[dependency-groups]\ntest = ["pytest"]\n',
    "[tool.ruff]\nline-length = 100\n\n\n[tool.ruff.lint]\nselect = ['ALL']\n", "[tool.uv]\nmanaged = true # ours\n",
    '[[tool.uv.index]]\nname = "own"\nurl = "https://own.example/simple"\n\n[tool.other]\nx = 1\n',
    "[tool.poetry]\npackage-mode = false\n",
    '[[tool.poetry.source]]\nname = "own"\nurl = "https://own.example/simple"\npriority = "primary"\n',
    "[tool.pdm]\ndistribution = false\n",
    '[tool.pixi.workspace]\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n',
    '[tool.pytest.ini_options]\naddopts = """\n  -ra\n  [not a table]\n"""\n',
    "[tool.black]\n'a.b' = { c = [1, 2], d = \"#no comment\" }\n",
]  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> str:
    pieces = draw(st.lists(st.sampled_from(PIECES), unique=True, max_size=7))
    return draw(st.sampled_from(["\n", "", "\n\n"])).join(pieces)


def is_subsequence(small: Iterable[str], large: Iterable[str]) -> bool:
    rest = iter(large)
    return all(line in rest for line in small)


@settings(max_examples=40)
@given(files(), st.sampled_from(PLANS))
def test_every_line_of_the_author_stays_in_its_order(text: str, plan: Plan) -> None:
    try:
        toml.loads(text)
    except ValueError:
        return  # two pieces that exclude each other
    written = projectfile.add_settings(text, settings_of(plan), "it")

    assert remove_settings(written, MARK).rstrip("\n") == text.rstrip("\n")
    theirs = [line for line in text.splitlines() if line.strip()]
    assert is_subsequence(theirs, [line for line in written.splitlines() if line.strip()])
    for setting in settings_of(plan).settings:
        table = toml.table_at(toml.loads(written), *setting.path[:-1])
        assert table[setting.path[-1]] == setting.value


@settings(max_examples=40)
@given(files(), st.sampled_from(PLANS))
def test_a_second_run_changes_nothing(text: str, plan: Plan) -> None:
    try:
        once = projectfile.add_settings(text, settings_of(plan), "it")
    except TorchpickError:
        return
    assert projectfile.add_settings(once, settings_of(plan), "it") == once


CLASHES = [
    ('[project]\nname = "x"\n[project.optional-dependencies]\nnvidia-old = ["torch<2.7"]\n', LIBRARY, "nvidia-old"),
    ('[tool.uv.sources]\ntorch = { git = "https://x.example" }\n', app("cpu", "cu126"), "tool.uv.sources.torch"),
    (
        '[[tool.uv.index]]\nname = "PyTorch_cu126"\nurl = "https://mine.example/cu126"\n',
        app("cpu", "cu126"),
        "tool.uv.index has",
    ),
]


@pytest.mark.parametrize(("text", "plan", "where"), CLASHES)
def test_what_the_author_said_otherwise_is_shown(text: str, plan: Plan, where: str) -> None:
    with pytest.raises(TorchpickError, match="it says otherwise: ") as caught:
        projectfile.add_settings(text, settings_of(plan), "it")

    assert where in caught.value.message
    assert caught.value.message.count(" and would ") == 1
    assert caught.value.code == "CLASH"


def test_limits_of_the_authors_that_have_some_of_ours_speak_against_them_and_more_do_not() -> None:
    pins, ours = settings_of_pins(PINS, None, None), [f"{name}=={version}" for name, version in PINS.items()]
    text = f"[tool.uv]\nconstraint-dependencies = {toml.inline([*ours, 'numpy<3'])}\n"

    assert projectfile.add_settings(text, pins, "it") == text
    with pytest.raises(TorchpickError, match="constraint-dependencies is"):
        projectfile.add_settings(text.replace(f'"{ours[1]}", ', ""), pins, "it")


def test_what_the_author_wrote_just_so_is_no_clash_and_stays_theirs() -> None:
    text = '[project.optional-dependencies]\nnvidia-old = ["torch>=2.5,<2.8"] # by hand\n'

    assert projectfile.add_settings(text, settings_of(LIBRARY), "it") == text


LINUX = "sys_platform == 'linux'"
HERE = f"{LINUX} and platform_machine == 'x86_64'"
DOCUMENTED = """\
[tool.uv.sources]
torch = [
  { index = "pytorch-cu130", marker = "sys_platform == 'linux' or sys_platform == 'win32'" }, # uv's own page
]
other = { workspace = true }

[[tool.uv.index]]
name = "pytorch-cu130"
url = "https://wheels.example/whl/cu130/"
explicit = true
"""


def sources(*extras: str, marker: str = LINUX) -> list[dict[str, str]]:
    return [{"index": f"pytorch-{each}", "extra": each, "marker": marker} for each in extras]


@pytest.mark.parametrize(
    ("theirs", "ours", "merged"),
    [
        (
            f"torch = [{{ index = 'a', marker = \"{LINUX} or sys_platform == 'win32'\" }}]", sources("cu126"),
            [{"index": "a", "marker": "sys_platform == 'win32'"}],
        ),
        ("torch = { index = 'a' }", sources("cu126"), [{"index": "a", "marker": "sys_platform != 'linux'"}]),
        (
            "torch = [{ index = 'a', marker = \"sys_platform == 'linux'\" }]",
            sources("cu126", marker=HERE),
            [{"index": "a", "marker": f"{LINUX} and (sys_platform != 'linux' or platform_machine != 'x86_64')"}],
        ),
        (
            "torch = [{ index = 'a', marker = \"python_version < '3.12'\" }]", sources("cu126"),
            [{"index": "a", "marker": "python_version < '3.12' and sys_platform != 'linux'"}],
        ),
        (
            "torch = [{ index = 'a', marker = \"os_name == 'x' or python_version < '3'\" }]", sources("cu126"),
            [{"index": "a", "marker": "(os_name == 'x' or python_version < '3') and sys_platform != 'linux'"}],
        ),
        ("torch = { index = 'a' }", [{"index": "b"}], []),
        (  # the author's own extra of that name stays, and so does a source of the same index
            "torch = [{ index = 'mine', extra = 'cu126' }]", sources("cu126"), [{"index": "mine", "extra": "cu126"}],
        ),
        (
            "torch = [{ index = 'mine', group = 'cpu' }]",
            [{"index": "b", "group": "cpu"}, {"index": "c", "group": "cu126"}],
            [{"index": "mine", "group": "cpu"}, {"index": "c", "group": "cu126"}],
        ),
        ("torch = { index = 'pytorch-cu126' }", [{"index": "pytorch-cu126"}], {"index": "pytorch-cu126"}),
    ],
)  # fmt: skip
def test_a_source_of_the_authors_keeps_the_systems_that_ours_leave(
    theirs: str, ours: list[object], merged: object
) -> None:
    text = f"[tool.uv.sources]\n{theirs} # mine\n"
    wanted = projectfile.ProjectSettings((projectfile.ProjectSetting((*projectfile.SOURCES, "torch"), ours),))

    written = projectfile.add_settings(text, wanted, "it")

    expected = [*merged, *ours] if isinstance(merged, list) and "mine" not in theirs else merged
    assert toml.loads(written)["tool"]["uv"]["sources"]["torch"] == expected
    assert remove_settings(written, MARK) == text
    assert projectfile.add_settings(written, wanted, "it") == written


@pytest.mark.parametrize("form", ["[tool.uv.sources.torch]\nindex = 'a'\n", "[tool.uv]\nsources.torch.index = 'a'\n"])
def test_a_source_in_another_form_of_toml_is_set_aside_whole(form: str) -> None:
    text = f"{form}\n[tool.uv.sources.other]\nworkspace = true\n"
    wanted = projectfile.ProjectSettings((projectfile.ProjectSetting((*projectfile.SOURCES, "torch"), sources("cpu")),))

    written = projectfile.add_settings(text, wanted, "it")

    assert toml.loads(written)["tool"]["uv"]["sources"]["other"] == {"workspace": True}
    assert remove_settings(written, MARK) == text


def test_uvs_own_documented_block_is_amended_and_comes_back() -> None:
    """The index is used by the name that it has there, and `pin` has the same to say."""
    extras, index = (
        settings_of(app("cpu", "cu130")),
        {"name": "pytorch-cu130", "url": "https://wheels.example/whl/cu130"},
    )

    for wanted in (extras, settings_of_pins(PINS, index, None, marker=LINUX)):
        written = projectfile.add_settings(DOCUMENTED, wanted, "it")
        assert remove_settings(written, wanted.mark) == DOCUMENTED
        assert [each["name"] for each in toml.loads(written)["tool"]["uv"]["index"]].count("pytorch-cu130") == 1
        assert projectfile.add_settings(written, wanted, "it") == written


@pytest.mark.parametrize(
    ("theirs", "both"),
    [
        (["a", "b"], [["a", "b"], ["cpu", "cu126"]]),
        (["cu126", "b"], [["cu126", "b", "cpu"]]),
    ],
)
def test_conflicts_of_the_authors_get_ours(theirs: list[str], both: list[list[str]]) -> None:
    mine = toml.inline([[{"extra": name} for name in theirs]])
    text = f"[tool.uv]\npackage = false\nconflicts = {mine} # mine\n"

    written = projectfile.add_settings(text, settings_of(app("cpu", "cu126")), "it")

    assert toml.loads(written)["tool"]["uv"]["conflicts"] == [[{"extra": name} for name in group] for group in both]
    assert remove_settings(written, MARK) == text


def test_a_pin_and_extras_of_the_authors_cannot_stand_in_one_project() -> None:
    text = "[tool.uv.sources]\ntorch = [{ index = 'a', extra = 'cpu' }]\n"
    index = {"name": "pytorch-cu126", "url": "https://wheels.example/whl/cu126", "explicit": True}

    with pytest.raises(TorchpickError, match="says otherwise"):
        projectfile.add_settings(text, settings_of_pins(PINS, index, None), "it")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[tool]\nuv = { package = false }\n", "tool.uv"),
        ("tool = { uv = { package = false } }\n", "tool.uv"),
        ('[tool.uv]\nindex = [{ name = "own", url = "https://own.example" }]\n', "tool.uv.index"),
    ],
)
def test_what_is_written_inline_is_refused_with_the_way_to_write_it(text: str, where: str) -> None:
    with pytest.raises(TorchpickError) as caught:
        projectfile.add_settings(text, settings_of(app("cpu", "cu126")), "it")

    assert "cannot be added to" in caught.value.message
    assert caught.value.code == "TOML"
    assert where in str(caught.value.hint)


def test_what_was_pinned_is_looked_for_in_time_in_line_with_a_files_size() -> None:
    in_line(lambda size: remove_settings(f"a = 1 # {PIN}\n{' ' * size}x\n", PIN), (4000, 8000, 16000), floor=0.01)
    in_line(lambda size: projectfile.unpin_conf("[:env:]\n" * size), (8000, 16000, 32000), floor=0.01)


def test_pin_and_extras_leave_each_others_lines() -> None:
    text = '[project]\nname = "x"\n'
    extras = projectfile.add_settings(text, settings_of(LIBRARY), "it")
    both = projectfile.add_settings(extras, settings_of_pins(PINS, None, None), "it")

    assert remove_settings(both, PIN) == extras
    assert remove_settings(remove_settings(both, MARK), PIN) == text


def test_an_index_without_a_name_is_the_authors() -> None:
    text = '[[tool.uv.index]]\nurl = "https://own.example/simple" # mine\n'

    written = projectfile.add_settings(text, settings_of(app("cu126")), "it")

    assert written.startswith(text)
    assert 'name = "pytorch-cu126"' in written


@pytest.mark.parametrize(
    "text",
    [
        "[project\n", "a = \n", "\ufeff[project]\n", "[tool]\nuv = 3\n", "[tool.uv]\nindex = 3\n",
        "[tool.uv]\nindex = [1]\n", "[tool.uv]\nsources = []\n", "x = " + "[" * 5000,
        "[project]\nname = 'a'\n[project]\nname = 'b'\n",
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_edited_is_told_so(text: str) -> None:
    with pytest.raises(TorchpickError) as caught:
        projectfile.add_settings(text, settings_of(app("cpu", "cu126")), "it")

    assert caught.value.hint


@given(st.text(max_size=200))
def test_any_text_is_edited_or_refused(text: str) -> None:
    with suppress(TorchpickError):
        projectfile.add_settings(text, settings_of(app("cpu", "cu126")), "it")


@pytest.mark.parametrize(
    ("override", "stands"),
    [
        ("numpy<3", True),
        ("torch<2.15", False),
        ("torchvision==0.20", False),
        ("Torch @ https://x/torch-2.14.1.whl", False),
    ],
)
def test_an_override_of_uvs_would_take_the_place_of_what_is_written(override: str, stands: bool) -> None:
    text = f'[tool.uv]\noverride-dependencies = ["scipy", "{override}"] # mine\n'
    source = ({"index": "pytorch-cu126", "extra": "cu126"},)
    extras = Plan((), sources={"torch": source, "torchvision": source})

    for ours in (settings_of_pins(PINS, None, None), settings_of(extras)):
        if stands:
            assert remove_settings(projectfile.add_settings(text, ours, "it"), ours.mark) == text
        else:
            with pytest.raises(TorchpickError, match="override-dependencies has"):
                projectfile.add_settings(text, ours, "it")


def test_what_looks_like_a_header_in_a_string_gets_nothing() -> None:
    with pytest.raises(TorchpickError, match="cannot be added to"):
        projectfile.add_settings('x = """\n[tool.uv]\n"""\n', settings_of_pins(PINS, None, None), "it")
