"""The OCI pulls that succeed while the database is away, and whose: token, manifests, and the blobs that these
name.
"""

import base64
import io
import json
import time
from typing import Any

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.models import ApiToken, Grant
from apps.http.ready import OPENED_BLOB, ready_of
from apps.oci import registry_tokens
from apps.releases.lifecycle import quarantine
from registry_site.front.table import question_of
from tests.site.front.asking import Process, scope_of
from tests.site.front.outages import away, stale
from tests.site.front.test_changes import IN_ACME

PRIVATE, INTERNAL, PUBLIC = "/v2/acme/vpc/aws", "/v2/hall/vpc/aws", "/v2/pantry/vpc/aws"
# The scopes of the three, as a client may ask for them; most ask for one.
ALL = "&".join(f"scope=repository:{name.removeprefix('/v2/')}:pull" for name in (PRIVATE, INTERNAL, PUBLIC))
ONE = "scope=repository:hall/dns/aws:pull"


@pytest.fixture(autouse=True)
def serving(settings):
    settings.SERVE_STALE_SECONDS = 600


@pytest.fixture
def secrets(tofu) -> Any:
    """A new API token of a person."""
    return lambda person: tofu(person).defaults["HTTP_AUTHORIZATION"].removeprefix("Bearer ")


def exchange(process: Process, secret: str = "", *, by_form: bool = False, scope: str = ALL) -> Any:
    """Ask for a token like the server does. None where Django says that the database is away."""
    basic = f"Basic {base64.b64encode(f'x:{secret}'.encode()).decode()}" if secret else ""
    form = f"grant_type=refresh_token&refresh_token={secret}&{scope}"
    environ: dict[str, Any] = {"REQUEST_METHOD": "GET", "HTTP_AUTHORIZATION": basic, "QUERY_STRING": scope}
    if by_form:
        environ = {"REQUEST_METHOD": "POST", "wsgi.input": io.BytesIO(form.encode())}
    issued = process.run(process.front.stale.token_for(environ))
    if issued is not None:
        token = json.loads(issued.body)["token"]
    elif process.front.changes.outage.lasts():
        return None
    else:
        known = process.front.changes.era, process.front.changes.number
        answer = Client().get(f"/v2/token?{scope}", headers={"authorization": basic} if secret else {})
        process.front.stale.keep_source_token(ready_of(answer), time.monotonic(), known)
        token = answer.json()["token"]
    return Client(HTTP_AUTHORIZATION=f"Bearer {token}")


def pull(process: Process, client: Client, repository: str) -> str:
    """Pull like tofu: by the tag, then by the digest; answers the path of the archive."""
    by_tag = process.ask(client, f"{repository}/manifests/1.2.0", "HEAD")
    digest = dict(by_tag.headers)[b"docker-content-digest"].decode()
    manifest = json.loads(process.ask(client, f"{repository}/manifests/{digest}").body)
    return f"{repository}/blobs/{manifest['layers'][0]['digest']}"


def opens(process: Process, client: Client, blob: str) -> bool:
    """Return whether Django is asked to send it although it cannot know who asks."""
    question = question_of(scope_of(client, blob))
    assert question is not None
    return bool(process.front.stale.find(question) is None and question.opened_blob)


def pulls(process: Process, client: Client | None, repository: str, blob: str) -> bool:
    """All of it. Here Django answers what is not repeated: its database is there."""
    if client is None:
        return False
    is_opened = opens(process, client, blob)
    is_stale = stale(process, client, f"{repository}/manifests/1.2.0", "HEAD")  # Django learns from it, too
    assert is_opened == is_stale
    return is_stale


def test_a_pull_begins_with_a_challenge_whether_the_repository_is_there_or_not(process, modules, tofu):
    away(process)
    for path in (f"{PRIVATE}/manifests/1.2.0", f"{PRIVATE}/blobs/sha256:{'0' * 64}", "/v2/no/such/thing/tags/list"):
        said, django = process.ask(tofu(None), path), Client().get(path)
        assert (said.status, said.was_ready) == (401, True)
        assert dict(said.headers)[b"www-authenticate"].decode() == django.headers["WWW-Authenticate"]
    assert not stale(process, tofu(None), "/v2/token")


def test_an_api_token_is_exchanged_if_this_host_has_seen_it_and_nobody_s_always(
    process, modules, tofu, secrets, bob, alice
):
    secret, other = secrets(bob), secrets(alice)
    assert exchange(process, secret)
    away(process)
    renewed = exchange(process, secret)
    assert renewed is not None
    read = registry_tokens.read(renewed.defaults["HTTP_AUTHORIZATION"].removeprefix("Bearer "))
    assert (read.token and read.token.user, str(read.scopes)) == (bob, ALL.replace("scope=", "").replace("&", " "))
    assert exchange(process, secret, by_form=True)
    assert process.ask(renewed, "/v2/").was_ready
    assert not process.ask(tofu(alice), "/v2/").was_ready
    assert not process.ask(Client(HTTP_AUTHORIZATION=f"Bearer {registry_tokens.issue(10**6)}"), "/v2/").was_ready
    assert exchange(process)
    assert exchange(process, other) is None
    assert exchange(process, other, by_form=True) is None
    assert exchange(process, "larder_wrong") is None


def test_a_public_module_is_pulled_by_everybody(process, modules, secrets, bob):
    blob = pull(process, exchange(process, secrets(bob)), PUBLIC)
    away(process)
    assert pulls(process, exchange(process), PUBLIC, blob)
    assert not opens(process, exchange(process), blob.replace(blob[-8:], "0" * 8)), "no manifest names it"
    assert process.front.stale.answers["oci:token"] == 2


def test_internal_modules_are_pulled_with_tokens_that_have_read_there(process, modules, secrets, bob, charlie):
    one, other = secrets(bob), secrets(charlie)
    blob = pull(process, exchange(process, one), INTERNAL)
    assert exchange(process, other)
    away(process)
    assert pulls(process, exchange(process, one), INTERNAL, blob)
    assert not pulls(process, exchange(process, other), INTERNAL, blob)
    assert not pulls(process, exchange(process), INTERNAL, blob)


def test_a_token_opens_what_its_scopes_say_and_nothing_else_that_its_person_reads(process, modules, secrets, bob):
    """Nor does the front join answers for it while the database is there."""
    secret = secrets(bob)
    blob = pull(process, exchange(process, secret), INTERNAL)
    narrow = exchange(process, secret, scope=ONE)
    assert process.ask(narrow, "/v2/hall/dns/aws/tags/list").status == 200
    assert process.ask(narrow, f"{INTERNAL}/tags/list").status == 401
    process.ask(exchange(process, secret), f"{INTERNAL}/tags/list")
    assert process.ask(narrow, f"{INTERNAL}/tags/list").status == 401
    away(process)
    for token in (narrow, exchange(process, secret, scope=ONE)):
        assert not opens(process, token, blob)
        said, django = process.ask(token, f"{INTERNAL}/tags/list"), token.get(f"{INTERNAL}/tags/list")
        assert (said.status, said.was_ready, django.status_code) == (401, True, 401)
        assert dict(said.headers)[b"www-authenticate"].decode() == django.headers["WWW-Authenticate"]
        assert stale(process, token, "/v2/hall/dns/aws/tags/list")
    assert pulls(process, exchange(process, secret), INTERNAL, blob)


def test_private_modules_are_pulled_with_tokens_that_were_seen_with_them(process, modules, secrets, bob, alice):
    one, other = secrets(bob), secrets(alice)
    blob = pull(process, exchange(process, one), PRIVATE)
    process.ask(exchange(process, other), f"{PRIVATE}/tags/list")
    away(process)
    assert pulls(process, exchange(process, one), PRIVATE, blob)
    assert not pulls(process, exchange(process, other), PRIVATE, blob)
    assert stale(process, exchange(process, other), f"{PRIVATE}/tags/list")


def test_a_token_that_the_front_has_answered_was_seen_with_it_too(process, modules, secrets, bob, alice):
    one, other = secrets(bob), secrets(alice)
    blob = pull(process, exchange(process, one), PRIVATE)
    client = exchange(process, other)
    process.ask(client, f"{PRIVATE}/tags/list")
    assert pull(process, client, PRIVATE) == blob
    away(process)
    assert pulls(process, exchange(process, other), PRIVATE, blob)


@pytest.mark.parametrize("verb", ["quarantine", "revoke", "visibility", "withdraw", "yank"])
def test_nothing_from_before_a_change_is_pulled(process, published, modules, secrets, acme, bob, dora, olga, verb):
    blob = pull(process, exchange(process, secret := secrets(bob)), PRIVATE)
    change, _ = IN_ACME[verb]
    things = {"published": published, "release": modules, "acme": acme, "bob": bob, "dora": Viewer(dora)}
    things |= {"olga": Viewer(olga), "grant": Grant.objects.get(user=bob), "token": ApiToken.objects.get(user=bob)}
    change(things)
    away(process)
    assert not pulls(process, exchange(process, secret), PRIVATE, blob)


def test_the_blob_is_sent_without_asking_who_wants_it_unless_its_bytes_are_in_quarantine(
    modules, monkeypatch, django_assert_num_queries
):
    path = f"{PRIVATE}/blobs/sha256:{modules.digest}"
    assert Client().get(path).status_code == 401
    with django_assert_num_queries(0):
        said = Client().get(path, **{OPENED_BLOB: modules.digest})
    assert (said.status_code, len(said.getvalue())) == (200, modules.size)
    monkeypatch.setattr(quarantine.blocked, "value", frozenset({modules.digest}))
    assert Client().get(path, **{OPENED_BLOB: modules.digest}).status_code == 404
    monkeypatch.setattr(quarantine.blocked, "newest", lambda: 10**9)
    assert Client().get(path, **{OPENED_BLOB: modules.digest}).status_code == 503, "the list may lack one"
