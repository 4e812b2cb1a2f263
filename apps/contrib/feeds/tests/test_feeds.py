"""Atom feeds of modules, providers and namespaces: valid, for those who may read, by session or token."""

import base64
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope
from apps.contrib.feeds.pages.feeds import ENTRIES, atom
from apps.http import ready
from apps.releases.models import Lifecycle, Release
from tests.protocol.providers import cast
from tests.site.front.conftest import process

__all__ = ["process"]

ATOM = "{http://www.w3.org/2005/Atom}"
FEED = "/modules/acme/vpc/aws/feed.atom"


def parsed(body):
    return ET.fromstring(body)  # noqa: S314  # our own bytes


def titles(answer):
    assert answer.status_code == 200, answer.content
    return [entry.findtext(f"{ATOM}title") for entry in parsed(answer.content).iter(f"{ATOM}entry")]


@pytest.fixture
def dns(acme):
    return cast.add_version(cast.frozen_key(acme), None, "dns", "1.0.0")


@pytest.mark.both
def test_each_feed_has_what_was_published_the_newest_first_and_pages_name_it(
    published, dns, browser_of, bob, django_assert_max_num_queries
):
    published("acme/vpc/aws", "1.10.0")
    published("acme/vpc/aws", "1.9.1")
    published("acme/label/null", "1.0.0")
    browser = browser_of(bob)
    with django_assert_max_num_queries(7):
        answer = browser.get(FEED)

    assert titles(answer) == ["acme/vpc/aws 1.9.1", "acme/vpc/aws 1.10.0"]
    assert titles(browser.get("/providers/acme/dns/feed.atom")) == ["acme/dns 1.0.0"]
    assert len(titles(browser.get("/namespaces/acme/feed.atom"))) == 4
    for page in ("/modules/acme/vpc/aws", "/modules/acme/vpc/aws/versions", "/namespaces/acme"):
        feed = FEED if page.startswith("/modules") else "/namespaces/acme/feed.atom"
        text = browser.get(page).content.decode()
        assert 'rel="alternate" type="application/atom+xml"' in text
        assert f'href="{feed}">' in text


def test_it_is_atom_as_rfc_4287_wants_it(published, browser_of, bob):
    published("acme/vpc/aws", "1.2.0")
    Release.objects.update(
        lifecycle=Lifecycle.YANKED, lifecycle_reason="<b>\x1b & ]]>", lifecycle_at=Release.objects.get().published_at
    )
    answer = browser_of(bob).get(FEED)
    root = parsed(answer.content)
    (entry,) = root.iter(f"{ATOM}entry")
    links = {link.get("rel"): link.get("href") for link in root.findall(f"{ATOM}link")}

    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert links == {"self": f"{settings.PUBLIC_URL}{FEED}", "alternate": f"{settings.PUBLIC_URL}/modules/acme/vpc/aws"}
    for element in (root, entry):
        assert all(element.findtext(f"{ATOM}{name}") for name in ("id", "title", "updated"))
    assert root.find(f"{ATOM}author/{ATOM}name") is not None
    assert entry.findtext(f"{ATOM}id") == f"{settings.PUBLIC_URL}/modules/acme/vpc/aws/1.2.0"
    assert "Yanked: <b>\ufffd & ]]>" in entry.findtext(f"{ATOM}summary")
    assert "alice" not in answer.content.decode().lower()


def test_tokens_open_it_as_bearer_and_as_a_password(published, client, bearer, bob, charlie):
    published("acme/vpc/aws", "1.2.0")
    _, secret = tokens.issue(user=bob, label="reader", scope=Scope.READ, actor=Viewer(bob))
    basic = {"Authorization": f"Basic {base64.b64encode(f'bob:{secret}'.encode()).decode()}"}

    assert titles(client.get(FEED, headers={"Authorization": f"Bearer {secret}"}))
    assert titles(client.get(FEED, headers=basic))
    assert client.get(FEED, headers=bearer(charlie)).status_code == 404
    refused = client.get(FEED)
    assert (refused.status_code, refused["WWW-Authenticate"]) == (401, 'Basic realm="Larder", charset="UTF-8"')
    assert client.get("/modules/nowhere/vpc/aws/feed.atom").content == refused.content


def test_a_reader_gets_nothing_again_until_something_changes_and_nothing_in_quarantine(published, browser_of, bob):
    published("acme/vpc/aws", "1.2.0")
    browser = browser_of(bob)
    etag = browser.get(FEED)["ETag"]

    assert browser.get(FEED, headers={"If-None-Match": etag}).status_code == 304
    release = published("acme/vpc/aws", "1.3.0")
    assert browser.get(FEED, headers={"If-None-Match": etag}).status_code == 200
    Release.objects.update(quarantined_at=release.published_at, quarantine_reason="It is looked at.")
    assert titles(browser.get(FEED)) == []
    assert browser.get(FEED).content == browser.get(FEED).content, "an empty feed is steady"
    assert len(list(parsed(atom("x", "/", "/", [release] * ENTRIES)).iter(f"{ATOM}entry"))) == ENTRIES


def test_badges_and_feeds_become_ready_answers_until_something_is_published(published, client, tofu, bob, process):
    published("pantry/vpc/aws", "1.2.0")
    published("acme/vpc/aws", "1.2.0")
    badge, reader = "/modules/pantry/vpc/aws/badge/version.svg", tofu(bob)
    for who, url in [(client, badge), (reader, FEED), (reader, "/namespaces/acme/feed.atom")]:
        who.get(url)  # what the first request of a process imports takes longer than a lease
        process.learn()
        assert [process.ask(who, url).was_ready for _ in range(2)] == [False, True], url
        assert not process.ask(browser_with_cookies(who), url).was_ready

    published("acme/vpc/aws", "1.3.0")
    published("pantry/vpc/aws", "1.3.0")
    process.learn()
    for who, url in [(client, badge), (reader, FEED), (reader, "/namespaces/acme/feed.atom")]:
        again = process.ask(who, url)
        assert (again.was_ready, b"1.3.0" in again.body) == (False, True), url


def browser_with_cookies(who):
    one = Client(headers={"Authorization": who.defaults["HTTP_AUTHORIZATION"]} if who.defaults else {})
    one.cookies["sessionid"] = "x"
    return one


@pytest.mark.both
def test_a_feed_and_a_badge_name_a_version_once_its_cool_down_is_over(published, client):
    published("pantry/vpc/aws", "1.0.0")
    release = published("pantry/vpc/aws", "1.2.0")
    Release.objects.filter(pk=release.pk).update(visible_at=timezone.now() + timedelta(seconds=20))
    feed, badge = "/modules/pantry/vpc/aws/feed.atom", "/modules/pantry/vpc/aws/badge/version.svg"

    answer = client.get(feed)
    assert (b"1.2.0" in answer.content, b"1.0.0" in client.get(badge).content) == (False, True)
    ready_for = ready.ready_of(answer)
    assert ready_for is not None
    assert 0 < ready_for.seconds <= 20

    Release.objects.filter(pk=release.pk).update(visible_at=timezone.now() - timedelta(seconds=1))
    assert (b"1.2.0" in client.get(feed).content, b"1.2.0" in client.get(badge).content) == (True, True)
