"""What a text says of the machine that it is about: GPU, driver, CUDA and torch. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchpick.doctor.logs import message
from torchpick.model.noun import Noun

# Each form is anchored at words that it cannot do without, and bounded: no line is tried twice.
_CAPABILITY = re.compile(
    r"(?:cuda |compute )?capability(?: \(CC\))?:? (?:of )?(?P<dotted>\d{1,2}\.\d)\b"
    r"|with CUDA capability (?P<named>sm_\d{2,3}[af]?) is not"
    r"|--gpu-name=(?P<asked>sm_\d{2,3}[af]?)\b"
    r"|GPU arch : (?P<amd>gfx[0-9a-f]{3,4})\b",
    re.IGNORECASE,
)
# A capability that a program asks for is not the GPU's.
_WANTED = re.compile(r"(?:at least|minimum|requires?|only supports?|>=|newer than|or higher)", re.IGNORECASE)
_NAME = re.compile(
    r"Found GPU\d{1,3} (?P<found>.{3,80}?) which is of"
    r"|(?P<with>(?:NVIDIA |GeForce |Tesla |Quadro )[\w -]{2,60}?) with CUDA capability"
    r"|GPU \d{1,3}: (?P<listed>[\w .()/+-]{3,80}?)(?: \(UUID| ?\.\.\.|$)"
    r"|Your (?P<your>[\w ./+-]{3,60}?) GPU has compute capability"
    r"|\b(?P<plain>(?:GeForce )?(?:GTX|RTX) ?\d{3,4}(?: ?(?:Ti|SUPER))?(?: ?Laptop GPU)?"
    r"|Tesla [KMPVT]\d{1,3}\w?|TITAN (?:X|Xp|V|RTX)"
    r"|(?:NVIDIA )?(?:A100|H100|H200|B200|GH200|GB200|L40S|L4|A10G?|A40|A6000|V100|P100|T4)"
    r"|Radeon (?:RX|PRO|VII)[\w -]{0,20}|Arc [AB]\d{3}M?)\b"
)
_DRIVER = re.compile(r"(?:driver version|NVIDIA-SMI)[: ]{1,4}(?P<version>\d{3}\.\d{2,3}(?:\.\d{2})?)\b", re.IGNORECASE)
_SPOKEN = re.compile(r"found version (?P<code>\d{4,5})\b|CUDA Version: (?P<dotted>\d{1,2}\.\d)\b")
_TORCH = re.compile(
    r"\b(?:torch(?:==| )|PyTorch(?: version:?)? )v?"
    r"(?P<version>[12]\.\d{1,2}\.\d(?:\+(?:cu\d{2,3}|cpu|rocm[\d.]{1,6}|xpu))?)",
    re.IGNORECASE,
)
# So much of a text is searched for what it says of its machine.
MOST_TEXT = 4 << 20


class Mentions(Noun):
    """The first mention of each; None where the text has none. `driver_cuda` is the CUDA that the driver supports."""

    capability: str | None = None
    name: str | None = None
    driver: str | None = None
    driver_cuda: str | None = None
    torch: str | None = None


def of_text(chunks: Iterable[bytes]) -> Mentions:
    """Look through the start of a text."""
    data = b""
    for chunk in chunks:
        data += chunk
        if len(data) > MOST_TEXT:
            break
    found = Mentions()
    for line in data[:MOST_TEXT].split(b"\n"):
        if len(line) <= 1 << 16:
            found = _with(found, message(line).decode("utf-8", "replace"))
    return found


def _with(found: Mentions, line: str) -> Mentions:
    if found.capability is None and (match := _CAPABILITY.search(line)) and not _WANTED.search(line[: match.start()]):
        found = found._replace(capability=next(group for group in match.groups() if group))
    if found.name is None and (match := _NAME.search(line)):
        found = found._replace(name=next(group for group in match.groups() if group).strip())
    if found.driver is None and (match := _DRIVER.search(line)):
        found = found._replace(driver=match["version"])
    if found.driver_cuda is None and (match := _SPOKEN.search(line)):
        code = match["code"]
        found = found._replace(driver_cuda=match["dotted"] or f"{int(code) // 1000}.{int(code) % 1000 // 10}")
    if found.torch is None and (match := _TORCH.search(line)):
        found = found._replace(torch=match["version"])
    return found
