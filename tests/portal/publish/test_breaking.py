"""The breaking changes of a release, on its page and on its version's; and the reason that a held one waits for."""

import re

import pytest

from apps.accounts.models import Namespace
from apps.releases.models import Release
from tests.builders.archives import module_zip

pytestmark = pytest.mark.django_db
BEFORE = module_zip({"main.tf": 'variable "name" {\n  default = "<b>"\n}\n'})
AFTER = module_zip({"main.tf": 'variable "name" {}\n'})


def words(answer) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


@pytest.fixture
def page(browser):
    return lambda release: browser.get(f"/releases/{release.public_id}")


def test_the_page_says_what_breaks_and_whether_the_number_says_so(published, page, browser_of, bob):
    first = published(version="1.2.0", data=BEFORE)
    minor, major = published(version="1.3.0", data=AFTER), published(version="2.0.0", data=BEFORE)
    said = published(version="3.0.0", data=AFTER)

    assert "data-guard" not in page(first).content.decode()
    shown = page(minor)
    assert "Contains breaking changes, but is not a major version" in words(shown)
    assert 'data-rule="input_made_required"' in shown.content.decode()
    assert "&lt;b&gt;" in shown.content.decode()
    assert 'href="/modules/acme/vpc/aws/compare/1.2.0...1.3.0"' in shown.content.decode()
    assert "data-guard" not in page(major).content.decode(), "what became optional breaks nothing"
    assert "Contains breaking changes, and is a major version" in words(page(said))
    version = words(browser_of(bob).get("/modules/acme/vpc/aws/1.3.0"))
    assert "Contains breaking changes, but is not a major version 1 breaking change since 1.2.0." in version
    assert "does not say so" not in words(browser_of(bob).get("/modules/acme/vpc/aws/2.0.0"))


def test_a_held_release_asks_for_its_reason_which_readers_find(published, page, browser_of, alice, bob, work):
    published(version="1.2.0", data=BEFORE)
    Namespace.objects.update(breaking_changes="ask")
    release = published(version="1.3.0", data=AFTER)
    browser, answer = browser_of(alice), f"/releases/{release.public_id}/answer"

    assert release.state == "held"
    assert "Contains breaking changes, but 1.3.0 is not a major version" in words(page(release))
    assert "Once it is published, clients that allow 1.2.0" in words(page(release))
    assert "1.3.0" in browser.get("/releases?state=held").content.decode()
    empty = browser.post(answer, {"reason": " \n"})
    assert (empty.status_code, "Give the reason" in words(empty)) == (422, True)
    assert browser.post(answer, {"reason": "Nobody <left>\nit out."}).status_code == 303
    work()
    release.refresh_from_db()
    assert (release.state, release.breaking_reason) == ("published", "Nobody <left> it out.")
    for shown in (page(release), browser_of(bob).get("/modules/acme/vpc/aws/1.3.0")):
        assert "Its publisher says: Nobody &lt;left&gt; it out." in words(shown)


def test_a_held_release_is_published_as_the_next_major_version_instead(published, page, browser_of, alice, bob, work):
    published(version="1.2.0", data=BEFORE)
    Namespace.objects.update(breaking_changes="ask")
    release = published(version="1.3.0", data=AFTER)
    answer = f"/releases/{release.public_id}/answer"
    assert "Publish as 2.0.0 instead" in words(page(release))

    assert browser_of(bob).post(answer, {"publish-as": "2.0.0"}).status_code in (403, 404)
    response = browser_of(alice).post(answer, {"publish-as": "9.9.9"})
    work()
    release.refresh_from_db()
    other = Release.objects.get(version="2.0.0")
    assert (response.status_code, response.url) == (303, f"/releases/{other.public_id}")
    assert (other.state, other.digest) == ("published", Release.objects.get(pk=other.pk).uploaded_digest)
    assert (release.state, release.reasons[0]["code"]) == ("rejected", "cancelled")

    later = published(version="1.4.0", data=AFTER)
    taken = browser_of(alice).post(f"/releases/{later.public_id}/answer", {"publish-as": "2.0.0"})
    assert (taken.status_code, "2.0.0 is already published" in words(taken)) == (409, True)
    later.refresh_from_db()
    assert later.state == "held"


def test_a_refused_release_shows_what_it_breaks(published, page):
    published(version="1.2.0", data=BEFORE)
    Namespace.objects.update(breaking_changes="refuse")
    release = published(version="1.3.0", data=AFTER)

    assert Release.objects.get(pk=release.pk).state == "rejected"
    assert 'data-reason="breaking_change"' in page(release).content.decode()
    assert 'data-rule="input_made_required"' in page(release).content.decode()
    assert "Not published: clients don't see it." in words(page(release))
    assert "by themselves" not in words(page(release))
