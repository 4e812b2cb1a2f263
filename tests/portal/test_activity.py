"""/account/activity and /namespaces/<ns>/activity: the audit, for people about themselves and for owners."""

import re

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope
from apps.audit import reading
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.recorder import record
from apps.portal.people import activity

TILE = re.compile(r'<span class="initial [^>]*>.</span>')


def shown(client, url):
    """Rows as text: when, event, subject, who."""
    answer = client.get(url)
    assert answer.status_code == 200
    body = answer.content.decode().partition("<tbody>")[2].partition("</tbody>")[0]
    cells = [re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL) for row in body.split("<tr>")[1:]]
    return [[" ".join(re.sub(r"<[^>]+>", " ", TILE.sub("", cell)).split()) for cell in row] for row in cells]


@pytest.mark.both
def test_a_person_sees_their_sign_ins_and_those_that_failed(alice, bob):
    form = {"login": "alice", "password": "guessed"}
    Client(REMOTE_ADDR="203.0.113.9").post("/account/login/", form)
    browser = Client(REMOTE_ADDR="192.0.2.7")
    browser.post("/account/login/", form | {"password": "alice likes pears"})
    record(Kind.USER_SIGNED_IN, actor_id=bob.pk, subject=f"user/{bob.pk}")

    rows = shown(browser, "/account/activity")

    assert [(words, who) for _, words, _, who in rows[:2]] == [
        ("User signed in", "alice from 192.0.2.7"),
        ("User sign in failed", "not signed in from 203.0.113.9"),
    ]
    assert not [row for row in rows if "bob" in " ".join(row)]


def test_a_person_sees_what_staff_did_to_their_token(alice, olga, browser_of):
    token, _ = tokens.issue(user=alice, label="CI", scope=Scope.READ, actor=Viewer(alice))
    tokens.revoke(token=token, actor=Viewer(olga))

    assert [(words, who) for _, words, _, who in shown(browser_of(alice), "/account/activity")[1:3]] == [
        ("Token revoked", "olga"),
        ("Token issued", "alice"),
    ]


@pytest.mark.both
def test_pages_mix_what_a_person_did_with_what_was_done_to_them_and_show_each_event_once(alice, olga):
    by, about, both = (olga.pk, f"user/{alice.pk}"), (alice.pk, "acme"), (alice.pk, f"user/{alice.pk}")
    for actor_id, subject in (by, about, both) * 3:
        record(Kind.USER_CHANGED, actor_id=actor_id, subject=subject)
    cursor = ""
    pages: list[list[int]] = []
    while cursor or not pages:
        rows, cursor = reading.page(reading.of_person(alice.pk, tokens=[]), cursor=cursor, size=2)
        pages.append([row.pk for row in rows])

    assert [len(page) for page in pages] == [2, 2, 2, 2, 1]
    assert [number for page in pages for number in page] == list(
        AuditEvent.objects.order_by("-pk").values_list("pk", flat=True)
    )


def test_an_owner_sees_in_words_who_changed_the_namespace_and_from_where(dora, alice, browser_of, published):
    published("acme/vpc/aws", "1.0.0")
    record(Kind.RELEASE_RESIGNED, actor_id=dora.pk, subject="acme/dns 1.0.0")
    AuditEvent.objects.create(
        kind=Kind.GRANT_GIVEN,
        actor_id=alice.pk,
        subject="acme",
        namespace="acme",
        address="192.0.2.9",
        detail={"to": "bob"},
    )
    browser = browser_of(dora)
    rows = shown(browser, "/namespaces/acme/activity")
    page = browser.get("/namespaces/acme/activity").text

    assert rows[0][1:] == ["Grant given", "acme to: bob", "alice from 192.0.2.9"]
    assert "Release published" in [row[1] for row in rows if row[2].startswith("acme/vpc/aws 1.0.0")]
    assert ">Release signed again</option>" in page
    assert "resign" not in re.sub(r'value="[^"]*"', "", page), "nobody resigned"


@pytest.mark.both
def test_a_long_list_goes_on_and_a_file_has_it_all(dora, browser_of, monkeypatch):
    monkeypatch.setattr(activity, "PAGE_SIZE", 2)
    for number in range(3):
        record(Kind.NAMESPACE_CHANGED, actor_id=dora.pk, subject="acme", number=f"<{number}>")
    browser, url = browser_of(dora), "/namespaces/acme/activity?kind=namespace:namespace:changed"
    older = re.search(r'href="(\?[^"]*before=\d+)"', browser.get(url).content.decode())

    assert [row[2] for row in shown(browser, url)] == ["acme number: &lt;2&gt;", "acme number: &lt;1&gt;"]
    assert older
    assert [row[2] for row in shown(browser, "/namespaces/acme/activity" + older[1].replace("&amp;", "&"))] == [
        "acme number: &lt;0&gt;"
    ]
    file = browser.get(f"{url}&format=jsonl")
    assert (file.headers["Content-Type"], len(file.getvalue().splitlines())) == ("application/jsonl", 3)


def test_a_filter_that_makes_no_sense_says_so_and_stays_in_the_form(dora, browser_of):
    answer = browser_of(dora).get("/namespaces/acme/activity?since=31.1.2026&person=alice")
    page = answer.content.decode()

    assert answer.status_code == 422
    assert "“31.1.2026” in `since` is not a date." in page
    assert 'value="alice"' in page
