"""A live Larder writes every line of its processes through our formatter, and no secret in any."""

import json
import socket
import ssl

import pytest

from tests.builders import canaries
from tests.builders.archives import module_zip
from tests.site.processes import eventually

pytestmark = pytest.mark.live
LINK = f"/invitations/{canaries.INVITATION}?token={canaries.TOKEN}&code={canaries.CODE}"


def raw(live, request: bytes) -> bytes:
    """The answer to bytes that no HTTP library would send."""
    tls = ssl.create_default_context(cafile=live.ca_bundle)
    host, port = live.host.split(":")
    with (
        socket.create_connection((host, int(port)), timeout=20) as plain,
        tls.wrap_socket(plain, server_hostname=host) as stream,
    ):
        stream.sendall(request)
        return stream.recv(4096)


@pytest.mark.smoke
def test_nothing_that_was_sent_as_a_secret_stands_in_the_output(live):
    mark = len(live.output.read_bytes())
    cookies = f"__Host-larder-session={canaries.SESSION}; __Host-larder-csrf={canaries.CSRF}"
    headers = {
        "Cookie": cookies,
        "Referer": f"https://evil.example{LINK}",
        "User-Agent": f"x {LINK}",
        "X-Request-Id": "after-all",
    }
    with live.client(canaries.TOKEN) as client:
        statuses = [
            client.post(LINK, data={"password": canaries.PASSWORD}, headers=headers).status_code,
            client.put(f"/uploads/{canaries.TICKET}", content=b"x", headers=headers | {"Origin": live.url}).status_code,
            client.get(f"/archives/{canaries.CAPABILITY}/{'ab' * 32}/vpc.zip", headers=headers).status_code,
            client.get(
                f"/account/login/?next={LINK}", headers=headers | {"Host": f"{canaries.TOKEN}.example"}
            ).status_code,
            client.get("/v2/token", auth=("x", canaries.PASSWORD), headers=headers).status_code,
        ]
    broken = f"GET {LINK} HTTP/1.1\r\nHost: {live.host}\r\nCookie: {cookies}\r\nBad {canaries.PASSWORD}\r\n\r\n"
    for request in (broken, f"GET {LINK} HTTP/7.7\r\nAuthorization: Basic {canaries.BASIC}\r\n\r\n"):
        raw(live, request.encode())

    def said():
        return live.output.read_bytes()[mark:].decode()

    eventually(lambda: said().count('"request_id": "after-all"') >= len(statuses))
    assert statuses == [403, 404, 403, 400, 401]
    assert {secret for secret in canaries.EVERY_ONE if secret.lower() in said().lower()} == set()
    assert "/invitations/[redacted]" in said()
    assert "/uploads/[redacted]" in said()
    assert f"/archives/[redacted]/{'ab' * 32}/vpc.zip" in said()


def test_web_and_worker_write_their_lines_through_the_formatter(live):
    live.publish("demo/loglines/local", "1.0.0", module_zip(), live.token())
    said = live.output.read_text().splitlines()
    loggers = {json.loads(line)["logger"] for line in said if line.startswith("{")}

    assert {"larder.access", "larder.releases"} <= loggers
