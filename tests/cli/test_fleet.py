"""`torchpick fleet` over files: groups, the report and the files for schedulers."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import torchpick
from torchpick.cli import main
from torchpick.cluster.emit import FORMS
from torchpick.model.arch import Arch, parsed
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python, Trouble

# The trade-off of five kinds of node: V100 keeps all of them on an old torch, and the drivers of 570 hold it there.
FIVE = {
    "v": ("V100", (7, 0), "570.124.06", 400), "a": ("A100", (8, 0), "570.124.06", 300),
    "h": ("H100", (9, 0), "580.95.05", 200), "b": ("B200", (10, 0), "580.95.05", 40),
    "l": ("L4", (8, 9), "570.124.06", 60),
}  # fmt: skip


def machine(name: str | None, product: str, capability: tuple[int, int], driver: str) -> Machine:
    gpu = Gpu(0, "nvidia", product, Arch("sm", *capability), f"GPU-{name}")
    return Machine(Platform("linux", "x86_64", "2.36", "glibc"), Python("3.12"), Driver(driver), (gpu,), name=name)


def five(*left_out: str) -> list[Machine]:
    return [
        machine(f"{letter}{number}", product, capability, driver)
        for letter, (product, capability, driver, count) in FIVE.items()
        if letter not in left_out
        for number in range(1, count + 1)
    ]


def write(folder: Path, machines: list[Machine], *more: str) -> str:
    file = folder / "fleet.jsonl"
    file.write_text("\n".join([*(json.dumps(each.to_dict()) for each in machines), *more]), "utf-8")
    return str(file)


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    status = main(["fleet", *words, "--json"])
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    assert answer["exit"] == status
    return answer


def groups(answer: dict[str, object]) -> list[tuple[int, str]]:
    plan = answer["plan"]
    assert isinstance(plan, list)
    return [(group["count"], group["hosts"]) for group in plan]


def versions(answer: dict[str, object]) -> list[tuple[str, str]]:
    plan = answer["plan"]
    assert isinstance(plan, list)
    return [(group["pick"]["version"], group["hosts"]) for group in plan]


def test_variables_bind_a_fleet_and_the_settings_of_this_computer_do_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limits.txt").write_text("torch<2.9\n", "utf-8")
    (tmp_path / "pip.conf").write_text(f"[global]\nconstraint = {tmp_path / 'limits.txt'}\n", "utf-8")
    file = write(tmp_path, five("v"))
    free = versions(asked(capsys, file))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))

    assert versions(asked(capsys, file)) == free
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "limits.txt"))
    assert versions(asked(capsys, file)) != free


def test_an_upgrade_names_the_drivers_that_change_and_a_gain_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fleet = [
        machine("a1", "A100", (8, 0), "535.183.01"), machine("b1", "B200", (10, 0), "570.124.06"),
        machine("h1", "H100", (9, 0), "580.95.05"), machine("v1", "V100", (7, 0), "580.95.05"),
        machine("k1", "K80", (3, 7), "470.256.02"),
    ]  # fmt: skip
    answer = asked(capsys, write(tmp_path, fleet), "--max-environments", "2", "--upgrades")

    upgrades = answer["upgrades"]
    assert isinstance(upgrades, list)
    assert [(each["from"], each["to"], each["hosts"]) for each in upgrades] == [
        ("570.124.06", "580", "b1"),
        ("535.183.01 to 570.124.06", "580", "a1,b1"),
    ]


def test_what_is_no_gpu_of_nvidia_keeps_no_driver_from_an_upgrade(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # The number of AMD's is that of Blackwell Ultra, which a driver of 525 does not support; 470 is the last for a K80.
    a100, k80 = machine("a1", "A100", (8, 0), "450.80.02"), machine("k1", "K80", (3, 7), "450.80.02")
    beside = a100._replace(gpus=(*a100.gpus, Gpu(1, "amd", "RX 6800", Arch.parse("gfx1030"))))
    unknown = a100._replace(gpus=(*a100.gpus, Gpu(1, "nvidia", "one that nobody knows", None)))

    def moved(*machines: Machine) -> list[tuple[str, str]]:
        answer = asked(capsys, write(tmp_path, [*machines]), "--max-environments", "2", "--upgrades")
        return [(each["to"], each["hosts"]) for each in answer["upgrades"]]  # type: ignore[attr-defined]

    assert moved(beside, k80) == [("525", "a1"), ("580", "a1")]
    assert moved(unknown, k80) == moved(beside, k80)


V100, B200 = machine("v1", "V100", (7, 0), "580.95.05"), machine("b1", "B200", (10, 0), "580.95.05")
K80 = machine("k1", "K80", (3, 7), "470.256.02")._replace(python=Python("3.13"))


@pytest.mark.parametrize(
    ("machines", "words", "status", "text", "hint"),
    [
        ([V100], ["torch<0.1"], 3, "`torch<0.1` was asked for", "without that pin: torch "),
        ([V100], ["--python", "9.9"], 3, "there is no wheel for Python 9.9", "with Python 3.15: torch "),
        ([V100], ["--backend", "cu999"], 2, "no build for `cu999` is known", "known there: cpu, "),
        ([V100, K80], [], 3, "no PyTorch build runs for K80 (sm_37)", "`--allow-cpu`"),
        ([machine("a", "P100", (6, 0), "390.46"), machine("b", "GP100", (6, 0), "390.48")], ["torch>=2.5"], 3,
         "this one is 390.46", "driver 525.60.13"),
        ([V100, B200, K80], ["torch>=2.14", "--max-environments", "1"], 3, "runs for K80 (sm_37)", "`--allow-cpu`"),
        ([V100, B200], ["torch>=2.14", "--max-environments", "1"], 3, "`--max-environments 1` leaves no environment "
         "for 1 machine", "allow more"),
    ],
)  # fmt: skip
def test_why_no_environment_is_left_for_a_machine(  # the columns of the table
    machines: list[Machine],
    words: list[str],
    status: int,
    text: str,
    hint: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    file = write(tmp_path, machines)

    assert main(["fleet", file, *words]) == status
    said = capsys.readouterr().err
    error = asked(capsys, file, *words)["error"]

    assert isinstance(error, dict)
    assert text in error["text"]
    assert hint in error["hint"]
    assert f"error: {error['text']}\n\nhint: {error['hint']}\n" in said


def test_other_makers_machines_get_what_each_alone_would(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = [("amd", "RX 7900 XTX", parsed("gfx1100")), ("intel", "Arc A770", None)]
    gpus = [Gpu(0, vendor, product, arch) for vendor, product, arch in made]
    alone = machine("n", "V100", (7, 0), "570.124.06")._replace(driver=None)
    fleet = write(tmp_path, [alone._replace(gpus=(gpu,), name=gpu.vendor) for gpu in gpus])

    assert main(["fleet", fleet]) == 0

    said = capsys.readouterr().out
    assert "torch 2.14.1+rocm7.2 for" in said  # not 7.14, whose libraries are apart
    assert "1 × Arc A770" in said
    assert main(["url", "--machine", fleet]) == 3
    assert "2 machines: what runs on one of them does not run on another" in capsys.readouterr().err


def test_an_odd_python_of_one_machine_is_said_of_that_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answer = asked(capsys, write(tmp_path, [V100, V100._replace(name="odd", python=Python("3.99"))]))

    assert (answer["exit"], [hosts for _, hosts in versions(answer)]) == (3, ["v1"])
    assert "Python 3.99" in answer["error"]["text"]  # type: ignore[index]


def test_a_driver_is_given_for_machines_that_do_not_name_theirs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = asked(capsys, write(tmp_path, [V100, V100._replace(name="v2", driver=None)]), "--driver", "470.256.02")

    drivers = {each["hosts"]: each["driver"]["version"] for each in answer["machines"]}  # type: ignore[attr-defined]
    assert drivers == {"v1": "580.95.05", "v2": "470.256.02"}


def test_who_is_left_out_is_named_and_strict_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    idle = machine("login", "x", (7, 0), "580")._replace(gpus=(), driver=None)
    sick = machine("s1", "x", (7, 0), "580")._replace(gpus=(), trouble=Trouble("DRIVER_MISMATCH", "updated", "reboot"))
    file = write(tmp_path, [*five("b"), idle, sick], "n9: bash: torchpick: command not found")

    answer = asked(capsys, file)

    left = {part["hosts"]: part["code"] for part in answer["left_out"]}  # type: ignore[attr-defined]
    assert (answer["exit"], left) == (0, {"login": "NO_GPU_LEFT_OUT", "s1": "DRIVER_MISMATCH", None: "UNREAD"})
    assert asked(capsys, file, "--strict")["exit"] == 4


def test_the_text_says_who_is_left_out_why_and_what_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each remedy once, below the causes that it is for; on stderr nothing of it again."""
    silent = machine("s1", "x", (7, 0), "580")._replace(gpus=())
    sick = [
        silent._replace(name=f"s{number}", trouble=Trouble("DRIVER_MISMATCH", text, hint))
        for number, (text, hint) in enumerate([("updated", "reboot"), ("hangs", "wait"), ("old", "reboot")], start=1)
    ]
    idle = silent._replace(name="login", driver=None)
    page = tmp_path / "fleet.html"

    assert main(["fleet", write(tmp_path, [V100, *sick, idle])]) == 0
    out, err = capsys.readouterr()
    assert out.endswith(
        "left out\n  cause  s1: updated\n         s3: old\n  try    reboot\n  cause  s2: hangs\n  try    wait\n"
        "  cause  login: no GPU, and other machines have one\n"
    )
    assert err == ""
    assert main(["fleet", str(tmp_path / "fleet.jsonl"), "--html", str(page)]) == 0
    assert "left out\n  cause  s1: updated\n" in page.read_text(encoding="utf-8")
    assert "s1: updated" in capsys.readouterr().err

    assert main(["fleet", write(tmp_path, sick)]) == 4
    err = capsys.readouterr().err
    assert "error: 3 machines did not answer\n  s1: updated; reboot\n  s2: hangs; wait\n" in err

    with (tmp_path / "fleet.jsonl").open("a", encoding="utf-8") as file:
        file.write("\nno machine\n")
    assert main(["fleet", file.name]) == 4
    err = capsys.readouterr().err
    assert err.startswith("error: 3 machines did not answer\n")
    assert "line 4: not JSON: no machine\n" in err


def test_two_thousand_equal_nodes_are_little_to_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nodes = [machine(f"n{number}", "A100", (8, 0), "580.95.05") for number in range(2000)]
    assert main(["fleet", write(tmp_path, nodes)]) == 0
    out, err = capsys.readouterr()
    assert "torch 2.15.0+cu132 for 2000 machines\n  hosts  n[0-1999]\n" in out
    assert len(out) + len(err) < 1000
    assert len(json.dumps(asked(capsys, str(tmp_path / "fleet.jsonl")))) < 10_000
    assert main(["--machine", str(tmp_path / "fleet.jsonl"), "--json"]) == 0
    assert len(capsys.readouterr().out) < 200_000


class Tags(HTMLParser):
    """The names of the elements, and the text of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_is_one_page_that_loads_and_runs_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = machine("e1", '<script>alert(1)</script>"><img src=x onerror=alert(2)>', (7, 0), "580.95.05")
    file = tmp_path / "report.html"

    assert main(["fleet", write(tmp_path, [*five("v"), evil]), "--html", str(file)]) == 0

    assert capsys.readouterr().out == f"{file}\n"
    page = file.read_text("utf-8")
    tags = Tags()
    tags.feed(page)
    assert not {"script", "img", "link", "iframe"} & set(tags.tags)
    assert "<script>alert(1)</script>" in tags.text
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=", page.replace("src=x", ""))


NO_NAMES = (
    "n\nNodeName=evil Gres=x", "a b", "\x1b[2J", "x\u2028y", "\ud800", "--all", "-o", "n[0-999999999]", "a,b",
    "x" * 254,
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_name_of_a_host_is_written_nowhere(
    form: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good = ["ok1", "me@n2.example.org:22", "fe80::1%eth0", "B_3"]
    named = [machine(name, "A100", (8, 0), "580.95.05") for name in (*NO_NAMES, *good)]
    file = write(tmp_path, [each._replace(gpus=(each.gpus[0]._replace(uuid=None),)) for each in named])
    out = tmp_path / "site"

    assert main(["fleet", file, "--emit", form, "--out", str(out)]) == 2
    assert "10 machines came without a name" in capsys.readouterr().err
    assert not out.exists()
    assert [count for count, _ in groups(asked(capsys, file))] == [14]

    assert main(["fleet", write(tmp_path, named[-len(good) :]), "--emit", form, "--out", str(out)]) == 0
    texts = "".join(path.read_text("utf-8") for path in out.rglob("*") if path.is_file())
    assert all(name in texts for name in good)


@pytest.mark.parametrize("form", FORMS)
def test_a_mirrors_login_is_in_no_file_and_its_address_works(
    form: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "site"
    words = [write(tmp_path, [V100]), "--index-base", "https://me:secret@mirror.example/whl"]

    assert main(["fleet", *words, "--emit", form, "--out", str(out)]) == 0

    said = capsys.readouterr()
    assert "the index without its login" in said.err
    files = [path for path in out.rglob("*") if path.is_file()]
    assert sorted(map(str, files)) == sorted(said.out.splitlines())
    texts = "".join(path.read_text("utf-8") for path in files)
    assert "secret" not in texts
    assert "****" not in texts
    assert "@mirror" not in texts
    install = "pip install --index-url https://mirror.example/whl/cu126 torch==2.14.1+cu126"
    assert install in texts or form == "kubernetes"
    answer = asked(capsys, *words)
    assert answer["plan"][0]["install"] == install  # type: ignore[index]
    assert "CREDENTIALS_LEFT_OUT" in {note["code"] for note in answer["notes"]}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["fleet", "x", "--html", ""], "`--html` needs a value"), (["fleet", ""], "a SOURCE is empty"),
        (["matrix", "--html", ""], "`--html` needs a value"), (["detect", "--into", ""], "`--into` needs a value"),
    ],
)  # fmt: skip
def test_an_empty_name_is_refused_with_its_flag(
    words: list[str], flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert flag in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "words",
    [[], ["torch<2.9"], ["x.json", "--emit", "slurm"], ["x.json", "--out", "d"], ["ssh:"], ["slurm", "--run"],
     ["kubernetes", "--run"], ["kubernetes", "--image", "i"], ["slurm", "--run", "--image", "i"],
     ["x.json", "--", "--gres=gpu"], ["x.json", "--max-environments", "0"]],
)  # fmt: skip
def test_what_cannot_be_meant(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", *words]) == 2
    assert "hint: " in capsys.readouterr().err


def test_a_cluster_that_does_not_answer_is_said_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = []
    for words in (["slurm:"], ["slurm:", "kubernetes"], ["slurm:", write(tmp_path, [V100])]):
        status = main(["fleet", *words])
        out, err = capsys.readouterr()
        text = out + err
        said.append((status, text.count("`scontrol` is not on PATH"), text.count("`kubectl` is not on PATH")))
        assert "left out\n  cause  `sc" in out if status == 0 else err.startswith("error: ")

    assert said == [(1, 1, 0), (1, 1, 1), (0, 1, 0)]


def test_the_library_answers_the_same() -> None:
    sick = machine("s1", "x", (7, 0), "580")._replace(gpus=(), trouble=Trouble("DRIVER_MISMATCH", "updated", "reboot"))
    groups = torchpick.fleet([*five(), sick])

    assert [(group.pick.version, group.hosts.text) for group in groups.groups] == [
        ("2.10.0+cu128", "a[1-300],b[1-40],h[1-200],l[1-60],v[1-400]"),
    ]
    assert [(left.hosts.text, left.code) for left in groups.left_out] == [("s1", "DRIVER_MISMATCH")]
    assert repr(groups).startswith("<Groups: torch 2.10.0+cu128 for 1000 machines")


def test_detect_replaces_a_link_in_the_place_of_its_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, precious = tmp_path / "nodes", tmp_path / "precious"
    nodes.mkdir()
    precious.write_text("mine", "utf-8")
    (tmp_path / "linked").symlink_to(nodes)
    monkeypatch.setenv("TORCHPICK_GPU", "a100")
    (nodes / "n1.json").symlink_to(precious)
    (nodes / "n2.json").symlink_to(tmp_path / "made-elsewhere")
    (nodes / "n3.json").symlink_to(os.devnull)
    (nodes / "n4.json").write_text("old", "utf-8")
    (nodes / "n4.json").chmod(0o640)
    for name in ("n1", "n2", "n3", "n4", "../n5"):
        monkeypatch.setenv("SLURMD_NODENAME", name)
        assert main(["detect", "--into", str(tmp_path / "linked"), "--python", "3.12"]) == 0
    capsys.readouterr()

    assert precious.read_text("utf-8") == "mine"
    assert not (tmp_path / "made-elsewhere").exists()
    assert all(path.is_file() and not path.is_symlink() for path in nodes.iterdir())
    assert (nodes / "n4.json").stat().st_mode & 0o777 == 0o640
    assert groups(asked(capsys, str(nodes))) == [(5, "_n5,n[1-4]")]


@pytest.mark.parametrize("words", [[], ["--compact"]])
def test_detect_says_in_json_what_it_wrote(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHPICK_GPU", "a100")
    monkeypatch.setenv("SLURMD_NODENAME", "n1")

    assert main(["detect", "--into", str(tmp_path), "--json", *words]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["files"] == [str(tmp_path / "n1.json")]
    assert main(["detect", "--json", *words]) == 0
    assert told == {**json.loads(capsys.readouterr().out), "files": told["files"]}
    assert Machine.from_dict(told["machine"]).name == "n1"


def test_a_machine_without_a_gpu_is_shown_without_its_driver(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = machine(None, "x", (8, 0), "580.95.05")._replace(gpus=())
    (tmp_path / "fleet").write_text(json.dumps(bare.to_dict()), "utf-8")

    assert main(["fleet", str(tmp_path / "fleet")]) == 0

    out = capsys.readouterr().out
    assert out.startswith("1 machine, 1 environment\n\ntorch 2.15.0+cpu for 1 machine\n")
    assert "\n  gpus   1 × linux-x86_64 without a GPU\n  run    pip install " in out
