"""A file of a provider's draft in several requests."""

import base64
import hashlib

import pytest

from apps.releases.models import Release, State, Upload
from apps.releases.publishing import sweeping
from tests.api.tus_client import TusClient
from tests.providers.draft_client import LINUX, URL, body, dist, signed, work
from tests.rows import for_each_row

PACKAGE = dist()[LINUX]
HALF = len(PACKAGE) // 2


@pytest.fixture
def sender(draft_client):
    draft_client.open()
    return TusClient(draft_client.client)


def begin(sender, name=LINUX, data=PACKAGE, **headers):
    return sender.begin(f"{URL}/files/{name}/uploads", len(data), **headers)


def test_files_in_pieces_are_published_like_files_in_one(sender, draft_client, registered, stored_files):
    for name, data in signed(dist()).items():
        url = begin(sender, name, data).headers["Location"]
        cut = len(data) // 2
        sender.break_off(url, 0, data[:cut])
        assert sender.offset(url) == cut
        assert sender.patch(url, cut, data[cut:]).status_code == 204
        assert sender.patch(url, len(data), b"").status_code == 204
    draft_client.hand_in()
    work()

    assert draft_client.get()["state"] == State.PUBLISHED
    assert not [name for name in stored_files() if name.startswith("staging/")]


def test_a_file_is_in_the_draft_with_its_last_byte_and_replaces_one_of_its_name(sender, draft_client, stored_files):
    draft_client.put(LINUX, b"other")
    url = begin(sender).headers["Location"]
    sender.patch(url, 0, PACKAGE[:HALF])
    assert [file["size"] for file in draft_client.get()["files"]] == [5]
    sender.patch(url, HALF, PACKAGE[HALF:])

    assert [file["digest"] for file in draft_client.get()["files"]] == [f"sha256:{hashlib.sha256(PACKAGE).hexdigest()}"]
    assert len(stored_files()) == 1


@pytest.mark.parametrize("pieces", [[PACKAGE], [PACKAGE[:HALF], PACKAGE[HALF:]]])
def test_the_bytes_that_the_draft_has_already_are_not_stored_twice(sender, draft_client, stored_files, pieces):
    draft_client.put(LINUX, PACKAGE)
    url = begin(sender).headers["Location"]
    for piece in pieces:
        assert sender.patch(url, sender.offset(url), piece).status_code == 204

    assert len(stored_files()) == 1


def test_a_wrong_digest_leaves_the_draft_as_it_was(sender, draft_client, stored_files):
    wrong = {"Repr-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(b'other').digest()).decode()}:"}
    answer = sender.patch(begin(sender, **wrong).headers["Location"], 0, PACKAGE)
    whole = draft_client.put(LINUX, PACKAGE, headers=wrong)

    for refused in (answer, whole):
        assert (refused.status_code, body(refused)["error"]["code"]) == (422, "digest_mismatch")
    assert (draft_client.get()["state"], draft_client.get()["files"], stored_files()) == ("receiving", [], [])


@for_each_row(
    ("name", "length", "status"),
    [("other.zip", 10, 422), (LINUX, 10**12, 413), ("terraform-provider-dns_1.2.0_sbom.json", 10, 422)],
)
def test_a_file_that_a_draft_cannot_have_is_refused_before_its_first_byte(sender, name, length, status):
    assert sender.begin(f"{URL}/files/{name}/uploads", length).status_code == status
    assert not Upload.objects.exists()


def test_a_draft_that_was_handed_in_takes_no_more(sender, draft_client, registered):
    url = begin(sender).headers["Location"]
    for name, data in signed(dist()).items():
        draft_client.put(name, data)
    draft_client.hand_in()

    assert sender.patch(url, 0, PACKAGE).status_code == 404
    assert begin(sender).status_code == 409


def test_cancelling_one_keeps_the_draft_and_it_ends_with_its_draft(sender, draft_client, stored_files):
    for end in ("upload", "draft", "time"):
        draft_client.open()
        url = begin(sender).headers["Location"]
        sender.patch(url, 0, PACKAGE[:HALF])
        if end == "time":
            Release.objects.filter(state="receiving").update(receiving_until="2026-01-01T00:00:00Z")
            sweeping.sweep()
        else:
            assert sender.client.delete(url if end == "upload" else draft_client.url).status_code == 204
        assert sender.client.head(url).status_code == 404, end
        assert (Upload.objects.count(), stored_files()) == (0, []), end
        assert draft_client.get()["state"] == ("receiving" if end == "upload" else "rejected")
