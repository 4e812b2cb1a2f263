"""Requests below /v2/ as no library sends them: odd headers, odd spellings, and bodies that end early."""

import http.client
import json
import ssl

import pytest

from tests.e2e.oci.programs import ARTIFACT_TYPE

pytestmark = pytest.mark.live

NAME = "acme/raw/aws"


@pytest.fixture
def tls(live):
    return ssl.create_default_context(cafile=live.ca_bundle)


@pytest.fixture
def ask(live, shelf, tls):
    """Status, headers and body of one request on a connection of its own. Headers may repeat."""

    def send(method, path, *headers, body=b"", secret=shelf.manage):
        host, _, port = live.host.partition(":")
        connection = http.client.HTTPSConnection(host, int(port), context=tls, timeout=30)
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        if secret:
            connection.putheader("Authorization", f"Bearer {secret}")
        if body or method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        found = answer.status, answer.headers, answer.read()
        connection.close()
        return found

    return send


def test_accept_in_six_lines_and_gzip_change_nothing(ask):
    lines = [("Accept", f"application/vnd.docker.distribution.manifest.v{n}+json") for n in range(6)]

    status, headers, body = ask("GET", "/v2/open/vpc/aws/manifests/1.2.0", *lines, ("Accept-Encoding", "gzip"))

    assert (status, headers["Content-Encoding"]) == (200, None)
    assert int(headers["Content-Length"]) == len(body)
    assert headers["Content-Type"] == "application/vnd.oci.image.manifest.v1+json"
    assert json.loads(body)["artifactType"] == ARTIFACT_TYPE


def test_a_head_has_every_header_and_no_body(ask):
    got, head = (ask(method, "/v2/open/vpc/aws/manifests/1.2.0") for method in ("GET", "HEAD"))

    assert head[2] == b""
    for name in ("Content-Length", "Content-Type", "Docker-Content-Digest", "Docker-Distribution-Api-Version"):
        assert head[1][name] == got[1][name] is not None, name


@pytest.mark.parametrize("header", ["0-4", "bytes 0-4/5", "bytes=0-4"])
def test_a_chunk_may_be_announced_in_each_spelling(ask, header):
    _, headers, _ = ask("POST", f"/v2/{NAME}/blobs/uploads/")

    status, headers, _ = ask("PATCH", headers["Location"], ("Content-Range", header), body=b"12345")

    assert (status, headers["Range"]) == (202, "0-4")
    assert ask("DELETE", headers["Location"])[0] == 204


def test_a_location_is_relative_whatever_the_proxy_says(ask):
    forged = (("X-Forwarded-Host", "evil.example.org"), ("X-Forwarded-Proto", "http"))

    _, headers, _ = ask("POST", f"/v2/{NAME}/blobs/uploads/", *forged)

    assert headers["Location"].startswith(f"/v2/{NAME}/blobs/uploads/")
    refused = ask("GET", "/v2/", *forged, secret="")[1]["WWW-Authenticate"]
    assert "evil" not in refused
    assert 'realm="https://' in refused
