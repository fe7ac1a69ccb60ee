"""What pip and uv are asked in each circumstance, without starting either; golden cases show whole installations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torchpick
from torchpick.environment import requirements, toolsettings
from torchpick.environment.inherited import Inherited
from torchpick.environment.requirements import Given
from torchpick.environment.targets import Target
from torchpick.environment.toolsettings import Setting, UvFile
from torchpick.installers import copies, dashes, inherits, jobs, pip, settings_files, store, uv
from torchpick.installers.inherits import OwnSettings
from torchpick.installers.jobs import Job
from torchpick.installers.links import Wheel
from torchpick.installers.pip import PipInstaller
from torchpick.installers.tools import Pip
from torchpick.installers.uv import UvInstaller
from torchpick.model.machine import Note

LINE = ("/env/bin/python", "-m", "pip")
TARGET = Target("/env/bin/python", "3.12", "/env", ("/env/lib/python3.12/site-packages",))
WHEELS = "https://download.pytorch.org/whl/cu130"
PICK = torchpick.pick(gpus=["sm_61"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")
NIGHTLY = PICK._replace(wish=PICK.wish._replace(channel="nightly"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Given:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("r.txt").write_text(f"accelerate\n--extra-index-url {WHEELS}\n")
    tmp_path.joinpath("c.txt").write_text("numpy<3\n")
    return Given(("torch<3", "numpy"), ("r.txt",), ("c.txt",), ("./here",))


def job(given: Given | None = None, **more: Any) -> Job:
    asked = requirements.read(given or Given(("torch",)), {})
    made = copies.without_wheel_indexes(asked, "/store")
    return Job(asked=asked, pick=PICK, target=TARGET, place="/store", copies=made)._replace(**more)


def a_pip(**more: Any) -> PipInstaller:
    return PipInstaller(LINE, "26.0")._replace(**more)


@pytest.fixture
def a_uv(tmp_path: Path) -> UvInstaller:
    """A program that says what it knows, as tools.py reads it."""
    path = tmp_path / "uv"
    names = "torch-backend no-sources no-sources-package exclude-newer-package"
    path.write_text(f"https://download.pytorch.org/whl/cu126 {names}")
    path.chmod(0o755)
    return UvInstaller(str(path))


def copy_of(made: Job) -> str:
    (copy,) = made.copies.files.values()
    return copy.path


def follows(argv: tuple[str, ...], *words: str) -> bool:
    """Whether these words stand beside one another."""
    return any(argv[place : place + len(words)] == words for place in range(len(argv)))


def test_pip_resolves_the_users_own_words_and_installs_nothing(files: Given) -> None:
    made = job(files, passed_on=("--no-binary", "x"))
    notes = (Note("X", "x"),)

    command = a_pip(notes=notes, inherited=Inherited({"A": "b"}, ("C",))).resolver(made)

    assert command.argv == (
        *LINE, "install", "--dry-run", "--ignore-installed", "-c", "c.txt", "-r", copy_of(made), "--no-binary", "x",
        "torch<3", "numpy", "-e", "./here",
    )  # fmt: skip
    assert (command.installer, command.set, command.unset) == ("pip", {"A": "b"}, ("C", "PIP_UPLOADED_PRIOR_TO"))
    assert [file.path for file in command.files] == [copy_of(made)]


def test_pip_reports_the_installation_itself() -> None:
    made = job()
    install, report = a_pip().command(made), a_pip().reporter(made)

    assert report.argv == (*LINE, "install", "--dry-run", *install.argv[4:])
    assert report.files == install.files


def test_pip_is_given_the_users_files_and_switches(files: Given) -> None:
    made = job(files, upgrade=True, no_deps=True, offline=True, pick=NIGHTLY, passed_on=("--no-cache-dir",))
    own = store.file("/store", "requirements", ".txt", "x")
    command = a_pip(files=(own,), notes=(Note("X", "x"),)).command(made)

    assert command.installer == "pip"
    assert command.argv[:4] == (*LINE, "install")
    assert follows(command.argv, "-c", "c.txt")
    assert follows(command.argv, "-r", copy_of(made))
    assert {"--upgrade", "--no-deps", "--no-index", "--pre", "--no-cache-dir"} <= set(command.argv)
    assert {own.path, copy_of(made)} <= {file.path for file in command.files}
    assert [note.code for note in command.notes][:1] == ["X"]
    assert "INDEX_LEFT_OUT" in [note.code for note in command.notes]
    plain = a_pip().command(job()).argv
    assert not {"--upgrade", "--no-deps", "--no-index", "--pre", "--force-reinstall", "-r"} & set(plain)
    assert own in a_pip(files=(own,)).resolver(made).files


def test_pip_installs_again_what_no_specifier_tells_apart() -> None:
    plain = torchpick.pick(platform="macos-arm64", gpus=["none"], python="3.12")
    assert "+" not in plain.version
    there = TARGET._replace(installed={"torch": f"{plain.version}+cpu"})

    assert "--force-reinstall" in a_pip().command(job(pick=plain, target=there)).argv
    assert "--force-reinstall" not in a_pip().command(job(pick=plain)).argv


@pytest.mark.parametrize(("version", "old"), [("25.0.1", True), ("25.1", False), ("26", False), ("nonsense", True)])
def test_dependency_groups_need_a_pip_that_knows_them(version: str, *, old: bool) -> None:
    grouped = job(Given(("torch",)))
    grouped = grouped._replace(asked=grouped.asked._replace(given=Given(("torch",), groups=("dev", "test"))))

    if old:
        with pytest.raises(
            torchpick.TorchpickError, match=r"does not know dependency groups; 25\.1 and newer do"
        ) as told:
            a_pip(version=version).command(grouped)
        assert told.value.code == "OLD_INSTALLER"
        assert told.value.hint == "`/env/bin/python -m pip install -U pip`, or `--installer uv`"
        assert "--group" not in a_pip(version=version).command(job()).argv
    else:
        assert follows(a_pip(version=version).command(grouped).argv, "--group", "dev", "--group", "test")


def test_a_file_with_a_password_is_the_users_alone(a_uv: UvInstaller) -> None:
    mirror = PICK._replace(wish=PICK.wish._replace(index_base="https://anna:hunter2@mirror.example/whl"))

    for installer in (a_pip(), a_uv):
        for pick in (mirror, PICK):
            assert all(file.private == ("hunter2" in file.content) for file in installer.command(job(pick=pick)).files)
    wheels = [Wheel("torch", "torch.whl", f"https://{host}/whl/torch.whl") for host in ("a@b", "b")]
    pages = [jobs.page_file("/store", [wheel]) for wheel in wheels]
    assert [page is not None and page.private for page in pages] == [True, False]
    assert jobs.page_file("/store", []) is None


def test_pip_takes_none_without_a_hash_beside_those_that_have_one(tmp_path: Path) -> None:
    file = tmp_path / "r.txt"
    file.write_text(f"numpy==2.0 --hash=sha256:{'0' * 64}\n")
    hashed = job(Given((), (str(file),)))
    both = job(Given(("torch",), (str(file),)))

    assert "--no-deps" not in a_pip().command(hashed).argv
    with pytest.raises(torchpick.TorchpickError, match="has no hash, and pip takes none without") as told:
        a_pip().command(both)
    assert told.value.exit_status == 2


def test_a_pip_has_its_name() -> None:
    assert a_pip().name == "pip"


def test_constraints_of_ours_do_not_bind_pip_and_the_users_do(tmp_path: Path) -> None:
    ours, kept = str(tmp_path / "store" / "constraints-0.txt"), tmp_path / "own.txt"
    held = tmp_path / "env" / "share" / "torchpick" / "constraints-1.txt"
    kept.write_text("numpy<3\n")
    target = TARGET._replace(prefix=str(tmp_path / "env"))
    said = {"constraint": Setting("constraint", (ours, str(held), str(kept)), "PIP_CONSTRAINT")}
    own = OwnSettings(pip=said, environ={})

    found = pip.of(Pip(LINE, "26.0"), own, target, str(tmp_path / "store"))
    assert found.inherited.set == {"PIP_CONSTRAINT": str(kept)}

    kept.write_text(f"numpy<3\n--extra-index {WHEELS}\n")
    for path in (Path(ours), held):
        path.parent.mkdir(parents=True)
        path.write_text(f"--index-url {WHEELS}\n")
    found = pip.of(Pip(LINE, "26.0"), own, target, str(tmp_path / "store"))
    (copy,) = found.files
    assert found.inherited.set == {"PIP_CONSTRAINT": f"file://{copy.path}"}
    assert "download.pytorch.org" not in copy.content
    assert [note.code for note in found.inherited.notes] == ["INDEX_LEFT_OUT"]


def test_uv_resolves_the_users_own_words_and_installs_nothing(files: Given, a_uv: UvInstaller) -> None:
    made = job(files, offline=True, no_deps=True, passed_on=("--index", "https://own", "--compile-bytecode", "-n"))
    command = a_uv._replace(constraints=("/own.txt", "/store/constraints-0.txt"), find_links=("/links",)).resolver(made)

    head = ("pip", "compile", "--quiet", "--no-header", "--python", "/env/bin/python")
    assert command.argv[1:7] == head
    assert follows(command.argv, "--annotate", "--annotation-style", "split")  # whatever the user's files say
    assert follows(command.argv, "-c", "/own.txt", "-c", "c.txt", "--find-links", "/links")
    assert "/store/constraints-0.txt" not in command.argv
    assert follows(command.argv, "--index", "https://own", "-n", "--offline", "--no-deps", copy_of(made))
    assert "--compile-bytecode" not in command.argv
    assert "--no-sources-package" in command.argv
    needs = next(file for file in command.files if file.path == command.argv[-1])
    assert needs.content == f"torch<3\nnumpy\n-e {Path.cwd() / 'here'}\n"
    assert needs.private
    assert copy_of(made) in {file.path for file in command.files}


def test_uv_resolves_online_with_dependencies_unless_told(a_uv: UvInstaller) -> None:
    command = a_uv.resolver(job())
    argv = command.argv

    assert (command.installer, command.set, command.unset) == ("uv", {}, ())
    assert not {"--offline", "--no-deps", "--config-file", "-c", "--find-links", "--no-sources-package"} & set(argv)


def test_uv_reports_the_choice_of_the_installation_as_a_lock(a_uv: UvInstaller) -> None:
    report = a_uv.reporter(job())

    assert follows(report.argv, "--format", "pylock.toml", "--torch-backend", "cu126")
    assert "--no-annotate" not in report.argv
    needs = next(file for file in report.files if file.path == report.argv[-1])
    assert needs.content == f"torch=={PICK.version}\n"
    assert any("constraints" in file.path for file in report.files)


def test_uv_is_given_the_users_files_and_switches(files: Given, a_uv: UvInstaller) -> None:
    made = job(files, upgrade=True, no_deps=True, offline=True, passed_on=("--no-cache",))
    own = store.file("/store", "requirements", ".txt", "x")
    settings = Inherited({"A": "b"}, ("C",), "offline = false\n", (Note("Y", "y"),))
    uv_ = a_uv._replace(files=(own,), constraints=(own.path,), inherited=settings, notes=(Note("X", "x"),))
    command = uv_.command(made)

    assert command.argv[:5] == (uv_.path, "pip", "install", "--python", "/env/bin/python")
    assert {"--upgrade", "--no-deps", "--offline", "--no-cache", "--config-file"} <= set(command.argv)
    assert follows(command.argv, "-c", own.path)
    assert follows(command.argv, "-c", "c.txt")
    assert follows(command.argv, "-r", copy_of(made))
    assert follows(command.argv, "--torch-backend", "cu126")
    assert (command.set, command.unset) == ({"A": "b"}, ("C",))
    assert {own.path, copy_of(made)} <= {file.path for file in command.files}
    config = next(file for file in command.files if file.path.endswith(".toml"))
    assert follows(command.argv, "--config-file", config.path)
    assert config.private
    assert [note.code for note in command.notes][:3] == ["X", "Y", "INDEX_LEFT_OUT"]
    plain = a_uv.command(job()).argv
    assert not {"--upgrade", "--no-deps", "--offline", "--config-file", "--reinstall-package", "-r"} & set(plain)


def test_uv_installs_again_what_no_specifier_tells_apart(a_uv: UvInstaller) -> None:
    plain = torchpick.pick(platform="macos-arm64", gpus=["none"], python="3.12")
    there = TARGET._replace(installed={"torch": f"{plain.version}+cpu"})

    assert follows(a_uv.command(job(pick=plain, target=there)).argv, "--reinstall-package", "torch")


def test_uv_knows_its_backend_on_the_wheel_host_alone(a_uv: UvInstaller) -> None:
    assert a_uv.name == "uv"
    assert a_uv.knows(job())
    assert not a_uv.knows(job(pick=NIGHTLY))
    assert not a_uv.knows(job(pick=PICK._replace(wish=PICK.wish._replace(index_base="https://mirror.example/whl"))))


def test_a_cooldown_does_not_reject_the_wheel_host(a_uv: UvInstaller) -> None:
    cooldown = Setting("exclude-newer", ("2026-01-01",), "UV_EXCLUDE_NEWER")

    argv = a_uv._replace(cooldown=cooldown).command(job()).argv

    assert follows(argv, "--exclude-newer-package", "torch=false")
    assert follows(argv, "--exclude-newer-package", "triton=false")
    assert "--exclude-newer-package" not in a_uv.command(job()).argv


def test_uv_keeps_the_users_links_and_constraints_without_wheel_indexes(tmp_path: Path) -> None:
    file = tmp_path / "c.txt"
    file.write_text(f"numpy\n--extra-index-url {WHEELS}\n")
    environ = {
        "UV_CONSTRAINT": f"{file} /nowhere.txt",
        "UV_BUILD_CONSTRAINT": str(file),
        "UV_FIND_LINKS": f"{WHEELS}/numpy/,/links, ,https://own",
    }
    found = uv.of("/uv", OwnSettings(environ=environ), str(tmp_path / "store"), (Note("X", "x"),))

    (copy,) = found.files
    assert found.constraints == (copy.path, "/nowhere.txt")
    assert found.inherited.set["UV_BUILD_CONSTRAINT"] == f"file://{copy.path}"
    assert [link for link in found.find_links if link.strip()] == ["/links", "https://own"]
    assert (found.path, found.notes) == ("/uv", (Note("X", "x"),))
    left_out = [note.text for note in found.inherited.notes if note.code == "INDEX_LEFT_OUT"]
    assert any(text.startswith("c.txt line 2") for text in left_out)
    gone = {"UV_FIND_LINKS": f"{WHEELS}/numpy/"}
    assert uv.of("/uv", OwnSettings(environ=gone), "/store").find_links == ()


def test_uvs_overrides_of_the_family_are_refused_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "o.txt"
    file.write_text("numpy\ntorch==2.9.1\n")

    with pytest.raises(torchpick.TorchpickError, match=r"o\.txt line 2 overrides torch"):
        uv.of("/uv", OwnSettings(environ={"UV_OVERRIDE": str(file)}), "/store")


@pytest.mark.parametrize(
    ("passed_on", "kept"),
    [
        (("--index-url", "https://a", "--verbose", "-i", "https://b"), ["--index-url", "https://a", "-i", "https://b"]),
        (("--index=https://a", "--target", "x"), ["--index=https://a"]),
        (("--no-index", "--no-build", "x"), ["--no-index", "--no-build"]),
        (("--prerelease",), ["--prerelease"]),
    ],
)
def test_what_matters_to_a_resolution_is_passed_on_to_it(passed_on: tuple[str, ...], kept: list[str]) -> None:
    assert uv.resolving(passed_on) == kept


def test_every_option_that_matters_to_a_resolution_takes_what_uv_takes() -> None:
    """As `uv pip compile --help` of 0.9 lists them: those with a value in angle brackets, then those without."""
    with_value = (
        "--index --default-index --index-url -i --extra-index-url --find-links -f --index-strategy --keyring-provider "
        "--prerelease --resolution --exclude-newer --exclude-newer-package --no-binary --only-binary "
        "--allow-insecure-host --cert --config-setting -C --overrides --override --cache-dir"
    )
    without = "--no-index --no-build --system-certs --native-tls --no-sources --no-build-isolation --no-cache -n"

    for option in with_value.split():
        assert uv.resolving((option, "value", "rest")) == [option, "value"]
    for option in without.split():
        assert uv.resolving((option, "rest")) == [option]


@pytest.mark.parametrize(
    "words",
    [
        ("-b", "FILE"), ("-bFILE",), ("--override", "FILE"), ("--overrides=FILE",), ("--build-constraint", "FILE"),
        ("--build-constraints=FILE",), ("-v", "-b", "FILE"),
    ],
)  # fmt: skip
def test_a_file_behind_the_dashes_names_no_wheel_index(words: tuple[str, ...], tmp_path: Path) -> None:
    """Of those no copies are made; requirements and constraints are read as if they stood before the dashes."""
    bad, good = tmp_path / "bad.txt", tmp_path / "good.txt"
    bad.write_text(f"numpy\n--extra-index-url {WHEELS}\n")
    good.write_text("numpy\n--extra-index-url https://own.example/simple\n")

    def check(file: Path) -> None:
        settings_files.check([word.replace("FILE", str(file)) for word in words], OwnSettings())

    check(good)
    check(tmp_path / "gone.txt")
    with pytest.raises(torchpick.TorchpickError, match=r"bad\.txt line 2 names a PyTorch wheel index") as caught:
        check(bad)
    assert caught.value.exit_status == 2
    assert caught.value.hint == f"leave that line out: `{WHEELS}` would supply other packages too"


def test_what_is_no_file_behind_the_dashes_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("bad.txt", "=bad.txt"):
        (tmp_path / name).write_text(f"--extra-index-url {WHEELS}\n")

    settings_files.check(("--no-cache", "bad.txt", "-v", "bad.txt", "--re", "bad.txt", "--", "bad.txt"), OwnSettings())
    settings_files.check(("-r",), OwnSettings())


@pytest.mark.parametrize(
    "words",
    [
        (WHEELS,), ("--index-url", WHEELS), (f"--index-url={WHEELS}",), ("-i", WHEELS), (f"-i{WHEELS}",),
        (f"-f{WHEELS}/torch_stable.html",), ("-v", f"--extra-index={WHEELS}"),
    ],
)  # fmt: skip
def test_a_wheel_index_behind_the_dashes_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(torchpick.TorchpickError, match="is a PyTorch wheel index, and two of them mix") as caught:
        dashes.check(words)

    assert WHEELS in caught.value.message
    assert f"`{WHEELS}" in caught.value.message
    dashes.check(("-ihttps://own.example/simple", "--index=https://own.example", "https://own.example/x"))


@pytest.mark.parametrize("word", ["--force-reinstall", "--reinstall", "--reinstall-package=torch", "--ignore-installed",
                                  "-I"])  # fmt: skip
def test_the_very_build_stays_unless_it_is_to_be_installed_again(word: str) -> None:
    there = TARGET._replace(installed={"torch": PICK.version, "torchvision": "0.1"})

    assert jobs.stays(job(target=there), "torch")
    assert not jobs.stays(job(target=there), "torchvision")
    assert not jobs.stays(job(target=there), "torchaudio")
    assert not jobs.stays(job(target=there, passed_on=(word,)), "torch")
    assert jobs.stays(job(target=there, passed_on=("--no-cache-dir",)), "torch")


def test_a_default_index_build_stays_by_the_cuda_it_was_built_for() -> None:
    """Its version says nothing of that."""
    plain = torchpick.pick(platform="macos-arm64", gpus=["none"], python="3.12")
    there = TARGET._replace(installed={"torch": plain.version})

    assert jobs.reinstalled(job(pick=plain, target=there)) == []
    assert jobs.stays(job(pick=plain, target=there), "torch")
    assert jobs.reinstalled(job(pick=plain, target=there, cuda_installed="12.8")) == ["torch"]
    assert not jobs.stays(job(pick=plain, target=there, cuda_installed="12.8"), "torch")
    assert jobs.reinstalled(job(Given(("numpy",)), pick=plain, target=there, cuda_installed="12.8")) == []


@pytest.mark.parametrize("words", [("--index", "x"), ("-i", "x"), ("-ix",), ("--extra-index-url=x",), ("-f", "x"),
                                   ("--find-links=x",)])  # fmt: skip
def test_places_of_a_run_stand_beside_the_index(words: tuple[str, ...], a_uv: UvInstaller, tmp_path: Path) -> None:
    file = tmp_path / "r.txt"
    file.write_text(f"numpy\n{'--find-links' if words[0].startswith(('-f', '--find')) else '--index-url'} https://x\n")
    in_file = job(Given(("torch",), (str(file),)))

    assert all(each.shared(job(passed_on=words)) and each.shared(in_file) for each in (a_uv, a_pip()))
    assert not any(each.shared(job(passed_on=("--no-cache-dir",))) for each in (a_uv, a_pip()))
    links = words[0].startswith(("-f", "--find"))
    assert a_uv.alone(job(passed_on=words)) is a_uv.alone(in_file) is not links


def test_whether_others_may_supply_the_family(a_uv: UvInstaller) -> None:
    assert a_uv.alone(job())
    assert not a_uv.alone(job(pick=NIGHTLY))
    assert not a_uv._replace(linked=True).alone(job())
    assert a_uv._replace(linked=True).shared(job())
    assert not a_pip().alone(job())
    assert a_pip(several=True).shared(job())


@pytest.mark.parametrize(
    ("pip_settings", "environ", "several"),
    [
        ({}, {}, False),
        ({"extra-index-url": "https://own"}, {}, True),
        ({"find-links": "/links"}, {}, True),
        ({"index-url": "https://own"}, {}, False),
        ({"extra-index-url": WHEELS}, {}, False),
        ({"find-links": "/env/share/torchpick/links.html"}, {}, False),
        ({}, {"PIP_extra_index_url": "https://own"}, True),
    ],
)
def test_pip_has_several_places_where_the_settings_name_more_than_its_index(
    pip_settings: dict[str, str], environ: dict[str, str], *, several: bool
) -> None:
    said = {name: Setting(name, (value,), "x") for name, value in pip_settings.items()}
    cooldown = Setting("uploaded-prior-to", ("P3D",), "pip.conf")
    in_variables = toolsettings.strongest(toolsettings.pip_of_environ(environ))
    own = OwnSettings(environ=environ, pip={**said, **in_variables, "uploaded-prior-to": cooldown})

    found = pip.of(Pip(LINE, "26.0"), own, TARGET, "/store", (Note("X", "x"),))

    assert (found.several, found.cooldown, found.notes) == (several, cooldown, (Note("X", "x"),))
    assert (found.argv, found.version) == (LINE, "26.0")


@pytest.mark.parametrize(
    ("table", "linked"),
    [
        ({"find-links": ["/links"]}, True),
        ({"find-links": [f"{WHEELS}/numpy/"]}, False),
        ({"index": [{"url": "https://own"}]}, False),
        ({}, False),
    ],
)
def test_links_in_uvs_files_stand_beside_any_index(table: dict[str, Any], *, linked: bool) -> None:
    own = OwnSettings(uv_files=(UvFile("uv.toml", table),))

    assert uv.of("/uv", own, "/store").linked is linked
    assert uv.of("/uv", own._replace(environ={"UV_FIND_LINKS": "/links"}), "/store").linked


def test_settings_are_read_where_the_target_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pip.conf").write_text("[install]\nconstraint = a.txt\n")

    found = inherits.read({"PIP_REQUIREMENT": "b.txt", "XDG_CONFIG_DIRS": str(tmp_path)}, str(tmp_path))

    assert {name: said.words for name, said in found.pip.items()} == {
        "constraint": ("a.txt",), "requirement": ("b.txt",),
    }  # fmt: skip


def test_uvs_settings_are_its_variables_then_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "uv.toml").write_text('exclude-newer = "2026-01-01"\n[[index]]\nurl = "https://file.example"\n')

    environ = {"UV_INDEX": "https://variable.example", "XDG_CONFIG_DIRS": str(tmp_path)}

    found = inherits.read(environ, str(tmp_path), offline=True)

    assert [said.words for said in found.uv] == [("https://variable.example",), ("https://file.example",)]
    assert found.uv_cooldown is not None
    assert found.uv_cooldown.words == ("2026-01-01",)
    assert found.offline
    assert found.pip_files == {}
