"""Publishing with one `curl`, over HTTP/1.1 with a length and chunked, and over HTTP/2 (D24)."""

import json

import pytest

from tests.builders.archives import module_zip
from tests.e2e.curl import curl
from tests.needs import needs
from tests.site.processes import eventually

pytestmark = pytest.mark.live

FRAMINGS = {
    "http1-length": ["--http1.1", "--upload-file", "{}"],
    "http1-chunked": ["--http1.1", "-H", "Transfer-Encoding: chunked", "--upload-file", "{}"],
    "http2-length": ["--http2", "--upload-file", "{}"],
    "http2-without-length": ["--http2", "--upload-file", "-"],
    "http1-data-binary": ["--http1.1", "-X", "PUT", "--data-binary", "@{}"],
}


@pytest.fixture
@needs("curl")
def put(live, tmp_path):
    def send(framing: str, path: str, data: bytes, token: str) -> tuple[int, dict, int]:
        """Status, JSON body and curl's own exit code."""
        archive, answer = tmp_path / "module.zip", tmp_path / "answer.json"
        archive.write_bytes(data)
        flags = [flag.format(archive) for flag in FRAMINGS[framing]]
        with archive.open("rb") as body:
            code, (status,) = curl(live, answer, path, *flags, token=token, body=body)
        return int(status), json.loads(answer.read_text() or "{}"), code

    return send


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.smoke
def test_each_framing_publishes_the_very_bytes(live, shelf, put, framing):
    address = f"acme/curl-{framing.replace('without-length', 'bare')}/local"
    data = module_zip(comment=framing.encode() + b" " * 100)

    status, document, _ = put(framing, f"/api/v1/modules/{address}/1.0.0", data, shelf.manage)

    assert status == 202, document
    with live.client(shelf.manage) as client:
        ended = live.wait_for(client, f"/api/v1/releases/{document['id']}")
        assert ended["state"] == "published", ended
        location = client.get(f"/v1/modules/{address}/1.0.0/download").headers["X-Terraform-Get"]
        assert client.get(location.partition("?")[0]).content == data


@pytest.mark.parametrize("size", [1_000, 8_000_000])
def test_a_refusal_reaches_its_reader_before_the_body_is_stored(live, shelf, put, size):
    data, there = b"x" * size, live.staged()

    for framing in FRAMINGS:
        status, body, code = put(framing, "/api/v1/modules/acme/vpc/aws/9.0.0", data, "lrd_u_" + "a" * 42)
        assert status == 401, (framing, status, code)
        assert body["error"]["code"] == "unauthenticated"
    eventually(lambda: live.staged() <= there)
