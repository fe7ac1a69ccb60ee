"""What a user asks for, in the user's own words, the wish that it means, and the answer: the pick of a build."""

from __future__ import annotations

from torchpick.errors import NoBuildError
from torchpick.model import NamedTuple
from torchpick.model.address import WHEEL_HOST
from torchpick.model.build import Build, Verdict
from torchpick.model.fields import dumps, envelope, html, shown, written
from torchpick.model.machine import Machine, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchpick.model.fleet import Fleet

CHANNELS = ("stable", "nightly", "test")


class Limit(NamedTuple):
    """A version that something other than the request binds, and the place that says so."""

    name: str
    specifier: str
    where: str

    @property
    def text(self) -> str:
        """`torch<2.13 in limits.txt line 1`."""
        return f"{self.name}{self.specifier} in {self.where}"


class Wish(NamedTuple):
    """`torch` and the values of `companions` are version specifiers, empty for any; no `backends` means any.

    `others` are requirements of the torch family that no companion table pins, such as torchcodec; `limits` what
    constraints files and settings say. `near` is the release that the answer is to be nearest to, where not the newest.
    """

    torch: str = ""
    companions: Mapping[str, str] = {}
    others: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    backends: tuple[str, ...] = ()
    channel: str = "stable"
    index_base: str = WHEEL_HOST
    allow_cpu: bool = False
    allow_unconfirmed: bool = False
    whole: bool = False
    near: str = ""


# Facts of a machine whose flags have their names.
FACTS = ("driver", "cuda_driver", "platform", "glibc", "macos", "python")
# What of a request describes the machine; what two requests share here is looked up once for both.
MACHINE_FIELDS = ("gpus", *FACTS, "machine", "visible_only", "only", "trust_pci")


def flag_of(name: str) -> str:
    """`cuda_driver` → `--cuda-driver`."""
    return "--" + name.replace("_", "-")


class Request(NamedTuple):
    """One field for each flag of the contract; `gpus` empty-handed (None) means that none was specified."""

    requirements: tuple[str, ...] = ()
    gpus: tuple[str, ...] | None = None
    driver: str | None = None
    cuda_driver: str | None = None
    platform: str | None = None
    glibc: str | None = None
    macos: str | None = None
    python: str | None = None
    machine: tuple[str, ...] | None = None
    strict: bool = False
    visible_only: bool = False
    only: str | None = None
    trust_pci: bool = False
    backends: tuple[str, ...] = ()
    channel: str = "stable"
    cpu: bool = False
    allow_cpu: bool = False
    allow_unconfirmed: bool = False
    whole: bool = False
    index_base: str | None = None
    offline: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """The request as `torchpick install` takes it, without its requirements."""
        words: list[str] = []
        for flag, values in (("--gpu", self.gpus), ("--machine", self.machine), ("--backend", self.backends)):
            words += [word for value in values or () for word in (flag, value)]
        given = {
            **self._asdict(),
            "gpus": "visible" if self.visible_only else None,
            "channel": None if self.channel == "stable" else self.channel,
        }
        for name in (*FACTS, "gpus", "only", "index_base", "channel"):
            if given[name] is not None:
                words += [flag_of(name), given[name]]
        for name in ("cpu", "allow_cpu", "allow_unconfirmed", "whole", "trust_pci", "offline"):
            if given[name]:
                words.append(flag_of(name))
        return tuple(words)


# Both pip and uv refuse this line: no index, and a version that nobody can publish.
NOTHING_RUNS = "--no-index torch==0+no.build.runs.here"
# The same where nothing is known of that: stderr says what went wrong.
NO_LINE = "--no-index torch==0+see.the.error"


def pip_line(build: Build, wish: Wish) -> str:
    """The words as one line for a shell to split: `--index-url URL torch==…`."""
    return " ".join(pip_words(build, wish, build.index_url(wish.index_base, wish.channel)))


def pip_words(build: Build, wish: Wish, url: str) -> list[str]:
    """Pip's arguments with the index at this URL; a flat mirror is a page of links instead of an index.

    Without a URL the build lies on the user's own index, which pip and uv know.
    """
    if not url:
        return list(pip_requirements(build, wish))
    where = ["--no-index", "--find-links"] if wish.index_base.startswith("flat+") else ["--index-url"]
    if build.vendor is not None:
        where = [build.vendor.option]
    # What a nightly depends on (triton) is a pre-release too.
    early = [] if wish.channel == "stable" else ["--pre"]
    return [*early, *where, url, *pip_requirements(build, wish)]


def pip_requirements(build: Build, wish: Wish) -> tuple[str, ...]:
    """Torch and the companions that were asked for, pinned; what else of the family was asked for stays as it was."""
    pins, lines = build.pins, list[str]()
    for name in ("torch", *(name for name in wish.companions if name in pins)):
        extras = f"[{','.join(build.extras_of(name))}]" if build.extras_of(name) else ""
        lines.append(f"{name}{extras}=={pins[name]}")
    return (*lines, *wish.others)


class Change(NamedTuple):
    """One thing that would have to be different for a build to run, and that build."""

    code: str
    text: str
    verdict: Verdict

    def to_dict(self) -> dict[str, object]:
        return {**written(self, "code", "text"), "version": self.verdict.build.version}


# One GPU of one of several machines, by their numbers; None stands for a machine without GPUs.
GpuPlace = tuple[int, int | None]


def machines_of(places: tuple[GpuPlace, ...]) -> list[int]:
    return sorted({machine for machine, _ in places})


class Group(NamedTuple):
    """One environment of a plan: the GPUs it supports, and its build."""

    members: tuple[GpuPlace, ...]
    verdict: Verdict


class Pick(NamedTuple):
    """The answer for one or several machines, with every verdict it was weighed against.

    `verdicts` holds one a machine, all of the same version pin; it is empty where no single pin runs on all of them.
    `unserved` are those that no build supports at all, so that no plan holds them. `table_date` is the day of the
    newest fact in the table. `fleet` says how many machines each of `machines` stands for, and which are left out;
    None where it is one computer. `refusal` is why nothing was picked, and what would have to change.
    """

    machines: tuple[Machine, ...]
    wish: Wish
    verdicts: tuple[Verdict, ...]
    considered: tuple[Verdict, ...]
    notes: tuple[Note, ...] = ()
    plan: tuple[Group, ...] = ()
    changes: tuple[Change, ...] = ()
    unserved: tuple[GpuPlace, ...] = ()
    table_date: str | None = None
    fleet: Fleet | None = None
    refusal: tuple[str, str | None] | None = None

    def require(self) -> Pick:
        """The pick itself; NoBuildError, which carries it, where no build runs.

        DetectionError where a GPU does not answer, so that nothing was picked.
        """
        if self.ok:
            return self
        self.machine.require()
        why, hint = self.refusal or ("no build runs here", None)
        raise NoBuildError(why, pick=self, hint=hint)

    def __repr__(self) -> str:
        """One line: every verdict in full would be a page for each build there is."""
        first = f"{self.machine.in_short}{f' and {len(self.machines) - 1} more' if len(self.machines) > 1 else ''}"
        return f"<Pick {f'torch {self.version}' if self.ok else 'of nothing'} for {first}>"

    def _repr_html_(self) -> str:
        """The answer as a notebook shows it."""
        facts: dict[str, object] = {"for": [machine.in_short for machine in self.machines[:8]]}
        if self.ok:
            line = f"pip install {pip_line(self.build, self.wish)}"
            facts |= {"torch": self.version, "install": line, "companions": self.companions}
        else:
            facts |= {"torch": "no build runs here", **written(self, "changes")}
        return html({**facts, **written(self, "notes")})

    @property
    def ok(self) -> bool:
        return bool(self.verdicts)

    @property
    def machine(self) -> Machine:
        return self.machines[0]

    @property
    def build(self) -> Build:
        """The build that was picked; NoBuildError where there is none."""
        return self.require().verdicts[0].build

    @property
    def version(self) -> str:
        return self.build.version

    @property
    def index_url(self) -> str:
        """Where torch lies; empty where it comes from the user's own index (`--backend default`)."""
        return self.build.index_url(self.wish.index_base, self.wish.channel)

    @property
    def is_flat(self) -> bool:
        """Whether its index is one page of links to files."""
        if self.build.vendor is not None:
            return self.build.vendor.option == "--find-links"
        return self.wish.index_base.startswith("flat+")

    @property
    def every_note(self) -> tuple[Note, ...]:
        """What a person should know of the machines, then of the answer.

        That NVIDIA reports a fault of its compilers is for `list` and programs: hardly anybody can act upon it.
        """
        own = (note for note in self.notes if note.code != "CUDA_MISCOMPILE")
        return (*(note for machine in self.machines for note in machine.notes), *own)

    @property
    def requirements(self) -> tuple[str, ...]:
        """Torch and the companions that were asked for, each pinned to its exact build."""
        return pip_requirements(self.build, self.wish)

    @property
    def companions(self) -> dict[str, str]:
        return self.build.companion_pins

    def to_dict(self) -> dict[str, object]:
        """The object that `torchpick --json` prints."""
        answer: dict[str, object] = shown(as_json(self, "pick"))
        return answer

    def to_json(self) -> str:
        return dumps(self.to_dict())


def as_json(pick: Pick, command: str) -> dict[str, object]:
    """The answer: machine, pick, plan, and everything considered, best first."""
    fleet = pick.fleet
    one = len(pick.machines) == 1 if fleet is None else fleet.count == 1
    facts: dict[str, object] = {"machine": pick.machine if one else None}
    if not one:
        facts["machines"] = pick.machines if fleet is None else fleet.crowds
    if fleet and fleet.left_out:
        facts["left_out"] = fleet.left_out
    return envelope(
        command,
        0 if pick.ok else 3 if pick.machine.ok else 4,
        **facts,
        table={"date": pick.table_date},
        pick=_chosen(pick.verdicts, pick.wish, pick.notes) if pick.ok else None,
        plan=[group_json(group, pick.wish, fleet) for group in pick.plan],
        unserved=[[*place] for place in pick.unserved],
        **written(pick, "changes", "considered"),
    )


def group_json(group: Group, wish: Wish, fleet: Fleet | None) -> dict[str, object]:
    machines = machines_of(group.members)
    return {
        "machines": machines,
        **({} if fleet is None else fleet.hosts(machines).to_dict()),
        "gpus": [[machine, gpu] for machine, gpu in group.members if gpu is not None],
        "pick": _chosen((group.verdict,), wish, ()),
    }


def _chosen(verdicts: tuple[Verdict, ...], wish: Wish, notes: tuple[Note, ...]) -> dict[str, object]:
    build = verdicts[0].build
    return {
        **written(build, "torch", "backend", "version", "cuda"),
        "index_url": build.index_url(wish.index_base, wish.channel) or None,
        "requirements": pip_requirements(build, wish),
        "companions": build.companion_pins,
        "evidence": build.evidence,
        "fits": [fit for verdict in verdicts for fit in verdict.fits],
        "notes": notes,
    }
