"""Providers of other registries by the network mirror. What the room behind it does is tested there."""

import base64
import json
import time
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.audit import generation
from apps.blobs import verifying
from apps.blobs.verifying import BeingVerified
from apps.http import mirrors
from apps.http.ready import ready_of
from apps.http.waits import Patience
from apps.jobs import waiting
from apps.jobs.waiting import NotYet, Waiting
from apps.lib.errors import CredentialsRequired, NotFound, TooManyAttempts, Unavailable
from apps.lib.mirrored import OtherClientsOnly, VersionUnknown
from tests.protocol.mirrored import HOST, PROVIDER, ZIP, HeldBack, OneProvider, package, store_zip
from tests.protocol.test_mirror import NOON, NOT_HERE
from tests.rows import for_each_row

INDEX = f"/v1/mirror/{HOST}/hashicorp/random/index.json"
VERSION = INDEX.replace("index", "3.1.0+build.1")
PACKAGE = f"/v1/mirror/{HOST}/hashicorp/random/3.1.0+build.1/{package('linux_amd64').filename}"
OFFERED: Any = {waiting.OFFERED: True}


def asking(asked: Waiting) -> Any:
    return {waiting.ASKED: asked}


@pytest.fixture
def registry(db, monkeypatch) -> OneProvider:
    registry = OneProvider()
    monkeypatch.setattr(mirrors, "others", registry)
    return registry


@pytest.fixture
def link(registry, tofu) -> str:
    """A link to the package that carries its own permission."""
    store_zip()
    registry.is_public = False
    return str(json.loads(tofu().get(VERSION).content)["archives"]["linux_amd64"]["url"])


def said(response) -> str:
    return " ".join(json.loads(response.content)["errors"])


def test_its_documents_are_frozen(registry, tofu, golden):
    index, version = tofu().get(INDEX), tofu().get(VERSION)

    assert index.headers["Content-Type"] == version.headers["Content-Type"] == "application/json"
    assert index.content == golden("providers_v1/mirrored-index.json")
    assert version.content == golden("providers_v1/mirrored-version.json")


def test_where_not_everybody_may_fetch_it_the_links_carry_their_own_permission(registry, tofu, golden):
    registry.is_public = False
    with time_machine.travel(NOON, tick=False):
        response = tofu().get(VERSION)

    assert response.content == golden("providers_v1/mirrored-version-private.json")
    assert response.headers["Cache-Control"] == "no-store"


@for_each_row("spelled", ["Registry.ELSEWHERE.example/HashiCorp/Random", f"{HOST}/hashicorp/random"])
def test_addresses_are_compared_as_clients_do(registry, tofu, spelled):
    assert tofu().get(f"/v1/mirror/{spelled}/index.json").status_code == 200


@for_each_row("path", [f"{HOST}/hashicorp/nothing", "registry.unknown.example/hashicorp/random", "..:9/a/b"])
def test_d8_what_is_not_there_is_not_here(registry, tofu, bob, path):
    assert tofu().get(f"/v1/mirror/{path}/index.json").status_code == 404
    assert tofu().get(f"/v1/mirror/{path}/3.1.0.json").content == NOT_HERE
    assert tofu(bob).get(f"/v1/mirror/{path}/3.1.0/a.zip").status_code == 404


def test_without_the_room_there_are_only_our_own(tofu, monkeypatch, db):
    monkeypatch.setattr(mirrors, "others", None)

    assert tofu().get(INDEX).status_code == 404
    assert tofu().get(VERSION).content == NOT_HERE
    assert tofu().get(PACKAGE).status_code == 401


def test_a_version_that_is_not_there_is_not_found(registry, tofu):
    registry.error = VersionUnknown("no")
    assert tofu().get(VERSION).status_code == 404


@for_each_row("error", [NotFound("no"), CredentialsRequired("no")])
def test_d8_what_is_hidden_reads_as_what_is_unknown(registry, tofu, error):
    unknown = tofu().get(INDEX.replace(HOST, "registry.unknown.example"))
    registry.error = error

    hidden = tofu().get(INDEX)

    assert (hidden.status_code, hidden.content) == (404, unknown.content)
    assert tofu().get(VERSION).content == NOT_HERE


@for_each_row(
    ("error", "statuses", "again"),
    [
        (HeldBack("random 3.1.0 is held back by rule 2 until 2026-11-30."), (409, 409, 403), None),
        (Unavailable("https://registry.elsewhere.example/v1 answered 502.", retry_after=7), (503, 503, 503), "7"),
        (TooManyAttempts("More than 600.", wait=3), (429, 429, 429), "3"),
        (OtherClientsOnly("Its terms allow Terraform alone."), (404, None, 404), None),
    ],
)
def test_what_the_room_says_is_said_to_clients_and_never_called_wrong_credentials(
    registry, tofu, error, statuses, again
):
    registry.error = error

    for url, status in zip((INDEX, VERSION, PACKAGE), statuses, strict=True):
        response = tofu().get(url)
        if status is None:
            assert response.content == NOT_HERE, "clients go on"
            continue
        assert response.status_code == status, url
        assert str(error) in said(response)
        assert response.headers.get("Retry-After") == again
        assert response.headers["Cache-Control"] == "no-store"


# --- Waiting for a worker -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", [INDEX, VERSION, PACKAGE])
@pytest.mark.parametrize("most", [55, 120])
def test_a_request_leaves_its_thread_for_as_long_as_the_setting_says(registry, url, most, settings):
    settings.UPSTREAM_WAIT_SECONDS = most
    store_zip()
    news = Waiting(lambda rows: dict.fromkeys(rows, 1), 7, [0], time.monotonic() + 3600)
    registry.error = NotYet(news)
    client = Client()
    first = client.get(url, **OFFERED)
    asked = first.wsgi_request.META[waiting.ASKED]

    assert (first.status_code, asked.row, asked.states_of) == (503, 7, news.states_of)
    assert most - 2 < asked.until - time.monotonic() <= most
    registry.error = None
    second = client.get(url, **OFFERED, **asking(asked))
    assert second.status_code == 200
    assert waiting.ASKED not in second.wsgi_request.META
    assert [one.has_waited for one in registry.askers[:2]] == [False, True]
    assert len({(one.since, one.until) for one in registry.askers}) == 1


def test_a_request_that_cannot_wait_any_longer_is_503_and_a_server_that_cannot_wait_has_nobody_wait(registry, tofu):
    tofu().get(INDEX)
    assert registry.askers[0].until <= time.monotonic()
    registry.error = NotYet(Waiting(lambda rows: dict.fromkeys(rows, 0), 7, [0], time.monotonic()))
    past = Patience(timezone.now(), time.monotonic())
    over = Waiting(registry.error.waiting.states_of, 7, [0], time.monotonic(), past)

    response = Client().get(INDEX, **OFFERED, **asking(over))

    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert waiting.ASKED not in response.wsgi_request.META


# --- Ready answers ------------------------------------------------------------------------------------------------


def test_d16_documents_are_ready_until_the_provider_changes_and_no_longer_than_policy_says(registry, tofu):
    registry.seconds = 7.5
    for url in (INDEX, VERSION):
        ready = ready_of(tofu().get(url))
        assert ready is not None
        assert set(ready.scopes) == {generation.published_at(str(PROVIDER))}
        assert ready.seconds <= 7.5
    registry.seconds = 0
    ready = ready_of(tofu().get(INDEX))
    assert ready is not None
    assert ready.seconds <= 0  # the front keeps none of these
    assert ready_of(tofu().get(VERSION.replace("3.1.0", "9.9.9"))) is None, "what is not here is not kept"


# --- Bytes --------------------------------------------------------------------------------------------------------


def test_a_package_is_served_like_our_own(registry, tofu):
    store_zip()
    client = tofu()
    url = json.loads(client.get(VERSION).content)["archives"]["linux_amd64"]["url"]
    whole, head = client.get(url), client.head(url)
    part = client.get(url, headers={"Range": "bytes=3-5"})
    same = client.get(url, headers={"If-None-Match": whole.headers["ETag"]})

    assert url == PACKAGE
    assert b"".join(whole.streaming_content) == ZIP
    assert whole.headers["Content-Type"] == "application/zip"
    assert whole.headers["Cache-Control"].startswith("public, max-age=")
    assert (head.status_code, head.headers["Content-Length"]) == (200, str(len(ZIP)))
    assert (part.status_code, b"".join(part.streaming_content)) == (206, ZIP[3:6])
    assert same.status_code == 304
    assert registry.uses == [package("linux_amd64").filename] * 3  # HEAD is no fetch


def test_a_link_opens_what_needs_credentials_and_ends(registry, link):
    assert Client().get(link).headers["Cache-Control"] == "private"
    with time_machine.travel("2099-01-01", tick=False):
        late = Client().get(link)
    assert (late.status_code, "expired" in said(late)) == (403, True)
    assert Client().get(PACKAGE).status_code == 401


def test_credentials_of_a_netrc_open_it_as_well_and_wrong_ones_close_nothing_that_is_public(registry, link, basic, bob):
    wrong = {"Authorization": "Basic " + base64.b64encode(b"a:b").decode()}

    assert Client(headers=basic(bob)).get(PACKAGE).status_code == 200
    assert Client(headers=wrong).get(PACKAGE).status_code == 401
    registry.is_public = True
    assert Client(headers=wrong).get(PACKAGE).status_code == 200


@for_each_row("name", ["a.zip.exe", "a%0D%0Ab.zip", "..", "%00.zip"])
def test_a_name_that_no_package_can_have_is_404(registry, name):
    assert Client().get(PACKAGE.rpartition("/")[0] + "/" + name).status_code == 404


def test_a_package_that_another_thread_is_hashing_is_waited_for_without_a_thread(registry, monkeypatch):
    store_zip()

    def busy(digest: str, *, size: int) -> None:
        raise BeingVerified(77)

    monkeypatch.setattr(verifying, "verify_file", busy)
    first = Client().get(PACKAGE, **OFFERED)
    asked = first.wsgi_request.META[waiting.ASKED]
    assert (first.status_code, asked.row, asked.states_of) == (503, 77, verifying.states_of)
    assert registry.uses == []

    monkeypatch.undo()
    monkeypatch.setattr(mirrors, "others", registry)
    assert Client().get(PACKAGE, **OFFERED, **asking(asked)).status_code == 200
    assert len(registry.uses) == 1
