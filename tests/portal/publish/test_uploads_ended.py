"""A person who loses the right to publish before or during an upload publishes nothing with it."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from apps.accounts import erasure, namespaces
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity import sessions, tokens
from apps.accounts.models import ApiToken, Grant, Namespace, Role, Scope, User
from apps.accounts.people import accounts, teams
from apps.artifacts.models import Manifest, RepositoryBlob
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.releases.models import Release, ReleaseFile, State
from apps.releases.publishing import sweeping
from tests.api.conftest import Untouchable
from tests.api.tus_client import MEDIA_TYPE
from tests.builders.archives import module_zip
from tests.oci.uploading import sha256
from tests.portal.publish.conftest import NEW
from tests.providers.draft_client import LINUX, zips
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
ZIP = module_zip()
HEADERS = {"Origin": settings.PUBLIC_URL, "Accept": "application/json"}


class Body(io.RawIOBase):
    """Two halves of a body; between them something happens."""

    def __init__(self, data: bytes, happens: Callable[[], object]) -> None:
        self.halves = [data[: len(data) // 2], data[len(data) // 2 :]]
        self.happens = happens

    def read(self, _size: int = -1) -> bytes:
        if len(self.halves) == 1:
            self.happens()
        return self.halves.pop(0) if self.halves else b""


def send(client: Client, method: str, url: str, data: bytes, happens: Callable[[], object], **headers: str) -> Any:
    environ: dict[str, Any] = {"wsgi.input": Body(data, happens), "CONTENT_LENGTH": str(len(data))}
    return client.generic(method, url, b"", headers={**HEADERS, **headers}, **environ)


def switch_off(user: User) -> None:
    accounts.change(user=user, actor=NOBODY, is_active=False, is_staff=False, is_superuser=False)


def make_reader(user: User) -> None:
    for grant in Grant.objects.filter(user=user):
        namespaces.grant(namespace=grant.namespace, grantee=user, role=Role.READER, actor=NOBODY)


def withdraw(user: User) -> None:
    for grant in Grant.objects.filter(user=user):
        namespaces.withdraw(grant=grant, actor=NOBODY)


def revoke_tokens(user: User) -> None:
    for token in ApiToken.objects.filter(user=user):
        tokens.revoke(token=token, actor=Viewer(user))


def change_password(user: User) -> None:
    user.set_password("ripe plums in august")
    user.save()


def forget(user: User) -> None:
    erasure.erase(user=user, actor=NOBODY)


# What ends, and what an upload that is out or under way reads then (D8): acme is private.
PERSON: dict[Any, int] = {switch_off: 401, forget: 401, make_reader: 403, withdraw: 404}
SESSION: dict[Any, int] = {sessions.end_all: 401, change_password: 401, **PERSON}
TOKEN: dict[Any, int] = {revoke_tokens: 401, **PERSON}
# Each way to send bytes asks again; what it asks is the same, so one way meets every end, and the others these.
SESSION_AND_ROLE: dict[Any, int] = {sessions.end_all: 401, make_reader: 403}
TOKEN_AND_ROLE: dict[Any, int] = {revoke_tokens: 401, make_reader: 403}


def cases(endings: dict[Any, int]) -> Any:
    return pytest.mark.parametrize(("end", "status"), endings.items(), ids=[end.__name__ for end in endings])


def reserve(browser: Client) -> str:
    return str(browser.post("/publish", NEW, headers=HEADERS).json()["upload"])


@pytest.fixture
def nothing_is_left(stored_files, acme):
    def check() -> None:
        release = Release.objects.get()
        assert release.state == State.REJECTED
        assert [reason["code"] for reason in release.reasons] == ["permission_ended"]
        assert not Job.objects.exists()
        assert stored_files() == []
        kinds = set(AuditEvent.objects.values_list("kind", flat=True))
        assert {"account:permission:refused", "namespace:release:rejected"} <= kinds
        assert not Release.objects.live().exists(), "the number is free"

    return check


@cases(SESSION_AND_ROLE)
def test_a_ticket_that_is_out_ends_before_the_first_byte(alice, browser_of, nothing_is_left, end, status):
    ticket = reserve(browser_of(alice))
    end(alice)

    environ: dict[str, Any] = {"wsgi.input": Untouchable()}
    answer = Client().generic("PUT", ticket, b"", headers=HEADERS, **environ)

    assert answer.status_code == status, answer.content
    assert answer.json()["error"]
    nothing_is_left()


@cases(SESSION)
def test_a_ticket_in_use_ends_with_the_last_byte(alice, browser_of, nothing_is_left, end, status):
    ticket = reserve(browser_of(alice))

    answer = send(Client(), "PUT", ticket, ZIP, lambda: end(alice))

    assert answer.status_code == status, answer.content
    nothing_is_left()


@cases(SESSION_AND_ROLE)
@pytest.mark.parametrize("until", [len(ZIP) - 1, len(ZIP)], ids=["a piece", "the last piece"])
def test_a_ticket_whose_bytes_come_in_pieces_ends_with_the_next_one(
    alice, browser_of, nothing_is_left, end, status, until
):
    ticket, half = reserve(browser_of(alice)), len(ZIP) // 2
    begun = {"Upload-Length": str(len(ZIP)), "Content-Type": MEDIA_TYPE, **HEADERS}
    Client().generic("PATCH", ticket, ZIP[:half], content_type=MEDIA_TYPE, headers=begun | {"Upload-Offset": "0"})

    headers = {"Upload-Offset": str(half), "Content-Type": MEDIA_TYPE}
    answer = send(Client(), "PATCH", ticket, ZIP[half:until], lambda: end(alice), **headers)

    assert answer.status_code == status, answer.content
    nothing_is_left()


def test_signing_out_ends_the_tickets_of_that_browser_alone(alice, browser_of):
    here, elsewhere = browser_of(alice), browser_of(alice)
    ticket = reserve(elsewhere)
    here.post(reverse("account_logout"))

    assert send(Client(), "PUT", ticket, ZIP, lambda: None).status_code == 200
    Release.objects.all().delete()
    ticket = reserve(elsewhere)
    elsewhere.post(reverse("account_logout"))
    assert send(Client(), "PUT", ticket, ZIP, lambda: None).status_code == 401


def test_a_role_that_came_by_a_team_ends_with_the_membership(acme, bob, dora, browser_of, nothing_is_left):
    team = teams.create(name="cooks", actor=Viewer(dora))
    membership = teams.add(team=team, user=bob, actor=NOBODY)
    namespaces.grant(namespace=acme, grantee=team, role=Role.PUBLISHER, actor=NOBODY)
    ticket = reserve(browser_of(bob))

    answer = send(Client(), "PUT", ticket, ZIP, lambda: teams.remove(membership=membership, actor=NOBODY))

    assert answer.status_code == 403, "bob reads acme by himself"
    nothing_is_left()


@cases(TOKEN)
def test_an_upload_by_api_ends_with_the_last_byte(alice, bearer, nothing_is_left, end, status):
    headers = bearer(alice, Scope.PUBLISH)

    answer = send(Client(), "PUT", "/api/v1/modules/acme/vpc/aws/1.2.0", ZIP, lambda: end(alice), **headers)

    assert answer.status_code == status, answer.content
    assert answer.json()["error"]["message"]
    nothing_is_left()


def test_whoever_was_revoked_does_not_learn_what_is_published(alice, bearer, published):
    published("acme/vpc/aws", "1.2.0", ZIP)
    headers = bearer(alice)
    path = "/api/v1/modules/acme/vpc/aws/1.2.0"

    answer = send(Client(), "PUT", path, b"other bytes", lambda: revoke_tokens(alice), **headers)

    assert answer.status_code == 401
    assert "sha256" not in answer.content.decode()


@cases(TOKEN_AND_ROLE)
def test_a_file_of_a_draft_is_not_kept(draft_client, alice, stored_files, end, status):
    assert draft_client.open().status_code == 201
    url, data = f"{draft_client.url}/files/{LINUX}", zips()[LINUX]

    answer = send(draft_client.client, "PUT", url, data, lambda: end(alice))

    assert answer.status_code == status, answer.content
    assert not ReleaseFile.objects.exists()
    assert stored_files() == []


@cases(SESSION_AND_ROLE)
def test_a_file_of_a_draft_in_the_browser_is_not_kept(alice, browser_of, stored_files, end, status):
    browser = browser_of(alice)
    told = {"provider": "new", "namespace": "acme", "type": "dns", "version": "1.2.0", "protocols": "5.0"}
    page = browser.post("/publish/provider", told).url

    answer = send(browser, "PUT", f"{page}/files/{LINUX}", zips()[LINUX], lambda: end(alice))

    assert answer.status_code == status, answer.content
    assert not ReleaseFile.objects.exists()
    assert stored_files() == []


INDEX = "application/vnd.oci.image.index.v1+json"


@cases(TOKEN_AND_ROLE)
@for_each_row("way", ["whole", "patch", "put", "manifest"])
def test_neither_a_blob_nor_a_manifest_is_kept(alice, bearer, stored_files, way, end, status):
    client = Client(headers=bearer(alice))
    uploads, data, more = "/v2/acme/vpc/aws/blobs/uploads/", b"a layer" * 100, {}
    url, method = f"{uploads}?digest={sha256(data)}", "POST"
    if way in ("patch", "put"):
        url, method = client.post(uploads).headers["Location"], way.upper()
    if way == "put":
        url = f"{url}?digest={sha256(data)}"
    if way == "manifest":
        url, method, more = "/v2/acme/vpc/aws/manifests/latest", "PUT", {"Content-Type": INDEX}
        data = f'{{"schemaVersion": 2, "mediaType": "{INDEX}", "manifests": []}}'.encode()

    answer = send(client, method, url, data, lambda: end(alice), **more)

    assert answer.status_code == status, answer.content
    assert not RepositoryBlob.objects.exists()
    assert not Manifest.objects.exists()
    assert stored_files() == []


@cases(SESSION)
def test_tickets_that_nobody_uses_end_within_seconds(alice, browser_of, end, status):
    reserve(browser_of(alice))
    assert sweeping.sweep() == 0
    end(alice)

    assert sweeping.sweep() == 1
    assert [reason["code"] for reason in Release.objects.get().reasons] == ["permission_ended"]


def test_a_draft_is_its_person_s_and_ends_with_them(draft_client, alice, bearer, stored_files):
    draft_client.open()
    draft_client.put(LINUX, zips()[LINUX])
    revoke_tokens(alice)
    assert sweeping.sweep() == 0, "another token of hers goes on"
    draft_client.client = Client(headers=bearer(alice))
    assert draft_client.put(LINUX, zips()[LINUX]).status_code == 200

    make_reader(alice)
    assert sweeping.sweep() == 1
    assert stored_files() == []


def test_what_was_accepted_before_goes_on(alice, bearer, work):
    Client().put("/api/v1/modules/acme/vpc/aws/1.2.0", ZIP, headers=bearer(alice))
    switch_off(alice)
    work()

    assert Release.objects.get().state == State.PUBLISHED
    assert Namespace.objects.get(name="acme").releases.count() == 1
