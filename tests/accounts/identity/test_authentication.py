"""Tokens in the Authorization header, through real endpoints: 401 for every token that does not count."""

import base64
from datetime import timedelta
from functools import partial

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import token_usage, tokens
from apps.accounts.models import ApiToken, Scope
from tests.rows import for_each_row

SEEN = "/api/v1/namespaces/acme"
PRIVATE = "/v1/modules/acme/vpc/aws/versions"
PUBLIC = "/v1/modules/pantry/jam/local/versions"


@pytest.fixture
def issued(alice):
    return tokens.issue(user=alice, label="CI", scope=Scope.READ, actor=Viewer(alice))


def ask(authorization: str, url: str = PRIVATE):
    return Client().get(url, headers={"Authorization": authorization})


def basic(secret: str, name: str = "whoever") -> str:
    return "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()


@for_each_row(
    "form",
    [
        "Bearer {}".format,
        "bearer {}".format,
        "Bearer  {}".format,
        basic,
        *(partial(basic, name=name) for name in ("", "larder", "jürgen", "x" * 300)),
    ],
    ids=["Bearer", "bearer", "two spaces", "Basic", "no name", "larder", "jürgen", "a long name"],
)
def test_it_takes_a_bearer_token_and_a_basic_password_of_any_name(issued, form):
    assert ask(form(issued[1]), SEEN).status_code == 200


@for_each_row("url", [SEEN, PRIVATE, PUBLIC])
@for_each_row(
    "authorization",
    [
        "Bearer",
        "Bearer nonsense",
        "Basic",
        "Basic !!!",
        "Basic /w==",
        basic(""),
        basic("alice likes pears", "alice"),
        "Digest username=alice",
        pytest.param("Bearer " + tokens.new_secret(), id="never issued"),
        pytest.param("Bearer " + "ä" * 48, id="not ASCII"),
        pytest.param("Bearer " + "a" * 100_000, id="endless"),
    ],
)
def test_a_bad_header_is_401_on_public_namespaces_too(issued, pantry, authorization, url):
    response = ask(authorization.encode().decode("latin-1"), url)

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")


@for_each_row(
    ("change", "word"),
    [
        ({"revoked_at": timezone.now()}, "revoked"),
        ({"expires_at": timezone.now() - timedelta(days=1)}, "expired"),
    ],
)
def test_a_dead_token_says_why(issued, change, word):
    ApiToken.objects.filter(pk=issued[0].pk).update(**change)
    for url in (SEEN, PRIVATE, PUBLIC):
        response = ask("Bearer " + issued[1], url)

        assert response.status_code == 401
        assert word in response.content.decode()


def test_it_notes_the_use_after_a_flush(issued):
    ask("Bearer " + issued[1])
    assert ApiToken.objects.get().last_used_at is None

    token_usage.flush()
    assert ApiToken.objects.get().last_used_at is not None
