"""The driver of a survey on a Ray cluster: a task for each wheel; a child, as the readers of one machine are."""

from __future__ import annotations

import json
import os
import sys
from queue import Empty

from torchpick.cluster.survey_reader import questions, say


def main(address: str) -> None:  # pragma: no cover # in a process of its own
    """Hand each question to the cluster, and pass the answers on as they come."""
    import ray

    from torchpick.model import __file__

    # Ray carries our code to the workers; httpx and packaging must be in their Python.
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    ray.init(
        address=address,
        log_to_driver=False,
        logging_level="ERROR",
        configure_logging=False,
        runtime_env={"py_modules": [package]},
    )

    def look(question: str) -> str:
        from torchpick.cluster.survey_reader import answer

        return answer(question)

    task = ray.remote(num_cpus=1, max_retries=2)(look)
    queue = questions()
    running: dict[object, int] = {}
    while True:
        try:
            while True:
                question = queue.get(timeout=None if not running else 0.05)
                running[task.remote(question)] = json.loads(question)["number"]
        except Empty:
            pass
        ready, _ = ray.wait(list(running), num_returns=1, timeout=0.5)
        for reference in ready:
            number = running.pop(reference)
            try:
                say(ray.get(reference))
            except Exception as error:  # noqa: BLE001 # a task that a node killed is that wheel's result
                why = (str(error).strip().splitlines() or ["it was lost"])[-1][:300]
                hint = "`ray status` says what the cluster lacks; its Python needs httpx and packaging"
                say(json.dumps({"number": number, "error": {"code": "CLUSTER", "text": why, "hint": hint}}))


if __name__ == "__main__":
    main(sys.argv[1])
