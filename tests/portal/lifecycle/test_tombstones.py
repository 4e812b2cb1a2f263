"""What owners and publishers see, and read by mail, of a version that operators took; for others it does not exist.

Olga acts; Dora owns and Alice publishes, so they can act on it; Bob uses it, and Charlie is a stranger.
"""

import pytest
from django.utils import timezone

from apps.accounts.models import Namespace, User
from apps.notify import outbox
from apps.notify.models import Letter, Topic
from apps.releases.lifecycle import tombstones
from apps.releases.models import Fetch, Release
from tests import pages
from tests.rows import for_each_row

pytestmark = pytest.mark.usefixtures("shelf")

PAGE = "/modules/acme/vpc/aws/1.2.0"
VERSIONS = "/modules/acme/vpc/aws/versions"


@pytest.fixture
def release(published, bob) -> Release:
    found = published()
    Fetch.objects.create(release=found, user=bob, last_on=timezone.now().date(), count=1)
    return found


@pytest.fixture
def people(settings, alice, bob, charlie, dora, olga):
    settings.SMTP = {"host": "127.0.0.1", "port": 1}
    for user in User.objects.all():
        User.objects.filter(pk=user.pk).update(email=f"{user}@acme.example")


def act(browser, act, **more):
    url = f"{PAGE}/lifecycle/purge" if act == "purge" else f"{PAGE}/lifecycle"
    told = {"act": act, "reason": "A key is in main.tf.", "confirm": "acme/vpc/aws 1.2.0", **more}
    assert browser.post(url, told).status_code == 303


def letters() -> dict[str, Letter]:
    Letter.objects.all().delete()
    outbox.dispatch()
    return {str(letter.user): letter for letter in Letter.objects.all()}


@pytest.mark.both
def test_owners_and_publishers_see_by_whom_and_why_on_the_version_and_others_nothing(
    release, people, browser_of, alice, bob, charlie, dora, olga, client
):
    act(browser_of(olga), "quarantine")

    for user in (alice, dora, olga):
        page = pages.shown(browser_of(user).get(PAGE))
        assert "1.2.0 is quarantined" in page
        assert "By olga, an operator" in page
        assert "A key is in main.tf." in page
        assert "Owners and publishers of acme, and staff." in page
        assert "Publish another version" in page
    assert "ask olga to restore it" in pages.shown(browser_of(alice).get(PAGE))
    for user in (alice, dora):
        for url in (f"{PAGE}/inputs", f"{PAGE}/lifecycle", f"{PAGE}/archive"):
            assert browser_of(user).get(url).status_code == 404, "nothing of its contents"
    for user in (bob, charlie):
        assert browser_of(user).get(PAGE).status_code == 404
        assert "quarantine" not in browser_of(user).get(PAGE).text
    assert client.get(PAGE).status_code == 302


def test_the_list_strikes_it_through_for_those_who_publish(release, published, people, browser_of, alice, bob, olga):
    published(version="1.3.0")
    act(browser_of(olga), "quarantine")

    page = pages.shown(browser_of(alice).get(VERSIONS))
    assert '<s class="gone">1.2.0</s>' in page
    assert "A key is in main.tf." in page
    assert "1.2.0" not in pages.shown(browser_of(bob).get(VERSIONS))


@for_each_row(("taken", "says"), [("quarantine", "1.2.0 is quarantined"), ("purge", "1.2.0 was purged")])
def test_its_release_page_says_so_and_offers_nothing_to_copy(
    release, people, browser_of, alice, bob, olga, taken, says
):
    url = f"/releases/{release.public_id}"
    assert "is published" in pages.shown(browser_of(alice).get(url))
    act(browser_of(olga), taken)

    page = pages.shown(browser_of(alice).get(url))
    assert says in page
    assert "By olga, an operator" in page
    assert "A key is in main.tf." in page
    assert "is published" not in page
    assert "How to use it" not in page
    assert browser_of(bob).get(url).status_code == 403


@for_each_row(("taken", "link"), [("quarantine", f"{PAGE}"), ("purge", VERSIONS)])
def test_owners_publishers_and_those_who_are_hit_read_it_by_mail(
    release, people, browser_of, olga, settings, taken, link
):
    act(browser_of(olga), taken, notify="on")
    found = letters()

    assert set(found) == {"alice", "bob", "dora"}, "neither who did it nor a stranger"
    for name in ("alice", "dora"):
        assert found[name].topic == Topic.TAKEN
        assert found[name].subject.endswith("d by olga")
        assert "Reason: A key is in main.tf." in found[name].text
    assert found["bob"].topic == Topic.WITHDRAWN
    assert "No other version is available." in found["bob"].text
    assert ("A key is" in found["bob"].text) == (taken == "purge")
    assert "1 person was notified" in pages.shown(browser_of(olga).get(f"/releases/{release.public_id}"))


def test_a_restoration_is_read_by_those_who_read_of_the_quarantine(release, people, browser_of, alice, olga):
    act(browser_of(olga), "quarantine", notify="on")
    letters()
    act(browser_of(olga), "restore", reason="A false alarm.")
    found = letters()

    assert set(found) == {"alice", "bob", "dora"}
    assert found["alice"].subject == "acme/vpc/aws 1.2.0 was restored by olga"
    assert "Reason: A false alarm." in found["alice"].text
    assert "Clients can list and fetch it again." in found["bob"].text
    assert "is quarantined" not in pages.shown(browser_of(alice).get(PAGE))


def test_an_operator_restores_it_where_the_red_tile_and_the_item_lead(release, people, browser_of, olga, alice):
    """One click to its row or tombstone, one to restore it."""
    act(browser_of(olga), "quarantine")
    listed = "/admin/releases/release/?quarantined=1&state__exact=published"
    button = f'name="row_act" value="restore:{release.pk}"'
    assert button in browser_of(olga).get("/admin/").text
    assert button in browser_of(olga).get(listed).text
    form = browser_of(olga).post(listed, {"row_act": f"restore:{release.pk}"}).headers["Location"]
    assert "Restore" in pages.shown(browser_of(olga).get(form))
    page = pages.shown(browser_of(olga).get(PAGE))
    assert f'id="restore" method="post" action="{PAGE}/lifecycle"' in page
    assert "Restore 1.2.0" in page
    assert 'id="restore"' not in pages.shown(browser_of(alice).get(PAGE))


def test_a_home_page_finds_what_was_taken_from_the_namespaces_of_a_person(
    release, people, browser_of, olga, django_assert_num_queries
):
    act(browser_of(olga), "quarantine")
    mine = Namespace.objects.filter(name="acme")
    with django_assert_num_queries(1):
        [found] = tombstones.taken_from(mine, 5)
        assert (str(found), str(found.quarantined_by)) == ("acme/vpc/aws 1.2.0", "olga")
    assert tombstones.taken_from(Namespace.objects.filter(name="pantry"), 5) == []
    assert tombstones.taken_from(mine, 5, now=timezone.now() + tombstones.RECENT * 2) == []
    act(browser_of(olga), "purge")
    assert [one.state for one in tombstones.taken_from(mine, 5)] == ["purged"]


def test_home_tells_owners_and_publishers_what_was_taken_and_no_one_else(
    release, people, browser_of, alice, bob, charlie, dora, olga
):
    act(browser_of(olga), "quarantine")
    for user in (alice, dora):
        page = pages.shown(browser_of(user).get("/"))
        assert "acme/vpc/aws 1.2.0 was quarantined by olga" in page
        assert 'data-matter="taken"' in page
        assert "See what to do" in page
    for user in (bob, charlie):
        assert "quarantined" not in pages.shown(browser_of(user).get("/"))
