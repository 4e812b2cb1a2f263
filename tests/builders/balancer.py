"""A load balancer that follows readiness: it asks each server's /readyz before a request, and sends it to one that is
ready. If none is, it answers 503 itself, as an ingress or a cloud's balancer does without a healthy target.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import httpx

from tests.builders.serving import Quiet, serving

NO_SERVER = b"no healthy upstream"
NOT_PASSED_ON = {"connection", "transfer-encoding", "content-encoding", "content-length"}


def is_ready(server: httpx.Client) -> bool:
    try:
        return server.get("/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def balancing(ports: Callable[[], list[int]], *, host: str, local_address: str) -> Iterator[str]:
    """Yield its address. `host`: the public one; `local_address`: from which the servers trust it as a proxy."""

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            for port in ports():
                transport = httpx.HTTPTransport(local_address=local_address)
                with httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=transport, timeout=30) as server:
                    if is_ready(server):
                        kept = {name: self.headers[name] for name in ("Accept", "Authorization") if self.headers[name]}
                        forwarded = {"Host": host, "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
                        self.answer(server.get(self.path, headers=kept | forwarded))
                        return
            self.answer(httpx.Response(503, content=NO_SERVER))

        def answer(self, answer: httpx.Response) -> None:
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name not in NOT_PASSED_ON:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

    with serving(Handler) as url:
        yield url
