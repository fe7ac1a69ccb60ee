"""A bill of materials (CycloneDX 1.6): the distribution, and the projects that it needs or carries."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

from scripts.shipping.building import sha256


def metadata_of(wheel: Path) -> str:
    with ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return archive.read(name).decode("utf-8")


def write(file: Path, wheel: Path, artefacts: Iterable[Path], carried: Iterable[tuple[str, str]] = ()) -> None:
    """`carried` are the projects inside the one-file program, each with its exact version."""
    about = HeaderParser().parsestr(metadata_of(wheel))
    name, version = str(about["Name"]), str(about["Version"])
    exact = dict(carried)
    components = [
        {
            "type": "library",
            "name": requirement.name,
            "purl": f"pkg:pypi/{requirement.name}"
            + (f"@{exact[requirement.name]}" if requirement.name in exact else ""),
            "properties": [{"name": "requirement", "value": str(requirement)}],
        }
        for requirement in map(Requirement, about.get_all("Requires-Dist", []))
        if "extra" not in str(requirement.marker or "")
    ]
    named = {str(component["name"]) for component in components}
    components += [
        {"type": "library", "name": project, "version": number, "purl": f"pkg:pypi/{project}@{number}"}
        for project, number in sorted(exact.items())
        if project not in named
    ]
    files = sorted(artefacts)
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # From the files themselves, so that the same release has the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, ''.join(sha256(each) for each in files))}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "licenses": [{"license": {"id": str(about["License-Expression"])}}],
            }
        },
        "components": [
            *components,
            *(
                {"type": "file", "name": each.name, "hashes": [{"alg": "SHA-256", "content": sha256(each)}]}
                for each in files
            ),
        ],
    }
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
