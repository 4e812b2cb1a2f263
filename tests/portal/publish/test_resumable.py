"""The browser's uploads in several requests, at the addresses of a whole one."""

import pytest
from django.conf import settings
from django.test import Client

from apps.releases.models import Release, ReleaseFile, State, Upload
from apps.releases.publishing import sweeping
from tests.api.tus_client import TusClient
from tests.builders.archives import module_zip
from tests.portal.publish.conftest import JSON, NEW
from tests.providers.draft_client import LINUX, zips
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
ZIP = module_zip()
HALF = len(ZIP) // 2
PACKAGE = zips()[LINUX]
SENT = {"Origin": settings.PUBLIC_URL, **JSON}
LENGTH = {"Upload-Length": str(len(ZIP)), "Upload-Metadata": "filename dnBjLnppcA=="}


@pytest.fixture
def begun(alice, browser_of):
    """The answer of the form to our script."""
    return browser_of(alice).post("/publish", NEW, headers=JSON).json()


@pytest.fixture
def sender() -> TusClient:
    """Without a session: the ticket is the permission."""
    return TusClient(Client(headers=SENT))


@pytest.fixture
def draft(alice, browser_of):
    """Alice's browser, and the address of a package in her fresh draft."""
    browser = browser_of(alice)
    page = browser.post(
        "/publish/provider", {"provider": "new", "namespace": "acme", "type": "dns", "version": "1.2.0"}
    )
    browser.defaults |= {"HTTP_ORIGIN": settings.PUBLIC_URL, "HTTP_ACCEPT": "application/json"}
    return TusClient(browser), f"{page.url}/files/{LINUX}"


def test_a_ticket_takes_its_archive_in_pieces_and_is_used_up_by_the_last(begun, sender, work):
    url = begun["upload"]
    before = sender.client.head(url)
    assert (before.headers["Upload-Offset"], before.headers["Upload-Defer-Length"]) == ("0", "1")
    sender.patch(url, 0, ZIP[:HALF], **LENGTH)
    asked = sender.client.head(url)
    assert (asked.headers["Upload-Offset"], asked.headers["Upload-Length"]) == (str(HALF), str(len(ZIP)))
    assert asked.headers["Upload-Metadata"] == LENGTH["Upload-Metadata"]
    assert asked.headers["Cache-Control"] == "no-store"
    assert sender.patch(url, HALF, ZIP[HALF:]).status_code == 204
    work()

    assert Release.objects.get().state == State.PUBLISHED
    assert sender.offset(url) == len(ZIP)  # for a page that lost the last answer
    assert sender.patch(url, len(ZIP), b"").status_code == 204
    assert sender.client.put(url, ZIP).status_code == 404


def test_another_file_starts_again_and_the_page_offers_its_form_until_the_last_byte(
    sender, alice, browser_of, stored_files
):
    browser = browser_of(alice)
    begun = browser.post("/publish", NEW, headers=JSON).json()
    url, form = begun["upload"], f'action="{begun["upload"]}"'
    sender.patch(url, 0, b"x" * HALF, **LENGTH)
    assert form in browser.get(begun["release"]).text
    assert sender.client.delete(url).status_code == 204
    assert (sender.offset(url), stored_files()) == (0, [])
    assert sender.patch(url, 0, ZIP, **LENGTH).status_code == 204
    assert form not in browser.get(begun["release"]).text


def test_a_whole_archive_at_the_same_ticket_replaces_the_pieces(begun, sender, work, stored_files):
    sender.patch(begun["upload"], 0, b"x" * HALF, **LENGTH)
    assert sender.client.put(begun["upload"], ZIP).status_code == 200
    work()
    sweeping.sweep()

    assert (Release.objects.get().state, Upload.objects.count()) == (State.PUBLISHED, 0)
    assert not [name for name in stored_files() if name.startswith("staging/")]


@for_each_row(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Content-Type": "application/zip"}, 415),
        ({"Upload-Length": ""}, 422),
        ({"Upload-Length": str(settings.MODULE_ARCHIVE_MAX_BYTES + 1)}, 413),
        ({"Upload-Offset": "1"}, 409),
    ],
)
def test_what_cannot_be_is_refused_and_the_ticket_stays_good(begun, sender, headers, status):
    answer = sender.patch(begun["upload"], 0, ZIP, **LENGTH | headers)

    assert answer.status_code == status
    assert answer.json()["error"].endswith((".", ")"))
    assert not Upload.objects.exists()
    assert sender.patch(begun["upload"], 0, ZIP, **LENGTH).status_code == 204


def test_a_draft_takes_its_files_in_pieces_and_again_when_they_were_removed(draft):
    sender, url = draft
    length, cut = {"Upload-Length": str(len(PACKAGE))}, len(PACKAGE) // 2
    assert sender.offset(url) == 0
    sender.patch(url, 0, PACKAGE[:cut], **length)
    assert sender.offset(url) == cut
    assert sender.patch(url, cut, PACKAGE[cut:]).status_code == 204
    assert sender.offset(url) == len(PACKAGE)
    assert ReleaseFile.objects.get().size == len(PACKAGE)

    sender.client.post(f"{url}/remove")
    assert sender.offset(url) == 0
    assert sender.patch(url, 0, PACKAGE, **length).status_code == 204
    assert ReleaseFile.objects.count() == 1


def test_nobody_else_asks_how_far_a_file_is(draft, dora, bob, charlie, browser_of):
    sender, url = draft
    sender.patch(url, 0, PACKAGE[:5], **{"Upload-Length": str(len(PACKAGE))})
    others = [browser_of(dora), browser_of(bob), browser_of(charlie), Client()]

    assert [other.head(url).status_code for other in others] == [409, 403, 404, 401]
    assert [other.delete(url, headers=SENT).status_code for other in others] == [409, 403, 404, 401]
    assert sender.offset(url) == 5
