"""A project with an environment, settings and lists of machines, and every command that reads files, asked in it."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.homes import Home

GPU = ("--gpu", "sm_61", "--driver", "580.95.05")
COMMANDS: dict[str, tuple[str, ...]] = {
    "doctor": ("doctor", "--python", "venv", *GPU),
    "install": ("install", "-r", "r.txt", "-c", "c.txt", "--dry-run", "--offline", "--python", "venv", *GPU),
    "url": ("url", *GPU), "pick": ("torch", "--python", "venv", *GPU), "plan": ("plan", "vllm", "--offline", *GPU),
    "env": ("env", "--python", "venv", "--offline", *GPU), "pin": ("pin", "--python", "venv", "--offline", *GPU),
    "unpin": ("unpin", "--python", "venv"), "list": ("list", *GPU), "machines": ("--machine", "machines.json"),
    "hosts": ("fleet", "ssh:hosts"), "folder": ("fleet", "machines"),
    "inspect": ("inspect", "torch", "--python", "venv", *GPU), "many": ("inspect", "--from", "wheels.txt", *GPU),
    "wheel": ("inspect", "./odd-1-py3-none-any.whl", *GPU), "extras": ("extras", "--write", "pyproject.toml"),
    "explain": ("explain", "log.txt"), "label": ("label", "--among", "cpu,cu126", *GPU),
    "refresh": ("refresh", "--index-base", "INDEX"),
    "mirror": ("lock", "torch", "--index-base", "flat+INDEX", "--python", "venv", "-o", "pylock.toml", *GPU),
}  # fmt: skip


def words_of(command: str, folder: Path) -> list[str]:
    return [word.replace("INDEX", (folder / "index").as_uri()) for word in COMMANDS[command]]


def made(folder: Path) -> None:
    """The project's files, and an environment beside them."""
    home = Home(folder / "venv")
    home.add(
        "torch",
        "2.14.1",
        {"torch/__init__.py": "", "torch/version.py": "__version__ = '2.14.1+cu126'\ncuda = '12.6'\n"},
    )
    home.add("odd", "1", {"odd/__init__.py": ""}, requires=["torch"])
    machine = """{"platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.36"}, "python": {"version": "3.12"},
        "driver": {"version": "580.95.05"}, "gpus": [{"vendor": "nvidia", "arch": "sm_61"}]}""".replace("\n", " ")
    files = {
        "r.txt": "torch\nodd\n", "c.txt": "torch<3\n", "hosts": "n1\n", "wheels.txt": "./odd-1-py3-none-any.whl\n",
        "odd-1-py3-none-any.whl": "",
        "log.txt": "RuntimeError: no kernel image is available for execution on the device\n",
        "machines.json": machine,
        "machines/n1.json": machine,
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch"]\n',
        "uv.toml": "", "venv/pip.conf": "", "home/.config/pip/pip.conf": "[global]\ntimeout = 5\n",
        "home/.config/uv/uv.toml": "", "index/index.html": "", "index/cu126/torch/index.html": "",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
