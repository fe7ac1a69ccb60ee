"""Where each file would come from: torch's family from its own host alone."""

from __future__ import annotations

import pytest

from tests.install.jobs import PICK, TARGET, job
from torchpick.environment import requirements
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import InstallerError
from torchpick.install import handover
from torchpick.install.asking import Order, TargetQuestion
from torchpick.install.handover import prove
from torchpick.install.reporting import ReportedPackage
from torchpick.install.user_settings import UserSettings
from torchpick.model.pick import Request
from torchpick.run import start_run

FILE = "torch-2.14.1%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl"
HOME = f"https://download.pytorch.org/whl/cu126/{FILE}"
COPY = f"https://copies.example/{FILE}"
OWN = "https://own.example"


@pytest.mark.parametrize(
    ("words", "file", "name", "url", "fine"),
    [
        (("torch",), HOME, "torch", HOME, True),
        (("torch",), HOME, "torch", f"{HOME}#sha256=5", True),
        # The page of the wheel host leads to another host.
        (("torch",), f"{COPY}#sha256=5", "torch", COPY, True),
        (("torch",), COPY, "torch", f"{OWN}/{FILE}", False),
        # Without a file of its own, as for a vendor: the host of its index is enough.
        (("torch",), "", "torch", f"https://download-r2.pytorch.org/whl/{FILE}", True),
        (("torch",), "", "torch", f"{OWN}/{FILE}", False),
        (("torch",), "", "torchvision", f"{OWN}/torchvision-0.29.1-py3-none-any.whl", False),
        # What the user named is where the user wants it from.
        ((f"torch @ {OWN}/{FILE}",), "", "torch", f"{OWN}/{FILE}", True),
        ((f"numpy @ {HOME}",), "", "numpy", HOME, True),
        (("numpy",), "", "numpy", f"{OWN}/numpy-2.0-py3-none-any.whl", True),
        (("numpy",), "", "numpy", "https://download.pytorch.org/whl/numpy-2.0-py3-none-any.whl", True),
        (("numpy",), "", "triton", "https://download.pytorch.org/whl/triton-3.8.0-py3-none-any.whl", True),
        (("numpy",), "", "triton", f"{OWN}/triton-3.8.0-py3-none-any.whl", True),
    ],
)
def test_each_comes_from_its_place_or_is_refused(
    words: tuple[str, ...], file: str, name: str, url: str, fine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = ReportedPackage(name, "1.0", url)
    monkeypatch.setattr(handover, "read_report", lambda *_: (item,))
    asked = requirements.read_requirements(RequirementArgs(words), {})
    target = TARGET._replace(installed={"pip": "26.3"})
    request = Request(gpus=("sm_61",), platform="linux-x86_64", python="3.12")
    question = TargetQuestion(start_run(request, {}), Order(asked.given, "pip"), asked, target)
    made = job(asked.given, pick=PICK, files={"torch": file} if file else {}, settings=UserSettings())

    if fine:
        assert prove(question, made) == (item,)
        return
    with pytest.raises(InstallerError) as caught:
        prove(question, made)
    assert (caught.value.code, caught.value.message) == ("WRONG_HOST", f"{name} 1.0 would come from {url}")
