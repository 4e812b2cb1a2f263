"""/v2/token: who gets which token, by GET and by POST, and who is sent away."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken
from apps.lib.settings_values.rates import Rate
from apps.oci import registry_tokens
from tests.oci.conftest import basic
from tests.oci.manifests.documents import code_of
from tests.oci.uploading import headers_of
from tests.rows import for_each_row

FORM = "application/x-www-form-urlencoded"
SCOPE = "repository:acme/vpc/aws:pull"


@pytest.fixture(autouse=True)
def nobody_guessed():
    cache.clear()


def ask(authorization: str = "", query: str = "service=larder"):
    return Client().get(f"/v2/token?{query}", headers={"Authorization": authorization} if authorization else {})


def post(body: str, **more):
    return Client().post("/v2/token", body, content_type=FORM, **more)


def ping(token: str):
    return Client().get("/v2/", headers={"Authorization": f"Bearer {token}"}).status_code


def test_nobody_gets_a_token_that_opens_what_is_public(db):
    answer = ask()

    document = answer.json()
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert document["token"] == document["access_token"]
    assert document["expires_in"] == 3600
    assert document["issued_at"].endswith("Z")
    assert "scope" not in document
    assert "refresh_token" not in document
    assert ping(document["token"]) == 200


@for_each_row("name", ["alice", "", "oauth2accesstoken", "jürgen"])
def test_an_api_token_is_the_password_of_any_name(secret, name):
    answer = ask(basic(secret, name), "service=larder&account=alice&client_id=docker&offline_token=true")

    assert answer.status_code == 200
    token = registry_tokens.read(answer.json()["token"]).token
    assert token is not None
    assert token.user.username == "alice"


@for_each_row(
    "password",
    ["", "alice likes pears", "lrd_u_nonsense", tokens.new_secret(), "\0", "x" * 50_000],
    ids=["none", "a-person's", "misshapen", "unknown", "NUL", "long"],
)
def test_a_wrong_password_is_401_here_and_not_a_token_of_nobody(secret, password):
    answer = ask(basic(password))

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    assert answer.json()["errors"][0]["code"] == "UNAUTHORIZED"


def test_what_was_issued_here_does_not_renew_itself(secret):
    issued = ask(basic(secret)).json()["token"]

    assert ask(f"Bearer {issued}").status_code == 401
    assert ask(basic(issued)).status_code == 401
    assert post(f"grant_type=refresh_token&refresh_token={issued}").status_code == 401


@for_each_row("grant", ["grant_type=refresh_token&refresh_token={}", "grant_type=password&password={}"])
def test_the_form_takes_an_api_token_too(secret, grant):
    answer = post(
        f"{grant.format(secret)}&username=x&service=larder&client_id=oras-go&scope=repository:acme/vpc/aws:pull"
    )

    assert answer.status_code == 200
    assert answer.json()["scope"] == SCOPE
    assert ping(answer.json()["access_token"]) == 200


@for_each_row(
    ("body", "status"),
    [
        ("grant_type=refresh_token&refresh_token=nonsense", 401),
        ("grant_type=password&password=alice%20likes%20pears&username=alice", 401),
        ("grant_type=refresh_token", 401),
        ("grant_type=authorization_code&code=x", 400),
        ("", 400),
        ("%ff%00=%00&grant_type=%ff", 400),
        pytest.param("&".join(f"scope={number}" for number in range(300)), 400, id="too many fields"),
        pytest.param("grant_type=" + "x" * 70_000, 413, id="too large"),
    ],
)
def test_a_form_that_leads_nowhere_is_refused_in_the_dialect(secret, body, status):
    answer = post(body)

    assert answer.status_code == status
    assert set(answer.json()["errors"][0]) == {"code", "message"}


@for_each_row(
    ("query", "scope"),
    [
        ("scope=repository:acme/vpc/aws:pull", "repository:acme/vpc/aws:pull"),
        ("scope=repository:acme/vpc/aws:push,pull", "repository:acme/vpc/aws:pull,push"),
        ("scope=repository%3Aacme%2Fvpc%2Faws%3Apush%2Cpull%2Cdelete", "repository:acme/vpc/aws:pull,push,delete"),
        ("scope=repository:acme/vpc/aws:*", "repository:acme/vpc/aws:pull,push,delete"),
        ("scope=repository:a/b/c:pull&scope=repository:d/e/f:push", "repository:a/b/c:pull repository:d/e/f:push"),
        ("scope=repository:a/b/c:pull+repository:a/b/c:push", "repository:a/b/c:pull,push"),
        ("scope=registry:catalog:*", "registry:catalog:*"),
        ("scope=registry:catalog:*+repository:a/b/c:pull", "repository:a/b/c:pull registry:catalog:*"),
        ("scope=registry:other:*&scope=registry:catalog:pull", ""),
        ("scope=repository:../../etc:pull", ""),
        ("scope=%0d%0aSet-Cookie:+x%3d1&scope=repository:%00:pull", ""),
        ("scope=:::&scope=repository::pull&scope=repository:a/b/c:&scope=repository:a/b/c:burn", ""),
    ],
)
def test_scopes_are_read_in_any_order_and_hostile_ones_are_harmless(db, query, scope):
    answer = ask(query=f"service=larder&{query}")

    assert answer.status_code == 200
    assert answer.json()["scope"] == scope


def test_an_endless_list_of_scopes_is_refused(db):
    assert ask(query="&".join(["scope=repository:a/b/c:pull"] * 300)).status_code == 400


def test_a_token_tells_nothing_of_the_names_that_it_was_asked_for(secret, pantry):
    answers = [
        ask(query=f"scope=repository:{name}:pull").json() | {"token": "", "access_token": "", "issued_at": ""}
        for name in ("acme/vpc/aws", "acme/not/there", "nowhere/vpc/aws", "pantry/jam/local")
    ]

    for answer in answers:
        answer.pop("scope")
    assert answers == [answers[0]] * 4


@pytest.fixture
def limited(settings):
    settings.RATES = settings.RATES | {"tokens": Rate(3, 3600)}
    cache.clear()
    yield
    cache.clear()


def test_only_wrong_passwords_are_throttled_and_told_when_to_come_back(secret, limited):
    assert {ask(basic(secret)).status_code for _ in range(5)} == {ask().status_code for _ in range(5)} == {200}
    assert [ask(basic("nonsense")).status_code for _ in range(5)] == [401, 401, 401, 429, 429]
    assert ask(basic(secret)).status_code == 200
    assert post(f"grant_type=password&password={secret}").status_code == 200

    answer = post("grant_type=refresh_token&refresh_token=nonsense")
    assert code_of(answer) == (429, "TOOMANYREQUESTS")
    assert int(answer.headers["Retry-After"]) in range(1, 6)  # less at the end of an hour


@for_each_row("end", ["revoked", "expired", "switched off"])
def test_a_token_ends_with_the_api_token_behind_it(secret, alice, end):
    issued = ask(basic(secret)).json()["token"]
    assert ping(issued) == 200

    if end == "revoked":
        tokens.revoke(token=ApiToken.objects.get(), actor=Viewer(alice))
    elif end == "expired":
        ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        type(alice).objects.filter(pk=alice.pk).update(is_active=False)

    assert ping(issued) == 401
    assert ask(basic(secret)).status_code == 401


def test_a_token_ends_after_an_hour(secret, time_machine):
    time_machine.move_to(timezone.now())
    issued, of_nobody = ask(basic(secret)).json()["token"], ask().json()["token"]

    time_machine.shift(registry_tokens.LIFETIME + timedelta(seconds=2))

    assert (ping(issued), ping(of_nobody)) == (401, 401)


def test_a_token_in_use_shows_as_used(secret, monkeypatch):
    noted: list[ApiToken] = []
    issued = ask(basic(secret)).json()["token"]
    record = lambda token, **_: noted.append(token)  # noqa: E731
    monkeypatch.setattr("apps.accounts.identity.token_usage.record_use", record)

    ping(issued)

    assert noted == [ApiToken.objects.get()]


def test_a_head_is_answered_as_a_get(secret):
    for headers in ({}, {"Authorization": basic(secret)}, {"Authorization": basic("nonsense")}):
        got, head = Client().get("/v2/token", headers=headers), Client().head("/v2/token", headers=headers)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert headers_of(head) == headers_of(got)


def test_a_token_that_expires_within_a_week_says_so_where_oras_shows_it(secret):
    assert "Warning" not in Client().get("/v2/", headers={"Authorization": basic(secret)}).headers
    now = timezone.now()
    ApiToken.objects.update(created_at=now - timedelta(days=84), expires_at=now + timedelta(days=6))

    for url in ("/v2/", "/v2/token"):
        answer = Client().get(url, headers={"Authorization": basic(secret)})
        assert answer.headers["Warning"].startswith(
            f'299 - "The API token {ApiToken.objects.get().start}... expires on'
        )
