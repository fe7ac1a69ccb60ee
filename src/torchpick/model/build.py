"""A build: one PyTorch release for one backend on one platform, what is known of it, and the host on which it lies."""

from __future__ import annotations

from torchpick.model.arch import Arch
from torchpick.model.namedtuples import NamedTuple
from torchpick.model.versions import numbers, release_key, remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Companions are pinned with torch; the rest of its family is only kept to the wheel host (compat/family.json).
COMPANIONS = ("torchvision", "torchaudio")
TRIO = frozenset({"torch", *COMPANIONS})
# Names of torch's own wheels of triton: a build pins what it needs of them.
TRITONS = ("triton", "triton-rocm", "triton-xpu", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu")
# The backend of the default package index's own wheels: plain versions, on the user's own index.
DEFAULT_INDEX = "default"
# What names a build in JSON.
BUILD_NAMES = ("torch", "backend", "version", "platform")
BuildKey = tuple[str, str, str]  # platform, version, backend


class TwinWheel(NamedTuple):
    """The default index's wheel of the same release, CUDA and platform."""

    file: str
    sha256: str


class Evidence(NamedTuple):
    """What a row is based on. `measured`: read out of a wheel (`ref` names it). `declared`: a script or a list says so.

    `twin` is the default index's wheel, where that one was read.
    """

    kind: str
    ref: str
    twin: TwinWheel | None = None


class VendorIndex(NamedTuple):
    """A vendor's own index, for what the wheel host lacks.

    `option` hands it to pip. Of `projects` its wheels take GPU code as extras (`torch[device-gfx1201]`), `documented`
    are those that the vendor lists; `alone` says that what they require lies there too, and nowhere else. `inferred`
    are the Pythons and companions of which nobody was seen to use its wheels.
    """

    vendor: str
    url: str
    option: str
    projects: tuple[str, ...] = ()
    documented: tuple[Arch, ...] = ()
    alone: bool = False
    inferred: tuple[str, ...] = ()


class Build(NamedTuple):
    """One build. `version` has the local label where the wheel has one; `arches` None: they are not known.

    `companion_basis` says of each companion how it is known to belong here: `metadata`, `declared` or `inferred`.
    `companion_pythons` holds the Pythons of those whose files are known; any other has torch's own. `vendor` is where
    it lies if not on the wheel host, `extras` bring its code for the GPUs of a machine.
    """

    torch: str
    backend: str
    platform: str
    version: str
    cuda: str | None
    arches: tuple[Arch, ...] | None
    pythons: tuple[str, ...]
    tags: tuple[str, ...]
    glibc: str | None
    libraries: Mapping[str, str]
    lacks: Mapping[str, tuple[Arch, ...]]
    published: bool | None
    yanked: bool
    companions: Mapping[str, str | None]
    companion_basis: Mapping[str, str]
    evidence: Evidence
    companion_pythons: Mapping[str, tuple[str, ...]] = {}
    vendor: VendorIndex | None = None
    extras: tuple[str, ...] = ()

    @property
    def key(self) -> BuildKey:
        """What tells it from every other build of an index."""
        return self.platform, self.version, self.backend

    @property
    def family(self) -> str:
        """`cuda`, `rocm`, `cpu` or `xpu`."""
        if self.backend == DEFAULT_INDEX:
            return "cpu" if self.cuda is None else "cuda"
        return family_of(self.backend)

    @property
    def cuda_major(self) -> int | None:
        """The CUDA major it was built for."""
        return None if self.cuda is None else int(self.cuda.partition(".")[0])

    @property
    def unified(self) -> bool:
        """Whether discrete code also runs on Tegra."""
        return is_unified(self.torch, self.cuda)

    @property
    def pins(self) -> dict[str, str]:
        """Torch and each companion that was made for it, by the version of exactly this build."""
        return {"torch": self.version, **self.companion_pins}

    @property
    def companion_pins(self) -> dict[str, str]:
        """Each companion that was made for it, by the version of exactly this build."""
        return {name: version for name, version in self.companions.items() if version is not None}

    def for_machine(self, python: str, gpus: Iterable[Arch | None], excluded: Iterable[str] = ()) -> Build:
        """The build with those companions alone that have a wheel for this Python, and with its code for these GPUs.

        `excluded` are the companions' releases that leave out this very Python, `torchvision 0.29.2`.
        """
        missing = [name for name, pythons in self.companion_pythons.items() if python not in pythons]
        missing += [name for name in self.companions if self.release_of(name) in excluded] if excluded else ()
        build = self._replace(companions={**self.companions, **dict.fromkeys(missing)}) if missing else self
        if self.vendor is None or not self.vendor.projects:
            return build
        return build._replace(extras=tuple(f"device-{arch}" for arch in dict.fromkeys(gpus)))

    def release_of(self, companion: str) -> str:
        """A companion and its release without the label of its build: `torchvision 0.29.2`."""
        return f"{companion} {self.companions[companion]}".partition("+")[0]

    def is_inferred(self, companion: str) -> bool:
        """Whether the maintainers of the companion name only an older torch."""
        return self.companion_basis.get(companion) == "inferred"

    def extras_of(self, name: str) -> tuple[str, ...]:
        """The extras with which a project of this build brings its code for the GPUs."""
        return self.extras if self.vendor is not None and name in self.vendor.projects else ()

    def index_url(self, base: str, channel: str = "stable") -> str:
        """The wheel index this build lies on, under the given base (a mirror, or the wheel host).

        Empty for the default index's own wheels: they come from whichever index the user has configured.
        """
        if self.vendor is not None:
            return self.vendor.url
        if self.backend == DEFAULT_INDEX:
            return ""
        if base.startswith("flat+"):
            return base.removeprefix("flat+")
        folder = "" if channel == "stable" else f"/{channel}"
        return f"{base.rstrip('/')}{folder}/{self.backend}"


def is_unified(torch: str | None, cuda: str | None) -> bool:
    """Whether discrete code crosses to Tegra: torch 2.14 and later, built with CUDA 13.2 and later."""
    if torch is None or cuda is None or numbers(cuda) < (13, 2):
        return False
    try:
        return release_key(torch)[0] >= (2, 14)
    except ValueError:
        return False


# Whose GPUs a family of builds is for: the vendor, and the maker's name.
MAKERS = {"cuda": ("nvidia", "NVIDIA"), "rocm": ("amd", "AMD"), "xpu": ("intel", "Intel")}
# Makers' names that stand for each backend of theirs.
FAMILIES = ("cuda", "rocm")


@remembered  # a table has some fifty backends and asks of each build several times
def family_of(backend: str) -> str:
    if backend.startswith("cu"):
        return "cuda"
    return "rocm" if backend.startswith("rocm") else backend


def backend_order(backend: str) -> tuple[str, tuple[int, ...]]:
    """Backends as a list shows them: by family, the older toolkit first."""
    return family_of(backend), toolkit_order(backend)


@remembered
def toolkit_order(backend: str) -> tuple[int, ...]:
    """The order among backends of one family: cu126 < cu130, and as numbers rocm7.2 < rocm7.14."""
    family = family_of(backend)
    if family == "cuda":
        digits = backend[2:]
        return (int(digits[:-1]), int(digits[-1])) if digits.isdigit() else ()
    return numbers(backend[4:]) if family == "rocm" else ()


WHEEL_HOST = "https://download.pytorch.org/whl"
_NAMES = ("download.pytorch.org", "download-r2.pytorch.org")
# What a URL loses wherever it is read as uv and browsers read it (WHATWG).
_BLANKS = "".join(map(chr, range(33)))
_DROPPED = {ord(blank): None for blank in "\t\r\n"}
_PORTS = {"https": ":443", "http": ":80"}


def is_wheel_host(url: str, base: str = WHEEL_HOST) -> bool:
    """Whether the URL is on PyTorch's own host, or below `base`, which stands for it; a path alone says nothing.

    Read as uv reads URLs, which takes more spellings of the host than pip does. `NAME=URL` is uv's too.
    """
    place = _place(url)
    if place is None:
        return False
    if _host(place[1]) in _NAMES:
        return True
    mirror = _place(base)
    return mirror is not None and place[:2] == mirror[:2] and f"{place[2]}/".startswith(f"{mirror[2]}/")


def is_on_host_of(url: str, index: str) -> bool:
    """Whether a file is on the host of an index, whatever its path; PyTorch's own has two names."""
    one, other = _place(url), _place(index)
    if one is None or other is None:
        return False
    same = one[1] == other[1] != "" or (_host(one[1]) in _NAMES and _host(other[1]) in _NAMES)
    return same and one[0] == other[0]


def _place(url: str) -> tuple[str, str, str] | None:
    """The scheme, the host with its port, and the path without its last slashes; None for what is not a URL."""
    text = url.strip(_BLANKS).translate(_DROPPED)
    name, _, rest = text.partition("=")
    if name.replace("-", "").replace("_", "").replace(".", "").isalnum() and name.isascii():
        text = rest
    scheme, colon, rest = text.partition(":")
    scheme = scheme.lower().removeprefix("flat+")
    if not colon or not scheme.isascii() or not scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return None
    # Any number of slashes, of either kind, stands for two.
    rest = rest.partition("?")[0].partition("#")[0].replace("\\", "/").lstrip("/")
    authority, _, path = rest.partition("/")
    host = _plain(authority.rpartition("@")[2])
    return scheme, host.removesuffix(_PORTS.get(scheme, "")), _unquoted(path).rstrip("/")


def _host(authority: str) -> str:
    return authority.partition(":")[0].rstrip(".")


def _plain(host: str) -> str:
    """A host with the case, the width and the escapes of its letters taken away."""
    host = _unquoted(host)
    if not host.isascii():
        import unicodedata

        host = unicodedata.normalize("NFKC", host).replace("\u3002", ".").replace("\u00ad", "")
    return host.lower()


def _unquoted(text: str) -> str:
    """Without its percent escapes; urllib.parse costs `url` some milliseconds and is nothing for the core."""
    first, *others = text.split("%")
    if not others:
        return text
    plain = first.encode("utf-8", "surrogateescape")
    for part in others:
        try:
            plain += bytes.fromhex(part[:2]) + part[2:].encode("utf-8", "surrogateescape")
        except ValueError:
            plain += b"%" + part.encode("utf-8", "surrogateescape")
    return plain.decode("utf-8", "replace")
