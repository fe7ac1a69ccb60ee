"""The JSON envelope that every command prints under --json: one object, one line."""

from __future__ import annotations

import json

from torchpick import __version__
from torchpick.errors import DetectionError, NoBuildError, TorchpickError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.model.verdict import Group, Pick, Verdict
    from torchpick.model.wish import Wish

SCHEMA = 1


def new(command: str, *, status: str = "ok", exit_status: int = 0, **facts: object) -> dict[str, object]:
    """The envelope with the keys that are always there, and this command's facts."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": command,
        "status": status,
        "exit": exit_status,
        **facts,
    }


def of_error(error: TorchpickError, command: str, **facts: object) -> dict[str, object]:
    """An error as an object; `no_answer` for exit 4, and the whole answer where no build runs."""
    told = {"code": error.code, "text": error.message, "hint": error.hint}
    if isinstance(error, NoBuildError):
        return {**of_pick(error.pick, command), **facts, "error": told}
    status = "no_answer" if error.exit_status == 4 else "error"
    if isinstance(error, DetectionError) and error.machine is not None:
        facts.setdefault("machine", error.machine.to_json())
    return new(command, status=status, exit_status=error.exit_status, **facts, error=told)


def of_pick(pick: Pick, command: str) -> dict[str, object]:
    """The answer: machine, pick, plan, and everything considered, best first."""
    one = len(pick.machines) == 1
    answer = new(
        command,
        status="ok" if pick.ok else "no_build",
        exit_status=0 if pick.ok else 3,
        machine=pick.machine.to_json() if one else None,
    )
    if not one:
        answer["machines"] = [machine.to_json() for machine in pick.machines]
    answer["pick"] = _chosen(pick) if pick.ok else None
    answer["plan"] = [_group(group, pick.wish) for group in pick.plan]
    answer["unserved"] = [[machine, gpu] for machine, gpu in pick.unserved]
    answer["changes"] = [
        {"code": change.code, "text": change.text, "version": change.verdict.build.version} for change in pick.changes
    ]
    answer["considered"] = [verdict.to_json() for verdict in pick.considered]
    return answer


def _chosen(pick: Pick) -> dict[str, object]:
    fits = [fit.to_json() for verdict in pick.verdicts for fit in verdict.fits]
    return {**_build(pick.verdicts[0], pick.wish), "fits": fits, "notes": [note.to_json() for note in pick.notes]}


def _group(group: Group, wish: Wish) -> dict[str, object]:
    members = [[machine, gpu] for machine, gpu in group.members if gpu is not None]
    return {
        "machines": sorted({machine for machine, _ in group.members}),
        "gpus": members,
        "pick": {**_build(group.verdict, wish), "fits": [fit.to_json() for fit in group.verdict.fits], "notes": []},
    }


def _build(verdict: Verdict, wish: Wish) -> dict[str, object]:
    from torchpick.model.verdict import companions, requirements

    build = verdict.build
    return {
        "torch": build.torch,
        "backend": build.backend,
        "version": build.version,
        "cuda": build.cuda,
        "index_url": redacted(build.index_url(wish.index_base, wish.channel)),
        "requirements": list(requirements(build, wish)),
        "companions": companions(build),
        "evidence": build.evidence.to_json(),
    }


def redacted(url: str) -> str:
    """The URL without the password a user may have put into it."""
    scheme, mark, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    if not mark or "@" not in authority:
        return url
    user = authority.rpartition("@")[0].partition(":")[0]
    host = authority.rpartition("@")[2]
    return f"{scheme}://{user}:****@{host}{slash}{path}"


def dumps(value: dict[str, object]) -> str:
    """One line, fit for a pipe and for `--machine`; ASCII, so no code page can break it."""
    return json.dumps(value, separators=(", ", ": "))
