"""What a text says of the machine and the environment that it is about. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice

from torchpick.doctor.logs import message
from torchpick.model.noun import Noun
from torchpick.model.versions import normal

# Each form is anchored at words that it cannot do without, and bounded: no line is tried twice.
_CAPABILITY = re.compile(
    r"(?:cuda |compute )?capability(?: \(CC\))?:? (?:of )?(?P<dotted>\d{1,2}\.\d)\b"
    r"|with CUDA capability (?P<named>sm_\d{2,3}[af]?) is not"
    r"|--gpu-name=(?P<asked>sm_\d{2,3}[af]?)\b"
    r"|GPU arch : (?P<amd>gfx[0-9a-f]{3,4})\b"
    r"|(?:\bType:.{0,20}|[\s\[(`'\"])(?P<target>gfx[0-9a-f]{3,4})\b(?!.{0,20}=)",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"Found GPU\d{1,3} (?P<found>.{3,80}?) which is of"
    r"|(?P<with>(?:NVIDIA |GeForce |Tesla |Quadro )[\w -]{2,60}?) with CUDA capability"
    r"|GPU \d{1,3}: (?P<listed>[\w .()/+-]{3,80}?)(?: \(UUID| ?\.\.\.|$)"
    r"|Your (?P<your>[\w ./+-]{3,60}?) GPU has compute capability"
    r"|\b(?P<plain>(?i:(?:(?:GeForce|Quadro|GRID) )?(?:GTX|RTX)[ -]?(?:PRO |A)?\d{3,4}(?:M|MX|A|D|E)?"
    r"(?: ?(?:Ti|SUPER)){0,2}"
    r"(?:(?: [\w-]{3,8})? Ada(?: Generation)?| Blackwell)?(?: ?Laptop(?: GPU)?)?)"
    r"|(?i:GeForce (?:GT )?\d{3,4}(?:MX?|A)?|(?:GeForce )?MX ?\d{3}|Quadro [A-Z]{1,2}\d{3,4}M?)|GT (?:[67]\d0|1030)"
    r"|(?i:(?:Tesla|GRID) [KMPVT]\d{1,3}\w?|(?:GeForce )?(?:GTX )?TITAN (?:Xp|X|V|RTX)|(?:DGX|RTX) Spark)"
    r"|(?:NVIDIA )?(?:(?i:[AHV]100|A800|H200|H800|[BG]B?[123]00|GH200|L40S|K80|P100|A6000)|H20|GB10|(?<!#)L(?:40|20?|4)"
    r"|A10[GM]?|A16|A30|A40|P40|M40|T4|T400|T600|T1000)|NVIDIA (?:A2|L2)"
    r"|(?i:(?:Radeon )?RX[ -]?(?:Vega \d\d|\d{3,4})(?: ?(?:XTX|XT|GRE|M|S))?|[5-9]\d{3} ?XTX?"
    r"|Radeon (?:PRO |VII)[\w -]{0,20}|(?:Instinct )?MI\d{3}[AX]?|Strix Halo|Ryzen AI Max\+?(?: PRO)? \d{3})"
    r"|(?i:Radeon )(?:6[68]0|7[4-8]0|8[4-9]0)M|80[456]0S"
    r"|(?i:Arc(?:\(TM\))? (?:[AB]\d{3}M?|1[34]0[VT])"
    r"|(?<=Jetson )(?:AGX |NX )?(?:Orin|Thor|Xavier))|[2-5]0[5-9]0 ?(?i:Ti|SUPER))\b"
    r"|\b(?i:(?:nvidia|geforce|amd|my|an?|the|new|with) "
    r"(?P<bare>[2-5]0[5-9]0(?: ?(?:Ti|SUPER)){0,2}|(?:6[68]0|7[4-8]0|8[4-9]0)M)\b"
    r"(?![ -](?:param|model|token|image|sample|step|UNet)))",
    re.MULTILINE | re.ASCII,
)
_DRIVER = re.compile(
    r"(?:(?:drivers?(?: version)?(?: is| at)?|NVIDIA-SMI(?=[^\n]{1,30}\n))[:(, ]{1,4}|nvidia-(?:driver-|utils-)?"
    r"|NVRM version:.{1,60}Module(?: for \w{1,9})? {1,4})v?"
    r"(?P<version>\d{3}(?:\.\d{2,3}){0,2})\b(?! or |\+)"
    r"|\b(?P<before>[3-6]\d{2}(?:\.\d{2,3}){0,2}) (?:nvidia |gpu |game ready |studio )?drivers?\b",
    re.IGNORECASE,
)
# Drivers for CUDA before 7 are older than every build: they say nothing here.
_SPOKEN = re.compile(r"found version (?P<code>(?:[789]|1\d)\d{3})\b|CUDA Version: (?P<dotted>(?:[789]|1\d)\.\d)\b")
_TORCH = re.compile(
    r"\b(?:torch(?:==|[ =-]{1,40})|torch\.__version__(?:\W{1,8}|\W{1,3}is\W{1,3})"
    r"|(?:Py)?Torch(?:[- ]version)?(?: ?[:=] ?| ?| is ))v?"
    r"(?P<version>[12]\.\d{1,2}\.\d(?:\.dev\d{8})?(?:\+(?:cu\d{2,3}|cpu|rocm[\d.]{1,9}|xpu))?)(?![\w+]|-(?!cuda))"
    r"|(?<![\w.=+-])(?P<labelled>[12]\.\d{1,2}\.\d\+(?:cu\d{2,3}|cpu|rocm[\d.]{1,9}|xpu))(?![\w+-])",
    re.IGNORECASE,
)
# The CUDA of torch, where the text has it beside a version without a label.
_CUDA = re.compile(
    r"(?:(?i:CUDA used to build PyTorch:|torch\.version\.cuda\W{1,8}|\btorch\b[ a-z=:]{1,15}\d\.\d{1,2}\.\d\W{0,3}"
    r"(?:with |for |and )?cuda|torch[: ]v?\d\.\d{1,2}\.\d-cuda) ?|^CUDA ?: ?)v?(\d{2}\.\d)\b",
    re.MULTILINE,
)
# A board's driver comes with its JetPack, which people name instead.
_JETPACK = re.compile(r"JetPack (?:SDK )?([4-7])(?:\.\d)*", re.IGNORECASE)
_OF_JETPACK = {"4": "10.2", "5": "11.4", "6": "12.6", "7": "13.0"}
# A line of `pip list`, `pip freeze` or collect_env: torch's family and what is built against it; torchvision and
# torchaudio in a sentence too, with a whole version.
_PACKAGE = re.compile(
    r"(?:^(?:\[(?:pip3?|conda)\] )?|(?<![\w./-])(?<!install )(?<!needs )(?<!requires )(?<!require )"
    r"(?=torch(?:vision|audio)(?:\.__version__)?(?: version)?(?:[:=]| is)?[\s'\"]{1,4}\d\.\d{1,2}\.\d))"
    r"(?P<name>torch(?=(?:==| )[\d.]+(?: pypi_0 pypi)?$)"
    r"|torch(?:vision|audio|codec|ao)|xformers|vllm|flash[_-]attn|bitsandbytes|triton"
    r"|numpy)(?:==|(?:\.__version__)?(?: version)?(?:[:=]| is)?[\s'\"]{1,4})(?P<version>\d[\w.+]{0,40}\w)",
    re.MULTILINE | re.IGNORECASE,
)
# `pip show`: a name and its version in two lines.
_SHOWN = re.compile(r"^Name: ([\w.-]{1,40})\nVersion: ([\w.+]{1,40})$", re.MULTILINE)
# What a program, or a resolver, merely asks for is not there.
_WANTED = re.compile(
    r"(?:at least|minimum|requires?|(?<!\bi )needs?|only supports?|>=|newer than|or higher|because|depends on|satisf"
    r"|No matching|distribution `|found for|built for:)(?!.*[.?!] )|version of (?:\S+ ){0,2}$"
    r"|install(?:ing)? (?!support)(?:(?!for |on |with )\S+ ){0,4}$|(?:replace|uninstall)\w* (?:\S+ ){0,2}$",
    re.IGNORECASE,
)
# So much of a text is searched for what it says of its machine.
MOST_TEXT = 4 << 20
# And so much of its start and of its end for anybody's words, which posts have and long logs have not.
_MOST_WORDS = 1 << 16
_LONGEST_LINE = 1 << 16
_MOST_MATCHES = 50
_MOST_BEFORE = 200


class Mentions(Noun):
    """The first mention of each; None where the text has none. `driver_cuda` is the CUDA that the driver supports.

    `cuda` is the one that torch was built for; `facts` are the names of compat/words.json, each with what
    the text says of it.
    """

    capability: str | None = None
    name: str | None = None
    driver: str | None = None
    driver_cuda: str | None = None
    torch: str | None = None
    cuda: str | None = None
    packages: Mapping[str, str] = {}
    facts: Mapping[str, str] = {}

    @property
    def platform(self) -> str | None:
        """The platform by its name, where the text says which."""
        arm = "aarch64" in self.facts
        if "macos" in self.facts:
            return "macos-x86_64" if "intel" in self.facts else "macos-arm64"
        if "windows" in self.facts:
            return "windows-arm64" if arm else "windows-x86_64"
        return "linux-aarch64" if arm else "linux-x86_64" if "linux" in self.facts else None


def of_text(start: bytes, words: Mapping[str, str]) -> Mentions:
    """Look through the start of a text, for the words of compat/words.json too."""
    lines = start[:MOST_TEXT].split(b"\n")
    text = "\n".join(message(line).decode("utf-8", "replace") for line in lines if len(line) <= _LONGEST_LINE)
    text = _SHOWN.sub(r"\1 \2", text)
    spoken = _said(_SPOKEN, text)
    if spoken and spoken.isdigit():
        spoken = f"{int(spoken) // 1000}.{int(spoken) % 1000 // 10}"
    if not spoken and (jetpack := _JETPACK.search(text)):
        spoken = _OF_JETPACK[jetpack[1]]
    ends = text[:_MOST_WORDS] + text[max(_MOST_WORDS, len(text) - _MOST_WORDS) :]
    return Mentions(
        capability=_said(_CAPABILITY, text),
        name=_said(_NAME, text),
        driver=_said(_DRIVER, text),
        driver_cuda=spoken,
        torch=_said(_TORCH, text),
        cuda=_said(_CUDA, text),
        packages={normal(found["name"]): found["version"] for found in islice(_PACKAGE.finditer(text), _MOST_MATCHES)},
        facts={name: found[0] for name, pattern in words.items() if (found := re.search("(?im)" + pattern, ends))},
    )


def _said(pattern: re.Pattern[str], text: str) -> str | None:
    """What the first match keeps that is not merely asked for."""
    for found in islice(pattern.finditer(text), _MOST_MATCHES):
        line = text.rfind("\n", 0, found.start()) + 1
        if not _WANTED.search(text, max(line, found.start() - _MOST_BEFORE), found.start()):
            return next(group for group in found.groups() if group).strip()
    return None
