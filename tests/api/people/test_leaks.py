"""POST /api/v1/leaked-tokens: a reported token ends at once, and its owner reads where it was found."""

import hashlib

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Scope
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from tests.rows import for_each_row

URL = "/api/v1/leaked-tokens"
WHERE = "https://git.example/acme/site/blob/main/.env#L3"


@pytest.fixture
def leaked(alice):
    return tokens.issue(user=alice, label="CI", scope=Scope.PUBLISH, actor=Viewer(alice))[1]


def report(client, *found):
    return client.post(URL, {"tokens": list(found)}, content_type="application/json")


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


def test_a_second_report_changes_nothing(client, leaked):
    report(client, {"token": leaked, "url": WHERE})
    count = AuditEvent.objects.count()

    answer = report(client, {"token": leaked, "url": "https://elsewhere.example"}, {"token": leaked})

    assert [one["is_token"] for one in answer.json()["tokens"]] == [True, True]
    assert ApiToken.objects.get().leaked_url == WHERE
    assert AuditEvent.objects.count() == count


def test_of_a_token_that_had_ended_the_owner_is_told_too(client, leaked, alice):
    tokens.revoke(token=ApiToken.objects.get(), actor=Viewer(alice))

    assert report(client, {"token": leaked, "url": WHERE}).json()["tokens"][0]["is_token"]
    assert ApiToken.objects.get().leaked_at is not None


def test_no_secret_is_stored_with_it(client, leaked):
    report(client, {"token": leaked, "url": f"https://git.example/?token={leaked}"})

    assert leaked not in str([*ApiToken.objects.values(), *AuditEvent.objects.values()])


def test_text_that_is_no_token_is_answered_without_a_query(client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = report(client, *({"token": f"lrd_u_{number:042d}"} for number in range(100)))

    assert not any(one["is_token"] for one in answer.json()["tokens"])


@for_each_row(
    "body",
    [
        {},
        {"tokens": "lrd_u_x"},
        {"tokens": [{"token": "x", "more": 1}] * 101},
        {"tokens": ["x"]},
        {"tokens": [{"url": WHERE}]},
        {"tokens": [{"token": "x" * 201}]},
        {"tokens": [{"token": "x", "url": "x" * 301}]},
    ],
)
def test_a_wrong_report_is_refused_and_revokes_nothing(client, leaked, body):
    assert client.post(URL, body, content_type="application/json").status_code == 422
    assert tokens.identify(leaked).is_usable


@for_each_row(
    ("found", "place"),
    [
        (["lrd_u_no"], "tokens.0: "),
        ([{"token": "x"}, {"url": WHERE}], "tokens.1.token: "),
        ([{"token": [1]}], "tokens.0"),
    ],
)
def test_a_wrong_entry_is_named_by_its_place(client, db, found, place):
    answer = report(client, *found)

    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith(place)
