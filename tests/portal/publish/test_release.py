"""/releases/<uuid>: what the database says, and nothing else."""

import re

import pytest

from apps.jobs.models import Job
from apps.lib.errors import Reason
from apps.releases.models import Release, State
from apps.releases.publishing.transitions import reject
from tests import pages
from tests.portal.publish.conftest import JSON, NEW

pytestmark = pytest.mark.django_db


@pytest.fixture
def release(browser) -> Release:
    browser.post("/publish", NEW, headers=JSON)
    return Release.objects.select_related("namespace").get()


@pytest.fixture
def see(browser, release):
    """The page as Alice sees it now."""

    def page() -> str:
        return browser.get(f"/releases/{release.public_id}").content.decode()

    return page


def steps(page: str) -> list[str]:
    return re.findall(r'data-step-state="(\w+)"', page)


def test_each_step_is_shown_as_it_is(release, see):
    assert steps(see()) == ["waiting", "waiting", "waiting"]
    Release.objects.update(ticket_digest="")
    assert steps(see()) == ["running", "waiting", "waiting"]
    Release.objects.update(state=State.RECEIVED, received_at=release.created_at)
    assert steps(see()) == ["done", "waiting", "waiting"]
    assert "Waiting for a worker" in see()
    Release.objects.update(state=State.CHECKING)
    assert steps(see()) == ["done", "running", "waiting"]
    Job.objects.create(kind="publish-module", target=release.pk, attempts=2)
    assert "attempt 2 of 5" in see()
    Release.objects.update(checked_at=release.created_at)
    assert steps(see()) == ["done", "done", "running"]


def test_it_is_polled_while_there_is_work_and_answers_204_until_something_changes(release, see, browser, client):
    assert 'hx-trigger="every 1s"' in see()
    url = re.findall(r'hx-get="([^"]+)"', see())[0]
    assert browser.get(url).status_code == 204
    Release.objects.update(ticket_digest="")
    changed = browser.get(url)
    assert changed.status_code == 200
    assert "<html" not in changed.text
    assert "no-store" in changed["Cache-Control"]

    Release.objects.update(state=State.REJECTED)
    assert "hx-trigger" not in see()
    fragment = f"/releases/{release.public_id}/status"
    assert "hx-trigger" not in browser.get(fragment).text
    signed_out = client.get(fragment)
    assert (signed_out.status_code, signed_out["HX-Refresh"]) == (401, "true"), "which reloads the page"


def test_a_refusal_names_file_found_expected_and_how_to_fix_it(release, see):
    reason = Reason(code="link", file="modules/<x>", found="a <link>", expected="a file", hint="Copy it.")
    reject(release, [reason])
    page = see()
    for part in ("modules/&lt;x&gt;", "a &lt;link&gt;", "a file", "Copy it.", "1.2.0 is still free"):
        assert part in page
    assert "/publish?namespace=acme&amp;name=vpc&amp;system=aws&amp;version=1.2.0" in page


def test_a_published_release_shows_how_to_use_it_and_cannot_be_cancelled(published, browser):
    url = f"/releases/{published('acme/vpc/aws', '1.2.0').public_id}"
    page = browser.get(url).text
    assert 'href="/modules/acme/vpc/aws/1.2.0"' in page
    assert "/acme/vpc/aws&quot;" in page
    assert steps(page) == ["done", "done", "done"]
    response = browser.post(f"{url}/cancel")
    assert response.status_code == 409
    assert 'role="alert"' in response.text
    Release.objects.update(state=State.PURGED)
    assert "1.2.0 was purged" in browser.get(url).text


def test_the_file_form_belongs_to_the_browser_that_began(release, see, alice, browser_of):
    assert 'action="/uploads/' in see()
    elsewhere = pages.markup_of(browser_of(alice).get(f"/releases/{release.public_id}"))
    assert 'action="/uploads/' not in elsewhere
    assert "from the browser that started it" in " ".join(elsewhere.split())
    assert steps(elsewhere) == steps(see())


def test_a_reservation_can_be_cancelled_and_leaves_its_number_free(release, see, browser):
    response = browser.post(f"/releases/{release.public_id}/cancel")
    assert response.status_code == 303
    assert "still free" in see()
    assert browser.post("/publish", NEW, headers=JSON).status_code == 201


def test_two_people_read_the_same_of_a_refused_archive(browser, dora, browser_of, work):
    answer = browser.post("/publish", NEW, headers=JSON).json()
    browser.generic("PUT", answer["upload"], b"no zip at all", headers={**JSON, "Sec-Fetch-Site": "same-origin"})
    release = str(answer["release"])
    work()
    pages = [who.get(release).content.decode() for who in (browser, browser_of(dora))]
    assert steps(pages[0]) == steps(pages[1]) == ["done", "failed", "waiting"]
    assert "data-reason=" in pages[1]
