"""The rules of a stack, each on the smallest table that shows it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from torchpick.decide import demands, environments
from torchpick.decide import search as engine
from torchpick.decide.searchfacts import Needs, SearchFacts
from torchpick.errors import NoBuildError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.arch import Arch
from torchpick.model.build import Evidence
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.package import Catalog, LibraryCode, OtherIndex, Package, PackageFacts, Stack, Stage
from torchpick.model.pick import Wish
from torchpick.model.table import BuildsByRelease, Table

PLATFORM = "linux-x86_64"
OWN = {"2.9.0": "12.8", "2.10.0": "12.8", "2.11.0": "13.0"}


@pytest.fixture(scope="module")
def table() -> Table:
    """Three releases of torch, as they were published."""
    whole = Knowledge({}).table([PLATFORM])
    return whole._replace(
        builds={PLATFORM: BuildsByRelease.of(build for build in whole.of(PLATFORM) if build.torch in OWN)}
    )


def machine(arch: str = "sm_86", driver: str = "580.95.05", python: str = "3.12", glibc: str = "2.35") -> Machine:
    gpu = Gpu(0, "nvidia", None, Arch.parse(arch))
    return Machine(Platform("linux", "x86_64", glibc, "glibc"), Python(python), Driver(driver), (gpu,))


def code(*arches: str, main: bool = True, cuda: str | None = None, path: str = "lib.so") -> LibraryCode:
    return LibraryCode(path, tuple(map(Arch.parse, arches)), main, cuda)


def package(name: str, version: str, *requires: str, **facts: object) -> Package:
    known: dict[str, object] = {"code": (code("sm_80", "sm_90"),), "evidence": Evidence("measured", "a wheel"), **facts}
    return Package(name, version, requires, **{"file": f"{name}-{version}.whl", **known})  # type: ignore[arg-type]


def known(*packages: Package) -> dict[str, PackageFacts]:
    own = tuple(Package("torch", version, cuda=cuda) for version, cuda in OWN.items())
    by_name: dict[str, list[Package]] = {}
    for each in packages:
        by_name.setdefault(each.name, []).append(each)
    return {"torch": PackageFacts("torch", own)} | {
        name: PackageFacts(name, tuple(each)) for name, each in by_name.items()
    }


def plan(table: Table, facts: Mapping[str, PackageFacts], *asked: str, where: Machine | None = None) -> Stack:
    search = SearchFacts(where or machine(), table, Wish(), Catalog(facts))
    found = environments.best(search, demands.parse_demands(asked))
    assert not isinstance(found, Needs)
    return found[0]


def reasons(stack: Stack) -> set[str]:
    return {each.objection.reason.name for each in stack.objections}


def test_the_ways_to_provide_a_library_are_tried_in_their_order(table: Table) -> None:
    lean = package("lean", "1", cuda="12", needs=("libcublas.so.12",))
    rich = package("rich", "1", "nvidia-cublas-cu12", cuda="12", needs=("libcublas.so.12",), preloads=True)
    facts = known(lean, rich)

    assert "+cu12" in str(plan(table, facts, "lean", "torch").version("torch"))
    kept = plan(table, facts, "rich", "torch==2.11.0+cu130")
    assert kept.requirements == ("rich==1", "torch==2.11.0+cu130")
    # Also where no GPU is there to load them.
    bare = SearchFacts(machine()._replace(gpus=()), table, Wish(backends=("cu130",)), Catalog(facts))
    unloaded = environments.best(bare, demands.parse_demands(["rich", "torch"]))
    assert not isinstance(unloaded, Needs)
    assert unloaded[0].requirements == kept.requirements
    added = plan(table, facts, "lean", "torch==2.11.0+cu130")
    assert added.requirements == ("lean==1", "torch==2.11.0+cu130", "nvidia-cublas-cu12==12.*")
    whole = known(package("whole", "1", "cuda-toolkit", cuda="12", needs=("libcublas.so.12",), preloads=True))
    assert plan(table, whole, "whole", "torch==2.11.0+cu130").requirements == ("whole==1", "torch==2.11.0+cu130")


@pytest.mark.parametrize(("facts", "code", "text"), [
        ({"code": (), "jit": ""}, "PACKAGE_UNREAD", " is compiled at run time: for which GPUs is not known"),
        ({"cuda": "12", "links_torch": True, "optional": True}, "PARTIAL_LIBRARY",
         ": its libraries are for CUDA 12, and torch is not, so it falls back to Python"),
])  # fmt: skip
def test_what_a_package_does_without_is_said(table: Table, facts: dict[str, object], code: str, text: str) -> None:
    stack = plan(table, known(package("ext", "1", "torch", **facts)), "ext", "torch==2.11.0+cu130")

    assert [(note.code, note.text) for note in stack.notes if note.code == code] == [(code, f"ext 1{text}")]


@pytest.mark.parametrize(("facts", "reason"), [
        ({"pythons": ("cp310", "cp311")}, "NO_WHEEL_FOR_PYTHON"), ({"pythons": ("cp313+",)}, "NO_WHEEL_FOR_PYTHON"),
        ({"requires_python": "<3.12"}, "NO_WHEEL_FOR_PYTHON"),
        ({"platforms": ("windows-x86_64",)}, "NO_WHEEL_FOR_PLATFORM"), ({"glibc": "2.36"}, "GLIBC_TOO_OLD"),
        ({"yanked": True}, "YANKED"),
])  # fmt: skip
def test_a_version_that_cannot_be_installed_here_is_passed_over(
    table: Table, facts: dict[str, object], reason: str
) -> None:
    alone = plan(table, known(package("ext", "2", **facts)), "ext")
    older = plan(table, known(package("ext", "2", **facts), package("ext", "1", pythons=("cp39+",))), "ext")

    assert reasons(alone) == {reason}
    with pytest.raises(NoBuildError, match="nothing fits ext") as caught:
        alone.require()
    assert (caught.value.stack, caught.value.hint) == (alone, alone.hints[0])
    assert older.require() is older
    whole = older._replace(download=(5, ("ext",))).to_dict()
    assert whole["stack"]["download"] == {"bytes": 5, "unknown": ("ext",)}  # type: ignore[index]
    assert older.version("ext") == "1"


def test_markers_and_extras_are_judged_for_the_given_machine(table: Table) -> None:
    facts = known(
        package("app", "1", 'win; sys_platform == "win32"', 'lib; extra == "gpu"', 'old; python_version < "3.12"'),
        package("lib", "1"), package("win", "1"), package("old", "1"),
    )  # fmt: skip

    assert plan(table, facts, "app").requirements == ("app==1",)
    assert plan(table, facts, "app[gpu]").requirements == ("app[gpu]==1", "lib==1")
    assert plan(table, facts, "app[gpu]", "app[all]").requirements == ("app[all,gpu]==1", "lib==1")
    assert plan(table, facts, "app[nosuch]").requirements == ("app[nosuch]==1",)  # pip and uv warn of it
    assert plan(table, facts, "app", where=machine(python="3.11")).requirements == ("app==1", "old==1")


def test_hostile_requirements_end(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve packages of twelve versions, and a last one that none of them lets in."""
    monkeypatch.setattr(engine, "MOST_STEPS", 300)
    many = [package(f"p{n}", str(version), f"p{n + 1}") for n in range(12) for version in range(12, 0, -1)]
    facts = known(*many, package("p12", "1", "torch==1.0"))

    stack = plan(table, facts, "p0", "p1")

    assert not stack.ok
    assert stack.objections[0].name == "p0"
    assert "the search was stopped" in stack.objections[0].objection.text


@pytest.mark.parametrize(("asked", "runs"), [
        ("==1.0+cu121", False), ("===1.0", False), ("==1.0.*", False), (">=99", False),
        ("==2.5", True),  # beside 3.0, which runs
        ("===other", True),  # of no order: 3.0 is an end
        ("<5|==2.5", True), (">0.5|==1.5", False), (">0.5,==1.5", False),
])  # fmt: skip
def test_a_version_that_is_not_in_the_table_is_refused_between_two_that_do_not_run(
    table: Table, asked: str, runs: bool
) -> None:
    bad = {"code": (code("sm_90"),)}
    newest = package("dep", "3.0") if runs or "1.5" in asked else package("dep", "3.0", **bad)
    facts = known(
        package("lib", "1.0", *(f"dep{part}" for part in asked.split("|"))),
        newest,
        package("dep", "2.0", **bad),
        package("dep", "0.9", **bad),
    )

    stack = plan(table, facts, "lib")

    refused = plan(table, {**facts, "dep": facts["dep"]._replace(refused="is another's")}, "lib")
    assert "is another's" in {each.objection.text for each in refused.objections}
    assert not plan(table, facts, "dep==2.5", "lib").packages  # what you ask for yourself has to be known
    assert bool(stack.packages) is runs
    assert runs or any("has not been read; " in each.objection.text for each in stack.objections)


def test_a_library_that_no_wheel_brings_adds_none(table: Table) -> None:
    lean = package("lean", "1", cuda="12", needs=("libnobody.so.12", "libcublas.so.12", "libcublasLt.so.12"))

    odd = package("odd", "1", needs=("libcublas.so.12",))  # for no CUDA that anybody knows

    stack = plan(table, known(lean), "lean", "torch==2.11.0+cu130")
    two = plan(table, known(lean, odd), "lean", "odd", "torch==2.11.0+cu130")
    assert two.requirements == ("lean==1", "odd==1", *stack.requirements[1:])
    deep = known(package("lean", "1", cuda="12", needs=("libcudnn.so.9",), code=(code("sm_70", "sm_80"),)))
    old = machine()._replace(gpus=(*machine().gpus, Gpu(1, "nvidia", None, Arch.parse("sm_70"))))
    added = [plan(table, deep, "lean", where=where).requirements[1:] for where in (machine(), old)]

    # An older version that lacks nothing comes before that, but where some wheel could not be read.
    versions = package("lean", "2", cuda="12", needs=("libcublas.so.12",)), package("lean", "1", code=())
    unknown = (package("lean", "0.1", file=None), package("lean", "0.1", code=None, stage=Stage.DESCRIBED),
               package("lean", "0.1", code=None))  # fmt: skip
    assert [str(plan(table, known(*versions, other), "lean").version("lean")) for other in unknown] == ["1", "1", "2"]
    listed = package("lean", "1", stage=Stage.LISTED)  # nothing more can be learnt of it
    assert plan(table, known(listed, unknown[1]), "lean").requirements == ("lean==0.1",)
    assert added == [("nvidia-cudnn-cu12==9.*",), ("nvidia-cudnn-cu12==9.10.*",)]  # 9.11 dropped Volta
    assert stack.requirements == ("lean==1", "torch==2.11.0+cu130", "nvidia-cublas-cu12==12.*")
    assert [note.text for note in stack.notes if note.code == "LOADER_PATH"] == [
        "libnobody.so.12, libcublas.so.12, libcublasLt.so.12 must be on the loader's path: import torch first, "
        "or set LD_LIBRARY_PATH (on Windows PATH)"
    ]


def test_what_is_part_of_torch_is_not_unknown(table: Table) -> None:
    names = ("torch", "torchvision", "torchaudio", "triton", "pytorch-triton", "nvidia-cudnn-cu12", "nvidia-ml-py")
    search = SearchFacts(machine(), table, Wish(), Catalog(known(package("lib", "1.0"))))

    asked = demands.parse_demands((*names, "nobodys>=2", "nobodys<3", "lib>=2"))

    assert search.unknown(asked) == {"nobodys": ">=2,<3", "lib": ">=2"}
    rows = known(package("num", "2", requires_python=">=3.13"), package("num", "1"), package("far", "1", pythons=()))
    closure = SearchFacts(machine(), table, Wish(), Catalog(rows))
    assert closure.unknown(demands.parse_demands(["far==1"])) == {}  # it is known, and refused
    assert closure.unknown(demands.parse_demands(["far"])) == {"far": ""}
    assert closure.unknown([demands.PackageDemand("nobodys", by="num 1")]) == {}
    read = [closure.newest(rows[name], ()) for name in ("num", "far")]  # of those for this Python, if there are any
    assert [one and one.version for one in read] == ["1", "1"]
    # Triton alone is no torch, but where you ask for it.
    facts = known(package("lib", "1", "triton"))
    assert plan(table, facts, "lib").requirements == ("lib==1",)
    assert plan(table, facts, "lib", "triton").version("torch") == "2.11.0+cu130"


def told(stack: Stack) -> list[tuple[str, tuple[str, ...], str]]:
    return [(each.name, each.versions, each.objection.text) for each in stack.objections]


def test_why_nothing_fits_is_said_of_each_version(table: Table) -> None:
    bad = {"code": (code("sm_90"),)}
    gpu = 'nothing; extra == "gpu"'
    facts = known(
        package("dep", "2.0", code=()), package("dep", "1.0", code=()),
        package("lib", "3.0", "dep==1.0", gpu), package("lib", "2.0"), package("lib", "1.0", "torch==1.0", gpu),
        package("own", "2.0", gpu, **bad), package("own", "1.0", code=(code("sm_75"),)),
    )  # fmt: skip

    assert told(plan(table, facts, "dep==2.0", "lib[gpu]")) == [
        ("lib", ("3.0",), "asks for dep==1.0, and dep==2.0 is asked for too"),
        ("lib", ("2.0",), "has no extra gpu"),
        ("lib", ("1.0",), "no torch build is torch==1.0"),
    ]
    # Each two of them have a version in common, and all three have none.
    three = known(package("a", "1", "x<=1", "torch"), package("b", "1", "x>=1", "torch"))
    assert told(plan(table, three, "a", "b", "x!=1")) == [
        ("b", ("1",), "asks for x>=1, and x!=1 and x<=1 (a 1) are asked for too")
    ]
    gone = known(package("lib", "1", "dep==9"), package("dep", "1"))
    for in_table, why in (
        (True, ("dep", (), "no version within `dep==9` is known; known: 1")),
        (False, ("lib", ("1",), "asks for dep==9, which the index does not have")),
    ):
        rows = {**gone, "dep": gone["dep"]._replace(listed=True, in_table=in_table)}
        assert told(plan(table, rows, "lib")) == [why]
    # Two CUDAs that nobody asked for by number.
    two = known(*(package(name, "1", links_torch=True, cuda=cuda) for name, cuda in (("a", "12"), ("b", "13"))))
    amd = machine()._replace(driver=None, gpus=(Gpu(0, "amd", None, Arch.parse("gfx1100")),))
    said = [plan(table, two, "a", "b", where=where).hints for where in (machine(), amd)]
    mixed = environments.best(
        SearchFacts(amd, table, Wish(), Catalog(two)), demands.parse_demands(["a"]), allow_mixed=True
    )
    assert not isinstance(mixed, Needs)
    assert mixed[0].ok
    assert said == [("`--allow-mixed` takes two CUDA majors",), ("`torchpick list a` says of each version why",)]
    none = told(plan(table, facts, "own[gpu]"))
    assert none == [("own", ("2.0", "1.0"), "holds no code for sm_86: lib was built for sm_90")]  # the newest one's
    assert told(plan(table, facts, "lib>=4,<5")) == [
        ("lib", (), "no version within `lib>=4,<5` is known; known: 1.0 to 3.0")
    ]
    elsewhere = machine()._replace(platform=Platform("linux", "s390x", "2.35"))
    assert told(plan(table, facts, "torch", "torchvision", "torchaudio", where=elsewhere)) == [
        ("torch", (), "no torch build is known for this platform with torchvision with torchaudio")
    ]
    assert told(plan(table, facts, "torch==2.11.0", "torch==2.10.0")) == [
        ("torch", (), "no torch build is torch==2.11.0 and torch==2.10.0")
    ]
    assert told(plan(table, facts, "torch<2.9")) == [("torch", (), "no torch build is torch<2.9")]
    assert told(plan(table, facts, "torch==2.11.0+cu130", where=machine("sm_35")))[0][2].startswith(
        "asks for torch==2.11.0+cu130; the nearest is 2.11.0+cu130: driver 580.95.05 does not support sm_35: "
    )


def test_a_plain_project_is_named_with_the_version_that_fits_and_where_it_lies(table: Table) -> None:
    rows = package("num", "3", code=(), place="https://own.example"), package("num", "1", code=())
    facts = {**known(package("lib", "1")), "num": PackageFacts("num", rows, in_table=False)}

    (lib, num, _) = plan(table, facts, "lib", "num", "torch<2.11").packages

    assert (lib.pinned, num.pinned) == (True, False)
    assert (num.version, num.index, num.why) == ("3", "https://own.example", "you asked for it")


def test_another_index_is_named_where_the_driver_carries_what_it_has(table: Table) -> None:
    places = (
        OtherIndex("https://twelve.example", "for CUDA 12", cuda=(12, 13)),
        OtherIndex("https://any.example/{version}", "for any"),
        OtherIndex("https://thirteen.example", "for CUDA 13", cuda=(13,)),
        OtherIndex("https://later.example", "from 2 on", since="2"),
    )
    facts = known(package("ext", "1.0", links_torch=True, cuda="13"))
    facts["ext"] = facts["ext"]._replace(elsewhere=places)
    named = (
        "another index has ext for CUDA 12: https://twelve.example",
        "another index has ext for any: https://any.example/1.0",
        "another index has ext for CUDA 13: https://thirteen.example",
    )

    assert plan(table, facts, "ext", where=machine(driver="550.54.15")).hints[:2] == named[:2]
    both = {**facts, **known(package("an-old", "1.0", links_torch=True, cuda="12"))}
    assert plan(table, {**both, "ext": facts["ext"]}, "an-old", "ext").hints[:3] == named
    older = package("ext", "0.9", "torch==1.0", links_torch=True, cuda="12")
    rows = {**facts, "ext": facts["ext"]._replace(versions=(*facts["ext"].versions, older))}
    said = plan(table, rows, "ext", "torch==2.10.0+cu128").hints
    assert [hint for hint in said if "any.example" in hint] == [named[1]]  # of the newest that was passed over
    unknown = machine()._replace(driver=None)
    assert plan(table, {**both, "ext": facts["ext"]}, "an-old", "ext", where=unknown).hints[:3] == named


def test_what_would_help_is_said_by_what_is_known_already(table: Table) -> None:
    facts = known(package("ext", "2", "torch==1.0"), package("ext", "1", "torch", "nobody-read"))
    facts["ext"] = facts["ext"]._replace(in_table=False, listed=True)
    search = SearchFacts(machine(), table, Wish(), Catalog(facts, may_learn=True))

    best = environments.best(search, demands.parse_demands(["ext==2"]))

    assert not isinstance(best, Needs)
    assert best[0].hints == ("without `==2` on ext: ext 1, torch 2.11.0+cu130",)


def test_what_has_to_be_built_is_said_with_where_its_wheels_lie(table: Table) -> None:
    places = OtherIndex("https://a.example", "its pages"), OtherIndex("https://b.example/{cu}", "", wheels=(("1",),))
    facts = known(package("ext", "1", "torch", file=None))
    for elsewhere, said in (
        ((), ""), (places[:1], ". https://a.example: its pages"),
        (places, "; no wheel of it is known for torch 2.11.0+cu130 on linux-x86_64. "
                 "https://a.example: its pages; https://b.example/cu130"),
    ):  # fmt: skip
        facts["ext"] = facts["ext"]._replace(source_only="is built with nvcc", elsewhere=elsewhere)
        stack = plan(table, facts, "ext", "torch==2.11.0+cu130")
        assert [note.text for note in stack.notes if note.code == "PACKAGE_UNREAD"] == [
            f"ext 1: is built with nvcc{said}"
        ]
    there = package("ext", "1", file=None, place="https://a.example", platforms=(PLATFORM,))
    facts["ext"] = facts["ext"]._replace(versions=(there,), refused="is another's name on an index")
    stack = plan(table, facts, "ext", "torch==2.11.0+cu130")
    assert [note.text for note in stack.notes if note.code == "PACKAGE_UNREAD"] == [
        "ext 1 for linux-x86_64 was seen, and not read, at https://a.example: its pages; "
        "ext is another's name on an index"
    ]
    ptx, source = package("ext", "1", code=(code("compute_80"),)), package("ext", "1", file=None)
    codes = [note.code for note in plan(table, known(source, ptx), "ext", where=machine("sm_90")).notes]
    assert "PACKAGE_UNREAD" not in codes  # PTX needs no compiler


def test_an_extra_for_torch_s_cuda_is_taken_where_what_it_brings_fits(table: Table) -> None:
    by_extra = [f'plug==2; extra == "{extra}"' for extra in ("cuda12", "cuda13")]
    fitting = known(package("lib", "1", *by_extra), package("plug", "2", code=()))
    lacking = known(package("lib", "1", *by_extra), package("plug", "1", code=()))
    lacking["plug"] = lacking["plug"]._replace(listed=True)

    taken, left = plan(table, fitting, "lib", "torch"), plan(table, lacking, "lib", "torch")
    moving = known(package("lib", "1", *by_extra), package("plug", "2", "torch<2.11", code=()))  # torch stays
    assert plan(table, moving, "lib", "torch").requirements == left.requirements

    assert taken.requirements[:2] == (f"lib[cuda{taken.packages[-1].cuda}]==1", "plug==2")
    assert [note.code for note in taken.notes if note.code == "CUDA_EXTRA"] == ["CUDA_EXTRA"]
    assert left.requirements == ("lib==1", *taken.requirements[2:])
    assert not [note for note in left.notes if note.code == "CUDA_EXTRA"]


def test_why_torch_is_the_one_it_is(table: Table) -> None:
    facts = known(
        *(package(name, "1", "torch", links_torch=True, cuda="12") for name in "abc"),
        package("plain", "1", "torch<2.11"),
        package("needy", "1", "torch", cuda="12", needs=("libcublas.so.12",)),
    )  # fmt: skip

    def why(*asked: str) -> str:
        return next(pin.why for pin in plan(table, facts, *asked).packages if pin.name == "torch")

    each = package("each", "1", "torch", code=(code("sm_80", cuda="12.8"), code("sm_80", cuda="13.0")))
    of_each = plan(table, {**facts, **known(each)}, "each", "torch==2.10.0").version("torch")
    assert (of_each, plan(table, facts, "plain", "torch==2.10.0").version("torch")) == ("2.10.0+cu128", "2.10.0+cu130")
    assert why("torch") == "the newest that runs here"
    assert why("a", "b", "c") == "a links CUDA 12; b links CUDA 12"  # two are enough
    assert why("needy") == "needy needs libcublas.so.12"
    assert why("torch<2.11", "plain") == "you ask for torch<2.11; plain 1 asks for torch<2.11"
    assert why("torch==2.10.0", "a") == (
        "you ask for torch==2.10.0; a links CUDA 12; CUDA 12.8 is that of the default index's torch 2.10.0"
    )
