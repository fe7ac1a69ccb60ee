"""Wheels read on a Ray cluster: a task for each, and the readings as they come."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable
from functools import cache
from importlib.util import find_spec

from torchpick.cluster.engine import ClusterError
from torchpick.errors import TorchpickError, UsageError, WheelError
from torchpick.model.fields import Fields, ShapeError
from torchpick.wheels import readings, thing
from torchpick.wheels.readings import Reading
from torchpick.wheels.thing import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.client import Client

_STATUS = "`ray status` says what the cluster lacks; its Python needs httpx and packaging"


def address_of(word: str) -> str:
    """The cluster's address in `ray` or `ray:ADDRESS`."""
    engine, mark, address = word.partition(":")
    if engine != "ray" or (mark and not address) or address.startswith("-"):
        raise UsageError(f"`{word}` is not a valid cluster", hint="`--on ray`, or `--on ray:ADDRESS`")
    if find_spec("ray") is None:
        hint = "install the `ray` extra beside torchpick, of the cluster's own version"
        raise UsageError("the `ray` library is not installed for this Python", hint=hint)
    return address or "auto"


def read(
    urls: Iterable[str], address: str, how: How, jobs: int
) -> Generator[tuple[str, Reading | TorchpickError], None, None]:
    """The addresses with their readings, so many at once; one that fails is its error."""
    import ray

    # Ray carries our code to the workers.
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            configure_logging=False,
            runtime_env={"py_modules": [package]},
        )
    except Exception as error:
        raise ClusterError(f"ray: {_last_line(error)}", hint=_STATUS) from error

    task = ray.remote(num_cpus=1, max_retries=2)(answer)
    running: dict[object, str] = {}
    waiting = iter(urls)
    try:
        while True:
            while len(running) < jobs and (url := next(waiting, None)) is not None:
                running[task.remote(url, how.depth)] = url
            if not running:
                return
            [done], _ = ray.wait(list(running), num_returns=1)
            url = running.pop(done)
            try:
                found = _of_answer(ray.get(done))
            except Exception as error:  # noqa: BLE001 # a task that a node killed is that wheel's result
                found = ClusterError(_last_line(error), hint=_STATUS)
            yield url, found
    finally:
        ray.shutdown()


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["it was lost"])[-1][:300]


@cache
def _client() -> Client:
    """The one of this worker, which reads wheel after wheel."""
    from torchpick.index.client import Client

    return Client()


def answer(url: str, depth: str | None) -> str:
    """A reading, or what went wrong, as JSON; this runs on a node."""
    try:
        return json.dumps({"reading": readings.to_json(thing.read(url, How(depth, client=_client)))})
    except TorchpickError as error:
        return json.dumps({"error": error.to_json()})


def _of_answer(text: str) -> Reading | TorchpickError:
    try:
        row = Fields(json.loads(text))
        error = row.maybe_object("error")
        if error is not None:
            return WheelError(error.text("text"), hint=error.maybe_text("hint"), code=error.text("code"))
        return readings.of_json(row.object("reading"))
    except (ShapeError, ValueError) as error:
        return ClusterError(f"it did not answer in torchpick's form: {error}", hint=_STATUS)
