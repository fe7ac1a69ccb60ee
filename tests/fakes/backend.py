"""A build backend in one file, so that a project can be installed where no index holds a backend."""

from __future__ import annotations

from pathlib import Path

BACKEND = """\
import pathlib, zipfile

NAME, VERSION = {name!r}, "1.0"
METADATA = "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n" + {requires!r}
INFO = f"{{NAME}}-{{VERSION}}.dist-info"
FILE = f"{{NAME}}-{{VERSION}}-py3-none-any.whl"


def build_wheel(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(pathlib.Path(folder, FILE), "w") as archive:
        archive.writestr(f"{{NAME}}.py", "")
        archive.writestr(f"{{INFO}}/METADATA", METADATA)
        archive.writestr(f"{{INFO}}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(f"{{INFO}}/RECORD", "")
    return FILE


build_editable = build_wheel


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    pathlib.Path(folder, INFO).mkdir()
    pathlib.Path(folder, INFO, "METADATA").write_text(METADATA)
    pathlib.Path(folder, INFO, "WHEEL").write_text("Wheel-Version: 1.0\\n")
    return INFO


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
"""


def project(folder: Path, name: str, requires: tuple[str, ...], settings: str = "") -> Path:
    """A project that builds without an index."""
    folder.mkdir()
    lines = "".join(f"Requires-Dist: {each}\n" for each in requires)
    listed = ", ".join(f'"{each}"' for each in requires)
    folder.joinpath("backend.py").write_text(BACKEND.format(name=name, requires=lines), "utf-8")
    folder.joinpath("pyproject.toml").write_text(
        f'[project]\nname = "{name}"\nversion = "1.0"\ndependencies = [{listed}]\n'
        f'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n{settings}',
        "utf-8",
    )
    return folder
