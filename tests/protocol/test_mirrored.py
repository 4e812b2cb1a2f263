"""Providers of other registries by the network mirror. What the room behind it does is tested in tests/upstream."""

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
from apps.upstream.errors import Refused
from tests.protocol.mirrored import HOST, PROVIDER, ZIP, OneProvider, package, store_zip
from tests.protocol.test_mirror import NOON, NOT_HERE
from tests.rows import for_each_row

INDEX = f"/v1/mirror/{HOST}/hashicorp/random/index.json"
VERSION = INDEX.replace("index", "3.1.0+build.1")
PACKAGE = f"/v1/mirror/{HOST}/hashicorp/random/3.1.0+build.1/{package('linux_amd64').filename}"
OFFERED: Any = {waiting.OFFERED: True}
HELD_BACK = "random 3.1.0 is held back by rule 2 until 2026-11-30."


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


@for_each_row("error", [NotFound("no"), CredentialsRequired("no"), VersionUnknown("no")])
def test_d8_what_is_hidden_reads_as_what_is_unknown(registry, tofu, error):
    unknown = tofu().get(INDEX.replace(HOST, "registry.unknown.example"))
    registry.error = error

    hidden = tofu().get(INDEX)

    assert (hidden.status_code, hidden.content) == (404, unknown.content)
    assert tofu().get(VERSION).content == NOT_HERE


def test_a_registry_for_other_clients_says_so_and_clients_go_on(registry, tofu):
    registry.error = OtherClientsOnly("Its terms allow Terraform alone.")

    index, version, zipped = (tofu().get(url) for url in (INDEX, VERSION, PACKAGE))

    assert (index.status_code, said(index)) == (404, "Its terms allow Terraform alone.")
    assert version.content == NOT_HERE
    assert (zipped.status_code, said(zipped)) == (404, "Its terms allow Terraform alone.")


@for_each_row(("url", "status"), [(INDEX, 409), (VERSION, 409), (PACKAGE, 403)])
def test_a_refusal_names_rule_and_date_and_is_never_called_wrong_credentials(registry, tofu, url, status):
    registry.error = Refused(HELD_BACK)

    response = tofu().get(url)

    assert (response.status_code, said(response)) == (status, HELD_BACK)
    assert response.headers["Cache-Control"] == "no-store"


@for_each_row("url", [INDEX, VERSION, PACKAGE])
def test_a_registry_that_is_away_is_503_with_its_url(registry, tofu, url):
    registry.error = Unavailable("https://registry.elsewhere.example/v1 answered 502.", retry_after=7)

    response = tofu().get(url)

    assert (response.status_code, response.headers["Retry-After"]) == (503, "7")
    assert "https://registry.elsewhere.example/v1 answered 502." in said(response)


def test_who_has_had_too_much_fetched_is_told_to_wait(registry, tofu):
    registry.error = TooManyAttempts("More than 600.", wait=3)

    response = tofu().get(INDEX)

    assert (response.status_code, response.headers["Retry-After"]) == (429, "3")


# --- Waiting for a worker -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("url", "most"), [(INDEX, 9), (VERSION, 9), (PACKAGE, 55)])
def test_a_request_leaves_its_thread_until_a_worker_has_fetched_it(registry, rf, url, most):
    """Documents for less long: clients give up after 10 s."""
    store_zip()
    environ: dict[str, Any] = {waiting.OFFERED: True, "SERVER_NAME": "testserver"}
    news = Waiting(lambda rows: dict.fromkeys(rows, 1), 7, [0], time.monotonic() + 3600)
    registry.error = NotYet(news)
    client = Client()
    first = client.get(url, **environ)
    asked = first.wsgi_request.META[waiting.ASKED]

    assert (first.status_code, asked.row, asked.states_of) == (503, 7, news.states_of)
    assert most - 2 < asked.until - time.monotonic() <= most
    registry.error = None
    second = client.get(url, **environ, **asking(asked))
    assert second.status_code == 200
    assert waiting.ASKED not in second.wsgi_request.META
    assert [one.has_waited for one in registry.askers[:2]] == [False, True]
    assert len({(one.since, one.until) for one in registry.askers}) == 1


def test_a_request_that_cannot_wait_any_longer_is_503(registry):
    registry.error = NotYet(Waiting(lambda rows: dict.fromkeys(rows, 0), 7, [0], time.monotonic()))
    past = Patience(timezone.now(), time.monotonic())
    over = Waiting(registry.error.waiting.states_of, 7, [0], time.monotonic(), past)

    response = Client().get(INDEX, **OFFERED, **asking(over))

    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert waiting.ASKED not in response.wsgi_request.META


def test_a_server_that_cannot_wait_has_nobody_wait(registry, tofu):
    tofu().get(INDEX)

    assert registry.askers[0].until <= time.monotonic()


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


def test_d16_what_is_not_here_is_not_kept(registry, tofu):
    assert ready_of(tofu().get(VERSION.replace("3.1.0", "9.9.9"))) is None


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
    assert Client().get(PACKAGE, **{waiting.OFFERED: True, waiting.ASKED: asked}).status_code == 200
    assert len(registry.uses) == 1
