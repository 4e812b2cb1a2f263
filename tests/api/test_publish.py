"""Publishing with one request (D24)."""

import hashlib
import io
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Scope
from apps.lib.addresses import ModuleAddress
from apps.modules import publishing
from apps.releases.models import Release
from apps.releases.publishing import receiving
from tests.builders.archives import module_zip
from tests.rows import for_each_row

URL = "/api/v1/modules/acme/vpc/aws/1.2.0"


@pytest.fixture
def archive() -> bytes:
    return module_zip(comment=b"one")


def test_no_byte_is_read_before_the_rights_are_known(tofu, browser_of, untouchable, acme, alice, bob, charlie):
    for who, status in ((bob, 403), (charlie, 404), (None, 401)):
        assert tofu(who).put(URL, **untouchable).status_code == status, who
    assert browser_of(alice).put(URL, **untouchable).status_code == 401, "a session does not count"
    response = tofu(alice, Scope.READ).put(URL, **untouchable)
    assert response.status_code == 403
    assert "scope read" in response.json()["error"]["message"]


@for_each_row(
    ("path", "status"),
    [
        ("acme/vpc/AWS/1.0.0", 422),
        ("acme/vpc/aws/v1.0.0", 422),
        ("acme/vpc/a_s/1.0.0", 422),
        ("acmx/vpc/aws/1.0.0", 404),
    ],
)
def test_no_byte_is_read_for_an_address_that_cannot_be(tofu, alice, untouchable, path, status):
    response = tofu(alice).put(f"/api/v1/modules/{path}", **untouchable)

    assert response.status_code == status


def test_a_body_over_the_limit_is_413_before_or_while_it_is_read_and_leaves_the_number_free(
    tofu, alice, upload, archive, untouchable, endless, settings, stored_files
):
    settings.MODULE_ARCHIVE_MAX_BYTES = 999
    client = tofu(alice)
    announced = client.put(URL, **untouchable)
    assert announced.status_code == 413
    assert "module_archive_max_bytes of LARDER_LIMITS" in announced.json()["error"]["message"]
    assert not Release.objects.exists()

    settings.MODULE_ARCHIVE_MAX_BYTES = 100_000
    assert client.put(URL, **endless(100_001)).status_code == 413
    assert stored_files() == []
    assert upload(client, URL, archive).status_code == 202


@for_each_row(("length", "status"), [("", 202), ("5", 422), ("1000000", 422)])
def test_a_chunked_body_needs_no_length_and_no_body_may_differ_from_it(
    tofu, alice, archive, length, status, stored_files
):
    before = len(stored_files())
    chunked = {"wsgi.input": io.BytesIO(archive), "wsgi.input_terminated": True, "CONTENT_LENGTH": length}

    assert tofu(alice).put(URL, **chunked).status_code == status
    assert len(stored_files()) - before == (status == 202)


@for_each_row("length", ["-1", "1e3", "ten", "9" * 30])
def test_a_length_that_is_no_number_is_refused(tofu, alice, untouchable, length):
    assert tofu(alice).put(URL, **{**untouchable, "CONTENT_LENGTH": length}).status_code in (413, 422)


def test_the_same_bytes_again_are_200_and_other_bytes_409_naming_the_digest(tofu, alice, upload, archive, work):
    client = tofu(alice)
    first = upload(client, URL, archive)
    work()
    again, other = upload(client, URL, archive), upload(client, URL, module_zip(comment=b"two"))

    assert (again.status_code, other.status_code) == (200, 409)
    assert json.loads(again.content)["id"] == json.loads(first.content)["id"]
    assert again.headers["Location"] == first.headers["Location"]
    assert hashlib.sha256(archive).hexdigest() in json.loads(other.content)["error"]["message"]
    assert Release.objects.count() == 1


def test_who_sends_again_after_the_web_process_died_is_told_when(tofu, alice, dora, upload, archive, monkeypatch):
    """Its reservation is leased for another minute: that is no refusal. To others the number is taken."""
    monkeypatch.setattr(receiving, "SETTLE_SECONDS", 0)
    address = ModuleAddress("acme", "vpc", "aws")
    release, _ = publishing.reserve_release(viewer=Viewer(alice), address=address, version="1.2.0")
    dead = Release.objects.filter(pk=release.pk)
    dead.update(ticket_digest="", receiving_until=timezone.now() + timedelta(seconds=40))

    again = upload(tofu(alice), URL, archive)
    assert (again.status_code, again.json()["error"]["code"]) == (503, "unavailable")
    assert 30 < int(again.headers["Retry-After"]) <= 40
    assert upload(tofu(dora), URL, archive).status_code == 409

    dead.update(receiving_until=timezone.now() - timedelta(seconds=1))
    assert upload(tofu(alice), URL, archive).status_code == 202


def test_a_form_is_refused_with_the_word_for_curl_and_so_is_an_empty_body(tofu, alice, upload, untouchable):
    response = tofu(alice).put(URL, **untouchable, CONTENT_TYPE="multipart/form-data; boundary=x")

    assert response.status_code == 400
    assert "--upload-file" in response.json()["error"]["hint"]
    assert upload(tofu(alice), URL, b"").status_code == 422


@for_each_row(
    ("headers", "name"),
    [
        ({}, ""),
        ({"X-File-Name": "../../vpc.zip"}, "vpc.zip"),
        ({"X-File-Name": "C:\\work\\vpc.zip"}, "vpc.zip"),
        ({"Content-Disposition": "attachment; filename*=UTF-8''v%C3%B6.zip"}, "vö.zip"),
        ({"Content-Disposition": "attachment", "X-File-Name": "vpc.zip"}, "vpc.zip"),
        ({"Content-Disposition": ";;;=\x01"}, ""),
        ({"X-File-Name": "a" * 999}, "a" * 255),
    ],
)
def test_the_file_name_is_kept_for_people_and_never_a_path(tofu, alice, upload, archive, headers, name):
    assert upload(tofu(alice), URL, archive, headers=headers).status_code == 202
    assert Release.objects.get().file_name == name
