"""Parts that a browser sends straight to storage: the same rules as for bytes that come through Larder."""

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant
from apps.blobs import store
from apps.lib.addresses import ModuleAddress
from apps.modules import publishing
from apps.releases.models import Release
from apps.releases.publishing import direct
from tests.builders.archives import module_zip

pytestmark = pytest.mark.django_db
on_s3 = pytest.mark.parametrize("backend", ["s3"], indirect=True)
DATA = module_zip(comment=b"straight to storage")
DIGEST = hashlib.sha256(DATA).hexdigest()

Patch = Callable[..., Any]


@pytest.fixture
def url(backend, settings, alice) -> str:
    """A reserved version that waits for its bytes."""
    settings.STORAGE_DIRECT_UPLOADS = True
    address = ModuleAddress.parse("acme/vpc/aws")
    _, ticket = publishing.reserve_release(viewer=Viewer(alice), address=address, version="1.2.0", file_name="vpc.zip")
    return f"/uploads/{ticket}"


@pytest.fixture
def patch(url: str, settings) -> Patch:
    def send(offset: int, way: str, data: bytes = b"") -> Any:
        headers = {"Origin": settings.PUBLIC_URL, "Upload-Offset": str(offset), "Upload-Length": str(len(DATA))}
        if way:
            headers["Upload-Part"] = way
        kind = "application/offset+octet-stream"
        more = {"Accept": "application/json", "Content-Type": kind}  # the test client has none for an empty body
        return Client().patch(url, data, content_type=kind, headers=headers | more)

    return send


@pytest.fixture
def put(patch: Patch) -> Callable[[int], httpx.Response]:
    """Send the part at an offset as a browser does."""

    def send(offset: int) -> httpx.Response:
        answer = patch(offset, "link")
        part = answer.json().get("part")
        assert part, answer.text
        return httpx.put(part["url"], headers=part["headers"], content=DATA[offset : offset + part["size"]])

    return send


@on_s3
def test_one_part_is_hashed_where_it_lies_and_published(url, patch, put, work, keys):
    assert Client().head(url).headers["Upload-Part"] == "storage"
    assert put(0).status_code == 200
    assert patch(0, "stored").status_code == 204

    release = Release.objects.get()
    assert (release.state, release.uploaded_digest, release.uploaded_size) == ("received", DIGEST, len(DATA))
    work()
    release.refresh_from_db()
    assert (release.state, release.digest) == ("published", DIGEST)
    assert [key for key in keys() if key.startswith("staging/")] == []


@on_s3
def test_parts_are_joined_whichever_way_they_came(patch, put, keys, monkeypatch):
    monkeypatch.setattr(direct, "PART_BYTES", 100)
    assert put(0).status_code == 200
    assert patch(0, "stored").headers["Upload-Offset"] == "100"
    assert patch(100, "", DATA[100:150]).headers["Upload-Offset"] == "150"
    assert put(150).status_code == 200
    assert patch(150, "stored").headers["Upload-Offset"] == "250"
    assert patch(250, "", DATA[250:]).status_code == 204

    release = Release.objects.get()
    assert (release.state, release.uploaded_digest) == ("received", DIGEST)
    assert keys() == [f"staging/{release.staging_key}"]


@on_s3
def test_nothing_is_recorded_that_is_not_there(patch, keys, monkeypatch):
    monkeypatch.setattr(direct, "PART_BYTES", 100)
    part = patch(0, "link").json()["part"]
    refused = patch(0, "stored")
    assert (refused.status_code, refused.json()["code"]) == (409, "part_not_stored")

    httpx.put(part["url"], headers=part["headers"], content=DATA[:99])  # the test server does not compare signatures
    assert patch(0, "stored").status_code == 409
    assert keys() == []
    httpx.put(part["url"], headers=part["headers"], content=DATA[:100])
    assert patch(0, "stored").headers["Upload-Offset"] == "100"


@on_s3
def test_a_link_creates_one_object_of_one_size(patch, put):
    part = patch(0, "link").json()["part"]
    assert put(0).status_code == 200
    assert put(0).status_code == 412

    signed = parse_qs(urlsplit(part["url"]).query)
    assert signed["X-Amz-SignedHeaders"] == ["content-length;host;if-none-match"]
    assert signed["X-Amz-Expires"] == ["900"]
    assert part["size"] == len(DATA)


@on_s3
def test_the_right_is_asked_for_the_link_and_for_the_part(patch, put, alice):
    assert put(0).status_code == 200
    assert patch(7, "link").headers["Upload-Offset"] == "0"
    Grant.objects.filter(user=alice).delete()

    assert patch(0, "link").status_code in (403, 404)
    assert patch(0, "stored").status_code in (403, 404)
    assert Release.objects.get().state == "rejected"


@on_s3
def test_pages_may_send_there_only_where_it_is_configured(url, backend, settings):
    there = urlsplit(settings.STORAGE_URL.partition("endpoint=")[2].partition("&")[0]).netloc
    assert f"connect-src 'self' http://{there};" in Client().get("/account/login/").headers["Content-Security-Policy"]
    settings.STORAGE_DIRECT_UPLOADS = False
    assert "connect-src 'self';" in Client().get("/account/login/").headers["Content-Security-Policy"]


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("backend", ["file", "plain_s3", "azure", "gcs", "s3"], indirect=True)
def test_storage_that_might_overwrite_gets_no_link(url, patch, settings, is_on, request):
    settings.STORAGE_DIRECT_UPLOADS = is_on
    may = is_on and "[s3-" in request.node.name

    assert ("Upload-Part" in Client().head(url).headers) == (is_on and "s3" in request.node.name)
    assert (patch(0, "link").json()["part"] is not None) == may
    assert (store.upload_link("one", size=1) is not None) == may
    assert patch(0, "", DATA).status_code == 204
