"""/releases, its badge and its card on /: what somebody started is found again after the tab is closed."""

import re

import pytest

from apps.accounts.models import Grant
from apps.lib import versions
from apps.modules.models import ModuleVersion
from apps.releases.models import Release
from tests import pages

HELD = "data-attention-count>1<"


def start(namespace, user, state, name="vpc/aws", version="1.0.0", **fields) -> Release:
    """A release of Alice's, or of somebody else, in that state."""
    key = versions.sort_key(version)
    fields = {"kind": "module", "staging_key": "", **fields}
    return Release.objects.create(
        namespace=namespace, created_by=user, state=state, name=name, version=version, sort_key=key, **fields
    )


@pytest.fixture
def see(browser):
    """The page as Alice sees it."""
    return lambda query="": pages.markup_of(browser.get(f"/releases{query}"))


def shown(page: str) -> list[str]:
    return re.findall(r'<li class="rows__item" data-state="(\w+)"', page)


def test_what_needs_an_answer_comes_first_and_then_what_runs(acme, alice, see):
    question = {"code": "private_key", "file": "id_rsa", "found": "a private <key>", "expected": "none", "hint": "Go."}
    start(acme, alice, "held", version="1.0.0", questions=[question])
    start(acme, alice, "receiving", "dns", version="1.1.0", kind="provider")
    start(acme, alice, "rejected", version="1.2.0", reasons=[{**question, "found": "no .tf file"}] * 3)

    page = see()

    assert shown(page) == ["held", "receiving", "rejected"]
    for release in Release.objects.all():
        assert f'href="/releases/{release.public_id}"' in page
    for part in ("Found a private &lt;key&gt;.", "Found no .tf file, and 2 more.", "Needs your answer", "Draft"):
        assert part in page


@pytest.mark.both
def test_it_shows_one_state_alone_and_counts_each(acme, alice, see):
    for number, state in enumerate(["held", "checking", "signing", "rejected", "failed", "rejected"]):
        start(acme, alice, state, version=f"1.{number}.0")

    page = see("?state=refused")

    assert shown(page) == ["rejected", "failed", "rejected"]
    counts = re.findall(r'href="/releases(?:\?state=(\w+))?"[^>]*>[\w ]+<span class="tabs__count">(\d+)', page)
    assert counts == [("", "6"), ("held", "1"), ("running", "2"), ("refused", "3"), ("published", "0")]
    assert "No releases match" in see("?state=published")
    assert len(shown(see("?state=nonsense"))) == len(counts) + 1


def test_the_badge_and_the_home_page_name_what_needs_an_answer(acme, alice, see, browser_of):
    assert "data-attention-count" not in see()
    release = start(acme, alice, "held")
    assert HELD in see()
    home = pages.markup_of(browser_of(alice).get("/"))
    assert HELD in home
    assert f"/releases/{release.public_id}" in home.partition("data-to-do")[2]


def test_it_shows_nothing_of_other_people_or_where_the_role_has_ended(acme, alice, dora, see, browser_of):
    start(acme, dora, "held")
    assert shown(see()) == []
    start(acme, alice, "held", version="2.0.0")
    Grant.objects.filter(user=alice).delete()
    page = see()
    assert shown(page) == []
    assert "data-attention-count" not in page
    assert len(shown(pages.markup_of(browser_of(dora).get("/releases")))) == 1


def test_it_is_paged_and_costs_the_same_at_any_number(acme, alice, browser_of, django_assert_num_queries):
    for number in range(31):
        start(acme, alice, "rejected", version=f"1.{number}.0")
    browser = browser_of(alice)
    assert browser.get("/releases").status_code == 200  # the number of the badge lasts for a minute

    with django_assert_num_queries(
        7
    ):  # session, person, badge (two queries), counts of the groups, count of the page, its rows
        first = pages.markup_of(browser.get("/releases"))

    assert 'href="?page=2"' in first
    assert len(shown(pages.markup_of(browser.get("/releases?page=2")))) == 1


def test_a_published_release_leads_to_its_version_and_shows_what_the_inspection_could_not_read(
    published, alice, browser_of
):
    release = published("acme/vpc/aws", "1.2.0")
    assert 'href="/modules/acme/vpc/aws/1.2.0"' in pages.markup_of(browser_of(alice).get("/releases"))
    warning = {"file": "main.tf", "line": 3, "column": 1, "message": "a <brace> is missing"}
    unit = {"path": "", "kind": "root", "name": "", "warnings": [warning]}
    ModuleVersion.objects.update(inspection={"units": [unit]})
    url = f"/releases/{release.public_id}"

    page = pages.markup_of(browser_of(alice).get(url))

    assert "a &lt;brace&gt; is missing" in page
    assert 'href="/modules/acme/vpc/aws/1.2.0/files/main.tf#L3"' in page
    Release.objects.update(quarantined_at=release.created_at)
    assert "brace" not in pages.markup_of(browser_of(alice).get(url))
