"""A job as the tests of the installers and of locks have it."""

from __future__ import annotations

from typing import Any

import torchpick
from torchpick.environment import requirements
from torchpick.environment.distributions import Environment
from torchpick.environment.requirements import RequirementArgs
from torchpick.install.job import Job
from torchpick.model.machine import Python

TARGET = Environment(
    Python("3.12", executable="/env/bin/python"), "/env", packages=("/env/lib/python3.12/site-packages",)
)
PICK = torchpick.pick(gpus=["sm_61"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")


def job(given: RequirementArgs | None = None, **more: Any) -> Job:
    asked = requirements.read_requirements(given or RequirementArgs(("torch",)), {})
    return Job(requirements=asked, pick=PICK, target=TARGET, store="/store")._replace(**more)
