"""/account/: one's name, the way to the password, and the browsers in which one is signed in."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.portal.people.account import browser_name
from tests.rows import for_each_row

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"


@pytest.fixture
def sign_in():
    """A new browser in which that person has signed in."""

    def browser(user: User, agent: str = FIREFOX, address: str = "192.0.2.7") -> Client:
        client = Client(REMOTE_ADDR=address, headers={"User-Agent": agent})
        form = {"login": user.username, "password": f"{user.username} likes pears"}
        assert client.post(reverse("account_login"), form).status_code == 302
        return client

    return browser


def shown(client: Client) -> list[str]:
    page = client.get("/account/").content.decode()
    rows = page.partition("data-sessions")[2].partition("</ul>")[0].split("<li")[1:]
    return [" ".join(re.sub(r"<svg.*?</svg>|<[^>]+>", " ", row.partition(">")[2]).split()) for row in rows]


def test_it_lists_the_sessions_of_the_person_alone_and_names_this_one(alice, bob, sign_in):
    sign_in(bob)
    sign_in(alice, f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {WEBKIT} Edg/140.0.0.0", "192.0.2.9")
    here = sign_in(alice)

    first, second = shown(here)

    assert first.startswith("Firefox on Linux This browser Signed in just now from 192.0.2.7 , ends ")
    assert second.startswith(
        "Edge on macOS Sign out Edge on macOS at 192.0.2.9 Signed in just now from 192.0.2.9 , ends "
    )


def test_one_other_session_is_ended_or_all_of_them(alice, bob, sign_in, browser_of):
    others, here, bobs = [sign_in(alice) for _ in range(3)], sign_in(alice), sign_in(bob)
    digests = re.findall(r'name="session" value="(\w{40})"', here.get("/account/").content.decode())
    assert len(digests) == len(others)

    assert bobs.post("/account/sessions/end", {"session": digests[0]}).status_code == 303
    assert len(shown(here)) == len(others) + 1, "nobody ends another person's"
    assert here.post("/account/sessions/end", {"session": digests[0]}).status_code == 303
    assert sorted(one.get("/tokens").status_code for one in others) == [200, 200, 302]
    with CaptureQueriesContext(connection) as queries:
        here.post("/account/sessions/end", {"session": "others"})
    opened = [query["sql"] for query in queries if 'WHERE "django_session"."expire_date" >' in query["sql"]]
    assert len(opened) == 1, "each session is opened once"
    assert [one.get("/tokens").status_code for one in others] == [302, 302, 302]
    assert here.get("/tokens").status_code == bobs.get("/tokens").status_code == 200
    ended = AuditEvent.objects.filter(kind="account:user:sessions-ended").order_by("pk")
    assert [(row.actor_id, row.detail["count"]) for row in ended] == [(alice.pk, 1), (alice.pk, 2)]


def test_a_name_is_changed_and_greets(alice, browser_of):
    browser = browser_of(alice)
    assert browser.post("/account/", {"full_name": "Alice <Liddell>"}).status_code == 303
    assert "Good to see you, Alice &lt;Liddell&gt;" in browser.get("/").content.decode()
    assert "Alice &lt;Liddell&gt;" in browser.get("/account/").content.decode()
    assert "Liddell" not in str(list(AuditEvent.objects.values())), "audit rows outlive the person"
    assert browser.post("/account/", {"full_name": "x" * 151}).status_code == 422


def test_it_leads_to_the_password_and_a_new_one_leads_back(alice, browser_of):
    browser, change = browser_of(alice), reverse("account_change_password")
    assert f'href="{change}"' in browser.get("/account/").content.decode()
    new = {"oldpassword": "alice likes pears", "password1": "ripe plums in august", "password2": "ripe plums in august"}
    assert browser.post(change, new).url == "/account/"
    alice.refresh_from_db()
    alice.set_unusable_password()
    alice.save()
    browser = browser_of(alice)
    assert f'href="{change}"' not in browser.get("/account/").content.decode()


@for_each_row(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT}", "Chrome on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
        ("", "Unknown browser"),
        ("<script>", "Unknown browser"),
    ],
)
def test_a_browser_is_named_as_people_know_it(agent, name):
    assert browser_name(agent) == name
