"""torchpick-data as it is published: the same bytes twice, and installed beside torchpick it answers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.shipping import building, data, data_answers, release
from torchpick.knowledge import locations
from torchpick.knowledge.locations import DataPackage

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_day_of_the_table() -> None:
    assert data.version_of("2026-11-02") == "2026.11.2"


@pytest.mark.process
def test_it_is_built_byte_for_byte_and_holds_every_file(tmp_path: Path) -> None:
    first, second = (data.build(ROOT / "compat", tmp_path / name) for name in ("first", "second"))

    assert building.differences(first, second) == []
    source, wheel = first
    names = set(zipfile.ZipFile(wheel).namelist())
    table = {f"torchpick_data/compat/{path.relative_to(ROOT / 'compat')}" for path in (ROOT / "compat").rglob("*.json")}
    assert table <= names
    assert not [name for name in names if name.endswith(".py") and name != "torchpick_data/__init__.py"]
    with tarfile.open(source) as archive:
        assert table <= {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.process
def test_installed_beside_torchpick_it_answers(tmp_path: Path) -> None:
    """Both wheels unpacked into one folder, as an installer lays them; the table is of the far future."""
    compat, site = tmp_path / "compat", tmp_path / "site"
    shutil.copytree(ROOT / "compat", compat)
    for name in ("date.json", "index/rules.json"):
        text = (compat / name).read_text()
        (compat / name).write_text(text.replace(data.date_of(ROOT / "compat"), "2031-02-03"))
    index = compat / "index" / "linux-x86_64.json"
    index.write_text(index.read_text().replace("2.14.1", "2.14.9"))
    _, wheel = data.build(compat, tmp_path / "dist")
    for file in (wheel, building.distributions(ROOT, tmp_path / "cli")[1]):
        shutil.unpack_archive(file, site, "zip")
    program = f"import sys; sys.path.insert(0, {str(site)!r}); from torchpick.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *data_answers.QUESTION[1:], "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    assert json.loads(done.stdout)["pick"]["version"] == "2.14.9+cu126"


@pytest.mark.process
def test_a_release_of_the_table_needs_the_tag_of_its_day(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert release.main(["--tag", "data-2020.1.1", "--out", str(tmp_path)]) == 1
    number = data.version_of(data.date_of(ROOT / "compat"))
    assert f"the tag must be data-{number}" in capfd.readouterr().err

    assert release.main(["--tag", f"data-{number}", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        f"torchpick_data-{number}-py3-none-any.whl", f"torchpick_data-{number}.tar.gz", "torchpick-data.cdx.json",
    }  # fmt: skip
    assert re.search(r"torchpick_data.compat: .* torch==2\.", capfd.readouterr().out), "what was built was asked"


@pytest.mark.process
def test_its_bill_of_materials_names_its_files(tmp_path: Path) -> None:
    number = data.version_of(data.date_of(ROOT / "compat"))
    assert release.main(["--tag", f"data-{number}", "--out", str(tmp_path), "--without-tests"]) == 0

    bill = json.loads((tmp_path / "torchpick-data.cdx.json").read_text())
    named = bill["metadata"]["component"]
    assert (named["type"], named["purl"]) == ("data", f"pkg:pypi/torchpick-data@{number}")
    assert named["licenses"] == [{"license": {"id": "MIT"}}]
    assert {each["name"]: each["hashes"][0]["content"] for each in bill["components"]} == {
        file.name: building.sha256(file) for file in tmp_path.iterdir() if file.name.startswith("torchpick_data-")
    }


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package of this very table, as old as torchpick's own."""
    folder = tmp_path / "torchpick_data"
    data.lay_out(ROOT / "compat", folder)
    monkeypatch.setattr(locations, "data_package", DataPackage(str(folder)))
    return folder


def test_the_table_of_the_same_day_is_read_by_its_test(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = installed / "compat" / "index" / "linux-x86_64.json"
    index.write_text(index.read_text().replace("2.14.1", "2.14.9"))

    assert data_answers.main() == 0
    assert f"{installed / 'compat'}: " in (said := capsys.readouterr().out)
    assert "torch==2.14.9+cu126" in said


def lose_a_file(folder: Path) -> None:
    (folder / "compat" / "gpus.json").unlink()


def know_no_release(folder: Path) -> None:
    index = folder / "compat" / "index" / "linux-x86_64.json"
    index.write_text(index.read_text().replace('"2.', '"1.'))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lose_a_file, "as it is damaged (gpus.json: "),
        (shutil.rmtree, "is not installed beside torchpick"),
        (know_no_release, "the table does not answer"),
    ],
)
def test_a_table_that_does_not_answer_fails_its_test(
    harm: Callable[[Path], None], says: str, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harm(installed)

    assert data_answers.main() == 1
    assert says in capsys.readouterr().err
