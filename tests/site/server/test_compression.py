"""Pages and documents are compressed as the client asks, what is named by its digest and what is secret never is."""

import gzip

import brotli
import pytest
from django.http import JsonResponse
from django.test import RequestFactory
from django.utils import timezone

from apps.protocol.locations import location_of
from registry_site.server.compression import CompressionMiddleware
from tests.builders.archives import module_zip
from tests.rows import for_each_row

DECODERS = {"br": brotli.decompress, "gzip": gzip.decompress}
CHROMIUM = "gzip, deflate, br, zstd"
DETAILS = "/v1/modules/pantry/vpc/aws/1.2.0"


def get(client, url, accept, method="get", **headers):
    return getattr(client, method)(url, headers={"Accept-Encoding": accept, **headers})


@pytest.fixture
def served(published):
    """A public module, whose details are more than 1 KB."""
    inputs = "".join(f'variable "input_{number}" {{}}\n' for number in range(20))
    return published("pantry/vpc/aws", data=module_zip({"main.tf": inputs}))


@for_each_row(("accept", "encoding"), [(CHROMIUM, "br"), ("gzip", "gzip")])
def test_a_page_and_a_document_are_compressed_and_the_same_bytes_come_out(client, served, accept, encoding):
    plain, packed = client.get(DETAILS), get(client, DETAILS, accept)
    page = get(client, "/modules/pantry/vpc/aws", accept)

    assert (packed.headers["Content-Encoding"], page.headers["Content-Encoding"]) == (encoding, encoding)
    assert DECODERS[encoding](packed.content) == plain.content
    assert DECODERS[encoding](page.content).strip().endswith(b"</html>")
    assert packed.headers["Content-Length"] == str(len(packed.content))
    assert len(packed.content) < len(plain.content) > 1024
    for answer in (plain, packed, page):
        assert "Accept-Encoding" in answer.headers["Vary"]


@for_each_row(
    ("accept", "encoding"),
    [
        ("", None),
        ("identity", None),
        ("*", None),
        ("deflate", None),
        ("gzip;q=0", None),
        ("gzip;q=much", None),
        ("identity, gzip, *;q=0.1", None),  # go-getter, which does not undo an encoding
        ("br;q=0.5, gzip", "gzip"),
        ("GZIP;Q=0.8", "gzip"),
        ("gzip;q=1.0, identity;q=0.5, *;q=0", "gzip"),
    ],
)
def test_a_client_has_what_it_likes_best(client, served, accept, encoding):
    assert get(client, DETAILS, accept).headers.get("Content-Encoding") == encoding


def test_a_head_tells_what_a_get_would_send(client, served):
    answer = get(client, DETAILS, "gzip", method="head")
    assert (answer.headers["Content-Encoding"], answer.content) == ("gzip", b"")


def test_what_is_small_is_left_alone(client, served):
    answer = get(client, "/v1/modules/pantry/vpc/aws/versions", CHROMIUM)
    assert ("Content-Encoding" in answer.headers, "Accept-Encoding" in answer.headers["Vary"]) == (False, False)


def test_no_archive_and_no_manifest_is_encoded(client, served):
    url, manifest = location_of(served, now=timezone.now()), "/v2/pantry/vpc/aws/manifests/1.2.0"
    whole, part = get(client, url, CHROMIUM), get(client, url, CHROMIUM, Range="bytes=0-9")
    assert (len(whole.getvalue()), len(part.getvalue())) == (served.size, 10)

    assert (whole.status_code, part.status_code, part.headers["Content-Length"]) == (200, 206, "10")
    assert get(client, url, CHROMIUM, **{"If-None-Match": whole.headers["ETag"]}).status_code == 304
    for answer in (whole, part, get(client, url, CHROMIUM, method="head"), get(client, manifest, CHROMIUM)):
        assert "Content-Encoding" not in answer.headers
        assert answer.headers["ETag"].startswith('"')


def test_a_document_with_a_strong_etag_leaves_byte_for_byte():
    """The tag is of these very bytes: encoded ones would need another, and a digest is verified by its reader."""
    whole = JsonResponse({"text": "x" * 2000}, headers={"ETag": '"sha256"'})
    asked = RequestFactory().get("/", headers={"Accept-Encoding": CHROMIUM})
    answer = CompressionMiddleware(lambda _: whole)(asked)

    assert (answer.headers.get("Content-Encoding"), answer.headers["ETag"]) == (None, '"sha256"')


def test_what_reveals_a_secret_is_not_compressed(browser_of, alice):
    """Beside input that somebody else may have chosen, its length would tell the secret (BREACH)."""
    browser = browser_of(alice)
    token = {"label": "chosen by another", "scope": "read", "days": 30}
    answers = [get(browser, browser.post("/tokens", token).url, CHROMIUM)]
    module = {"module": "new", "namespace": "acme", "name": "vpc", "system": "aws", "version": "1.2.0"}
    ticket = browser.post("/publish", module).url
    answers.append(get(browser, ticket, CHROMIUM))

    for answer, shown in zip(answers, (b"lrd_", b"/uploads/"), strict=True):
        assert shown in answer.content
        assert len(answer.content) > 1024
        assert "Content-Encoding" not in answer.headers


@for_each_row("accept", [CHROMIUM, "gzip"])
def test_the_length_of_an_answer_is_blurred(client, served, accept):
    lengths = {get(client, DETAILS, accept).headers["Content-Length"] for _ in range(12)}
    assert len(lengths) > 3
