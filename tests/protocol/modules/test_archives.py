import hashlib
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client

from apps.accounts.models import Visibility
from apps.blobs import capabilities
from apps.protocol.locations import location_of
from tests.rows import for_each_row

NOON = datetime(2026, 1, 2, 12, 3, 4, tzinfo=UTC)
SECURITY = {"X-Content-Type-Options": "nosniff", "Accept-Ranges": "bytes", "Content-Type": "application/zip"}


@pytest.fixture
def public(published, frozen_zip):
    return published("pantry/vpc/aws", "1.2.0", data=frozen_zip)


@pytest.fixture
def private(published, frozen_zip):
    return published("acme/vpc/aws", "1.2.0", data=frozen_zip)


def plain(release) -> str:
    return f"/archives/{release.digest}/vpc-aws-1.2.0.zip"


def signed(release) -> str:
    return location_of(release, now=datetime.now(tz=UTC))


@for_each_row(("kind", "cache"), [("plain", "public, max-age=300"), ("signed", "private")])
def test_an_archive_is_whole_and_cacheable_and_head_tells_the_same(public, published, frozen_zip, kind, cache):
    release = public if kind == "plain" else published("acme/vpc/aws", "1.2.0")
    url = location_of(release, now=datetime.now(tz=UTC))
    head, response, again = Client().head(url), Client().get(url), Client().get(url)

    assert (response.status_code, head.status_code, head.content) == (200, 200, b"")
    body = response.getvalue()
    assert body == again.getvalue()
    assert hashlib.sha256(body).hexdigest() == release.digest
    for answer in (response, head):
        assert answer.headers["Cache-Control"] == cache
        assert answer.headers["ETag"] == f'"{release.digest}"'
        assert answer.headers["Content-Length"] == str(len(body))
        assert answer.headers["Content-Disposition"] == 'attachment; filename="vpc-aws-1.2.0.zip"'
        assert SECURITY.items() <= dict(answer.headers).items()
        assert not {"Content-Encoding", "Set-Cookie"} & set(answer.headers)
        assert ("Vary" in answer.headers) is (kind == "signed")


def test_a_range_is_206_one_behind_the_end_416_and_a_copy_that_is_still_right_304(public, frozen_zip):
    """The meaning of a range is tested in tests/http/test_byte_ranges.py."""
    part, behind, same = (
        Client(headers=headers).get(plain(public))
        for headers in (
            {"Range": "bytes=-7"},
            {"Range": "bytes=999999-"},
            {"If-None-Match": f'"{public.digest}"', "Range": "bytes=0-3"},
        )
    )
    size = len(frozen_zip)
    assert (part.status_code, part.getvalue()) == (206, frozen_zip[-7:])
    assert part.headers["Content-Range"] == f"bytes {size - 7}-{size - 1}/{size}"
    assert part.headers["Content-Length"] == "7"
    assert (behind.status_code, behind.headers["Content-Range"]) == (416, f"bytes */{size}")
    assert behind.headers["Content-Type"] == "application/json"
    assert (same.status_code, same.content) == (304, b"")
    assert (same.headers["ETag"], same.headers["Cache-Control"]) == (f'"{public.digest}"', "public, max-age=300")
    assert Client(headers={"Range": "bytes=0-3"}).head(plain(public)).headers["Content-Length"] == str(size)


def test_private_archives_open_with_credentials_that_show_them(private, tofu, bob, charlie, basic, frozen_zip):
    shown = tofu(bob).get(plain(private))
    assert shown.getvalue() == frozen_zip
    assert (shown.headers["Cache-Control"], shown.headers["Vary"]) == ("private", "Authorization")
    assert Client().get(plain(private)).headers["WWW-Authenticate"] == 'Bearer realm="Larder"'
    assert Client(headers=basic(bob)).get(plain(private)).getvalue() == frozen_zip
    assert Client(headers=basic(charlie)).get(plain(private)).status_code == 404
    stale = f"/archives/{'a' * 5}.{'b' * 43}/{private.digest}/vpc-aws-1.2.0.zip"
    assert Client(headers=basic(bob)).get(stale).getvalue() == frozen_zip
    assert Client(headers=basic(charlie)).get(stale).status_code == 403


def test_hidden_and_unknown_digests_read_alike(tofu, charlie, private):
    paths = [plain(private), f"/archives/{'0' * 64}/vpc-aws-1.2.0.zip", "/archives/nonsense/a.zip"]

    for client, status in ((tofu(), 401), (tofu(charlie), 404)):
        answers = [client.get(path) for path in paths]
        assert {answer.status_code for answer in answers} == {status}
        assert len({answer.content for answer in answers}) == 1


@for_each_row("authorization", ["Basic ZGVmYXVsdDpwYXNzd29yZA==", "Bearer nonsense"])
def test_foreign_credentials_do_not_close_an_open_door(public, private, frozen_zip, authorization):
    """A .netrc's `default` entry sends its password to every host."""
    client = Client(headers={"Authorization": authorization})

    assert client.get(plain(public)).getvalue() == frozen_zip
    assert client.get(signed(private)).getvalue() == frozen_zip


def test_the_same_bytes_in_a_public_namespace_are_public_and_the_end_of_that_shows_at_once(public, private, pantry):
    assert public.digest == private.digest
    assert Client().head(plain(private)).status_code == 200
    pantry.visibility = Visibility.PRIVATE
    pantry.save(update_fields=["visibility"])

    assert Client().head(plain(private)).status_code == 401


def test_bytes_that_are_not_published_are_not_served(tofu, alice, published):
    refused = published("pantry/vpc/aws", "1.0.0", data=b"this is no zip")

    assert refused.state == "rejected"
    assert tofu(alice).get(f"/archives/{refused.uploaded_digest}/vpc-aws-1.0.0.zip").status_code == 404


def _flip(text: str) -> str:
    return ("b" if text[0] == "a" else "a") + text[1:]


def test_a_capability_opens_one_digest_under_one_name_until_it_ends(private, published, golden):
    other = published("acme/vpc/aws", "1.3.0")
    name = "vpc-aws-1.2.0.zip"
    with time_machine.travel(NOON, tick=False) as clock:
        segment = capabilities.sign(digest=private.digest, file_name=name, now=NOON)
        expiry, _, signature = segment.partition(".")
        good = f"/archives/{segment}/{private.digest}/{name}"
        assert Client().head(good).status_code == 200
        for bad in (
            f"/archives/{segment}/{other.digest}/{name}",
            f"/archives/{segment}/{private.digest}/evil.zip",
            f"/archives/{expiry}.{_flip(signature)}/{private.digest}/{name}",
            f"/archives/{_flip(expiry)}.{signature}/{private.digest}/{name}",
            f"/archives/{expiry}/{private.digest}/{name}",
            f"/archives/zzzzzzzzz.{signature}/{private.digest}/{name}",
        ):
            refused = Client().get(bad)
            assert refused.status_code == 403, bad
            assert refused.content == golden("modules_v1/error-403-link.json")
            assert refused.headers["Cache-Control"] == "no-store"
        clock.shift(timedelta(minutes=20))
        assert Client().get(good).status_code == 403


@for_each_row("query", ["", "?checksum=sha256:00", "?b=2&a=1", "?checksum=x&archive=zip&terraform-get=1"])
def test_queries_are_ignored(public, private, query):
    for url in (plain(public), signed(private).partition("?")[0]):
        assert Client().head(url + query).status_code == 200


@for_each_row("name", ["a%0d%0aSet-Cookie:x.zip", "a%22.zip", "..zip", "a.exe", "%00.zip", "ä.zip", "-.zip"])
def test_file_names_that_no_location_has_are_not_served(public, name):
    assert Client().get(f"/archives/{public.digest}/{name}").status_code in (401, 404)
