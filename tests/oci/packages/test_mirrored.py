"""Providers of other registries as an OCI mirror. What the room behind it does is tested there."""

import time
from typing import Any

import pytest
from django.test import Client

from apps.audit import generation
from apps.http import mirrors
from apps.http.ready import ready_of
from apps.jobs import waiting
from apps.jobs.waiting import NotYet, Waiting
from apps.lib.errors import CredentialsRequired, NotFound, Unavailable
from apps.lib.formats.oci_manifests import EMPTY_DIGEST, digest_of
from apps.lib.mirrored import OtherClientsOnly, VersionUnknown
from tests.oci.manifests.documents import Repo, code_of
from tests.protocol.mirrored import HOST, PROVIDER, RAW, ZIP, HeldBack, OneProvider, package, store_zip
from tests.rows import for_each_row

NAME = f"providers/{HOST}/hashicorp/random"
BLOB = f"/v2/{NAME}/blobs/sha256:{package('linux_amd64').digest}"
TAG = "3.1.0_build.1"
OFFERED: Any = {waiting.OFFERED: True}


@pytest.fixture
def registry(db, monkeypatch) -> OneProvider:
    registry = OneProvider()
    monkeypatch.setattr(mirrors, "others", registry)
    return registry


@pytest.fixture
def mirror(registry, tofu, alice) -> Repo:
    return Repo(tofu(alice), NAME)


def test_a_client_finds_its_way_from_the_tags_to_the_zip(registry, tofu):
    store_zip()
    mirror = Repo(tofu(), NAME)

    assert mirror.tags().json() == {"name": NAME, "tags": ["3.0.0", TAG]}
    head, got = mirror.head(TAG), mirror.get(TAG)
    assert head.headers["Docker-Content-Digest"] == got.headers["Docker-Content-Digest"] == digest_of(RAW)
    assert got.content == mirror.get(digest_of(RAW)).content == RAW
    assert b"".join(mirror.client.get(BLOB)) == ZIP
    assert mirror.client.head(BLOB).headers["Content-Length"] == str(len(ZIP))
    assert registry.uses == [package("linux_amd64").filename]
    assert b"".join(mirror.client.get(f"/v2/{NAME}/blobs/{EMPTY_DIGEST}")) == b"{}"
    assert mirror.client.get(f"/v2/{NAME}/referrers/{digest_of(RAW)}").json()["manifests"] == []


def test_what_the_room_does_not_know_is_an_unknown_manifest_or_blob(registry, mirror):
    for reference in ("3", "latest", "9.9.9", "v3.1.0", "sha256:" + "a" * 64):
        assert code_of(mirror.get(reference)) == (404, "MANIFEST_UNKNOWN"), reference
    assert code_of(mirror.client.get(f"/v2/{NAME}/blobs/sha256:{'a' * 64}")) == (404, "BLOB_UNKNOWN")

    registry.error = VersionUnknown("gone")
    assert code_of(mirror.get(TAG)) == (404, "MANIFEST_UNKNOWN")


def test_it_is_read_only_and_nothing_of_it_is_mounted_into_our_own(mirror):
    store_zip()
    url = f"/v2/pantry/things/blobs/uploads/?mount=sha256:{package('linux_amd64').digest}&from={NAME}"

    assert code_of(mirror.put(b"{}", TAG, "application/json")) == (405, "UNSUPPORTED")
    assert mirror.client.post(url).status_code == 202  # the client sends the blob itself


def asked(mirror: Repo) -> list:
    zipped = mirror.client.get(BLOB.replace(NAME, mirror.name))
    return [mirror.tags(), mirror.get(TAG), mirror.get("latest"), mirror.get(digest_of(RAW)), zipped]


@for_each_row("error", [NotFound("no"), CredentialsRequired("no"), None])
def test_d8_what_is_hidden_or_unknown_is_a_challenge_and_then_an_unknown_name(registry, tofu, alice, error):
    registry.error = error
    name = NAME if error else NAME.replace(HOST, "registry.unknown.example")

    for answer in asked(Repo(tofu(), name)):
        assert code_of(answer) == (401, "UNAUTHORIZED")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
    for answer in asked(Repo(tofu(alice), name)):
        assert code_of(answer) == (404, "NAME_UNKNOWN")


@for_each_row(
    ("error", "code"),
    [
        (OtherClientsOnly("Its terms allow Terraform alone."), (404, "NAME_UNKNOWN")),
        (HeldBack("random 3.1.0 is held back by rule 2 until 2026-11-30."), (403, "DENIED")),
        (Unavailable("https://registry.elsewhere.example/v1 answered 502."), (503, "UNAVAILABLE")),
    ],
)
def test_what_the_room_says_is_said_to_clients_which_print_code_and_message(registry, mirror, error, code):
    registry.error = error

    for answer in asked(mirror):
        assert code_of(answer) == code
        assert str(error) in answer.json()["errors"][0]["message"]


@for_each_row("url", [f"/v2/{NAME}/tags/list", f"/v2/{NAME}/manifests/{TAG}", BLOB])
def test_a_request_leaves_its_thread_until_a_worker_has_fetched_it(registry, url):
    store_zip()
    registry.error = NotYet(Waiting(lambda rows: dict.fromkeys(rows, 1), 7, [0], time.monotonic() + 3600))
    first = Client().get(url, **OFFERED)
    asked_for = first.wsgi_request.META[waiting.ASKED]

    assert (first.status_code, asked_for.row) == (503, 7)
    registry.error = None
    second = Client().get(url, **{waiting.OFFERED: True, waiting.ASKED: asked_for})
    assert second.status_code == 200
    assert waiting.ASKED not in second.wsgi_request.META


def test_d16_documents_are_ready_until_the_provider_changes(registry, mirror):
    registry.seconds = 9
    for answer in (mirror.tags(), mirror.get(TAG)):
        ready = ready_of(answer)
        assert ready is not None
        assert set(ready.scopes) == {generation.published_at(str(PROVIDER)), generation.ACCESS}
        assert ready.seconds <= 9
