"""Requirements on the command line, as far as a decision about torch and its companions needs them."""

from __future__ import annotations

from torchpick.model.build import COMPANIONS
from torchpick.model.request import Wish
from torchpick.model.versions import leading, normal, simple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torchpick.decide.demands import PackageDemand
    from torchpick.model.machine import Machine


def named(text: str) -> str:
    """The project a requirement names; empty where it names none."""
    return normal(leading(text.strip()))


def narrowed(wish: Wish, texts: Iterable[str], machine: Callable[[], Machine] | None = None) -> Wish:
    """The wish with what these requirements ask of torch and its companions in it.

    `machine` is asked for where a marker has to be judged.
    """
    specifiers: dict[str, list[str]] = {}
    for text in texts:
        name = named(text)
        if name not in ("torch", *COMPANIONS):
            continue
        specifier = text.strip()[len(leading(text.strip())) :].strip()
        if simple(specifier) is not None:
            specifiers.setdefault(name, []).append(specifier.replace(" ", ""))
            continue
        from torchpick.decide import demands

        for demand in demands.asked([text], None if machine is None else machine()):
            specifiers.setdefault(demand.name, []).append(demand.specifier)
    joined = {name: ",".join(filter(None, mine)) for name, mine in specifiers.items()}
    return wish._replace(torch=joined.pop("torch", ""), companions=joined)


def beyond_torch(texts: Iterable[str], machine: Callable[[], Machine]) -> tuple[PackageDemand, ...]:
    """All that is asked, where anything but torch and its companions is; empty where nothing is."""
    if all(named(text) in ("torch", *COMPANIONS) for text in texts):
        return ()
    from torchpick.decide import demands

    return demands.asked(texts, machine())
