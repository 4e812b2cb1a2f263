"""Answers of a provider that must not sign anybody in: forged, replayed, late, huge, or not there at all."""

import hmac
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.utils import base64url_encode

from apps.accounts.identity.sign_on import provider_requests
from apps.contrib.openid.tests import scripted as openid
from tests.accounts.identity.sign_on import begin, failed
from tests.accounts.identity.test_second_factor import signed_in
from tests.rows import for_each_row


def mac_with_the_public_key(acme, claims):
    """The classic confusion: the public key as the secret of a MAC. By hand, because PyJWT refuses to write it."""
    header = {"alg": "HS256", "kid": acme.key.kid}
    signed = b".".join(base64url_encode(json.dumps(part).encode()) for part in (header, claims))
    secret = json.dumps(acme.key.public).encode()
    return b".".join([signed, base64url_encode(hmac.digest(secret, signed, "sha256"))]).decode()


def with_another_subject(acme, claims):
    """The signature of one payload under another."""
    header, _, signature = acme.sign(claims).split(".")
    return ".".join([header, acme.sign(claims | {"sub": "the-boss"}).split(".")[1], signature])


def rsa_under_the_same_name(acme, claims):
    return jwt.encode(claims, rsa.generate_private_key(65537, 2048), algorithm="RS256", headers={"kid": acme.key.kid})


FORGED = {
    "another_key": lambda acme, claims: acme.sign(claims, openid.Key("first")),
    "an_unknown_key": lambda acme, claims: acme.sign(claims, openid.Key("other")),
    "no_signature": lambda _acme, claims: jwt.encode(claims, "", algorithm="none"),
    "the_public_key_as_secret": mac_with_the_public_key,
    "another_algorithm_than_the_key's": rsa_under_the_same_name,
    "a_changed_payload": with_another_subject,
    "expired": lambda acme, claims: acme.sign(claims | {"exp": int(time.time()) - 31}),
    "from_tomorrow": lambda acme, claims: acme.sign(claims | {"iat": int(time.time()) + 3600}),
    "another_audience": lambda acme, claims: acme.sign(claims | {"aud": "somebody-else"}),
    "several_audiences": lambda acme, claims: acme.sign(claims | {"aud": ["larder", "somebody-else"]}),
    "for_another_party": lambda acme, claims: acme.sign(claims | {"azp": "somebody-else"}),
    "another_issuer": lambda acme, claims: acme.sign(claims | {"iss": acme.issuer + "/"}),
    "another_nonce": lambda acme, claims: acme.sign(claims | {"nonce": "n"}),
    "no_nonce": lambda acme, claims: acme.sign({name: claims[name] for name in claims if name != "nonce"}),
    "no_expiry": lambda acme, claims: acme.sign({name: claims[name] for name in claims if name != "exp"}),
    "no_subject": lambda acme, claims: acme.sign({name: claims[name] for name in claims if name != "sub"}),
    "an_empty_subject": lambda acme, claims: acme.sign(claims | {"sub": ""}),
    "a_long_subject": lambda acme, claims: acme.sign(claims | {"sub": "s" * 192}),
    "text": lambda *_: "no token",
    "a_number": lambda *_: 7,
    "nothing": lambda *_: None,
    "a_payload_that_is_a_list": lambda acme, _: jwt.api_jws.encode(
        b"[1]", acme.key.private, algorithm="ES256", headers={"kid": "first"}
    ),
}


@for_each_row("name", FORGED)
def test_an_id_token_that_is_not_right_signs_nobody_in(sign_on, acme_id, name):
    acme_id.token = lambda claims: FORGED[name](acme_id, claims)
    client, answer = sign_on()
    failed(answer, client, 403)


@for_each_row("name", ["no_signature", "the_public_key_as_secret"])
def test_an_algorithm_that_needs_no_private_key_is_refused_before_any_key_is_looked_for(sign_on, acme_id, name):
    """Also if the provider does not say for which algorithm its key is, and the library would take it."""
    acme_id.token = lambda claims: FORGED[name](acme_id, claims)
    client, answer = sign_on()
    assert failed(answer, client, 403) == "algorithm_not_accepted"


def test_an_id_token_within_the_leeway_of_the_clocks_is_accepted(sign_on, acme_id):
    acme_id.token = lambda claims: acme_id.sign(claims | {"exp": int(time.time()) - 5, "iat": int(time.time()) + 10})
    client, _ = sign_on()
    assert signed_in(client)


def test_an_id_token_counts_for_one_sign_on(sign_on, acme_id):
    kept: list[str] = []

    def always_the_first(claims):
        kept.append(acme_id.sign(claims))
        return kept[0]

    acme_id.token = always_the_first
    first, _ = sign_on()
    second, answer = sign_on()
    assert signed_in(first)
    assert answer.status_code == 403
    assert not signed_in(second)


def test_userinfo_of_somebody_else_counts_for_nobody(sign_on, acme_id):
    del acme_id.person["groups"]
    acme_id.userinfo = {"sub": "the-boss", "groups": ["ops"]}
    client, answer = sign_on()
    assert failed(answer, client, 403) == "userinfo_of_another_person"


@pytest.mark.parametrize("change", ["state=wrong", "state=", "code=other", "error=access_denied", "error=server_error"])
def test_a_way_back_that_nobody_began_signs_nobody_in(acme_id, browser, change):
    client = browser()
    query = dict(pair.split("=") for pair in acme_id.consent(begin(client)).partition("?")[2].split("&"))
    name, _, value = change.partition("=")
    if name == "error":
        del query["code"]
    answer = client.get("/account/sign-on/corp/callback", query | {name: value})
    assert answer.status_code in (400, 403, 302)
    assert not signed_in(client)
    if answer.status_code == 302:
        assert answer.url == "/account/login/"


def test_the_way_back_works_once(sign_on, acme_id, browser):
    client = browser()
    way = acme_id.consent(begin(client))
    assert client.get(way).status_code == 302
    client.post("/account/logout/")
    assert client.get(way).status_code == 400
    assert not signed_in(client)


def test_a_second_browser_cannot_finish_the_sign_on_of_the_first(acme_id, browser):
    mine, victim = browser(), browser()
    begin(victim)
    way = acme_id.consent(begin(mine))
    assert victim.get(way).status_code == 400
    assert not signed_in(victim)


def test_the_state_of_one_provider_does_not_count_at_another(acme_id, browser, settings, key):
    with openid.running(key) as other:
        settings.IDENTITY_PROVIDERS = (acme_id.provider(), other.provider("other"))
        client = browser()
        way = acme_id.consent(begin(client)).replace("/corp/", "/other/")
        assert client.get(way).status_code == 400
    assert not signed_in(client)


# --- Providers that are ill -------------------------------------------------------------------------------------------


def broken(status=200, body=b"{}", headers=()):
    def answer(handler):
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def endless(handler):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    try:
        for _ in range(1024):  # a gigabyte
            handler.wfile.write(b" " * 1024 * 1024)
    except OSError:
        handler.server.cut_off = True


ILL = {
    "down": broken(503),
    "elsewhere": broken(302, b"", [("Location", "http://127.0.0.1:1/elsewhere")]),
    "no_json": broken(200, b"<html>", [("Content-Type", "text/html")]),
    "a_list": broken(200, b"[]", [("Content-Type", "application/json")]),
    "deep": broken(200, b"[" * 100_000, [("Content-Type", "application/json")]),
    "no_content_type": broken(200, b"{}"),
    "broken_off": broken(200, b"{}", [("Content-Type", "application/json"), ("Content-Length", "3")]),
    "endless": endless,
}


def sign_on_or_begin(client, acme_id, path):
    """Sign on until the provider's answer at the path is asked for: the discovery document at the beginning."""
    if path == PATHS[0]:
        return client.post("/account/sign-on/corp/")
    return client.get(acme_id.consent(begin(client)))


PATHS = ["/.well-known/openid-configuration", "/keys", "/token", "/userinfo"]


@pytest.mark.parametrize(
    ("path", "name"), [*((PATHS[0], name) for name in ILL), *((path, "down") for path in PATHS[1:])]
)
def test_a_provider_that_is_ill_signs_nobody_in(acme_id, browser, path, name):
    acme_id.answers[path] = ILL[name]
    del acme_id.person["groups"]
    client = browser()
    answer = sign_on_or_begin(client, acme_id, path)
    failed(answer, client, answer.status_code)
    assert answer.status_code in (403, 503)


@pytest.mark.parametrize(("path", "fault"), [("/token", "slow"), ("/keys", "large")])
def test_a_provider_that_is_slow_is_given_up_and_more_than_a_mebibyte_is_not_read(
    acme_id, browser, monkeypatch, path, fault
):
    if fault == "slow":
        monkeypatch.setattr(provider_requests, "MAX_SECONDS", 0.3)
    getattr(acme_id, fault).add(path)
    del acme_id.person["groups"]
    client = browser()
    failed(sign_on_or_begin(client, acme_id, path), client, 503)


@pytest.mark.parametrize("path", [path for path in PATHS if path != "/token"])
def test_a_redirect_is_not_followed_even_to_the_right_answer(acme_id, browser, path):
    document = acme_id.documents()[path]
    acme_id.answers |= {
        path: broken(302, b"", [("Location", "/elsewhere")]),
        "/elsewhere": lambda handler: openid.answer(handler, 200, document),
    }
    del acme_id.person["groups"]
    client = browser()
    failed(sign_on_or_begin(client, acme_id, path), client, 503)
    assert "/elsewhere" not in acme_id.asked


def test_a_provider_that_is_away_is_said_on_the_page(acme_id, browser, settings):
    settings.IDENTITY_PROVIDERS = (acme_id.provider(issuer="http://127.0.0.1:1"),)
    client = browser()
    failed(client.post("/account/sign-on/corp/"), client, 503)


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "https://other.example"},
        {"authorization_endpoint": "http://other.example/authorize"},
        {"token_endpoint": "file:///etc/passwd"},
        {"jwks_uri": "http://169.254.169.254/keys"},
        {"jwks_uri": None},
        {"userinfo_endpoint": "gopher://127.0.0.1"},
    ],
)
def test_a_discovery_document_with_wrong_addresses_is_not_followed(acme_id, browser, change):
    document = acme_id.documents()[PATHS[0]] | change
    acme_id.answers[PATHS[0]] = lambda handler: openid.answer(handler, 200, document)
    client = browser()
    failed(client.post("/account/sign-on/corp/"), client, 503)
    assert set(acme_id.asked) == {PATHS[0]}


def test_new_keys_are_fetched_when_they_sign(sign_on, acme_id, monkeypatch):
    sign_on()
    acme_id.key = openid.Key("second")
    client, answer = sign_on()
    assert answer.status_code == 403  # a stranger's signature must not make Larder ask again and again
    assert acme_id.asked.count("/keys") == 1

    monkeypatch.setattr(provider_requests, "MIN_REFRESH_SECONDS", 0.0)
    client, _ = sign_on(client)
    assert signed_in(client)


@pytest.mark.parametrize("answer", [broken(500), broken(200, b'{"keys": []}', [("Content-Type", "application/json")])])
def test_known_keys_outlive_an_outage(sign_on, acme_id, monkeypatch, answer):
    sign_on()
    acme_id.answers |= {"/keys": answer, PATHS[0]: answer}
    monkeypatch.setattr(provider_requests, "MAX_AGE_SECONDS", -1.0)
    client, _ = sign_on()
    assert signed_in(client)
    assert acme_id.asked.count("/keys") == 2
