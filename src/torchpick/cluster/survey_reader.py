"""A child that reads wheels: a question a line on stdin, an answer a line on stdout. It ends with its parent."""

from __future__ import annotations

import json
import os
import sys
from queue import SimpleQueue
from threading import Thread

from torchpick.errors import TorchpickError
from torchpick.model.fields import Fields
from torchpick.model.redaction import redacted
from torchpick.wheels import readings, wheel
from torchpick.wheels.archive import Archive
from torchpick.wheels.wheel import WheelFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.client import Client


def answer(question: str, client: Client | None = None) -> str:
    """The reading of the wheel that is asked for, or what went wrong, as one line of JSON."""
    from torchpick.index.client import Client
    from torchpick.index.remote import RemoteSource

    asked = Fields(json.loads(question))
    number = asked.number("number")
    own = client is None
    client = client or Client()
    try:
        facts = WheelFacts(asked.text("file"), asked.text("file"), asked.maybe_text("sha256"))
        source = RemoteSource(asked.text("url"), client)
        try:
            reading = wheel.read(archive := Archive(source), facts, asked.maybe_text("depth"))
            metadata = reading.metadata or wheel.metadata_of(archive)
        finally:
            source.close()
        cost = reading._replace(metadata=metadata, bytes_read=source.bytes_read, requests=source.requests)
        found = readings.to_json(cost)
        return json.dumps({"number": number, "reading": found})
    except TorchpickError as error:
        return json.dumps({"number": number, "error": error.to_json()})
    except Exception as error:  # noqa: BLE001 # one wheel that nobody foresaw does not end the survey
        said = {"code": "FAILED", "text": redacted(f"{type(error).__name__}: {error}"[:300]), "hint": None}
        return json.dumps({"number": number, "error": said})
    finally:
        if own:
            client.close()


def questions() -> SimpleQueue[str]:
    """The lines of stdin as they come. Its end is the parent's: whatever is being read then is given up at once."""
    queue: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for text in sys.stdin:
            queue.put(text)
        os._exit(0)

    Thread(target=listen, daemon=True).start()
    return queue


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:  # pragma: no cover # in a process of its own
    from torchpick.index.client import Client

    queue = questions()
    with Client() as client:
        while True:
            say(answer(queue.get(), client))


if __name__ == "__main__":
    main()
