"""The page of all versions: states with their reasons, tombstones, and what is counted and required."""

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.modules.models import ModuleVersion
from apps.releases.models import DownloadCount
from tests import pages
from tests.portal.rows import add_module

URL = "/modules/acme/vpc/aws/versions"
ADDRESS = ModuleAddress("acme", "vpc", "aws")


@pytest.fixture
def act(olga):
    def do(verb, version, reason="It loses data.", **more):
        return verb(viewer=Viewer(olga), address=ADDRESS, version=version, reason=reason, **more)

    return do


@pytest.fixture
def shelf(acme, act):
    """One of each state."""
    add_module(acme, "vpc/aws", "2.0.0-rc.1", "1.4.0", "1.3.0", "1.2.0", "1.1.0", "1.0.0")
    act(lifecycle.deprecate, "1.3.0", "Too old.", replacement="1.4.0")
    act(lifecycle.yank, "1.2.0")
    act(lifecycle.quarantine, "1.1.0", "Malware.")
    act(lifecycle.purge, "1.0.0", "It held a key.", confirm="acme/vpc/aws 1.0.0")


def rows_of(response):
    body = pages.markup_of(response).partition("<tbody>")[2].partition("</tbody>")[0]
    return [" ".join(row.split()) for row in body.split("<tr>")[1:]]


def versions_of(response):
    found = []
    for row in rows_of(response):
        head = row.partition("</th>")[0].replace("</s>", "").replace("</a>", "")
        found.append(head.rpartition(">")[2])
    return found


@pytest.mark.both
def test_it_shows_and_filters_every_state_with_its_reason_and_quarantine_to_staff_alone(shelf, browser_of, bob, olga):
    browser = browser_of(bob)
    response = browser.get(URL)
    rows = dict(zip(versions_of(response), rows_of(response), strict=True))

    assert list(rows) == ["2.0.0-rc.1", "1.4.0", "1.3.0", "1.2.0", "1.0.0"]
    assert "Pre-release" in rows["2.0.0-rc.1"]
    assert "Latest" in rows["1.4.0"]
    assert "Deprecated" in rows["1.3.0"]
    assert "Too old." in rows["1.3.0"]
    assert 'href="/modules/acme/vpc/aws/1.4.0"' in rows["1.3.0"]
    assert "Yanked" in rows["1.2.0"]
    assert "It loses data." in rows["1.2.0"]
    assert "by olga" in rows["1.2.0"]
    assert '<s class="mono">1.0.0</s>' in rows["1.0.0"]
    assert "Removed" in rows["1.0.0"]
    assert "It held a key." in rows["1.0.0"]
    assert "/modules/acme/vpc/aws/1.0.0" not in rows["1.0.0"], "there is no such page any more"

    staffs = browser_of(olga).get(URL)
    [quarantined] = [row for row in rows_of(staffs) if "Quarantined" in row]
    assert "1.1.0" in versions_of(staffs)
    assert "Malware." in quarantined
    assert {
        show: versions_of(browser.get(URL, {"show": show})) for show in ("stable", "pre-release", "yanked", "x")
    } == {
        "stable": ["1.4.0", "1.3.0"],
        "pre-release": ["2.0.0-rc.1"],
        "yanked": ["1.2.0", "1.0.0"],
        "x": list(rows),
    }


def test_a_module_of_which_all_is_yanked_is_no_dead_end(published, browser_of, act, bob, alice):
    published()
    act(lifecycle.yank, "1.2.0")

    assert "No version is listed" in pages.markup_of(browser_of(bob).get(URL))
    page = browser_of(alice).get("/modules/acme/vpc/aws")
    assert page.status_code == 200
    assert "No other version is available." in pages.markup_of(page)
    assert "Manage this version" in pages.markup_of(page)


def test_a_module_of_which_all_is_in_quarantine_or_removed_has_only_what_is_shown_of_it(
    published, browser_of, act, bob, olga
):
    published()
    browser = browser_of(bob)
    assert "No versions match." in pages.markup_of(browser.get(URL, {"show": "yanked"}))
    act(lifecycle.quarantine, "1.2.0")
    assert browser.get(URL).status_code == 404
    assert versions_of(browser_of(olga).get(URL)) == ["1.2.0"]

    act(lifecycle.purge, "1.2.0", "A key.", confirm="acme/vpc/aws 1.2.0")
    assert browser.get("/modules/acme/vpc/aws").url == URL
    assert versions_of(browser.get(URL)) == ["1.2.0"]


def test_downloads_and_the_required_client_stand_in_the_row(published, browser_of, bob):
    release = published()
    for client, count in (("OpenTofu 1.12.6", 40), ("other", 2)):
        DownloadCount.objects.create(release=release, day=timezone.now().date(), client=client, count=count)
    unit = {
        "required_version": [
            {"text": ">= 1.6", "file": "a.tf", "line": 1},
            {"text": "< 2.0", "file": "b.tf", "line": 1},
        ]
    }
    ModuleVersion.objects.filter(release=release).update(inspection={"units": [unit]})
    row = rows_of(browser_of(bob).get(URL))[0]

    assert '<td data-label="Downloads" class="number">42</td>' in row
    assert "&gt;= 1.6" in row
    assert "&lt; 2.0" in row
    assert "alice" in row


def test_names_are_for_those_who_are_signed_in(published, client, browser_of, charlie):
    published("pantry/vpc/aws", "1.2.0")
    url = URL.replace("acme", "pantry")

    assert "alice" not in pages.markup_of(client.get(url))
    assert "alice" in pages.markup_of(browser_of(charlie).get(url))
