"""Resumable uploads by the API (tus 1.0.0): one archive or file in several requests."""

import base64
import hashlib
import io
from typing import Any

import pytest

from apps.releases.models import Release, State, Upload
from apps.releases.publishing import resuming
from tests.api.tus_client import BreakingOff
from tests.api.uploads.conftest import ARCHIVE, HALF, VERSION, error_of
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db


def test_an_archive_in_pieces_becomes_the_same_release_as_in_one(sender, work, stored_files):
    begun = sender.begin(**{"Upload-Metadata": f"filename {base64.b64encode(b'vpc-1.2.0.zip').decode()}"})
    url = begun.headers["Location"]
    assert (begun.status_code, begun.headers["Tus-Resumable"]) == (201, "1.0.0")
    assert begun.json()["file"] == "vpc-1.2.0.zip"
    for start in range(0, len(ARCHIVE), 100):
        answer = sender.patch(url, start, ARCHIVE[start : start + 100])
        assert (answer.status_code, answer.content) == (204, b"")
        assert answer.headers["Upload-Offset"] == str(min(start + 100, len(ARCHIVE)))

    release = Release.objects.get()
    assert answer.headers["Location"] == begun.json()["release"] == f"/api/v1/releases/{release.public_id}"
    assert (release.state, release.uploaded_digest) == (State.RECEIVED, hashlib.sha256(ARCHIVE).hexdigest())
    work()
    release.refresh_from_db()
    assert (release.state, release.file_name) == (State.PUBLISHED, "vpc-1.2.0.zip")
    assert not [name for name in stored_files() if name.startswith("staging/")]


@for_each_row("cuts", [[1], [HALF], [len(ARCHIVE) - 1], [7, 300, 301], [len(ARCHIVE)]])
def test_a_broken_line_continues_where_the_server_says(sender, url, work, cuts):
    """After the last byte there is nothing left to do."""
    for cut in cuts:
        offset = sender.offset(url)
        sender.break_off(url, offset, ARCHIVE[offset:cut])
        assert sender.offset(url) == cut
    answer = sender.patch(url, cuts[-1], ARCHIVE[cuts[-1] :])

    assert answer.status_code == 204
    assert sender.client.get(url).json()["finished"] is True
    work()
    assert Release.objects.get().state == State.PUBLISHED


def test_a_large_body_is_recorded_while_it_comes_so_that_a_dead_server_costs_one_part(sender, url, monkeypatch):
    monkeypatch.setattr(resuming, "PART_BYTES", 64)
    environ = {"wsgi.input": BreakingOff(ARCHIVE[:HALF]), "wsgi.input_terminated": True}
    sender.patch(url, 0, b"", environ)

    assert sender.offset(url) == HALF
    assert Upload.objects.get().parts.count() > 1


@pytest.mark.both
def test_the_last_request_may_be_repeated_and_makes_one_release(sender, url):
    assert sender.patch(url, 0, ARCHIVE).status_code == 204
    before = Release.objects.get().received_at
    again = [sender.patch(url, len(ARCHIVE), b""), sender.patch(url, 0, ARCHIVE)]

    assert [answer.status_code for answer in again] == [204, 409]
    assert {answer.headers["Upload-Offset"] for answer in again} == {str(len(ARCHIVE))}
    assert (sender.offset(url), Release.objects.get().received_at) == (len(ARCHIVE), before)


@for_each_row("offset", [1, HALF - 1, HALF + 1, len(ARCHIVE), 10**17])
def test_another_offset_is_refused_with_the_right_one(sender, url, offset):
    sender.patch(url, 0, ARCHIVE[:HALF])
    answer = sender.patch(url, offset, b"x" if offset < len(ARCHIVE) else b"")

    assert (answer.status_code, error_of(answer)["code"]) == (409, "wrong_offset")
    assert answer.headers["Upload-Offset"] == str(HALF)
    assert sender.offset(url) == HALF


@pytest.mark.both
def test_two_requests_at_once_and_the_second_is_refused(sender, url):
    class Meanwhile(io.BytesIO):
        """The second request, in the middle of the first."""

        def read(self, size: int | None = -1, /) -> bytes:
            found.append(sender.patch(url, 0, ARCHIVE)) if not found else None
            return super().read(size)

        read1 = read

    found: list[Any] = []
    environ = {"wsgi.input": Meanwhile(ARCHIVE), "wsgi.input_terminated": True}

    assert sender.patch(url, 0, b"", environ).status_code == 204
    assert (found[0].status_code, error_of(found[0])["code"]) == (409, "upload_in_use")
    assert Release.objects.get().uploaded_digest == hashlib.sha256(ARCHIVE).hexdigest()


def test_bytes_beyond_the_length_are_refused_whether_they_are_announced_or_not(sender, url):
    declared = sender.patch(url, 0, ARCHIVE + b"x")
    hidden = sender.patch(url, 0, b"", {"wsgi.input": io.BytesIO(ARCHIVE + b"x"), "wsgi.input_terminated": True})

    assert (declared.status_code, hidden.status_code) == (413, 413)
    assert (sender.offset(url), Release.objects.get().state) == (0, State.RECEIVING)


@for_each_row(
    "said",
    [
        {"Repr-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(b'other').digest()).decode()}:"},
        {"Upload-Metadata": f"sha256 {base64.b64encode(hashlib.sha256(b'other').hexdigest().encode()).decode()}"},
    ],
)
def test_a_digest_given_ahead_is_checked_before_anything_is_published(sender, said, stored_files):
    url = sender.begin(**said).headers["Location"]
    sender.patch(url, 0, ARCHIVE[:HALF])
    answer = sender.patch(url, HALF, ARCHIVE[HALF:])

    assert (answer.status_code, error_of(answer)["code"]) == (422, "digest_mismatch")
    assert hashlib.sha256(ARCHIVE).hexdigest() in error_of(answer)["message"]
    release = Release.objects.get()
    assert (release.state, release.reasons[0]["code"]) == (State.REJECTED, "digest_mismatch")
    assert sender.client.head(url).status_code == 404
    assert not stored_files()


def test_the_right_digest_given_ahead_changes_nothing_and_one_request_is_checked_too(sender, upload, stored_files):
    other = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    answer = upload(sender.client, VERSION, ARCHIVE, headers={"Repr-Digest": f"sha-256=:{other}:"})
    assert (answer.status_code, error_of(answer)["code"]) == (422, "digest_mismatch")
    assert (Release.objects.get().state, stored_files()) == (State.REJECTED, [])

    digest = base64.b64encode(hashlib.sha256(ARCHIVE).digest()).decode()
    url = sender.begin(**{"Repr-Digest": f"sha-512=:x:, sha-256=:{digest}:"}).headers["Location"]
    assert sender.patch(url, 0, ARCHIVE).status_code == 204
    assert Upload.objects.get().expected == hashlib.sha256(ARCHIVE).hexdigest()


@for_each_row("algorithm", ["sha1", "sha256"])
def test_a_checksum_of_one_request_is_checked_and_a_wrong_body_forgotten(sender, url, algorithm):
    good = base64.b64encode(hashlib.new(algorithm, ARCHIVE[:HALF]).digest()).decode()
    wrong = sender.patch(url, 0, b"x" * HALF, **{"Upload-Checksum": f"{algorithm} {good}"})
    right = sender.patch(url, 0, ARCHIVE[:HALF], **{"Upload-Checksum": f"{algorithm} {good}"})

    assert (wrong.status_code, error_of(wrong)["code"]) == (460, "checksum_mismatch")
    assert (right.status_code, sender.offset(url)) == (204, HALF)


@for_each_row(
    ("headers", "status"),
    [
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Tus-Resumable": "0.2.2"}, 412),
        ({"Upload-Offset": "-1"}, 422),
        ({"Upload-Offset": "٣"}, 422),
        ({"Upload-Checksum": "md5 AAAA"}, 422),
        ({"Upload-Checksum": "sha256 not base64"}, 422),
    ],
)
def test_headers_that_cannot_be_are_refused_before_a_byte_is_read(sender, url, untouchable, headers, status):
    assert sender.patch(url, 0, b"", untouchable, **headers).status_code == status


@for_each_row(
    ("headers", "status"),
    [
        ({"Upload-Length": ""}, 422),
        ({"Upload-Length": "0"}, 422),
        ({"Upload-Length": str(10**12)}, 413),
        ({"Upload-Metadata": "filename not-base64!"}, 422),
        ({"Upload-Metadata": f"sha256 {base64.b64encode(b'short').decode()}"}, 422),
        ({"Repr-Digest": "sha-256=:short:"}, 422),
    ],
)
def test_an_upload_that_cannot_be_reserves_nothing(sender, headers, status):
    assert sender.begin(**headers).status_code == status
    assert not Release.objects.filter(state=State.RECEIVING).exists()
