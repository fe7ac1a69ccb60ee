"""Everything torchpick raises on purpose.

TorchpickError                  exit 1   something broke
├── UsageError                  exit 2   the request is not valid
│   └── RequirementError                 a requirement that is not valid
├── CompatError                          a file of the table is not valid (file, path inside it)
├── NoBuildError                exit 3   no build runs here; carries the Pick
├── DetectionError              exit 4   a GPU is there but its driver does not answer
├── InstallerError                       no suitable pip or uv
│   └── ResolverError  its own status    pip or uv refuses the requirements, in its own words
├── NetworkError                         a server did not deliver what was requested
└── WheelError                           a wheel or library cannot be read
    ├── RangesUnsupportedError           the server does not support ranges
    ├── WheelLayoutError                 the bytes do not follow the format
    └── IntegrityError                   the file changed, or its hash does not match

Expected outcomes (no GPU, an absent probe, a build that does not fit, a finding) are values, not errors.
News of work that goes on are reported, by every layer in one way: `Report`.
This module imports nothing of torchpick.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # Called with a sentence for whoever waits, with how many more bytes are `Expected`, or with how many have come.
    Report = Callable[[str | int], None]


class Expected(int):
    """So many more bytes are to come."""


def silent(_news: str | int) -> None:
    """The `Report` that nobody hears."""


class TorchpickError(Exception):
    """The base class: a message, and a hint with the next thing to do."""

    code = "FAILED"
    exit_status = 1

    def __init__(self, message: str, *, hint: str | None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, object]:
        return {"code": self.code, "text": self.message, "hint": self.hint}

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled without the constructor, whose keywords Exception does not keep; other processes send errors so."""
        return _remade, (type(self), self.args), self.__dict__


def _remade(kind: type[TorchpickError], words: tuple[object, ...]) -> TorchpickError:
    return kind.__new__(kind, *words)


class UsageError(TorchpickError):
    """The request is not valid."""

    code = "USAGE"
    exit_status = 2


class RequirementError(UsageError):
    """A requirement that is not valid."""

    code = "REQUIREMENT"


class CompatError(TorchpickError):
    """A file of the table is not valid; `file` and `path` say where."""

    code = "COMPAT"

    def __init__(self, message: str, *, file: str, path: str, hint: str | None) -> None:
        where = f"{file}: {path}" if path else file
        super().__init__(f"{where}: {message}", hint=hint)
        self.file = file
        self.path = path


class NoBuildError(TorchpickError):
    """No build runs here; its Pick holds every verdict and the plan, its Stack what stands in the way of packages."""

    code = "NO_BUILD"
    exit_status = 3

    # A Pick and a Stack, whose modules import this one.
    def __init__(self, message: str, *, pick: Any, hint: str | None, stack: Any = None) -> None:  # noqa: ANN401
        super().__init__(message, hint=hint)
        self.pick = pick
        self.stack = stack


class DetectionError(TorchpickError):
    """A GPU is there but its driver does not answer, so nothing is guessed; `machine` is what is known anyway."""

    code = "NO_ANSWER"
    exit_status = 4

    def __init__(
        self,
        message: str,
        *,
        hint: str | None,
        code: str | None = None,
        machine: Any = None,  # noqa: ANN401 # a Machine, whose module imports this one
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.machine = machine


class InstallerError(TorchpickError):
    """There is no suitable pip or uv, or it cannot do what is asked."""

    code = "INSTALLER"


class ResolverError(InstallerError):
    """pip or uv cannot resolve the requirements: its words, and its exit status."""

    code = "RESOLVER"

    def __init__(self, message: str, *, hint: str | None, installer: str, status: int) -> None:
        super().__init__(message, hint=hint)
        self.installer = installer
        self.exit_status = status if status > 0 else 1


class NetworkError(TorchpickError):
    """A server did not deliver what was requested."""

    code = "NETWORK"


class BrokenOffError(NetworkError):
    """The connection ended early: another attempt may work."""


class WheelError(TorchpickError):
    """A wheel or a library cannot be read."""

    code = "WHEEL"


class RangesUnsupportedError(WheelError):
    """The server does not send parts of a file."""

    code = "NO_RANGES"


class WheelLayoutError(WheelError):
    """The bytes do not follow the format."""

    code = "WHEEL_LAYOUT"


class IntegrityError(WheelError):
    """The file changed, or its hash does not match."""

    code = "INTEGRITY"
