"""What `torchpick install` is asked: its own words, and those for the installer that are read as its own."""

from __future__ import annotations

from torchpick.environment.requirements import Given
from torchpick.install import plan
from torchpick.install.plan import Order


def test_requirements_of_every_kind_behind_the_dashes_stand_among_the_orders_own() -> None:
    behind = ("numpy", "-r", "b.txt", "--constraint=d.txt", "-e", "./two", "--group", "dev", "--no-cache-dir")
    order = Order(Given(("torch",), ("a.txt",), ("c.txt",), ("./one",), groups=("test",)), passed_on=behind)

    read = plan._with_what_follows_dashes(order)

    assert read.given.words == ("torch", "numpy")
    assert read.given.files == ("a.txt", "b.txt")
    assert read.given.constraints == ("c.txt", "d.txt")
    assert read.given.editables == ("./one", "./two")
    assert read.given.groups == ("test", "dev")
    assert read.passed_on == ("--no-cache-dir",)


def test_an_order_without_any_stays_as_it_is() -> None:
    order = Order(Given(("torch",)), passed_on=("--no-cache-dir",))

    assert plan._with_what_follows_dashes(order) is order
