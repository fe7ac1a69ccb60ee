"""A pytest plugin: the modules of this project see a made-up Windows, everything else the system that is there.

It is made of what a module notices as it is imported: `os.name`, `sys.platform`, the modules, functions and signals
that Python lacks on Windows, and cp1252 where a text file is opened without an encoding.
"""

from __future__ import annotations

import builtins
import importlib
import io
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

OURS = ("benchmarks", "hatch_build", "scripts", "tests", "torchpick")
NO_MODULES = (
    "crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd", "syslog",
    "termios", "tty",
)  # fmt: skip
# typeshed's names of functions under `sys.platform != "win32"`, and the constants that go with them.
NO_NAMES = {
    "os": """
        chown chroot confstr copy_file_range ctermid environb eventfd fchdir fchmod fchown fdatasync fork forkpty
        fpathconf fstatvfs fwalk getegid getenvb geteuid getgid getgrouplist getgroups getloadavg getpgid getpgrp
        getpriority getrandom getresgid getresuid getsid getuid getxattr initgroups killpg lchown listxattr lockf
        login_tty major makedev memfd_create minor mkfifo mknod nice openpty pathconf pidfd_open pipe2 posix_fadvise
        posix_fallocate posix_spawn posix_spawnp pread preadv pwrite pwritev readv register_at_fork removexattr
        sched_getaffinity sched_getparam sched_setaffinity sched_yield sendfile setegid seteuid setgid setgroups setpgid
        setpgrp setpriority setregid setresgid setresuid setreuid setsid setuid setxattr splice statvfs sync sysconf
        tcgetpgrp tcsetpgrp ttyname uname wait wait3 wait4 waitid writev
        WCOREDUMP WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WNOHANG WSTOPSIG WTERMSIG WUNTRACED
        O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_PATH O_SYNC O_TMPFILE RTLD_GLOBAL RTLD_LAZY RTLD_NOW
    """,
    "select": "epoll kqueue poll POLLIN POLLOUT POLLHUP POLLERR",
    "signal": """
        SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF SIGQUIT SIGRTMAX SIGRTMIN SIGSTOP SIGSYS
        SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SIG_BLOCK SIG_SETMASK
        SIG_UNBLOCK ITIMER_REAL alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending
        sigtimedwait sigwait sigwaitinfo
    """,
    "socket": "AF_UNIX SO_REUSEPORT",
    "sys": "abiflags getdlopenflags setdlopenflags",
    "time": "clock_getres clock_gettime tzset",
}


class MadeUp(ModuleType):
    """A module as it is on Windows; what differs by nothing is the real one's."""

    def __init__(self, name: str, values: Mapping[str, str]) -> None:
        super().__init__(name)
        self._real = importlib.import_module(name)
        self._missing = frozenset(NO_NAMES[name].split())
        vars(self).update(values)

    def __getattr__(self, name: str) -> Any:
        if name in self._missing:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} on Windows")
        return getattr(self._real, name)


OTHERWISE = {"os": {"name": "nt"}, "sys": {"platform": "win32"}}
MODULES: dict[str, ModuleType] = {
    **{name: MadeUp(name, OTHERWISE.get(name, {})) for name in NO_NAMES},
    **{name: ModuleType(name) for name in ("_winapi", "msvcrt", "winreg")},
}
_import, _open = builtins.__import__, io.open


def imported(
    name: str,
    globals: Mapping[str, object] | None = None,  # noqa: A002 (as in `builtins.__import__`)
    locals: Mapping[str, object] | None = None,  # noqa: A002
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    importer, first = str((globals or {}).get("__name__", "")), name.partition(".")[0]
    if level == 0 and importer.partition(".")[0] in OURS:
        if first in NO_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r} on Windows", name=name)
        if first in MODULES and (first == name or not fromlist):
            return MODULES[first]
    return _import(name, globals, locals, fromlist or (), level)


def text_encoding(encoding: str | None, stacklevel: int = 2) -> str:
    del stacklevel
    return encoding or "cp1252"


def opened(
    file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None, *more: Any, **others: Any
) -> Any:
    if "b" not in mode and encoding in (None, "locale"):
        encoding = "cp1252"
    return _open(file, mode, buffering, encoding, *more, **others)


builtins.__import__ = imported
builtins.open = opened
io.__dict__.update(open=opened, text_encoding=text_encoding)
