"""Requirements on the command line, as far as a decision needs them: torch, its companions, the rest of its family."""

from __future__ import annotations

from torchpick.errors import RequirementError
from torchpick.model.build import COMPANIONS
from torchpick.model.request import Wish
from torchpick.model.versions import leading, normal, simple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable


def named(text: str) -> str:
    """The project a requirement names; empty where it names none."""
    return normal(leading(text.strip()))


def narrowed(wish: Wish, texts: Iterable[str], family: Callable[[], Collection[str]]) -> Wish:
    """The wish with these requirements in it; what is not part of the torch family is refused.

    `family` looks its names up; for torch and its companions nobody has to.
    """
    torch: list[str] = []
    companions: dict[str, list[str]] = {}
    others: list[str] = []
    for text in texts:
        name, specifier = _split(text)
        if name == "torch":
            torch.append(specifier)
        elif name in COMPANIONS:
            companions.setdefault(name, []).append(specifier)
        elif name in family():
            others.append(name + specifier)
        else:
            hint = f"`torchpick install {text}` installs other packages together with torch"
            raise RequirementError(f"`{text}` is not part of the torch family", hint=hint)
    return wish._replace(
        torch=_joined(torch),
        companions={name: _joined(specifiers) for name, specifiers in companions.items()},
        others=tuple(others),
    )


def _joined(specifiers: list[str]) -> str:
    return ",".join(each for each in specifiers if each)


def _split(text: str) -> tuple[str, str]:
    """Name and specifier; the packaging library is loaded only for what is more than a name."""
    stripped = text.strip()
    name = leading(stripped)
    rest = stripped[len(name) :].strip()
    if name and simple(rest) is not None:
        return normal(name), rest.replace(" ", "")
    from torchpick.model.versions import parsed

    try:
        requirement = parsed(stripped)
    except ValueError as error:
        reason = str(error).splitlines()[0] if str(error) else "it cannot be parsed"
        raise RequirementError(
            f"`{text}` is not a valid requirement: {reason}", hint='such as `"torch<2.12"`, in quotes'
        ) from error
    for what, there in (("a URL", requirement.url), ("a marker", requirement.marker), ("an extra", requirement.extras)):
        if there:
            hint = "`torchpick install` accepts everything that pip accepts"
            raise RequirementError(f"`{text}` has {what}, which does not affect which build runs", hint=hint)
    return normal(requirement.name), str(requirement.specifier)
