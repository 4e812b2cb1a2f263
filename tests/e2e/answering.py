"""publish.sh on a machine whose Larder answers what a test says."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from apps.snippets import publish_script
from tests.e2e.ci_jobs import Machine, Step

ID = "0d7a1f6e-7c3b-4b64-9f0f-1f2f3a4b5c6d"
ADDRESS, RELEASE = "/api/v1/modules/acme/vpc/aws/1.0.0", f"/api/v1/releases/{ID}"
EXCHANGE = "/api/v1/trusted-publishing/token"
TOKEN = json.dumps({"token": "lrd_c_abcdefgh"})


def document(state: str) -> str:
    return json.dumps({"id": ID, "state": state, "steps": [{"name": "received", "state": "done"}]})


class Server:
    """`answers` of an address, each once and the last one for ever: a status and a body, or None to hang up."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, list[tuple[int, str] | None]] = {
            ADDRESS: [(202, document("received"))],
            RELEASE: [(200, document("published"))],
        }
        self.requests: list[tuple[str, str, bytes]] = []
        self.headers: dict[str, str] = {}

    def bodies(self, path: str) -> list[bytes]:
        return [body for _, at, body in self.requests if at == path]


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            larder.requests.append((self.command, self.path, body))
            answers = larder.answers.get(self.path, [(404, "{}")])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer[0])
            for name, value in larder.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer[1])))
            self.end_headers()
            self.wfile.write(answer[1].encode())

        def do_PUT(self) -> None:
            self.do_GET()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    larder = Server(f"http://127.0.0.1:{http.server_address[1]}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield larder
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture
def make(tmp_path: Path, server: Server) -> Callable[..., Machine]:
    """A machine with the script beside the repository, and a `sleep` that notes for how long."""

    def made(shell: str = "dash") -> Machine:
        here = Machine(tmp_path / shell, server.url, tmp_path / "none", shell)
        del here.environment["CURL_CA_BUNDLE"]
        here.program("sleep", f"#!/bin/sh\necho $1 >> {here.folder}/slept\n")
        (here.folder / "publish.sh").write_bytes(publish_script.newest().body)
        return here

    return made


def run(here: Machine, words: str = "acme/vpc/aws 1.0.0", status: int = 0, **environment: str) -> str:
    given = {"LARDER_URL": here.larder, "LARDER_TOKEN": "lrd_s_abcdefgh", **environment}
    done = here.run(Step(("sh", "-c"), f"sh ../publish.sh {words}", given))
    assert done.returncode == status, done.stdout
    return done.stdout
