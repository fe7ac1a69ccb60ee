"""What the rules of versions, architectures, drivers, machines and fleets answer: `answered.json` has it, call by call.

Their laws are held elsewhere; this holds the words and the borders. See `tests/recorded.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests import recorded
from tests.model.altered import altered
from torchpick.knowledge.compat import Knowledge
from torchpick.model import arch, build, fields, fleet, machine, versions
from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence, VendorIndex
from torchpick.model.fields import Fields, ShapeError, plain
from torchpick.model.fleet import Crowd, Fleet, Hosts, LeftOut
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python, labels
from torchpick.model.pick import Wish, pip_line
from torchpick.model.table import below, floor_of

FILE = Path(__file__).with_name("answered.json")
LINUX = Platform("linux", "x86_64", "2.35", "glibc")

WORDS: dict[Callable[[Any], object], list[object]] = {
    versions.numbers: ["580.95.05", "12", "1.x", ""],
    versions.is_dotted: ["1", "1.2.3.4.5.6", "1.2.3.4.5.6.7", "123456789", "1234567890", "1.", ".1", "1..2", "1.x",
     "", "²"],
    versions.release_key: ["2.10.0.dev1", "2.10.0a1", "2.10.0b2", "2.10.0rc1", "2.10.0", "2.10", "2.10.0.post1+cpu",
     "0", "0.0",
                           "2.x", "2.1rc", "two"],
    versions.span: [["12.6"], ["12.6", "13.0", "13.2"]],
    versions.major_minor: ["12.6.3", "12", "12.6"],
    versions.everyday: ["", " ", ">=2.1, <3", "~=2.7.0", "==2.6.*", "!=2.1", "<=2", ">2", "~=2", "==2.*.1", "2", "=2",
     ">=2rc1",
                        "===2", ">= 2 . 1"],
    versions.normal: ["Torch_Vision", "a.b--c__d", "A"],
    versions.leading: ["torch>=2", " torch", "a.b_c-d[x]", "a-", "-a", "a..b", "", "ä", "torch ä"],
    versions.named: [" Torch_Vision>=2", "", "[x]"],
    versions.some_of: [[], ["a"], ["a", "b", "c"], ["a", "b", "c", "d", "e"]],
    lambda text: str(versions.parsed(str(text))): ["torch>=2", "(" * 101,
        "torch==" + "9" * 1001, "torch==" + "9" * 1000],
    machine.version_of: [None, "3.12", " 3.12 ", "3.12.4", "3.14t", "3.14.1t", "3.012", "0.1", "3", "3.123",
     "python3", "3.12.1234"],
    build.python_name: ["cp312", "cp314t", "pp310", "xx39", "cp", "py3"],
    build.python_order: ["cp312", "cp314t", "cp39", "cpx", "cp1234567890123"],
    build.python_span: [(), ("cp312",), ("cp38", "cp39", "cp310", "cp311"), ("cp36", "cp37", "cp38", "cp314"),
     ("cp313", "cp313t", "cp314t"),
                   ("cp310", "cp39"), ("cp39", "cp311"), ("cp313t",)],
    arch.Arch.parse: ["sm_61", "sm_120", "sm_90a", "sm_120f", "compute_90", "compute_120f", "gfx90a", "gfx1100",
                      "gfx12", "gfx123456", "gfxxyz", "sm_6", "sm_1000", "sm_9b", "SM_61", "cu_61", "gfx-generic",
         ""],
    arch.spoken_capability: ["6.1", "61", "sm_61", "sm61", "sm 61", "compute_90a", "sm_120f", "90a", "120", "1",
     "1000", "6.1.2", "06.01",
                             "sm_", "sm", "x61", ""],
    arch.listed: [(), (Arch.parse("sm_61"), Arch.parse("compute_90"))],
    build.family_of: ["cu126", "rocm7.2", "cpu", "xpu", "default"],
    build.toolkit_order: ["cu92", "cu126", "cu130", "cu", "cuda", "rocm7.2", "rocm7.14", "cpu"],
    build.backend_order: ["cu126", "rocm7.14", "cpu"],
    fleet.is_name: ["n1", "a.b-c_d", "me@n1:22", "fe80::1%eth0", ":", "-n", "", "a b", "n" * 253, "n" * 254, "n;",
         "ä"],
    fleet.folded: [(), ("n1",), ("n1", "n2", "n3"), ("n08", "n09", "n10", "n12"), ("n1.x", "n2.x", "login"), ("1",
     "2"), ("a1b2", "a1b3"),
                   ("n9", "n10"), ("n1", "n1"), ("z", "n3", "n1"), ("n" + "9" * 19,)],
    lambda text: list(fleet.expanded(str(text))): ["n[1-3],login", "n[08-10,12].x", "a", "n[3]", "n[1-2]b,c"],
    labels: [(), (Gpu(0, "nvidia", "A", Arch.parse("sm_61")), Gpu(1, "nvidia", "A", Arch.parse("sm_61")), Gpu(2,
     "amd", None, None),
                  Gpu(3, "intel", "Arc", None), Gpu(4, "nvidia", None, Arch.parse("sm_80")))],
    fields.kind: [None, True, 1, 1.5, "x", [], {}],
    lambda text: Platform.parse(str(text)): ["linux-x86_64", "windows-arm64", "macos-arm64", "linux"],
}  # fmt: skip
# What they are called, in this order.
NAMES = ["numbers", "is_dotted", "release_key", "span", "major_minor", "everyday", "normal", "leading", "named",
 "some_of", "parsed", "version_of", "python_name", "python_order", "python_span", "Arch.parse",
         "spoken_capability", "listed", "family_of", "toolkit_order", "backend_order", "is_name", "folded",
         "expanded", "labels", "kind", "Platform.parse"]  # fmt: skip


def answer(call: Callable[..., object], *given: object) -> object:
    try:
        return plain(call(*given))
    except (ValueError, LookupError) as error:
        return f"{type(error).__name__}: {error}"


def words() -> dict[str, object]:
    now = {}
    for name, (function, given) in zip(NAMES, WORDS.items(), strict=True):
        for each in given:
            shown = str(each) if len(str(each)) <= 60 else f"{str(each)[:20]}… ({len(str(each))})"
            found = answer(function, each)
            now[f"{name}({shown})"] = found

    return now


test_words_are_read_as_they_were = recorded.table(FILE, words)


VERSIONS = ("300.1", "390.157", "450.80.02", "525.60.13", "535.183.01", "570.26", "580.95.05", "595", "900.1")
DRIVERS = [Driver(version) for version in VERSIONS]
DRIVERS += [Driver(None, cuda) for cuda in ("9.0", "10.1", "11.0", "11.8", "12.7", "13.0")] + [
    Driver("535.1", "12.8"),
    Driver(None),
]
CUDAS = ("9.2", "10.2", "11.0", "11.8", "12.1", "12.6", "12.8", "13.0", "13.2", "13.5", "14.0")
CHIPS = tuple(
    map(
        Arch.parse,
        ("sm_20", "sm_37", "sm_50", "sm_61", "sm_70", "sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "sm_121"),
    )
)


def drivers() -> dict[str, object]:
    table = Knowledge({}).rules.drivers
    now: dict[str, object] = {}
    for driver in DRIVERS:
        for os in ("linux", "windows"):
            carried = {cuda: table.too_old(driver, cuda, os).get("needs", "runs") for cuda in CUDAS}
            supported = {str(chip): table.unsupported(driver, chip, os) for chip in CHIPS}
            refused = {chip: [each["why"], each["mends"]] for chip, each in supported.items() if each}
            now[f"{driver.version}, CUDA {driver.cuda}, {os}"] = {
                "label": driver.label, "speaks": table.speaks(driver), "branch": table.branch_number(driver),
                "needs": carried, "refuses": refused,
            }  # fmt: skip
    for version in ("535", "536", "535.1", "2", "615"):
        now[f"{version} is bare"] = table.is_branch_number(version)
        now[f"{version} is assumed"] = plain(table.assumed(version, "windows"))
        now[f"{version} is at least"] = {
            floor: [table.at_least(version, floor, os) for os in ("linux", "windows")] for floor in ("525.60.13",
             "535", "535.1", "537.99", "538")
        }  # fmt: skip
    now["floors"] = {cuda: [table.floor(cuda, os) for os in ("linux", "windows")] for cuda in CUDAS}
    now["assumed for"] = {str(chip): table.assumed_for((chip, CHIPS[3])) for chip in CHIPS}
    now["known to a toolkit"] = {cuda: [str(chip) for chip in CHIPS if table.knows(cuda, chip)] for cuda in CUDAS}
    rules = Knowledge({}).rules
    now["floor of cuDNN"] = {
        version: floor_of(rules.cudnn, version)
        for version in ("7.6", "8.0", "8.9.2", "9.0", "9.10", "9.11", "9.26.0.51")
    }
    now["floor of NCCL"] = {
        f"{version} for CUDA {major}": floor_of(rules.nccl, version, major)
        for version in ("2.10", "2.14", "2.19", "2.27.5", "2.28.8", "2.28.9") for major in (None, 11, 12, 13)
    }  # fmt: skip
    now["below a floor"] = [str(chip) for chip in (*CHIPS, Arch.parse("gfx1100")) if below(chip, (7, 0))]

    return now


test_which_driver_carries_what_and_supports_whom = recorded.table(FILE.with_name("drivers.json"), drivers)


GOOD: dict[str, Any] = {
    "name": "node-1",
    "platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35", "macos": None},
    "python": {"version": "3.12", "executable": "/usr/bin/python3", "exact": "3.12.4"},
    "driver": {"version": "580.95.05", "cuda": "13.0", "os": "windows", "source": "nvml"},
    "gpus": [{"arch": "sm_61", "name": "GTX 1080 Ti", "uuid": "GPU-1"}, {"arch": "sm_86", "counted": False},
    {"vendor": "apple"}],
    "notes": [{"code": "A", "text": "b"}],
    "trouble": {"code": "C", "text": "d", "hint": "e"},
}  # fmt: skip
CHANGES: list[tuple[str, object]] = [
    ("platform", None), ("platform", "linux"), ("platform.os", "../../etc"), ("platform.os", ""), ("platform.cpu",
     "X86"),
    ("platform.cpu", "x" * 33), ("platform.cpu", "x" * 32), ("platform.libc", "evil"), ("platform.libc",
     "musl"), ("platform.os", "macos"),
    ("platform.glibc", "2"), ("platform.glibc", "two"), ("platform.macos", "14.2"), ("python", []), ("python.version",
     "3"),
    ("python.version", "3.12.1"), ("python.version", 3), ("python.implementation", "../cp"), ("python.implementation",
     "pp"),
    ("python.implementation", ""), ("python.executable", "/" * 4096), ("python.executable",
     "/" * 4097), ("python.free_threaded", True),
    ("python.free_threaded", "yes"), ("driver", None), ("driver.version", None), ("driver.version",
     "x"), ("driver.cuda", "13"),
    ("driver.cuda", "13.0.1"), ("driver.os", "macos"), ("driver.os", None), ("driver.os",
     "linux"), ("gpus", None), ("gpus", {}),
    ("gpus", [5]), ("gpus.0.index", -1), ("gpus.0.index", 10_000), ("gpus.0.index", 9999), ("gpus.0.index", 1),
     ("gpus.0.index", True),
    ("gpus.0.vendor", "voodoo"), ("gpus.0.vendor", "amd"), ("gpus.0.vendor", "intel"), ("gpus.0.arch", "compute_80"),
    ("gpus.0.arch", "sm_90a"), ("gpus.0.arch", "sm_310"), ("gpus.0.arch", "sm_300"), ("gpus.0.arch",
     "sm_05"), ("gpus.0.arch", "gfx1100"),
    ("gpus.0.arch",
     "nonsense"), ("gpus.0.arch", None), ("gpus.0.visible", False), ("gpus.0.visible", 1), ("gpus.0.name", 5),
    ("gpus.0.name", "x" * 257), ("gpus.0.uuid", "x" * 257), ("gpus.0.pci", "x" * 257), ("name", "x" * 257),
    ("driver.source", "x" * 257), ("gpus.0.source", "x" * 256), ("notes", [{"code": "A", "text": "x" * 300_000}]),
    ("notes", [{"code": "A", "text": "x"}] * 1025), ("gpus", [{"index": place} for place in range(1025)]),
    ("notes", [{"code": "A"}]), ("notes", None), ("trouble", None), ("trouble.hint", None), ("name", None),
         ("name", 5),
]  # fmt: skip


def read(value: object) -> dict[str, object]:
    try:
        machine = Machine.from_dict(value)
    except ShapeError as error:
        return {"path": error.path, "message": error.message, "whole": str(error)}
    same = Machine.from_dict(plain(machine.to_dict()))
    assert same == machine
    return {**plain(machine.to_dict()), "in short": machine.in_short, "driver of": machine.driver_os}


def machines() -> dict[str, object]:
    good = read(GOOD)
    now: dict[str, object] = {"as it is": good, "nothing": read(None), "a list": read([])}
    for path, value in CHANGES:
        shown = repr(value) if len(repr(value)) <= 60 else f"{len(repr(value))} letters"
        facts = read(altered(GOOD, path, value))
        now[f"{path} = {shown}"] = {fact: now_ for fact, now_ in facts.items() if now_ != good.get(fact)}

    return now


test_a_machine_is_read_or_refused_as_it_was = recorded.table(FILE.with_name("machines.json"), machines)


def gpus(*arches: str, **more: object) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(index, "amd" if text.startswith("gfx") else "nvidia", None, Arch.parse(text))._replace(**more)  # type: ignore[arg-type]
        for index, text in enumerate(arches)
    )


def sayings() -> dict[str, object]:
    one = Machine(LINUX, Python("3.14", free_threaded=True), Driver("580"), gpus("sm_61", "sm_61", "gfx1100"))
    board = Machine(
        Platform("linux", "aarch64"), Python("3.10", "pp"), Driver(None, "12.6"), gpus("sm_87"), name="board"
    )
    machines: Mapping[str, Machine] = {
        "several GPUs": one, "a board": board, "nothing": Machine(LINUX, Python("3.12")),
        "left out": one._replace(gpus=gpus("sm_61", "gfx1100", counted=False)),
        "an Apple": Machine(Platform("macos", "arm64"), Python("3.12"), gpus=(Gpu(0, "apple", "M3", None),)),
    }  # fmt: skip
    now: dict[str, object] = {
        name: {
            "repr": repr(machine), "jetsons": len(machine.jetsons), "used": len(machine.used),
            "counted": len(machine.counted),
            "first": machine.label_of(0), "none": machine.label_of(None), "tag": machine.python.tag,
            "image": machine.python.image,
            "platform": machine.platform.name,
        }
        for name, machine in machines.items()
    }  # fmt: skip
    many = tuple(LeftOut(Hosts((f"h{place}x",)), "C", f"why {place}", "do") for place in range(10))
    assert " more" not in Fleet((), many[:8]).notes[0].text
    left = LeftOut(Hosts(("n1", "n2"), 1), "NO_ANSWER", "it is silent")
    fleets: Mapping[str, Fleet] = {
        "one": Fleet((Crowd(one, Hosts(("n1", "n2"))), Crowd(board, Hosts((), 3)), Crowd(one, Hosts(("n1",))))),
        "one silent": Fleet((), silent=(LeftOut(Hosts(("n1",)), "C", "why"),)),
        "many left out": Fleet((), many, (left,), (LeftOut(Hosts(("n7",)), "NO_GPU", "x"), LeftOut(Hosts((), 2),
        "NO_GPU", "y"))),
        "no name": Fleet((), unread=(LeftOut(Hosts((), 2), "U", "line 3"), LeftOut(Hosts((), 1), "U", "line 4",
        "fix it"))),
        "remarks": Fleet((), remarks=((Note("A", "once"), 1), (Note("B", "often"), 5))),
    }  # fmt: skip
    for name, found in fleets.items():
        now[f"fleet {name}"] = {
            "count": found.count, "hosts": plain(found.hosts(range(len(found.crowds)))),
            "left out": plain(found.left_out),
            "said": [each.words for each in found.left_out], "notes": plain(found.notes),
         "own": plain(found.own_notes),
            "machines": len(found.machines), "crowds": plain(found.crowds),
        }  # fmt: skip
    for hosts in (
        Hosts(),
        Hosts(("n1",)),
        Hosts(("n1", "n2"), 2),
        Hosts((), 1),
        Hosts(tuple(f"a{place}b{place}c" for place in range(90))),
    ):
        now[f"hosts {hosts.count}"] = [str(hosts), hosts.brief, plain(hosts.to_dict())]
    now["hosts of"] = plain(Hosts.of({"n1": 2, None: 3, "": 1, "n2": 1}))

    return now


test_a_machine_and_a_fleet_say_what_they_are = recorded.table(FILE.with_name("said.json"), sayings)


BASE = Build(
    "2.7.1", "cu126", "linux-x86_64", "2.7.1+cu126", "12.6", CHIPS[3:6], ("cp312",), ("manylinux_2_28",), "2.28", {},
    {}, True, False,
    {"torchvision": "0.22.1+cu126", "torchaudio": None}, {"torchvision": "inferred"}, Evidence("declared", "x"),
    {"torchvision": ("cp312",)},
)  # fmt: skip
VENDOR = VendorIndex("AMD", "https://amd.example/", "--index-url", ("torch",))
PAGE = VendorIndex("AMD", "https://amd.example/", "--find-links")


def builds() -> dict[str, object]:
    builds: Mapping[str, Build] = {
        "cuda": BASE,
        "default": BASE._replace(backend="default", version="2.7.1"),
        "default for the CPU": BASE._replace(backend="default", cuda=None),
        "rocm": BASE._replace(backend="rocm7.2", cuda=None),
        "unified": BASE._replace(torch="2.14.0", cuda="13.2"),
        "almost unified": BASE._replace(torch="2.13.0", cuda="13.2"),
        "a vendor's": BASE._replace(vendor=VENDOR),
        "a page's": BASE._replace(vendor=PAGE),
    }
    wishes = {
        "plain": Wish(), "with companions": Wish(companions={"torchvision": "", "torchaudio": ""},
        others=("torchcodec",)),
        "flat": Wish(index_base="flat+https://m.example/all.html"), "nightly": Wish(channel="nightly"),
        "a candidate": Wish(channel="test"), "a flat candidate": Wish(channel="test", index_base="flat+file:///x"),
        "a mirror": Wish(index_base="https://m.example/"),
    }  # fmt: skip
    later = (("2.14.0", "13.1"), ("3.0", "14.0"), ("2.14.0.dev20260101", "13.2"), ("main", "13.2"), (None, "13.2"))
    now: dict[str, object] = {"later": {f"{torch} {cuda}": build.is_unified(torch, cuda) for torch, cuda in later}}
    for name, one in builds.items():
        here = one.for_machine("cp312", (CHIPS[3], None, CHIPS[3]))
        other = one.for_machine("cp313", ())
        out = one.for_machine("cp312", (), ("torchvision 0.22.1",))
        now[name] = {
            "key": one.key, "family": one.family, "cuda": one.cuda_major, "unified": one.unified, "pins": one.pins,
            "extras": [here.extras, here.extras_of("torch"), here.extras_of("torchvision")],
            "companions": [here.companions, other.companions, out.companions],
            "release": one.release_of("torchvision"), "inferred": [one.is_inferred("torchvision"),
            one.is_inferred("torchaudio")],
            "lines": {wish: pip_line(here, each) for wish, each in wishes.items()},
        }  # fmt: skip

    return {name: plain(each) for name, each in now.items()}


test_a_build_says_where_it_lies_and_what_goes_with_it = recorded.table(FILE.with_name("builds.json"), builds)


VALUES: dict[str, object] = {
    "null": None, "true": True, "one": 1, "half": 0.5, "text": "12.6", "word": "x" * 50, "list": ["a", "b"],
        "numbers": [1],
    "object": {"a": 1}, "objects": [{"a": 1}, {"b": 2}], "many": ["a"] * (fields.MOST_ITEMS + 1),
        "most": ["a"] * fields.MOST_ITEMS,
    "two": [{}, {}], "empty": "",
}  # fmt: skip
READERS: dict[str, Callable[[Fields, str], object]] = {
    "has": Fields.has, "lacks": Fields.lacks, "text": Fields.text, "maybe_text": Fields.maybe_text,
    "maybe_dotted": Fields.maybe_dotted, "flag": Fields.flag, "number": Fields.number,
        "maybe_number": Fields.maybe_number,
    "items": lambda each, name: len(each.items(name)), "texts": lambda each, name: len(each.texts(name)),
        "mapping": Fields.mapping,
    "object": lambda each, name: each.object(name).names(), "raw": lambda each, name: str(each.raw(name))[:20],
    "maybe_object": lambda each, name: (found := each.maybe_object(name)) and found.names(),
    "objects": lambda each, name: [found.names() for found in each.objects(name)],
    "maybe_objects": lambda each, name: [found.at("x") for found in each.maybe_objects(name, 1)],
    "at most 5 letters": lambda each, name: each.maybe_text(name, 5),
}  # fmt: skip
TEXTS = (
    "", "{", "[1, 2", "nul", "NaN", "-Infinity", "1 2", ' {"a": 1} ', b"\xff", b'["\\u00e9"]', '"a\nb"', "1e400", "01",
)  # fmt: skip


def values() -> dict[str, object]:
    now: dict[str, object] = {}
    for reader, read_ in READERS.items():
        inside = Fields({"in": VALUES}).object("in")
        now[reader] = {name: answer(read_, inside, name) for name in (*VALUES, "missing")}
    nothing: tuple[object, ...] = (None, [], "x", 1.5)
    now["no object"] = [answer(Fields, value, "here") for value in nothing]
    for text in TEXTS:
        found = answer(fields.loads, text)
        now[f"JSON {text!r}"] = str(found).partition(":")[0] if isinstance(found, (str, float)) else found
    now["envelopes"] = [fields.envelope("list", status, a=1) for status in (0, 1, 2, 3, 4)]
    now["a line"] = fields.dumps(
        {"gpu": Gpu(0, "nvidia", "é", Arch.parse("sm_61")), "url": "https://me:secret@x.example/"}
    )
    now["a page"] = fields.html({"a": [1, {"b": "<c>"}], "none": None, "url": "https://me:secret@x.example/"})
    now["optional"] = fields.written(Note("A", "b")._replace(text=None), "code", "text", optional=("text",))  # type: ignore[arg-type]

    return now


test_each_value_is_read_or_refused_with_its_path = recorded.table(FILE.with_name("fields.json"), values)
