"""Wheels read on a Ray cluster: a task for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from torchpick.cluster.programs import ClusterError
from torchpick.cluster.ray import connect, found, last_line
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge.locations import PACKAGE
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions
from torchpick.wheels.readings import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.client import Client

_STATUS = "`ray status` says what the cluster lacks; its Python needs httpx and packaging"


def address_of(word: str) -> str:
    """The cluster's address in `ray` or `ray:ADDRESS`."""
    engine, mark, address = word.partition(":")
    if engine != "ray" or (mark and not address) or address.startswith("-"):
        raise UsageError(f"`{word}` is not a valid cluster", hint="`--on ray`, or `--on ray:ADDRESS`")
    return found(address)


@contextmanager
def reader(address: str) -> Iterator[Callable[[str, ReadOptions], Reading]]:
    """What reads a wheel at an address as a task of the cluster, for many threads at once."""
    import ray

    # Ray carries our code to the workers.
    try:
        connect(address, runtime_env={"py_modules": [PACKAGE]})
    except Exception as error:
        raise ClusterError(f"ray: {last_line(error)}", hint=_STATUS) from error
    task = ray.remote(num_cpus=1, max_retries=2)(answer)

    def read(url: str, how: ReadOptions) -> Reading:
        running = task.remote(url, how.depth)
        while not ray.wait([running], timeout=1)[0]:
            how.report(0)  # which raises where the run was given up
        try:
            reading: Reading | TorchpickError = ray.get(running)
        except Exception as error:  # a task that a node killed is that wheel's result
            raise ClusterError(last_line(error), hint=_STATUS) from error
        if isinstance(reading, TorchpickError):
            raise reading
        return reading

    try:
        yield read
    finally:
        ray.shutdown()


@cache
def _client() -> Client:
    """The one of this worker, which reads wheel after wheel."""
    from torchpick.index.client import Client

    return Client()


def answer(url: str, depth: str | None) -> Reading | TorchpickError:
    """A reading, or what went wrong; this runs on a node."""
    try:
        return inspect_target.read_target(url, ReadOptions(depth, client=_client))
    except TorchpickError as error:
        return error
