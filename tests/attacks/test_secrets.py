"""A password or a token in any form of a URL, in any place where a command may meet it: shown nowhere.

Not tried is what is no secret to any reader: a password that begins as a port behind a name with dots, and a token that
ends the host (`https://22/hunter@host` is a path on the host 22).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.attacks import project
from torchpick.cli import main

SECRET = "hunter"  # it is in the secret part of each form
HOST = "127.0.0.1:9"  # where nobody answers
SCHEMES = (
    "https://", "http://", "git+https://", "flat+https://", "https:/", "//", "https//", "ssh://", "HTTPS://",
    "https:\\\\",
)  # fmt: skip
PASSWORDS = (
    "hunter22", "22hunter!", "hu/hunter", "hunter?22", "22%2Fhunter", "22:hunter", "22@hunter", "$hunter22",
    "22'hunter", "\u00e9hunter", "hunter" * 60, "22\\hunter", "${hunter}", "22&hunter=",
)  # fmt: skip
# What ends an address, and so ends a user's name without a password too.
PARTED = ("hunter#22", "22?hunter", "hun hunter", 'hu"hunter', "hu<hunter>", "hu/nter/hunter")
AS_PORTS = ("22/hunter", "22 hunter", '22"hunter', "22<hunter>")
TOKENS = ("hf_hunterhunter1", "ghp_hunterhunter1", "glpat-hunterhunter1", "pypi-hunterhunter1", "AKIAHUNTERHUNTER1")
LOGINS = (
    *product(("me:", "me%3A", "1:"), (*PASSWORDS, *PARTED, *AS_PORTS)),
    *product(("me@corp.example:", "a.very.long.name-of-a-service-account:"), (*PASSWORDS, *PARTED)),
    *product(("",), (*PASSWORDS[:2], *TOKENS)),
)
FORMS = [
    *(f"{scheme}{user}{password}@{HOST}/whl" for scheme, (user, password) in product(SCHEMES, LOGINS)),
    *(
        f"{scheme}{user}{password}@[::1]:9/whl"
        for scheme, (user, password) in product(("https:/", "https:"), LOGINS[:9])
    ),
    *(f"{scheme}{HOST}/{token}/whl" for scheme, token in product(SCHEMES, TOKENS)),
    *(f"{scheme}{HOST}/whl?{name}=hunter22" for scheme, name in product(SCHEMES, ("token", "sig", "X-Amz-Signature"))),
]
HERE = (*project.GPU, "--python", "venv")
THERE = (*project.GPU, "--platform", "linux-x86_64", "--python", "3.12")
COMMANDS: dict[str, tuple[str, ...]] = {
    "url": ("url", "--index-base", "FORM", *THERE), "bare": ("FORM", *THERE),
    "install": ("install", "torch", "--dry-run", "--index-base", "FORM", *HERE),
    "passed on": ("install", "torch", "--dry-run", "--json", *HERE, "--", "--index-url", "FORM"),
    "file": ("install", "-r", "secret.txt", "--dry-run", "--offline", *HERE),
    "plan": ("plan", "odd @ FORM/odd-1-py3-none-any.whl", "--offline", *THERE),
    "lock": ("lock", "torch", "--offline", "--index-base", "FORM", *HERE),
    "inspect": ("inspect", "FORM/odd-1-py3-none-any.whl", *THERE), "refresh": ("refresh", "--index-base", "FORM"),
    "env": ("env", "--offline", "--index-base", "FORM", *HERE),
    "pin": ("pin", "--offline", "--index-base", "FORM", *HERE), "explain": ("explain", "secret.log"),
    "fleet": ("fleet", "secret.json", "--json"),
}  # fmt: skip
SAYS = "these lines hold a password"


def written(folder: Path, form: str) -> None:
    """The files of these commands, with the form in each of their places."""
    trouble = {"code": "X", "text": f"at {form}", "hint": f"see {form}"}
    machine = {
        "name": "n1", "platform": {"os": "linux", "cpu": "x86_64"}, "python": {"version": "3.12"}, "driver": None,
        "gpus": [], "notes": [{"code": "X", "text": f"no {form}"}], "trouble": trouble,
    }  # fmt: skip
    texts = {
        "secret.txt": f"--extra-index-url {form}\nodd @ {form}/odd-1-py3-none-any.whl\n",
        "secret.log": f"ERROR: Could not fetch URL {form}/torch/: 401 for torch\n",
        "secret.json": json.dumps(machine),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")


@pytest.mark.parametrize("share", [pytest.param(3, marks=pytest.mark.long), 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_shows_a_secret_whatever_its_form(
    command: str,
    share: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    count: Callable[[str, int, int], None],
) -> None:
    shown = []
    forms = FORMS[[*COMMANDS].index(command) * 3 % share :: share]
    for form in forms:
        written(folder, form)
        for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX"):
            monkeypatch.setenv(name, form)

        main([word.replace("FORM", form) for word in COMMANDS[command]])

        out, err = capsys.readouterr()
        assert "Traceback" not in err, (form, err)
        if command in ("url", "env") and SECRET in out.lower() and SAYS in err:
            out = ""  # it exists to be run
        if SECRET in (out + err).lower():
            shown.append((form, out, err))
    count(f"forms of secrets, {command}", len(forms), len(forms) - len(shown))
    assert not shown, shown[:3]
