"""Environments in every state: read in place, nothing of them run, nothing written, nothing that ends the reading."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.doctor.homes import BASE, VERSION, Home, codes, examine, snapshot
from torchpick.environment import distributions, interpreter
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.fields import Fields
from torchpick.model.metadata import MOST_REQUIRES

pytestmark = pytest.mark.process


def test_names_versions_and_requirements_come_from_the_metadata_s_head(home: Home) -> None:
    home.add("Some.Thing", "1.2", requires=["torch (==2.9.1)", "numpy; extra == 'x'"])

    (one,) = distributions.read_environment(home.python, {}).distributions

    assert (one.name, one.version, one.folder) == ("some-thing", "1.2", str(home.site))
    assert one.requires == ("torch (==2.9.1)", "numpy; extra == 'x'")
    assert one.faults == ()


def test_of_more_requirements_than_any_package_has_the_first_are_read(home: Home) -> None:
    home.add("hostile", "1.0", requires=[f"a{number}" for number in range(MOST_REQUIRES + 5)])

    (one,) = distributions.read_environment(home.python, {}).distributions

    assert len(one.requires) == MOST_REQUIRES


def test_without_metadata_names_come_from_the_folders(home: Home) -> None:
    home.add("torch", "2.9.1", without=["METADATA"])
    home.write("egg-2.0-py3.12.egg-info", "Version: 3.0\n")

    found = distributions.read_environment(home.python, {}, metadata=False).distributions

    assert [(one.name, one.version, one.requires) for one in found] == [("egg", "2.0", ()), ("torch", "2.9.1", ())]


def test_an_old_egg_info_counts(home: Home) -> None:
    home.write("old-1.0-py3.12.egg-info", "Name: old\nVersion: 1.0\nRequires-Dist: torch\n\n")
    home.write("older.egg-info/PKG-INFO", "Name: older\nVersion: 0.9\n")

    found = distributions.read_environment(home.python, {}).distributions

    assert [(each.name, each.version, each.faults) for each in found] == [("old", "1.0", ()), ("older", "0.9", ())]


def test_broken_metadata_and_record_are_said_and_survived(home: Home) -> None:
    home.torch()
    home.add("gone", "1.0", without=["METADATA", "RECORD"])
    home.write("empty-1.0.dist-info/METADATA", b"")
    home.write("binary-2.0.dist-info/METADATA", b"\xff\xfe\0" * 100)
    home.write(
        "binary-2.0.dist-info/RECORD", b"\0\0,,\n" + b"x" * 70_000 + b"\nlib/a.so,sha256=x,1\n../../../etc/x.so,,\n"
    )

    read = distributions.read_environment(home.python, {})
    faults = {each.name: each.faults for each in read.distributions}

    assert faults["gone"] == ("METADATA is missing", "RECORD is missing")
    assert faults["empty"] == ("METADATA is empty", "RECORD is missing")
    binary = read.find("binary")
    assert binary is not None
    assert distributions.libraries(binary) == ("lib/a.so",)
    assert codes(examine(home, "sm_86")) == []


def test_the_files_of_a_record_have_their_commas_and_lose_what_is_no_name(tmp_path: Path) -> None:
    one = distributions.Distribution("thing", "1.0", str(tmp_path), "thing-1.0.dist-info")
    record = tmp_path / one.info / "RECORD"
    record.parent.mkdir()
    lines = ["a.so,sha256=x,1", '"b,c.so",,', "", "zero\0byte.so,,", f"{'x' * 4096}.so,,", "../../bin/d.dll,,"]
    record.write_text("\n".join((*lines, "E.DLL,,", "a.so,,")), "utf-8")

    assert distributions.files(one) == ("a.so", "b,c.so", "../../bin/d.dll", "E.DLL")
    assert distributions.libraries(one) == ("a.so", "b,c.so", "E.DLL")


def test_two_projects_share_a_library_only_in_one_folder(tmp_path: Path) -> None:
    for name, files in (("one", "a.so,,\nb.so,,\n"), ("other", "c.so,,\nb.so,,\n"), ("third", "c.so,,\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "RECORD").write_text(files, "utf-8")
    one, other, third = (distributions.Distribution(n, "1", str(tmp_path), n) for n in ("one", "other", "third"))

    assert distributions.overwritten(one, other) == "b.so"
    assert distributions.overwritten(one, third) is None
    (tmp_path / "x" / "other").mkdir(parents=True)
    (tmp_path / "x" / "other" / "RECORD").write_text("b.so,,\n", "utf-8")
    assert distributions.overwritten(one, other._replace(folder=str(tmp_path / "x"))) is None


def test_without_record_the_project_s_own_folders_are_walked(home: Home) -> None:
    """As conda and Debian leave it out."""
    files = {"thing/deep/_C.so.1": b"x", "thing/text.txt": b"x", "other/_C.so": b"x"}
    info = home.add("thing", "1.0", files, without=["RECORD"])
    (info / "top_level.txt").write_text("thing\n..\n/etc\n", "utf-8")
    (home.site / "thing" / "up").symlink_to(home.site)

    (one,) = distributions.read_environment(home.python, {}).distributions

    assert distributions.libraries(one) == ("thing/deep/_C.so.1",)


def test_a_folder_that_cannot_be_read_is_a_fault(home: Home, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    (home.site / "here.pth").write_text(f"{loop}\nimport os\n{tmp_path / 'not-there'}\n\0\n", "utf-8")
    home.add("thing", "1.0")

    found = distributions.read_environment(home.python, {})

    assert found.sites == (str(home.site),)
    assert [each.name for each in found.distributions] == ["thing"]


def test_the_search_path_has_pythonpath_pth_files_and_the_user_s_folder(tmp_path: Path) -> None:
    home = Home(tmp_path / "env", shared=True)
    more, told = tmp_path / "more", tmp_path / "given"
    user = tmp_path / "user" / "lib" / f"python{VERSION}" / "site-packages"
    for folder in (more, told, user):
        folder.mkdir(parents=True)
    (home.site / "more.pth").write_text(f"# a comment\n{more}\n", "utf-8")

    # `site` asks for the user's folder by this variable, which the child is given.
    user_base = {"PYTHONUSERBASE": str(tmp_path / "user")}
    found = distributions.read_environment(home.python, {**user_base, "PYTHONPATH": str(told)}).sites
    without = distributions.read_environment(home.python, {**user_base, "PYTHONNOUSERSITE": "1"}).sites

    assert found[:4] == (str(told), str(home.site), str(more), str(user))
    assert str(user) not in without


def test_the_user_s_folder_goes_before_the_interpreter_s_and_behind_an_environment_s(tmp_path: Path) -> None:
    site, user, base = folders = [tmp_path / name for name in ("site", "user", "base")]
    for folder in folders:
        folder.mkdir()
    answer = Fields({"sites": [str(site)], "user": str(user), "base_sites": [str(base)]})
    shared = {"include-system-site-packages": "true"}

    found = [interpreter.search_path(answer, settings, {}) for settings in (None, shared, {})]

    assert found == [tuple(map(str, paths)) for paths in ((user, site), (site, user, base), (site,))]


def test_an_environment_of_its_own_does_not_look_beyond(home: Home) -> None:
    assert distributions.read_environment(home.python, {}).sites == (str(home.site),)


def test_torch_in_two_folders_of_the_search_path_is_a_finding(home: Home, tmp_path: Path) -> None:
    home.torch()
    other = Home(tmp_path / "other").torch("2.8.0+cpu", None, None)
    (home.site / "other.pth").write_text(f"{other.site}\n", "utf-8")

    found = examine(home, "sm_86")

    assert codes(found) == ["TORCH_TWICE"]
    assert found.subject.torch is not None
    assert found.subject.torch.version == "2.9.1+cu128"


def test_an_environment_whose_interpreter_is_gone_or_does_not_run_is_an_error(home: Home) -> None:
    program = home.root / "bin" / "python"
    program.unlink()
    with pytest.raises(TorchpickError, match="is gone; it was made by the Python in"):
        distributions.locate(str(home.root), {})
    program.write_text("#!/bin/sh\necho no >&2\nexit 7\n", "utf-8")
    program.chmod(0o755)
    with pytest.raises(TorchpickError, match="or is broken: no"):
        distributions.locate(str(home.root), {})


@pytest.mark.parametrize("name", ["nowhere/python", "nowhere", "file"])
def test_what_is_no_python_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("#!/bin/sh\necho '{\"version\": 3}'\n", "utf-8")
    (tmp_path / "file").chmod(0o755)

    with pytest.raises(TorchpickError) as caught:
        distributions.locate(str(tmp_path / name), {})

    assert caught.value.hint is not None
    assert isinstance(caught.value, UsageError) == ("nowhere" in name)


def test_a_folder_stands_for_its_interpreter_and_a_plain_python_for_itself(home: Home) -> None:
    home.add("thing", "1.0")

    assert distributions.read_environment(str(home.root), {}).find("thing") is not None
    plain = distributions.read_environment(BASE, {})
    assert plain.prefix == str(Path(BASE).parents[1])
    assert plain.find("thing") is None
    assert not distributions.locate(str(home.root), {}).by_uv
    (home.root / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.9\n", "utf-8")
    assert distributions.locate(str(home.root), {}).by_uv


def test_nothing_is_written_and_none_of_its_code_runs(home: Home, tmp_path: Path) -> None:
    """Not sitecustomize, not the import lines of .pth files, not torch."""
    trap = f"open({str(tmp_path / 'ran')!r}, 'a').write('ran')\n"
    home.torch(more={"torch/__init__.py": trap})
    home.write("sitecustomize.py", trap)
    home.write("usercustomize.py", trap)
    home.write("trap.pth", f"import os; {trap}")
    before = snapshot(home.root)

    examine(home, "sm_61", environ={"PYTHONPATH": str(home.site)})

    assert snapshot(home.root) == before
    assert not (tmp_path / "ran").exists()


DEBIANS = Path("/usr/bin/python3")


@pytest.mark.process
@pytest.mark.skipif(not list(Path("/usr/lib/python3").glob("dist-packages")), reason="no Python of Debian or Ubuntu")
@pytest.mark.parametrize("shared", [False, True])
def test_an_environment_of_debians_own_python_is_read_from_outside(tmp_path: Path, *, shared: bool) -> None:
    """Its `site` names dist-packages wherever it takes itself for the system's Python."""
    root = tmp_path / "venv"
    words = ["--system-site-packages"] if shared else []
    subprocess.run([DEBIANS, "-m", "venv", "--without-pip", *words, root], check=True, timeout=60)
    (site,) = root.glob("lib/python*/site-packages")
    (site / "torch-2.9.1.dist-info").mkdir()

    found = distributions.read_environment(str(root), {"PYTHONNOUSERSITE": "1"})

    torch = found.find("torch")
    assert torch is not None
    assert (torch.version, torch.folder) == ("2.9.1", str(site))
    assert found.sites[0] == str(site)
    assert ("/usr/lib/python3/dist-packages" in found.sites) is shared
