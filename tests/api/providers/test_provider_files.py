"""The files of a provider's draft: sent, replaced, removed, refused (D24)."""

import io

from apps.accounts.models import Scope
from tests.api.providers.conftest import sha256
from tests.providers.draft_client import (
    DARWIN,
    LINUX,
    STEM,
    SUMS,
    URL,
    body,
    zips,
)
from tests.rows import for_each_row


def test_a_file_is_answered_with_its_digest_and_again_without_a_change(draft_client):
    draft_client.open()
    data = zips()[LINUX]
    first, again, other = (
        draft_client.put(LINUX, data),
        draft_client.put(LINUX, data),
        draft_client.put(LINUX, data + b"more"),
    )

    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 200)
    assert body(first) == {"name": LINUX, "role": "package", "digest": f"sha256:{sha256(data)}", "size": len(data)}
    assert body(again) == body(first)
    assert body(other)["digest"] == f"sha256:{sha256(data + b'more')}"
    assert draft_client.get()["uploaded_size"] == len(data) + 4


def test_what_was_replaced_or_removed_leaves_staging(draft_client, stored_files):
    draft_client.open()
    for data in (b"one", b"two", b"two"):
        draft_client.put(LINUX, data)
    assert len(stored_files()) == 1
    assert (draft_client.delete(LINUX).status_code, draft_client.delete(LINUX).status_code) == (204, 404)
    assert stored_files() == []
    assert draft_client.get()["files"] == []


HOW = (f"{STEM}_<os>_<arch>.zip", f"{STEM}_SHA256SUMS.sig")


@for_each_row(
    ("name", "words"),
    [
        ("dns.zip", HOW),
        ("terraform-provider-dns_1.2.1_linux_amd64.zip", HOW),
        ("terraform-provider-net_1.2.0_linux_amd64.zip", HOW),
        (f"{STEM}_linux_amd64.tar.gz", HOW),
        (f"{STEM}_linux.zip", HOW),
        (f"{STEM}_SHA256SUMS.asc", HOW),
        ("README.md", HOW),
        # A platform that no client asks for, so none comes twice under two names.
        (f"{STEM}_linux_amd64 (1).zip", ("in the name",)),
        (f"{STEM}_plan9_vax.zip", ("in the name",)),
        (f"{STEM}_darwin_all.zip", ("in the name",)),
        (f"{STEM}_linux_x86_64.zip", ("in the name",)),
    ],
)
def test_a_name_that_is_not_expected_is_refused_before_a_byte_is_read(draft_client, untouchable, name, words):
    draft_client.open()
    response = draft_client.client.put(f"{draft_client.url}/files/{name}", **untouchable)

    assert response.status_code == 422
    for expected in words:
        assert expected in body(response)["error"]["message"]


def test_no_byte_is_read_without_a_draft_or_before_the_rights_are_known(draft_client, tofu, untouchable, bob, charlie):
    assert draft_client.client.put(f"{URL}/files/{LINUX}", **untouchable).status_code == 404
    draft_client.open()
    for who, status in ((bob, 403), (charlie, 404), (None, 401)):
        assert tofu(who).put(f"{URL}/files/{LINUX}", **untouchable).status_code == status
        assert tofu(who).put(f"{URL}/files/config.yaml", **untouchable).status_code == status, "which nobody needs"
        assert tofu(who).post(URL, **untouchable).status_code == status


def test_a_token_for_another_type_sends_nothing(tofu, bearer, alice, acme, draft_client, untouchable):
    draft_client.open()
    for only_name, status in (("dns", 201), ("net", 403)):
        headers = bearer(alice, Scope.PUBLISH, namespaces=[acme], only_name=only_name)
        assert draft_client.client.generic("PUT", f"{URL}/files/{LINUX}", b"x", headers=headers).status_code == status


def test_a_file_over_the_limit_is_413_before_and_while_it_is_read(
    draft_client, untouchable, endless, settings, stored_files
):
    settings.PROVIDER_PACKAGE_MAX_BYTES = 999
    draft_client.open()
    said = draft_client.client.put(f"{URL}/files/{LINUX}", **untouchable)
    grew = [draft_client.client.put(f"{URL}/files/{name}", **endless(100_000)) for name in (LINUX, "config.yaml")]
    sums = draft_client.client.put(f"{URL}/files/{SUMS}", **{**untouchable, "CONTENT_LENGTH": str(10**7)})

    assert [answer.status_code for answer in (said, *grew, sums)] == [413] * 4
    assert b"provider_package_max_bytes of LARDER_LIMITS" in said.content + grew[0].content
    assert b"sums_max_bytes of LARDER_LIMITS" in sums.content
    assert stored_files() == []
    assert draft_client.get()["files"] == []


def test_the_quota_counts_a_draft_file_by_file(draft_client, acme, stored_files):
    acme.quota_bytes = 100
    acme.save()
    draft_client.open()
    answers = [
        draft_client.put(LINUX, b"x" * 60),
        draft_client.put(DARWIN, b"x" * 60),
        draft_client.put(DARWIN, b"x" * 40),
    ]

    assert [answer.status_code for answer in answers] == [201, 413, 201]
    assert len(stored_files()) == 2


def test_a_body_that_breaks_off_leaves_what_was_there(draft_client, stored_files):
    draft_client.open()
    draft_client.put(LINUX, b"whole")
    lying = {"wsgi.input": io.BytesIO(b"half"), "wsgi.input_terminated": True, "CONTENT_LENGTH": "1000"}

    assert draft_client.client.put(f"{URL}/files/{LINUX}", **lying).status_code == 422
    assert draft_client.put(DARWIN, b"").status_code == 422
    assert len(stored_files()) == 1
    assert [file["digest"] for file in draft_client.get()["files"]] == [f"sha256:{sha256(b'whole')}"]
