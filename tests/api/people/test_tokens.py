"""/api/v1/tokens and /leaked-tokens: a person lists and revokes their tokens; whoever finds one reports it."""

import hashlib

import pytest
from django.core.cache import cache
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Scope
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.settings_values.rates import Rate
from tests.accounts.conftest import client_with
from tests.rows import for_each_row

URL, LEAKED = "/api/v1/tokens", "/api/v1/leaked-tokens"
WHERE = "https://git.example/acme/site/blob/main/.env#L3"


@pytest.fixture
def issue(acme):
    def issued(user, label, scope=Scope.READ, **more):
        return tokens.issue(user=user, label=label, scope=scope, actor=Viewer(user), **more)

    return issued


def test_a_person_reads_which_tokens_they_have(tofu, issue, alice, bob, acme):
    token, secret = issue(alice, "CI", Scope.PUBLISH, namespaces=[acme], only_name="vpc/aws")
    issue(bob, "his")
    client = tofu(alice)
    answer = client.get(URL)

    assert [one["label"] for one in answer.json()["tokens"]] == ["test", "CI"]
    found = answer.json()["tokens"][1]
    assert (found["id"], found["scope"], found["namespaces"], found["only_name"]) == (
        token.pk,
        "publish",
        ["acme"],
        "vpc/aws",
    )
    assert (found["usable"], found["last_used_at"], found["start"]) == (True, None, secret[:10])
    assert secret not in answer.text
    assert token.digest not in answer.text


def test_a_revoked_token_ends_at_once_and_stays_in_the_list(tofu, issue, alice):
    token, secret = issue(alice, "CI")
    client = tofu(alice)

    assert client_with(secret).get("/api/v1/me").status_code == 200
    for _ in range(2):
        assert client.delete(f"{URL}/{token.pk}").status_code == 204
    assert client_with(secret).get("/api/v1/me").status_code == 401
    ended = next(one for one in client.get(URL).json()["tokens"] if one["id"] == token.pk)
    assert (ended["usable"], ended["revoked_at"] is not None) == (False, True)
    assert AuditEvent.objects.filter(kind=Kind.TOKEN_REVOKED, actor_id=alice.pk).count() == 1


@pytest.mark.both
def test_a_dry_run_says_which_client_is_refused_and_revokes_nothing(tofu, issue, alice, bob, olga):
    now = timezone.now()
    token, _ = issue(alice, "CI")
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=now, last_used_by="OpenTofu 1.12.6")
    ended, _ = issue(alice, "old")
    ApiToken.objects.filter(pk=ended.pk).update(last_used_at=now, revoked_at=now)
    staff = tofu(olga)

    for client, url in ((tofu(alice), f"{URL}/{token.pk}"), (staff, "/api/v1/users/alice/tokens")):
        answer = client.delete(f"{url}?dry_run=1")
        assert answer.status_code == 200
        names = [hit["name"] for hit in answer.json()["hits"] if hit["kind"] == "client"]
        assert ("OpenTofu 1.12.6" in names, answer.json()["fails"]) == (True, len(names))
    assert tofu(alice).delete(f"{URL}/{ended.pk}?dry_run=1").json()["fails"] == 0
    assert tofu(bob).delete(f"{URL}/{token.pk}?dry_run=1").status_code == 404
    assert tofu(alice).delete(f"{URL}/{token.pk}?dry_run=yes").status_code == 422
    assert ApiToken.objects.get(pk=token.pk).is_usable


@for_each_row("scope", [Scope.READ, Scope.PUBLISH])
def test_a_narrow_token_revokes_itself_and_nothing_else(issue, alice, scope):
    token, secret = issue(alice, "CI", scope)
    other, _ = issue(alice, "other")
    client = client_with(secret)

    assert client.get(URL).status_code == 403
    assert client.delete(f"{URL}/{other.pk}").status_code == 403
    assert client.delete(f"{URL}/{token.pk}").status_code == 204
    assert client.get("/api/v1/me").status_code == 401


def test_a_token_with_limits_does_not_reach_beyond_them(issue, alice, acme):
    for limits in ({"namespaces": [acme]}, {"only_name": "vpc/aws"}):
        _, secret = issue(alice, "CI", Scope.MANAGE, **limits)
        answer = client_with(secret).get(URL)
        assert answer.status_code == 403
        assert "no limits" in answer.json()["error"]["message"]


def test_the_list_has_pages_and_few_queries(tofu, issue, alice, acme, in_pages):
    for number in range(3):
        issue(alice, f"t{number}", namespaces=[acme])
    rows = in_pages(tofu(alice), URL, queries=3)

    assert [one["label"] for one in rows] == ["test", "t2", "t1", "t0"]


# --- /leaked-tokens: a reported token ends at once, and its owner reads where it was found ---------------------------


@pytest.fixture
def leaked(issue, alice):
    return issue(alice, "CI")[1]


def report(client, *found):
    return client.post(LEAKED, {"tokens": list(found)}, content_type="application/json")


def test_it_is_revoked_and_the_owner_told(client, leaked, alice, browser_of):
    other = tokens.new_secret()
    answer = report(client, {"token": leaked, "url": WHERE}, {"token": other}, {"token": "lrd_u_no"})

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    texts = (leaked, other, "lrd_u_no")
    assert answer.json() == {
        "tokens": [{"sha256": hashlib.sha256(text.encode()).hexdigest(), "is_token": text == leaked} for text in texts]
    }
    with pytest.raises(tokens.TokenRefused, match="revoked"):
        tokens.identify(leaked)
    page = browser_of(alice).get("/tokens").content.decode()
    assert "A token was found where it should not be" in page
    assert WHERE in page
    kinds = list(AuditEvent.objects.order_by("pk").values_list("kind", flat=True))[-3:-1]
    assert kinds == [Kind.TOKEN_REVOKED, Kind.TOKEN_LEAKED]


def test_a_second_report_changes_nothing_and_the_owner_is_told_of_a_token_that_had_ended_too(client, leaked, alice):
    tokens.revoke(token=ApiToken.objects.get(), actor=Viewer(alice))
    report(client, {"token": leaked, "url": WHERE})
    count = AuditEvent.objects.count()

    answer = report(client, {"token": leaked, "url": "https://elsewhere.example"}, {"token": leaked})

    assert [one["is_token"] for one in answer.json()["tokens"]] == [True, True]
    assert ApiToken.objects.get().leaked_url == WHERE
    assert AuditEvent.objects.count() == count


def test_no_secret_is_stored_with_it(client, leaked):
    report(client, {"token": leaked, "url": f"https://git.example/?token={leaked}"})

    assert leaked not in str([*ApiToken.objects.values(), *AuditEvent.objects.values()])


def test_text_that_is_no_token_is_answered_without_a_query(client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = report(client, *({"token": f"lrd_u_{number:042d}"} for number in range(100)))

    assert not any(one["is_token"] for one in answer.json()["tokens"])


@for_each_row(
    ("body", "says"),
    [
        ({}, "tokens"),
        ({"tokens": "lrd_u_x"}, "tokens"),
        ({"tokens": [{"token": "x", "more": 1}] * 101}, "tokens"),
        ({"tokens": ["lrd_u_no"]}, "tokens.0: "),
        ({"tokens": [{"token": "x"}, {"url": WHERE}]}, "tokens.1.token: "),
        ({"tokens": [{"token": [1]}]}, "tokens.0"),
        ({"tokens": [{"token": "x" * 201}]}, "tokens.0"),
        ({"tokens": [{"token": "x", "url": "x" * 301}]}, "tokens.0"),
    ],
)
def test_a_wrong_report_revokes_nothing_and_its_wrong_entry_is_named_by_its_place(client, leaked, body, says):
    answer = client.post(LEAKED, body, content_type="application/json")

    assert answer.status_code == 422
    assert says in answer.json()["error"]["message"]
    assert tokens.identify(leaked).is_usable


@pytest.mark.both
def test_31_reports_of_nothing_stop_no_report_of_a_token_from_the_same_address(client, leaked, settings):
    settings.RATES = settings.RATES | {"tokens": Rate(30, 1000 * 3600)}
    cache.clear()

    statuses = [report(client, {"token": tokens.new_secret()}).status_code for _ in range(31)]

    assert statuses == [200] * 30 + [429]
    answer = report(client, {"token": leaked, "url": WHERE}, {"token": tokens.new_secret()})
    assert [one["is_token"] for one in answer.json()["tokens"]] == [True, False]
    with pytest.raises(tokens.TokenRefused, match="revoked"):
        tokens.identify(leaked)
