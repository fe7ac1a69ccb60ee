"""A Kubernetes API on loopback, as much of it as kubectl asks for: nodes, jobs, their pods and what these print."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CONFIG = """\
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "%s"}}]
users: [{name: u, user: {}}]
contexts: [{name: here, context: {cluster: c, user: u}}]
"""
VERBS = ["get", "list", "create", "patch", "delete", "deletecollection"]


def _resource(name: str, kind: str, *, namespaced: bool) -> dict[str, object]:
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": VERBS}


CORE = [_resource("nodes", "Node", namespaced=False), _resource("pods", "Pod", namespaced=True)]
DISCOVERY: dict[str, object] = {
    "/version": {"major": "1", "minor": "30", "gitVersion": "v1.30.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "batch",
     "versions": [{"groupVersion": "batch/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "batch/v1",
     "version": "v1"}}]}, "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": CORE},
    "/apis/batch/v1": {"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [_resource("jobs", "Job",
     namespaced=True)]},
}  # fmt: skip


Status = dict[str, object]


class ApiServer:
    """`answer` says what the pod on a node prints, or the status of one that prints nothing."""

    def __init__(self, nodes: list[Any], answer: Callable[[str], str | Status] = lambda _: "") -> None:
        self.nodes = nodes
        self.answer = answer
        self.jobs: dict[str, dict[str, object]] = {}
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> ApiServer:  # noqa: PYI034 # Self needs Python 3.11
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def config(self, folder: Path) -> str:
        file = folder / "kubeconfig"
        file.write_text(CONFIG % f"http://127.0.0.1:{self._server.server_port}", "utf-8")
        return str(file)

    def get(self, path: str) -> object:
        if path in DISCOVERY:
            return DISCOVERY[path]
        if path == "/api/v1/nodes":
            return {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": self.nodes}
        if path.startswith("/api/v1/nodes/"):
            return self.node(path)
        if path.endswith("/log"):
            said = self.answer(self._node(path.split("/")[-2].removeprefix("pod-")))
            return said if isinstance(said, str) else ""
        if "/pods/" in path:
            return self._pod(path.rsplit("/", maxsplit=1)[-1].removeprefix("pod-"))
        if path.endswith("/pods"):
            return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [*map(self._pod, self.jobs)]}
        if path.endswith("/jobs"):
            return {"kind": "JobList", "apiVersion": "batch/v1", "metadata": {}, "items": [*self.jobs.values()]}
        return self.jobs.get(path.rsplit("/", maxsplit=1)[-1])

    def node(self, path: str) -> Any:
        return next((node for node in self.nodes if node["metadata"]["name"] == path.rsplit("/", maxsplit=1)[-1]), None)

    def _node(self, job: str) -> str:
        spec: dict[str, dict[str, dict[str, dict[str, str]]]] = self.jobs[job]["spec"]  # type: ignore[assignment]
        return spec["template"]["spec"]["nodeSelector"]["kubernetes.io/hostname"]

    def _pod(self, job: str) -> object:
        template: dict[str, dict[str, object]] = self.jobs[job]["spec"]["template"]  # type: ignore[index]
        said = self.answer(self._node(job))
        status = {"phase": "Succeeded"} if isinstance(said, str) else said
        metadata = {"name": f"pod-{job}", "namespace": "default", "labels": template["metadata"]["labels"]}
        spec = {"containers": [{"name": "detect", "image": "x"}]}
        return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": status}


def _handler(api: ApiServer) -> type[BaseHTTPRequestHandler]:
    class ApiHandler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # as the base names it
            pass

        def _reply(self, value: object) -> None:
            text = value if isinstance(value, str) else json.dumps(value)
            data = text.encode()
            self.send_response(404 if value is None else 200)
            self.send_header("Content-Type", "text/plain" if isinstance(value, str) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            api.asked.append(f"GET {url.path}")
            self._reply(api.get(url.path))

        def do_POST(self) -> None:
            api.asked.append(f"POST {self.path}")
            job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            job["metadata"]["namespace"] = "default"
            api.jobs[job["metadata"]["name"]] = job
            self._reply(job)

        def do_PATCH(self) -> None:
            """As kubectl changes labels: null takes one away."""
            change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = api.node(urlsplit(self.path).path)
            labels = found["metadata"]["labels"]
            labels |= change["metadata"]["labels"]
            for key in [key for key, value in labels.items() if value is None]:
                del labels[key]
            self._reply(found)

        def do_DELETE(self) -> None:
            path = urlsplit(self.path).path
            api.asked.append(f"DELETE {path}")
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            api.jobs.pop(path.split("/")[-1], None)
            self._reply({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    return ApiHandler
