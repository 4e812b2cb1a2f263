"""/releases/<uuid>: what the database says, and nothing else."""

import re

import pytest

from apps.jobs.models import Job
from apps.lib.errors import Reason
from apps.releases.models import Release, State
from apps.releases.publishing.transitions import reject
from tests import pages

pytestmark = pytest.mark.django_db
JSON = {"Accept": "application/json"}
NEW = {"module": "new", "namespace": "acme", "name": "vpc", "system": "aws", "version": "1.2.0"}


@pytest.fixture
def browser(alice, browser_of):
    return browser_of(alice)


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
    Release.objects.update(checked_at=release.created_at)
    assert steps(see()) == ["done", "done", "running"]


def test_a_later_attempt_is_named(release, see):
    Release.objects.update(state=State.CHECKING, received_at=release.created_at, ticket_digest="")
    Job.objects.create(kind="publish-module", target=release.pk, attempts=2)
    assert "attempt 2 of 5" in see()


def test_it_is_polled_while_there_is_work_and_no_longer(release, see, browser):
    assert 'hx-trigger="every 1s"' in see()
    Release.objects.update(state=State.REJECTED, ticket_digest="")
    assert "hx-trigger" not in see()
    assert "hx-trigger" not in browser.get(f"/releases/{release.public_id}/status").content.decode()


def test_the_fragment_answers_204_until_something_changes(release, see, browser):
    url = re.findall(r'hx-get="([^"]+)"', see())[0]
    assert browser.get(url).status_code == 204
    Release.objects.update(ticket_digest="")
    changed = browser.get(url)
    assert changed.status_code == 200
    assert "<html" not in changed.content.decode()
    assert "no-store" in changed["Cache-Control"]


def test_a_fragment_whose_session_ended_reloads_the_page(release, client):
    response = client.get(f"/releases/{release.public_id}/status")
    assert (response.status_code, response["HX-Refresh"]) == (401, "true")


def test_a_refusal_names_file_found_expected_and_how_to_fix_it(release, see):
    reason = Reason(code="link", file="modules/<x>", found="a <link>", expected="a file", hint="Copy it.")
    reject(release, [reason])
    page = see()
    for part in ("modules/&lt;x&gt;", "a &lt;link&gt;", "a file", "Copy it.", "1.2.0 is still free"):
        assert part in page
    assert "/publish?namespace=acme&amp;name=vpc&amp;system=aws&amp;version=1.2.0" in page


def test_a_published_release_leads_to_its_module_and_shows_how_to_use_it(published, browser):
    page = browser.get(f"/releases/{published('acme/vpc/aws', '1.2.0').public_id}").content.decode()
    assert 'href="/modules/acme/vpc/aws/1.2.0"' in page
    assert "/acme/vpc/aws&quot;" in page
    assert steps(page) == ["done", "done", "done"]


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


def test_what_has_arrived_cannot_be_cancelled(published, browser):
    response = browser.post(f"/releases/{published('acme/vpc/aws', '1.2.0').public_id}/cancel")
    assert response.status_code == 409
    assert 'role="alert"' in response.content.decode()


def test_a_release_that_is_not_there_is_not_found(browser, release):
    assert browser.get("/releases/00000000-0000-4000-8000-000000000000").status_code == 404


def test_two_people_read_the_same_of_a_refused_archive(browser, dora, browser_of, work):
    answer = browser.post("/publish", NEW, headers=JSON).json()
    browser.generic("PUT", answer["upload"], b"no zip at all", headers={**JSON, "Sec-Fetch-Site": "same-origin"})
    release = str(answer["release"])
    work()
    pages = [who.get(release).content.decode() for who in (browser, browser_of(dora))]
    assert steps(pages[0]) == steps(pages[1]) == ["done", "failed", "waiting"]
    assert "data-reason=" in pages[1]
