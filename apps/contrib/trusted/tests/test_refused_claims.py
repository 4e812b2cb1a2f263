"""Claims that a rule does not accept. Each refusal names the claim, and the owner sees it."""

import time

import pytest

from apps.accounts.models import ApiToken, TokenExchange, UsedIdToken
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.trusted import reading
from tests.builders.ci_claims import SHAPES
from tests.rows import for_each_row


def cases(group):
    return [
        pytest.param(shape.kind, claims, id=f"{shape.kind}-{number}")
        for shape in SHAPES.values()
        for number, claims in enumerate(getattr(shape, group))
    ]


@for_each_row(("kind", "claims"), cases("pull_requests"))
def test_pull_and_merge_requests_and_forks_are_refused(kind, claims, add, id_token, exchange, refusal):
    add(kind)
    message = refusal(id_token(kind, claims))
    assert any(claim in message for claim in claims)
    assert not ApiToken.objects.filter(label__startswith=kind).exists()
    assert exchange(id_token(kind)).status_code == 200  # the rest of the token is right


@for_each_row(("kind", "claims"), cases("wrong"))
def test_another_workflow_environment_ref_or_id_is_refused(kind, claims, add, id_token, refusal):
    add(kind)
    assert next(iter(claims)) in refusal(id_token(kind, claims))


@for_each_row("shape", SHAPES.values(), ids=SHAPES)
def test_a_known_name_with_another_id_is_refused(shape, add, id_token, exchange, refusal):
    """Renamed and created again by somebody else."""
    rule = add(shape.kind)
    if not rule.pinned and shape.pinned:
        assert exchange(id_token(shape.kind)).status_code == 200
    claim = next(iter(shape.recreated))
    assert claim in refusal(id_token(shape.kind, shape.recreated))


@for_each_row("kind", ["github", "gitlab"])
def test_an_unprotected_ref_is_refused_where_protection_is_required(kind, add, id_token, exchange, refusal):
    add(kind, environment="", protected_ref=True)
    for value in ("false", False, None, "", 1, "True"):
        assert "ref_protected" in refusal(id_token(kind, {"ref_protected": value}))
    assert exchange(id_token(kind, {"ref_protected": True})).status_code == 200


def test_a_ref_may_be_named_by_its_beginning(add, id_token, exchange, refusal):
    add(ref="refs/tags/v*")
    assert exchange(id_token()).status_code == 200
    assert "ref" in refusal(id_token(claims={"ref": "refs/heads/v1"}))
    assert "ref" in refusal(id_token(claims={"ref": ["refs/tags/v1"]}))


@for_each_row(
    "audience",
    [
        "https://other.test",
        None,
        [],
        ["https://larder.test", "https://other.test"],
        "https://larder.test/",
        "api://AzureADTokenExchange",
        {"https://larder.test": 1},
    ],
    ids=str,
)
def test_another_audience_is_refused_and_one_in_a_list_accepted(audience, add, id_token, exchange, refusal):
    add()
    assert "aud" in refusal(id_token(claims={"aud": audience}))
    assert exchange(id_token(claims={"aud": ["https://larder.test"]})).status_code == 200


def test_azure_has_one_audience_for_all_and_is_accepted_for_five_minutes(add, id_token, exchange, refusal):
    add("azure")
    now = int(time.time())
    assert "iat" in refusal(id_token("azure", {"iat": now - 301, "nbf": None}))
    assert "aud" in refusal(id_token("azure", {"aud": "https://larder.test"}))
    assert exchange(id_token("azure", {"iat": now - 280, "nbf": None})).status_code == 200


@for_each_row(
    ("claim", "shift", "is_accepted"),
    [
        *[("exp", -61, False), ("iat", 120, False), ("nbf", 120, False), ("exp", 8 * 86_400, False)],
        *[("exp", -50, True), ("iat", 50, True), ("nbf", 50, True)],
    ],
)
def test_expired_and_future_tokens_are_refused_but_clocks_may_differ_by_a_minute(
    claim, shift, is_accepted, add, id_token, exchange, refusal
):
    add()
    times = {"iat": int(time.time()) - 600} if shift < 0 else {}
    token = id_token(claims={**times, claim: int(time.time()) + shift})
    if is_accepted:
        assert exchange(token).status_code == 200
    else:
        assert claim in refusal(token)


@pytest.mark.both
@for_each_row("claim", ["exp", "iat", "nbf"])
@for_each_row(
    "value",
    ["soon", True, None, [1], {}, float("nan"), float("inf"), 10**400, -(10**20)],
    ids=lambda value: str(value)[:8],
)
def test_times_of_another_type_are_refused(claim, value, add, id_token, issuer, refusal):
    add()
    if value is None and claim == "nbf":
        return  # it may be missing
    raw = {"a": 1, claim: value}
    message = refusal(id_token(claims=raw))
    assert claim in message or "exp" in message


@for_each_row("jti", [None, "", 7, ["a"], "x" * 256], ids=str)
def test_a_jti_of_another_type_is_refused(jti, add, id_token, refusal):
    add()
    assert "jti" in refusal(id_token(claims={"jti": jti}))
    assert not UsedIdToken.objects.exists()


def test_64_kb_of_claims_are_refused_before_anything_is_read(add, id_token, issuer, refusal):
    add()
    assert str(f"{reading.MAX_CHARACTERS:,}") in refusal(id_token(claims={"more": "x" * 65_536}), status=413)
    assert issuer.asked == []
    assert f"at most {reading.MAX_CLAIMS}" in refusal(id_token(claims={f"c{n}": 1 for n in range(100)}), status=422)


@pytest.mark.both
def test_claims_that_a_database_cannot_store_are_refused_all_the_same(add, id_token, exchange, refusal):
    add()
    nasty = {"environment": "a\0b\ud800", "nest": {"a": [[["x" * 90] * 9]]}, "many": list(range(99)), "n" * 300: 1}
    assert "environment" in refusal(id_token(claims=nasty))
    stored = TokenExchange.objects.get().claims
    assert stored["environment"] == "ab?"
    assert len(stored["many"]) == 10
    assert len(stored["nest"]) == 200
    assert exchange(id_token(claims={"more": "\0"})).status_code == 200


def test_the_owner_sees_what_failed_and_a_stranger_fills_no_page(add, id_token, refusal, client, bearer, dora):
    rule = add()
    other = {"repository": "mallory/evil", "repository_id": "666"}
    message = refusal(id_token(claims=other))
    assert "repository" in message
    assert "acme" not in message
    assert not TokenExchange.objects.exists()
    assert AuditEvent.objects.get(kind=Kind.ID_TOKEN_REFUSED).detail["claims"]["repository"] == "mallory/evil"

    refusal(id_token(claims={"environment": "staging"}))
    answer = client.get("/api/v1/namespaces/acme/trusted-publishers/attempts", headers=bearer(dora))
    [attempt] = answer.json()["attempts"]
    assert (attempt["publisher"], attempt["accepted"], attempt["refused_claim"]) == (rule.pk, False, "environment")
    assert "found staging, expected production" in attempt["message"]
    event = AuditEvent.objects.get(kind=Kind.TRUSTED_EXCHANGE_REFUSED)
    assert (event.subject, event.actor_id, event.detail["verified"]) == ("acme", None, True)
