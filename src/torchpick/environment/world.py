"""What the probes look at: a file tree and the variables, both given, so that a folder can stand in."""

from __future__ import annotations

import errno
import os
import stat
import sys

from torchpick.model import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from io import BufferedReader

# A file of /proc or /sys that says anything of use is far below this; /etc/ld.so.cache of a full desktop is ~300 kB.
_MOST_BYTES = 4 << 20
_MOST_NAMES = 10_000
# What a shell makes of `<(…)`, and what `-` stands for elsewhere: somebody writes to these.
_OF_SHELL = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


class World(NamedTuple):
    """A root folder, the environment variables, the current folder and the operating system (`sys.platform`)."""

    root: str
    environ: Mapping[str, str]
    cwd: str
    system: str

    @classmethod
    def here(cls) -> World:
        try:
            cwd = os.getcwd()  # pathlib costs start-up
        except OSError:  # the folder was removed under us
            cwd = "/"
        return cls("/", os.environ, cwd, sys.platform)

    @property
    def real(self) -> bool:
        """Whether this is the computer itself, and not a folder that stands for one."""
        return self.root == "/"

    def path(self, absolute: str) -> str:
        """Where an absolute path lies in this world."""
        return absolute if self.real else self.root.rstrip("/") + absolute

    def read(self, absolute: str) -> str | None:
        """The text of a file; None where it is absent or forbidden. What is no UTF-8 is replaced."""
        data = self.bytes(absolute)
        return None if data is None else data.decode("utf-8", "replace")

    def bytes(self, absolute: str) -> bytes | None:
        return start_of(self.path(absolute), _MOST_BYTES)

    def names(self, absolute: str) -> list[str]:
        """The names in a folder, sorted; none where it is absent."""
        try:
            return sorted(os.listdir(self.path(absolute)))[:_MOST_NAMES]
        except (OSError, ValueError):
            return []

    def exists(self, absolute: str) -> bool:
        return os.path.exists(self.path(absolute))

    def link(self, absolute: str) -> str | None:
        """The last part of what a symbolic link points at."""
        try:
            return os.path.basename(os.readlink(self.path(absolute)))
        except (OSError, ValueError):
            return None


def opened(file: str, *, pipes: bool = False) -> BufferedReader:
    """A file to read from. OSError for a device, which may have no end, and a pipe, on which nobody may ever write.

    The empty device is an empty file; `pipes`: a pipe of the shell is read too.
    """
    stream = open(file, "rb", opener=_at_once)  # noqa: SIM115 # the caller closes it
    kind = os.fstat(stream.fileno()).st_mode
    if stat.S_ISREG(kind) or file == os.devnull:
        return stream
    if pipes and file.startswith(_OF_SHELL):
        os.set_blocking(stream.fileno(), True)
        return stream
    stream.close()
    raise OSError(errno.EINVAL, f"it is a {'pipe' if stat.S_ISFIFO(kind) else 'device'}, not a file")


def _at_once(file: str, flags: int) -> int:
    """Open without waiting for whoever writes to a pipe."""
    return os.open(file, flags | getattr(os, "O_NONBLOCK", 0))


def content(file: str, most: int) -> bytes:
    """A whole file, read by the one opener. OSError where it cannot be read or is larger than so many bytes."""
    with opened(file) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB")
    return data


def start_of(file: str, most: int) -> bytes | None:
    """The first bytes of a file, at most so many; None where it is absent or forbidden."""
    try:
        with opened(file) as stream:
            return stream.read(most)
    except (OSError, ValueError):
        return None


def text_of(file: str, most: int = 1 << 20) -> str:
    """The start of a text file; nothing where it cannot be read."""
    return (start_of(file, most) or b"").decode("utf-8", "replace")


def program_of(folder: str) -> str | None:
    names = ("Scripts/python.exe", "python.exe") if os.name == "nt" else ("bin/python", "bin/python3")
    for name in names:
        path = os.path.join(folder, *name.split("/"))
        if os.path.isfile(path):
            return path
    return None


def which(name: str, environ: Mapping[str, str], outside: str | None = None) -> str | None:
    """A command on PATH, by absolute entries alone; on Windows not the store's empty placeholder."""
    suffix = ".exe" if os.name == "nt" and not name.lower().endswith(".exe") else ""
    for folder in environ.get("PATH", "").split(os.pathsep)[:1000]:
        path = os.path.join(folder, name + suffix)
        if not os.path.isabs(folder) or (outside and is_same(os.path.dirname(folder), outside)):
            continue
        if os.path.isfile(path) and os.access(path, os.X_OK) and (os.name != "nt" or os.path.getsize(path)):
            return path
    return None


def named(python: str, environ: Mapping[str, str], cwd: str) -> str | None:
    """The interpreter or folder that somebody means: what lies in the current folder may be anybody's.

    A bare name is a command on PATH before it is a folder, and never a file.
    """
    name = os.path.expanduser(python)
    path = os.path.abspath(os.path.join(cwd, name))
    if os.path.dirname(name):
        return path
    return which(name, environ) or (path if os.path.isdir(path) else None)


def is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def is_yours(path: str) -> bool:
    """Whether nobody but you and root may change a file or folder, or the link to it; Windows' lists are not judged.

    A group may write where it is its owner's own, as systems with umask 002 have it.
    """
    if os.name == "nt":
        return True
    try:
        status, of_link = os.stat(path), os.lstat(path)
    except OSError:
        return False
    if not {status.st_uid, of_link.st_uid} <= {0, os.geteuid()} or status.st_mode & 0o002:
        return False
    return not status.st_mode & 0o020 or is_private_group(status.st_uid, status.st_gid)


def is_private_group(user: int, group: int) -> bool:
    import grp
    import pwd

    try:
        owner, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:  # a container knows its user by the number alone
        return user == group
    return members.gr_name == owner.pw_name and not {*members.gr_mem} - {owner.pw_name}


def parents(folder: str) -> Iterator[str]:
    """The folder and those above it, as far as anybody nests them."""
    above = os.path.abspath(folder)
    for _ in range(100):
        yield above
        below, above = above, os.path.dirname(above)
        if above == below:
            return


def nearest_with(folder: str, *files: str) -> str | None:
    """The folder, this one or the first above it, in which all of these files lie."""
    return next((above for above in parents(folder) if all(os.path.isfile(f"{above}/{file}") for file in files)), None)


def uv_project(folder: str) -> str | None:
    """The folder of the project, here or above, that uv keeps: its lock lies beside its pyproject.toml."""
    return nearest_with(folder, "uv.lock", "pyproject.toml")


def prefix_of(program: str) -> str:
    """The folder of the environment that an interpreter belongs to; the interpreter itself is not resolved."""
    folder = os.path.dirname(os.path.abspath(program))
    # On Windows an environment's interpreter lies in Scripts, and any other right in its folder.
    return folder if os.name == "nt" and os.path.basename(folder).lower() != "scripts" else os.path.dirname(folder)


def settings_of(prefix: str) -> dict[str, str] | None:
    """The keys of pyvenv.cfg; None where the folder is no virtual environment."""
    file = os.path.join(prefix, "pyvenv.cfg")
    if not os.path.isfile(file):
        return None
    pairs = (line.partition("=") for line in text_of(file).splitlines())
    return {key.strip().lower(): value.strip() for key, mark, value in pairs if mark}


def full_version(settings: Mapping[str, str] | None) -> str | None:
    """As venv (`version`) and virtualenv and uv (`version_info`, which may go on with .final.0) write it."""
    settings = settings or {}
    parts = (settings.get("version_info") or settings.get("version") or "").split(".")[:3]
    return ".".join(parts) if len(parts) == 3 else None


def is_shared(settings: Mapping[str, str]) -> bool:
    """Whether an environment also has the packages of the Python that it was made by."""
    return settings.get("include-system-site-packages", "").lower() == "true"


def with_pth(folders: Iterable[str]) -> tuple[str, ...]:
    """The folders of a search path that are there, each with those that its .pth files add."""
    paths = dict.fromkeys(path for folder in folders for path in (folder, *_pth_folders(folder)))
    return tuple(filter(os.path.isdir, paths))


def _pth_folders(folder: str) -> list[str]:
    """The folders that .pth files add; their `import` lines are left alone."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".pth"))[:200]
    except OSError:
        return []
    lines = (line.strip() for name in names for line in text_of(os.path.join(folder, name)).splitlines()[:1000])
    return [
        os.path.normpath(os.path.join(folder, line))
        for line in lines
        if line and not line.startswith(("#", "import ", "import\t")) and "\0" not in line
    ]


def tool_environment(prefix: str) -> str | None:
    """The tool whose own environment this is: torch is not meant for it."""
    if os.path.exists(f"{prefix}/uv-receipt.toml"):
        return "uv tool"
    if os.path.exists(f"{prefix}/pipx_metadata.json"):
        return "pipx"
    # `uvx` runs from uv's cache: archive-v0/<hash>, or environments-v2/<name> for a script.
    parent = os.path.basename(os.path.dirname(os.path.normpath(prefix)))
    return "uvx" if parent.startswith(("archive-v", "environments-v")) else None


def checkout_of(prefix: str) -> str | None:
    """The checkout of torchpick whose `.venv`, as scripts/start makes it, this is."""
    folder, name = os.path.split(os.path.abspath(prefix))
    return folder if name == ".venv" and os.path.isfile(f"{folder}/src/torchpick/__init__.py") else None


# What lies where torchpick alone was installed: itself, what it requires, and installers.
_ALONE = {
    "torchpick_cli", "anyio", "certifi", "exceptiongroup", "h11", "httpcore", "httpx", "idna", "nvidia_ml_py",
    "packaging", "tomli", "tomlkit", "typing_extensions", "pip", "setuptools", "uv", "wheel",
}  # fmt: skip


def holds_torchpick_alone(prefix: str) -> bool:
    """Whether nothing else was installed into a virtual environment, so that it may be meant as a tool's."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    try:
        names = os.listdir(
            f"{prefix}/Lib/site-packages" if os.name == "nt" else f"{prefix}/lib/{version}/site-packages"
        )
    except OSError:
        return False
    packages = {name.partition("-")[0].lower() for name in names if name.endswith(".dist-info")}
    return "torchpick_cli" in packages and packages <= _ALONE and os.path.isfile(f"{prefix}/pyvenv.cfg")
