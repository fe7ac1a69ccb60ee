"""Where the family came from: what an environment shows of it, and what it does not."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable

import pytest

from tests.doctor.homes import Home, examine
from torchpick.cli import main
from torchpick.doctor import examination, provenance
from torchpick.environment import distributions
from torchpick.model.build import Build
from torchpick.model.finding import Finding
from torchpick.model.request import Request
from torchpick.session import Session

pytestmark = pytest.mark.process
HOST = "https://download.pytorch.org/whl/cu128"
SHA = "a" * 64


def from_url(home: Home, url: object, sha256: str | None = SHA, **more: object) -> Home:
    """A torch with the direct_url.json that an installer writes for a URL."""
    home.torch()
    archive = {"archive_info": {"hashes": {"sha256": sha256}} if sha256 else {}}
    home.write("torch-2.9.1.dist-info/direct_url.json", json.dumps({"url": url, **archive, **more}))
    _record(home)
    return home


def _record(home: Home) -> None:
    lines = []
    for name in ("torch/__init__.py", "torch/version.py", "torch/lib/libtorch_cpu.so"):
        data = (home.site / name).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    (home.site / "torch-2.9.1.dist-info" / "RECORD").write_text("".join(lines))


def looked_at(home: Home, base: str | None = None) -> tuple[list[Finding], tuple[str, ...]]:
    session = Session(Request(gpus=("sm_86",), python=home.python, index_base=base), {"HOME": str(home.root)})
    exam = examination.with_provenance(examination.examine(session, str(home.root)), session)
    return [*exam.findings], exam.origins


def test_a_wheel_of_the_wheel_host_is_shown_with_its_hash(home: Home) -> None:
    url = f"{HOST}/torch-2.9.1%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl"

    findings, origins = looked_at(from_url(home, url))

    assert findings == []
    assert origins == (f"torch 2.9.1: {url}, sha256 {SHA}",)


def test_what_else_is_wrong_is_said_too(home: Home) -> None:
    (from_url(home, "https://mirror.example/whl/cu128/torch.whl").site / "torch" / "__init__.py").unlink()

    assert {"TORCH_BROKEN", "ORIGIN_OTHER"} <= {each.code for each in looked_at(home)[0]}


@pytest.mark.parametrize(
    ("url", "base", "code"),
    [
        ("https://mirror.example/whl/cu128/torch.whl", None, "ORIGIN_OTHER"),
        ("https://mirror.example/whl/cu128/torch.whl", "https://mirror.example/whl", None),
        ("https://mirror.example/other/torch.whl", "https://mirror.example/whl", "ORIGIN_OTHER"),
        ("http://download.pytorch.org/whl/cu128/torch.whl", None, "ORIGIN_OTHER"),
        ("https://download.pytorch.org.example/whl/cu128/torch.whl", None, "ORIGIN_OTHER"),
        ("https://user@download.pytorch.org@evil.example/whl/torch.whl", None, "ORIGIN_OTHER"),
        ("https://download-r2.pytorch.org/whl/cu128/torch.whl", None, None),
        (17, None, "ORIGIN_UNKNOWN"),
    ],
)
def test_another_place_is_said(url: object, base: str | None, code: str | None, home: Home) -> None:
    findings, _ = looked_at(from_url(home, url), base)

    assert [finding.code for finding in findings] == ([] if code is None else [code])


def test_what_came_through_an_index_or_from_source_is_not_claimed(home: Home) -> None:
    home.torch()
    _record(home)

    assert [finding.code for finding in looked_at(home)[0]] == ["ORIGIN_UNKNOWN"]
    home.write("torch-2.9.1.dist-info/direct_url.json", json.dumps({"url": "file:///src/pytorch", "dir_info": {}}))
    (finding,) = looked_at(home)[0]
    assert "built from source" in finding.text
    home.write("torch-2.9.1.dist-info/direct_url.json", "[")
    assert [finding.code for finding in looked_at(home)[0]] == ["ORIGIN_UNKNOWN"]


def test_a_file_that_is_not_as_it_was_recorded_is_named(home: Home) -> None:
    from_url(home, f"{HOST}/torch.whl")
    home.write("torch/__init__.py", "import evil\n")

    (finding,) = looked_at(home)[0]

    assert finding.code == "FILES_CHANGED"
    assert finding.seen["files"] == ["torch/__init__.py"]


def test_the_hash_that_the_table_knows_is_held_against_it(home: Home) -> None:
    from_url(home, f"{HOST}/torch-2.9.1%2Bcu128-cp312.whl")
    here = distributions.read(home.python, {})
    facts = examine(home, "sm_86").facts
    assert facts.torch is not None
    assert facts.torch.verdict is not None
    build = facts.torch.verdict.build

    def found(sha256: str, file: str = "torch-2.9.1+cu128-cp312.whl", between: str = " sha256:") -> list[str]:
        evidence = build.evidence._replace(ref=f"{'c' * 64} {file}{between}{sha256}")
        of = provenance.of(here, ("torch",), "https://download.pytorch.org/whl", [build._replace(evidence=evidence)])
        return [f"{finding.severity} {finding.code}" for finding in of.findings]

    assert found(SHA) == []
    for file in ("torch-2.9.1+cu128-cp312.whl", "torch-2.9.1%2Bcu128-cp312.whl"):
        assert found("b" * 64, file) == ["error ORIGIN_OTHER"]
    # What stands far behind is of another file.
    assert found("b" * 64, between=" " * 136) == ["error ORIGIN_OTHER"]
    assert found("b" * 64, between=" " * 137) == found("b" * 64, "other.whl") == []


def test_the_command_shows_it(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    from_url(home, "https://anna:hunter2@mirror.example/whl/torch.whl")

    assert main(["doctor", "--python", home.python, "--gpu", "sm_86", "--provenance"]) == 0
    out = capsys.readouterr().out
    assert "ORIGIN_OTHER" in out
    assert "hunter2" not in out
    assert main(["doctor", "--python", home.python, "--gpu", "sm_86"]) == 0
    assert "ORIGIN" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "url", "sha256", "is_source"),
    [
        ({"url": "u", "archive_info": {"hashes": {"sha256": SHA}}}, "u", SHA, False),
        ({"url": "u", "archive_info": {"hash": f"sha256={SHA}"}}, "u", SHA, False),
        ({"url": "u", "archive_info": {"hashes": {"sha256": SHA}, "hash": "sha256=other"}}, "u", SHA, False),
        ({"url": "u", "archive_info": {"hash": "md5=1"}}, "u", None, False),
        ({"url": "u", "archive_info": {"hashes": {"sha256": 3}, "hash": f"sha256={SHA}"}}, "u", None, False),
        ({"url": "u", "archive_info": {"hashes": 3, "hash": 4}}, "u", None, False),
        ({"url": "u", "archive_info": {}}, "u", None, False),
        ({"url": "u", "vcs_info": {}}, "u", None, True),
        ({"archive_info": {}}, None, None, False),
        (["url"], None, None, False),
    ],
)
def test_what_an_installer_wrote_is_read(
    said: object, url: str | None, sha256: str | None, *, is_source: bool, home: Home
) -> None:
    home.torch().write("torch-2.9.1.dist-info/direct_url.json", json.dumps(said))
    torch = distributions.read(home.python, {}).find("torch")
    assert torch is not None

    assert provenance.read(torch) == provenance.RecordedOrigin(url, sha256, is_source)


def test_each_finding_says_what_it_rests_on_and_what_is_shown_is_listed(home: Home) -> None:
    url = "https://anna:hunter2@download.pytorch.org/whl/cu128/torch.whl"
    from_url(home, url)

    findings, shown = looked_at(home)
    assert findings == []
    assert shown == (f"torch 2.9.1: https://anna:****@download.pytorch.org/whl/cu128/torch.whl, sha256 {SHA}",)

    (finding,) = looked_at(home, "https://own.example/whl/")[0]
    assert finding.seen == {"package": "torch 2.9.1", "url": url, "sha256": SHA}
    assert finding.text.endswith("which is not below https://own.example/whl")
    home.write("torch-2.9.1.dist-info/direct_url.json", json.dumps({"url": url, "archive_info": {}}))
    assert looked_at(home)[1] == (f"torch 2.9.1: {url.replace('hunter2', '****')}",)
    # What was changed since is still from there.
    home.write("torch/__init__.py", "import evil\n")
    assert len(looked_at(home)[1]) == 1


@pytest.mark.parametrize(
    ("url", "base", "other"),
    [
        ("https://download-r2.pytorch.org/whl/cu128/torch.whl", None, False),
        ("https://other.example/whl/torch.whl", None, True),
        ("https://own.example/wheels/torch.whl", "flat+https://own.example/wheels/", False),
        ("https://own.example/wheels-of-others/torch.whl", "flat+https://own.example/wheels", True),
        ("https://download.pytorch.org/whl/torch.whl", "https://own.example/whl", True),
        ("https://own.example/torch.whl", "https://own.example/X/", True),
    ],
)
def test_only_what_lies_below_the_index_is_from_there(url: str, base: str | None, *, other: bool, home: Home) -> None:
    findings, _ = looked_at(from_url(home, url), base)

    assert [finding.code for finding in findings] == (["ORIGIN_OTHER"] if other else [])


def test_what_installers_write_themselves_and_what_is_large_is_not_hashed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_url(home, f"{HOST}/torch.whl")
    written = ("INSTALLER", "REQUESTED", "RECORD", "uv_cache.json", "uv_build.json", "direct_url.json")
    lines = [f"torch-2.9.1.dist-info/{name},sha256=x,1\n" for name in written]
    lines += ["/etc/passwd,sha256=x,1\n", "../../bin/torchrun,sha256=x,1\n", "torch/gone.py,sha256=x,1\n"]
    lines += [f"torch/part{number}.py,sha256=x,1\n" for number in range(5)]
    record = home.site / "torch-2.9.1.dist-info" / "RECORD"
    record.write_text("".join(lines))
    for name in ("REQUESTED", "uv_cache.json", "uv_build.json"):
        home.write(f"torch-2.9.1.dist-info/{name}", "x")
    (home.site.parents[1] / "bin").mkdir(exist_ok=True)
    for number in range(5):
        home.write(f"torch/part{number}.py", "y")

    def changed() -> list[Finding]:
        return [finding for finding in looked_at(home)[0] if finding.code == "FILES_CHANGED"]

    (finding,) = changed()
    assert finding.seen == {"package": "torch 2.9.1", "files": [f"torch/part{number}.py" for number in range(5)]}
    assert finding.text.endswith("torch/part0.py, torch/part1.py, torch/part2.py and 2 more")
    # By the size alone, beyond what is hashed.
    monkeypatch.setattr(provenance, "_MOST_FILE", 0)
    assert changed() == []
    record.write_text("torch/part0.py,sha256=x,2\ntorch/part1.py,sha256=x,\n")
    assert changed()[0].seen["files"] == ["torch/part0.py"]
    monkeypatch.setattr(provenance, "_MOST_FILE", 1 << 20)
    monkeypatch.setattr(provenance, "_MOST_BYTES", 1)
    record.write_text("torch/part0.py,sha256=x,1\ntorch/part1.py,sha256=x,1\n")
    assert changed()[0].seen["files"] == ["torch/part0.py"]


@pytest.mark.parametrize("version", ["2.9.1", "99.1", None])
def test_the_builds_of_the_installed_release_are_what_it_is_held_against(
    version: str | None, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[str]] = []

    def instead(_here: object, _family: object, _base: object, builds: Iterable[Build]) -> provenance.Provenance:
        asked.append({build.torch for build in builds})
        return provenance.Provenance((), ())

    monkeypatch.setattr(provenance, "of", instead)
    if version is not None:
        home.torch(f"{version}+cu128")
    looked_at(home)

    assert asked == [{version} if version == "2.9.1" else set()]
