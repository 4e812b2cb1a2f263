"""Forged tokens, confused keys and an issuer that is down, slow, huge, redirecting, or rotating its keys meanwhile."""

import base64
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa

from apps.accounts.models import ApiToken, TokenExchange
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.trusted import keys
from apps.contrib.trusted.tests.conftest import claims_of
from apps.lib.process import outside
from tests.builders import ci_issuer
from tests.builders.ci_claims import SHAPES
from tests.rows import for_each_row


def encoded(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


@pytest.fixture
def claims(issuer):
    return claims_of(issuer, SHAPES["github"])


@pytest.fixture(autouse=True)
def rule(add):
    return add()


def test_a_forged_signature_is_refused_and_fills_no_page(issuer, claims, refusal):
    forged = issuer.signed(claims, key=ci_issuer.new_key("RS256"))
    assert "signature" in refusal(forged)
    head, _, signature = issuer.signed(claims).split(".")
    changed = {**claims, "environment": "production", "run_id": "666"}
    assert "signature" in refusal(f"{head}.{encoded(changed)}.{signature}")
    assert not ApiToken.objects.filter(label__contains="run").exists()
    assert not TokenExchange.objects.exists()
    event = AuditEvent.objects.filter(kind=Kind.ID_TOKEN_REFUSED).latest("pk")
    assert event.detail["verified"] is False
    assert event.detail["claims"]["run_id"] == "666"


@for_each_row("algorithm", ["none", "None", "HS256", "HS512", "RS384", "PS256", "ES384", "ES512"])
def test_other_algorithms_are_refused_before_the_keys_are_read(algorithm, issuer, claims, refusal):
    text = f"{encoded({'alg': algorithm, 'kid': 'key-RS256'})}.{encoded(claims)}.{encoded(b'x' * 64)}"
    assert "alg" in refusal(text)
    assert issuer.asked == []


def test_a_public_key_is_no_secret_of_hmac(issuer, claims, refusal):
    import hashlib
    import hmac

    pem = (
        issuer.keys["RS256"]
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    signed = f"{encoded({'alg': 'HS256', 'kid': 'key-RS256'})}.{encoded(claims)}"
    mac = hmac.new(pem, signed.encode(), hashlib.sha256).digest()
    assert "alg" in refusal(f"{signed}.{encoded(mac)}")


def test_a_key_is_for_its_own_algorithm(issuer, claims, refusal):
    assert "kid" in refusal(issuer.signed(claims, algorithm="ES256", kid="key-RS256"))
    assert "kid" in refusal(issuer.signed(claims, algorithm="RS256", kid="key-EdDSA"))
    del issuer.published[0]["alg"]
    keys.clear()
    assert "has no keys" in refusal(issuer.signed(claims, algorithm="ES256", kid="key-RS256"))
    issuer.published[0]["alg"] = "PS256"
    keys.clear()
    assert "kid" in refusal(issuer.signed(claims))
    issuer.published[0] |= {"alg": "RS256", "use": "enc"}
    keys.clear()
    assert "kid" in refusal(issuer.signed(claims))


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
@pytest.mark.parametrize("weak", ["rsa-1024", "p-384", "ed448", "private", "symmetric"])
def test_weak_private_and_other_keys_are_refused(weak, issuer, claims, refusal):
    key: Any
    if weak == "rsa-1024":
        key = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505  # that is the point
        issuer.published = [ci_issuer.public_jwk(key, "RS256", "weak")]
        text = issuer.signed(claims, key=key, kid="weak")
    elif weak == "p-384":
        key = ec.generate_private_key(ec.SECP384R1())
        jwk = json.loads(jwt.get_algorithm_by_name("ES384").to_jwk(key.public_key()))
        issuer.published = [{**jwk, "kid": "weak"}]
        text = f"{encoded({'alg': 'ES256', 'kid': 'weak'})}.{encoded(claims)}.{encoded(b'x' * 64)}"
    elif weak == "ed448":
        key = ed448.Ed448PrivateKey.generate()
        jwk = json.loads(jwt.get_algorithm_by_name("EdDSA").to_jwk(key.public_key()))
        issuer.published = [{**jwk, "kid": "weak"}]
        text = issuer.signed(claims, algorithm="EdDSA", key=key, kid="weak")
    elif weak == "private":
        jwk = json.loads(jwt.get_algorithm_by_name("RS256").to_jwk(issuer.keys["RS256"]))
        issuer.published = [{**jwk, "kid": "weak"}]
        text = issuer.signed(claims, kid="weak")
    else:
        issuer.published = [{"kty": "oct", "k": encoded(b"x" * 32), "kid": "weak", "alg": "RS256"}]
        text = issuer.signed(claims, kid="weak")
    message = refusal(text)
    assert "alg" in message or "kid" in message


def test_the_header_brings_no_key_and_no_extension(issuer, claims, refusal):
    own = ci_issuer.new_key("RS256")
    jwk = ci_issuer.public_jwk(own, "RS256", "mine")
    for brought in ({"jwk": jwk}, {"jku": f"{issuer.url}/mine"}, {"x5u": f"{issuer.url}/mine"}):
        assert "signature" in refusal(issuer.signed(claims, key=own, **brought))
    assert "/mine" not in issuer.asked
    assert "crit" in refusal(issuer.signed(claims, crit=["exp"]))
    _, body, signature = issuer.signed(claims).split(".")
    assert "b64" in refusal(f"{encoded({'alg': 'RS256', 'kid': 'key-RS256', 'b64': True})}.{body}.{signature}")


@for_each_row("kid", ["", 7, ["key-RS256"], {}], ids=str)
def test_a_kid_of_another_type_is_refused(kid, issuer, claims, refusal):
    head, body, signature = issuer.signed(claims).split(".")
    del head
    message = refusal(f"{encoded({'alg': 'RS256', 'kid': kid})}.{body}.{signature}")
    assert "kid" in message
    assert "expected the id of a key as text" in message
    assert issuer.asked == []


def test_without_a_kid_the_only_key_of_the_algorithm_counts(issuer, claims, exchange, refusal):
    assert exchange(issuer.signed(claims, kid=None)).status_code == 200
    issuer.published.append(ci_issuer.public_jwk(ci_issuer.new_key("RS256"), "RS256", "second"))
    keys.clear()
    assert "kid" in refusal(issuer.signed({**claims, "jti": "2"}, kid=None))
    assert exchange(issuer.signed({**claims, "jti": "3"})).status_code == 200


@for_each_row(
    "text", ["", "a.b", "a.b.c", "a.b.c.d", "..", "e30.e30.", f"{encoded([1])}.{encoded({})}.x", "ä.b.c", "e30.eyJ.x"]
)
def test_what_is_no_token_is_refused(text, exchange):
    assert exchange(text).status_code == 422


@for_each_row("where", ["other", "type", "long", "nul"])
def test_an_issuer_that_no_rule_names_is_never_asked(where, issuer, claims, refusal):
    said = {"other": "https://evil.test", "type": [issuer.url], "long": "https://" + "a" * 300, "nul": "https://a\0"}
    head, _, signature = issuer.signed(claims).split(".")
    assert "iss" in refusal(f"{head}.{encoded({**claims, 'iss': said[where]})}.{signature}")
    assert issuer.asked == []


def test_an_issuer_that_staff_took_off_the_list_is_never_asked(settings, issuer, claims, refusal):
    settings.TRUSTED_ISSUERS = ()
    assert "iss" in refusal(issuer.signed(claims))
    assert issuer.asked == []


# --- The keys endpoint -----------------------------------------------------------------------------------------------


def unavailable(refusal, text):
    message = refusal(text, status=503)
    assert "keys" in message
    assert AuditEvent.objects.filter(kind=Kind.ID_TOKEN_REFUSED).latest("pk").detail["claim"] == "keys"
    return message


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((500, b"", {}), "it answered 500"),
        ((302, b"", {"Location": "/elsewhere"}), "it answered 302"),
        ((200, b"[" * 100_000, {}), "not a JSON object"),
        ((200, b"<html>", {}), "not a JSON object"),
        ((200, b'{"keys": []}', {}), "no keys"),
        ((200, b'{"keys": {"a": 1}}', {}), "no keys"),
        ((200, b'{"keys": ["' + b"x" * keys.MAX_BYTES + b'"]}', {}), "more than 262144 bytes"),
    ],
    ids=["failing", "redirecting", "nested", "page", "empty", "object", "huge"],
)
def test_keys_that_cannot_be_read_are_an_outage(answer, words, issuer, claims, refusal):
    issuer.at_keys = lambda: answer
    assert words in unavailable(refusal, issuer.signed(claims))
    assert "/elsewhere" not in issuer.asked


def test_a_slow_issuer_is_given_up(monkeypatch, issuer, claims, refusal):
    monkeypatch.setattr(keys, "MAX_SECONDS", 0.3)
    issuer.at_keys = lambda: time.sleep(1.5)
    begun = time.monotonic()
    assert "no answer within" in unavailable(refusal, issuer.signed(claims))
    assert time.monotonic() - begun < 1.4


def test_an_issuer_that_is_down_is_asked_once_in_ten_seconds(issuer, claims, refusal):
    issuer.at_discovery = lambda: (503, b"", {})
    for _ in range(3):
        unavailable(refusal, issuer.signed(claims))
    assert len(issuer.asked) == 1


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://other.test"},
        {"jwks_uri": "http://198.51.100.1/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
        {"jwks_uri": "https://a b"},
    ],
    ids=str,
)
def test_a_discovery_document_of_another_issuer_or_place_is_refused(document, issuer, claims, refusal):
    whole = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys", **document}
    issuer.at_discovery = lambda: (200, json.dumps(whole).encode(), {})
    assert "discovery document" in unavailable(refusal, issuer.signed(claims))
    assert "/keys" not in issuer.asked


def test_known_keys_outlast_an_outage(monkeypatch, issuer, claims, exchange):
    assert exchange(issuer.signed(claims)).status_code == 200
    monkeypatch.setattr(keys, "MAX_AGE_SECONDS", -1.0)
    issuer.at_keys = lambda: (200, b'{"keys": []}', {})
    assert exchange(issuer.signed({**claims, "jti": "2"})).status_code == 200


def test_a_new_key_is_read_at_once_and_unknown_ones_once_a_minute(issuer, claims, exchange, refusal):
    assert exchange(issuer.signed(claims)).status_code == 200
    new = ci_issuer.new_key("RS256")
    issuer.published.append(ci_issuer.public_jwk(new, "RS256", "new"))
    assert exchange(issuer.signed({**claims, "jti": "2"}, key=new, kid="new")).status_code == 200
    asked = len(issuer.asked)
    for number in range(3):
        assert "kid" in refusal(issuer.signed({**claims, "jti": f"x{number}"}, key=new, kid=f"other-{number}"))
    assert len(issuer.asked) == asked


def test_keys_that_rotate_while_they_are_read(issuer, claims, exchange):
    new = ci_issuer.new_key("RS256")
    answers: list[ci_issuer.Answer] = [(200, json.dumps({"keys": list(issuer.published)}).encode(), {})]
    issuer.published.append(ci_issuer.public_jwk(new, "RS256", "new"))
    issuer.at_keys = lambda: answers.pop() if answers else None
    assert exchange(issuer.signed(claims, key=new, kid="new")).status_code == 200
    assert issuer.asked.count("/keys") == 2


def test_a_removed_key_no_longer_counts(monkeypatch, issuer, claims, exchange, refusal):
    assert exchange(issuer.signed(claims)).status_code == 200
    monkeypatch.setattr(keys, "MAX_AGE_SECONDS", -1.0)
    issuer.published = issuer.published[1:]
    assert "kid" in refusal(issuer.signed({**claims, "jti": "2"}))


def test_known_keys_count_while_another_request_asks_for_newer_ones(issuer, claims, exchange, monkeypatch):
    assert exchange(issuer.signed({**claims, "jti": "1"})).status_code == 200
    monkeypatch.setattr(keys, "MAX_AGE_SECONDS", -1.0)
    with keys._entries[issuer.url].lock:
        begun = time.monotonic()
        assert exchange(issuer.signed({**claims, "jti": "2"})).status_code == 200
    assert time.monotonic() - begun < keys.MAX_SECONDS
    assert issuer.asked.count("/keys") == 1


def test_who_waits_for_an_issuer_takes_one_of_the_places_of_its_threads(issuer, claims, refusal, monkeypatch):
    monkeypatch.setattr(outside, "PLACE_SECONDS", 0.1)
    monkeypatch.setattr(outside._thread, "places", outside.Places(0))
    assert "Too many requests are waiting" in refusal(issuer.signed(claims), status=503)
    assert issuer.asked == []
