"""What every test starts from: no settings of torchpick, pip and uv, a frozen table, and a cache of its own."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings

from scripts.table import index
from tests import hostile, skips, tables, usersettings
from tests.fakes import pythons
from tests.fakes.projectreader import MadeUpReader
from torchpick.environment import interpreter, toolsettings
from torchpick.index.index_places import IndexPlaces
from torchpick.index.projects import ProjectReader
from torchpick.install import learner
from torchpick.knowledge import locations
from torchpick.machine import computer
from torchpick.machine.kernel import LookOptions, Seen
from torchpick.model.machine import Platform

pytest_plugins = ["tests.recorded"]

# Drawn anew in each run, so that fewer at a time are no less in the end.
settings.register_profile("house", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

CLEARED = ("TORCHPICK_", "PIP_", "UV_", "XDG_", "VIRTUAL_ENV", "CONDA_")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
CLEARED_NAMES = (
    *PROXIES, *(name.upper() for name in PROXIES), "CUDA_VISIBLE_DEVICES", "NO_COLOR", "FORCE_COLOR", "COLUMNS",
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "LD_LIBRARY_PATH", "LD_PRELOAD", "SHELL", "PSModulePath",
    "UV", "PYTHONPATH", "PYTHONUSERBASE", "PYTHONNOUSERSITE",
    "PYTHONDONTWRITEBYTECODE",  # else each torchpick that is started compiles itself anew
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is read: some look things up in the table as they are imported."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # by `&`, cron or an agent; what tests start would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        index.write(tables.LIVE)  # as an editable install does; the table may have changed since
    os.umask(0o022)  # the user's is a setting too
    patch = pytest.MonkeyPatch()
    patch.setattr(locations, "shipped_dir", tables.frozen)
    if os.environ.get("PYTEST_XDIST_WORKER") or not config.getoption("numprocesses", None):
        # Not where workers are started: each of them has to see the user's index first (`usersettings.ORIGINAL`).
        folder = tempfile.TemporaryDirectory(prefix="torchpick-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        for name, value in hostile.variables(Path(folder.name)).items():
            patch.setenv(name, value)
        _clear(patch, usersettings.nothing(Path(folder.name) / "nothing"))
        patch.setenv("TMPDIR", tempfile.gettempdir())  # pytest keeps what it writes after the run
    config.add_cleanup(patch.undo)


def _clear(patch: pytest.MonkeyPatch, nothing: dict[str, str]) -> None:
    """Take away what the user has set; what begins with TORCHPICK_TEST_ is for the tests themselves."""
    for name in list(os.environ):
        if name in CLEARED_NAMES or (name.startswith(CLEARED) and not name.startswith("TORCHPICK_TEST_")):
            patch.delenv(name)
    # Neither the user's settings nor the computer's: pip and uv look for them in these folders, and leave locks in one.
    for name, value in nothing.items():
        patch.setenv(name, value)
    patch.setattr(toolsettings, "ETC", nothing["XDG_CONFIG_DIRS"])


@pytest.fixture
def live_table(monkeypatch: pytest.MonkeyPatch) -> str:
    """The table as it is today, for what is built of it."""
    return _take(str(tables.LIVE), monkeypatch)


@pytest.fixture(params=["today", "a day to come"])
def living_table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The table as it is today, and once more after a release, for the laws."""
    return _take(str(tables.LIVE) if request.param == "today" else tables.of_a_day_to_come(), monkeypatch)


def _take(folder: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(locations, "shipped_dir", lambda: folder)
    monkeypatch.setenv("TORCHPICK_COMPAT_DIR", folder)
    return folder


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[], str]], Path]:
    """A file that takes seconds to make: the first worker that needs it does, and the others wait."""
    mine = tmp_path_factory.getbasetemp()
    shared = mine.parent if os.environ.get("PYTEST_XDIST_WORKER") else mine

    def take(name: str, make: Callable[[], str]) -> Path:
        file, turn = shared / name, shared / f"{name}.turn"
        try:
            turn.touch(exist_ok=False)
        except FileExistsError:
            for _ in range(600):
                if file.exists():
                    return file
                time.sleep(0.2)
        (draft := mine / name).write_text(make(), "utf-8")
        return draft.replace(file)

    return take


@pytest.fixture(scope="session")
def _nothing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return usersettings.nothing(tmp_path_factory.getbasetemp() / "no-settings")


@pytest.fixture(autouse=True)
def _clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, _nothing: dict[str, str]
) -> None:
    # The table grows old as time goes by, and says so; the tests are about the day it was made.
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795305600")  # 2026-11-22
    _clear(monkeypatch, _nothing)
    if os.name == "nt":  # elsewhere it is what is left without SHELL
        monkeypatch.setenv("TORCHPICK_SHELL", "sh")
    monkeypatch.setenv("NETRC", str(tmp_path_factory.getbasetemp() / "no-netrc"))
    # To trust a hundred authorities takes longer to read than most tests take, and no test asks them for anything.
    monkeypatch.setenv("SSL_CERT_DIR", _nothing["XDG_CONFIG_DIRS"])
    monkeypatch.setattr("tempfile.tempdir", None)  # it is found anew


@pytest.fixture(autouse=True)
def _frozen_table(_clean_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHPICK_COMPAT_DIR", tables.frozen())  # for what runs in a process of its own


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch, _nothing: dict[str, str]) -> None:
    """Whatever is built into this computer: a test describes its machine."""
    look = computer.look
    empty = _nothing["XDG_CONFIG_DIRS"]

    def look_at_none(how: LookOptions, platform: Platform) -> Seen:
        return look(how._replace(world=how.world._replace(root=empty)) if how.world.real else how, platform)

    monkeypatch.setattr(computer, "look", look_at_none)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "no-cache"))


@pytest.fixture(autouse=True)
def _own_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """No index but one of this computer is read in this process: else what the table has is on it."""

    def reader(places: IndexPlaces, *more: Any, **how: Any) -> ProjectReader | MadeUpReader:
        urls = (*places.indexes, *places.links)
        is_own = all(url.startswith("file:") or urlsplit(url).hostname in ("127.0.0.1", "localhost") for url in urls)
        return (ProjectReader if is_own else MadeUpReader)(places, *more, **how)

    monkeypatch.setattr(learner, "ProjectReader", reader)


@pytest.fixture
def on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torchpick runs in the Python and on the system of the recorded answers, whatever runs the tests."""
    monkeypatch.setattr(interpreter, "running", pythons.made_up)


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Callable[[str, int, int], None]:
    """Records how many attempts a matrix or a fuzzer made and how many did no harm; the end of the run prints them."""

    def record(what: str, tried: int, survived: int) -> None:
        record_property("count", f"{what}: {tried} tried, {survived} survived")

    return record


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A worker of xdist has threads, and does not fork: tests/machine/test_forked.py runs these in a process alone."""
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        return
    alone = [item for item in items if item.get_closest_marker("fork")]
    if alone:
        config.hook.pytest_deselected(items=alone)
        items[:] = [item for item in items if item not in set(alone)]


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, text in getattr(report, "user_properties", ()):
                if name == "count" and getattr(report, "when", "") == "call":
                    terminalreporter.write_line(str(text))
    for reason in _unexpected(terminalreporter):
        terminalreporter.write_line(f"unexpected skip: {reason}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and _unexpected(reporter) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _unexpected(reporter: TerminalReporter) -> list[str]:
    """The skips of this run that are on no list, where that matters."""
    if not os.environ.get("TORCHPICK_TEST_STRICT"):
        return []
    skipped = reporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple))
    return [f"{reason} ({count} tests)" for reason, count in sorted(reasons.items()) if not skips.is_expected(reason)]
