"""The files of a provider's draft: sent, replaced, removed, refused (D24)."""

import hashlib
import io

import pytest

from apps.accounts.models import Scope
from tests.providers.conftest import draft_client, held, registered
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

__all__ = ["draft_client", "held", "registered"]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


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


@for_each_row(
    "name",
    [
        "dns.zip",
        "terraform-provider-dns_1.2.1_linux_amd64.zip",
        "terraform-provider-net_1.2.0_linux_amd64.zip",
        f"{STEM}_linux_amd64.tar.gz",
        f"{STEM}_linux.zip",
        f"{STEM}_SHA256SUMS.asc",
        "README.md",
    ],
)
def test_a_name_that_is_not_expected_is_refused_before_a_byte_is_read(draft_client, untouchable, name):
    draft_client.open()
    response = draft_client.client.put(f"{draft_client.url}/files/{name}", **untouchable)

    assert response.status_code == 422
    assert f"{STEM}_<os>_<arch>.zip" in body(response)["error"]["message"]
    assert f"{STEM}_SHA256SUMS.sig" in body(response)["error"]["message"]


@for_each_row("platform", ["linux_amd64 (1)", "plan9_vax", "darwin_all", "linux_x86_64"])
def test_a_platform_that_no_client_asks_for_is_refused_before_a_byte_is_read(draft_client, untouchable, platform):
    """So no platform comes twice under two names."""
    draft_client.open()
    response = draft_client.client.put(f"{draft_client.url}/files/{STEM}_{platform}.zip", **untouchable)

    assert response.status_code == 422
    assert "in the name" in body(response)["error"]["message"]


def test_no_byte_is_read_without_a_draft(draft_client, untouchable):
    assert draft_client.client.put(f"{draft_client.url}/files/{LINUX}", **untouchable).status_code == 404


@pytest.mark.parametrize(("who", "status"), [("bob", 403), ("charlie", 404), (None, 401)])
def test_no_byte_is_read_before_the_rights_are_known(request, draft_client, tofu, untouchable, who, status):
    draft_client.open()
    client = tofu(request.getfixturevalue(who) if who else None)

    assert client.put(f"{URL}/files/{LINUX}", **untouchable).status_code == status
    assert client.post(URL, **untouchable).status_code == status


def test_a_token_for_another_type_sends_nothing(tofu, bearer, alice, acme, draft_client, untouchable):
    draft_client.open()
    for only_name, status in (("dns", 201), ("net", 403)):
        headers = bearer(alice, Scope.PUBLISH, namespaces=[acme], only_name=only_name)
        assert draft_client.client.generic("PUT", f"{URL}/files/{LINUX}", b"x", headers=headers).status_code == status


def test_a_package_over_the_limit_is_413_before_and_while_it_is_read(
    draft_client, untouchable, endless, settings, stored_files
):
    settings.PROVIDER_PACKAGE_MAX_BYTES = 999
    draft_client.open()
    said = draft_client.client.put(f"{URL}/files/{LINUX}", **untouchable)
    grew = draft_client.client.put(f"{URL}/files/{LINUX}", **endless(100_000))

    assert (said.status_code, grew.status_code) == (413, 413)
    assert b"LARDER_PROVIDER_PACKAGE_MAX_BYTES" in said.content + grew.content
    assert stored_files() == []
    assert draft_client.get()["files"] == []


def test_sums_of_ten_megabytes_are_refused_before_they_are_read(draft_client, untouchable):
    draft_client.open()
    response = draft_client.client.put(
        f"{draft_client.url}/files/{SUMS}", **{**untouchable, "CONTENT_LENGTH": str(10**7)}
    )

    assert response.status_code == 413
    assert b"LARDER_SUMS_MAX_BYTES" in response.content


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
