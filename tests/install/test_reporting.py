"""What pip's report and uv's lock say of each package, and what is made of one that says anything else."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from torchpick.errors import InstallerError
from torchpick.install.reporting import ReportedPackage, read_pip_report, read_uv_lock, resolver_error
from torchpick.model.address import Address

SHA = "5" * 64
WHEEL = "https://h.example/My_Lib-1.0-py3-none-any.whl"
SOURCE = "https://h.example/my-lib-1.0.tar.gz"
COMMIT = "c" * 40
CHATTER = (
    "Looking in indexes: https://h.example/simple", "Collecting a", "  Downloading a-1.whl (5 kB)",
    "  Using cached b-1.whl (3 kB)", "Obtaining c from /srv/c", "WARNING: x is old", "Processing /srv/d.whl", "",
)  # fmt: skip


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (
            f'[[packages.wheels]]\nurl = "{WHEEL}"\nsize = 5\nhashes = {{sha256 = "{SHA}"}}',
            ReportedPackage("my-lib", "1.0", WHEEL, source="wheels", files=((Address(WHEEL), SHA, 5),)),
        ),
        # The wheels are taken where there is a source too.
        (
            f'sdist = {{url = "{SOURCE}"}}\nwheels = [{{url = "{WHEEL}"}}, {{url = "{WHEEL}2"}}]',
            ReportedPackage(
                "my-lib", "1.0", WHEEL, source="wheels",
                files=((Address(WHEEL), None, None), (Address(f"{WHEEL}2"), None, None)),
            ),
        ),
        (
            f'sdist = {{url = "{SOURCE}", hashes = {{sha256 = "{SHA[1:]}"}}}}',
            ReportedPackage("my-lib", "1.0", SOURCE, source="sdist", files=((Address(SOURCE), None, None),)),
        ),
        (
            f'archive = {{url = "{SOURCE}", hashes = {{sha256 = "{SHA}"}}}}',
            ReportedPackage("my-lib", "1.0", SOURCE, source="archive", files=((Address(SOURCE), SHA, None),)),
        ),
        ("", ReportedPackage("my-lib", "1.0", "", source="")),
    ],
)  # fmt: skip
def test_a_package_of_uvs_lock(place: str, expected: ReportedPackage) -> None:
    assert read_uv_lock(f'[[packages]]\nname = "My.Lib"\nversion = "1.0"\n{place}\n') == (expected,)


def test_a_place_of_this_computer_and_a_repository_in_uvs_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = (tmp_path / "lib").as_uri()
    (folder,) = read_uv_lock('[[packages]]\nname = "lib"\ndirectory = {path = "lib"}\n')
    vcs = f'{{type = "git", url = "https://h.example/lib", commit-id = "{COMMIT}", requested-revision = "v1"}}'
    (repository,) = read_uv_lock(f'[[packages]]\nname = "lib"\nvcs = {vcs}\n')

    assert folder == ReportedPackage("lib", "", here, source="directory", files=((Address(here), None, None),))
    assert (repository.source, repository.version, repository.url) == ("vcs", "", "https://h.example/lib")
    assert read_uv_lock("") == ()


GOOD = {"metadata": {"name": "a", "version": "1"}, "download_info": {"url": "https://h.example/a.whl"}}


@pytest.mark.parametrize(
    ("info", "is_direct", "source"),
    [
        ({"url": WHEEL}, False, "wheels"), ({"url": f"{WHEEL}#sha256={SHA}"}, False, "wheels"),
        ({"url": SOURCE}, False, "sdist"), ({"url": WHEEL}, True, "archive"),
        ({"url": "file:///lib", "dir_info": {}}, True, "directory"), ({"url": WHEEL, "vcs_info": {}}, True, "vcs"),
    ],
)  # fmt: skip
def test_where_a_package_of_pips_report_comes_from(info: dict[str, object], is_direct: bool, source: str) -> None:
    info |= {"archive_info": {"hashes": {"sha256": SHA.replace("5", "A")}}}
    (found,) = read_pip_report(json.dumps({"install": [{**GOOD, "download_info": info, "is_direct": is_direct}]}))

    url = Address(str(info["url"]))
    files = () if source == "vcs" else ((url, "a" * 64, None),)
    assert found == ReportedPackage("a", "1", url, source, files)


@pytest.mark.parametrize(
    "report",
    [
        "", "[" * 100_000, "{}", "[]", '{"install": [5]}', '{"install": 5}',
        '{"install": [{"metadata": {}, "download_info": {"url": "u"}}]}',
        json.dumps({"install": [{**GOOD, "metadata": {"name": 5, "version": "1"}}]}),
        json.dumps({"install": [{**GOOD, "download_info": {"url": "u", "archive_info": [5]}}]}),
        json.dumps({"install": [{**GOOD, "download_info": {"url": "u", "vcs_info": []}}]}),
        json.dumps({"install": [{**GOOD, "download_info": {"url": "https://h.example/a.whl #x"}}]}),
        json.dumps({"install": [{**GOOD, "metadata": {"name": "a\n", "version": "1"}}]}),
        json.dumps({"install": [{**GOOD, "metadata": {"name": "a", "version": "1 ; x"}}]}),
        json.dumps({"install": [{**GOOD, "metadata": {"name": "a", "version": ""}}, {}]}),
    ],
)  # fmt: skip
def test_a_report_that_is_none_is_called_that(report: str) -> None:
    with pytest.raises(InstallerError, match="pip's report is not valid") as caught:
        read_pip_report(report)
    assert caught.value.hint == "`--installer uv`"


@pytest.mark.parametrize(
    "lock",
    [
        "[", "packages = 5", "packages = [5]", "[[packages]]", "[[packages]]\nname = 5",
        '[[packages]]\nname = "a"\nwheels = [5]', '[[packages]]\nname = "a"\nvcs = 5', '[[packages]]\nname = "a b"',
        '[[packages]]\nname = "a"\nversion = "1\\n--pre"',
        '[[packages]]\nname = "a"\nversion = "1"\narchive = {url = "https://h.example/a b"}',
    ],
)  # fmt: skip
def test_a_lock_that_is_none_is_called_that(lock: str) -> None:
    with pytest.raises(InstallerError, match="uv's lock is not valid") as caught:
        read_uv_lock(lock)
    assert caught.value.hint == "`--installer pip`"


@pytest.mark.parametrize(
    ("installer", "heard", "words"),
    [
        ("uv", CompletedProcess((), 2, "not this", "because of that"), "because of that"),
        ("pip", CompletedProcess((), 1, "a conflict", "ERROR: of this"), "a conflict\nERROR: of this"),
        ("uv", CompletedProcess((), -9, "not this", " \n"), "it exited with status -9"),
        ("uv", CompletedProcess((), 2, "", "\n\n".join(map(str, range(20)))), "\n".join(map(str, range(4, 20)))),
        ("uv", CompletedProcess((), 2, "", "\n".join((*CHATTER, "ERROR: x", *CHATTER))), "ERROR: x"),
        ("uv", CompletedProcess((), 2, "", "see https://me:secret@h.example/"), "see https://me:****@h.example/"),
    ],
)
def test_a_refusal_is_the_end_of_what_the_installer_said(
    installer: str, heard: CompletedProcess[str], words: str
) -> None:
    error = resolver_error(installer, heard)

    assert error.message == f"{installer} could not resolve the requirements:\n{words}"
    assert (error.installer, error.exit_status) == (installer, max(heard.returncode, 1))
    assert str(error.hint).startswith(f"the words are {installer}'s own; ")
