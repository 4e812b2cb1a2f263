"""/v2/: without credentials always a challenge, with any token that counts 200 (oci.md, nasty cases 13 and 16)."""

import pytest
from django.conf import settings
from django.test import Client

from apps.accounts.identity import tokens
from apps.oci import registry_tokens
from tests.oci.conftest import basic
from tests.oci.manifests.documents import code_of
from tests.oci.uploading import headers_of
from tests.rows import for_each_row


def ping(authorization: str = "", **headers: str):
    return Client().get("/v2/", headers=headers | ({"Authorization": authorization} if authorization else {}))


def test_nobody_is_challenged_by_bearer_alone(db):
    answer = ping()

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == (
        f'Bearer realm="{settings.PUBLIC_URL}/v2/token",service="{settings.PUBLIC_HOST}"'
    )
    assert answer.headers["Docker-Distribution-Api-Version"] == "registry/2.0"
    assert answer.json()["errors"][0]["code"] == "UNAUTHORIZED"


def test_whoever_has_a_token_comes_in(secret):
    """Case 13."""
    issued = registry_tokens.issue(tokens.identify(secret).pk)

    for authorization in (
        f"Bearer {secret}",
        f"bearer {secret}",
        basic(secret),
        f"Bearer {issued}",
        f"Bearer {registry_tokens.issue(None)}",
    ):
        answer = ping(authorization)
        assert (answer.status_code, answer.json()) == (200, {}), authorization


@for_each_row(
    "authorization",
    [
        "Bearer",
        "Bearer nonsense",
        "Bearer lrr_",
        "Bearer lrr_nonsense",
        "Bearer lrr_a:b:c",
        pytest.param("Bearer lrr_" + "a:" * 50_000, id="endless"),
        "Bearer lrr_ä",
        "Basic",
        "Basic !!!",
        basic(""),
        basic("alice likes pears"),
        "Digest username=alice",
    ],
)
def test_what_does_not_count_is_challenged_again(secret, authorization):
    """Case 13."""
    answer = ping(authorization.encode().decode("latin-1"))

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


def test_a_changed_token_does_not_count(secret):
    payload, _, rest = registry_tokens.issue(None).removeprefix("lrr_").partition(":")

    assert ping(f"Bearer lrr_{payload}x:{rest}").status_code == 401
    assert ping(f"Bearer lrr_{payload}:{rest}x").status_code == 401


def test_a_cookie_is_no_credential(alice, browser_of):
    assert browser_of(alice).get("/v2/").status_code == 401


@for_each_row(
    "headers",
    [
        {},
        {"X-Forwarded-Host": "evil.example.org", "X-Forwarded-Proto": "http", "X-Forwarded-Port": "1"},
        {"Forwarded": "host=evil.example.org;proto=http"},
        {"Host": "localhost"},
    ],
)
def test_the_realm_is_the_public_url_with_its_port_whatever_a_proxy_or_a_client_says(db, settings, headers):
    """Case 16."""
    settings.PUBLIC_URL, settings.PUBLIC_HOST = "https://registry.example.com:8443", "registry.example.com:8443"

    assert ping(**headers).headers["WWW-Authenticate"] == (
        'Bearer realm="https://registry.example.com:8443/v2/token",service="registry.example.com:8443"'
    )


def test_a_forged_host_is_refused_and_named_nowhere(db):
    answer = ping(Host="evil.example.org")

    assert answer.status_code == 400
    assert "WWW-Authenticate" not in answer.headers
    assert "evil" not in str(answer.headers)
    assert b"evil" not in answer.content


@for_each_row("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_the_slash_may_be_left_out_and_only_reading_is_known_here(secret, method):
    for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": f"Bearer {secret}"}):
        with_it, without = (Client().generic(method, url, headers=headers) for url in ("/v2/", "/v2"))
        assert (without.status_code, without.content) == (with_it.status_code, with_it.content)
        assert headers_of(without) == headers_of(with_it)
    if method in ("GET", "HEAD"):
        assert (with_it.status_code, with_it.content) == (200, b"{}" if method == "GET" else b"")
    else:
        assert (code_of(with_it), with_it.headers["Allow"]) == ((405, "UNSUPPORTED"), "GET, HEAD")


@for_each_row("url", ["/v2token", "/v2?", "/v2//", "/v22"])
def test_nothing_else_is_the_root(db, url):
    assert Client().get(url).status_code == (401 if url == "/v2?" else 404)


@for_each_row(
    ("path", "allowed"),
    [
        ("token", "GET, HEAD, POST"),
        ("_catalog", "GET, HEAD"),
        ("pantry/vpc/aws/tags/list", "GET, HEAD"),
        ("pantry/vpc/aws/manifests/latest", "GET, HEAD, PUT, DELETE"),
        ("pantry/vpc/aws/blobs/latest", "GET, HEAD, DELETE"),
        ("pantry/vpc/aws/referrers/latest", "GET, HEAD"),
        ("pantry/vpc/aws/blobs/uploads/", "POST"),
        ("pantry/vpc/aws/blobs/uploads/1", "GET, HEAD, PUT, PATCH, DELETE"),
    ],
)
def test_no_route_describes_itself(secret, path, allowed):
    for headers in ({}, {"Authorization": f"Bearer {secret}"}):
        answer = Client().options(f"/v2/{path}", headers=headers)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (405, "UNSUPPORTED")
        assert answer.headers["Allow"] == allowed
    assert Client().options("/v2/nothing").status_code == 404
