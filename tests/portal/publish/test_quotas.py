"""/namespaces/<ns>/usage: what is stored against what may be."""

import pytest

from apps.accounts.models import Namespace
from apps.releases.models import Release, State
from tests import pages

USAGE = "/namespaces/acme/usage"


@pytest.mark.both
def test_it_shows_what_is_used_and_by_what(bob, browser_of, published, settings):
    empty = browser_of(bob).get(USAGE).text
    assert "Nothing is stored here yet" in empty
    assert "<meter" not in empty

    settings.NAMESPACE_MAX_VERSIONS = 4
    small = published("acme/vpc/aws", "1.0.0")
    big = published("acme/dns/aws", "1.0.0")
    published("acme/dns/aws", "1.1.0")
    Release.objects.filter(name="dns/aws").update(size=900_000)
    Namespace.objects.filter(name="acme").update(quota_bytes=2_000_000)

    page = browser_of(bob).get(USAGE)

    assert [(share.name, share.bytes, share.versions) for share, *_ in page.context["largest"]] == [
        ("dns/aws", 1_800_000, 2),
        ("vpc/aws", small.size, 1),
    ]
    for text in (
        "1.8 MB</strong> of 2.0 MB used",
        "3</strong> of 4 used",
        'href="/modules/acme/dns/aws"',
        'href="/modules/acme/dns/aws/usage"',
    ):
        assert text in page.text
    assert 'max="2000000"' in page.text
    assert "Full" not in page.text
    assert big.state == State.PUBLISHED


def test_a_full_one_says_whom_to_ask_and_purged_versions_are_counted_apart(bob, browser_of, published):
    published("acme/vpc/aws", "1.0.0")
    Namespace.objects.filter(name="acme").update(quota_versions=1)
    page = browser_of(bob).get(USAGE).text
    assert "New uploads are rejected. Ask staff" in page

    Release.objects.update(state=State.PURGED)
    Namespace.objects.filter(name="acme").update(quota_versions=None)
    page = pages.markup_of(browser_of(bob).get(USAGE))
    assert "0 published, 0 in progress; 1 purged, which no longer counts" in page
    assert "<strong>0</strong> used, without a limit" in page


def test_it_costs_the_same_at_any_number(bob, browser_of, published, django_assert_max_num_queries):
    browser = browser_of(bob)

    def ask():
        # Session, person, gate, whether there are keys, usage (four times, and what a room stores), largest, counts,
        # badge.
        with django_assert_max_num_queries(12):
            browser.get(USAGE)

    published("acme/vpc/aws", "1.0.0")
    ask()
    for number in range(6):
        published(f"acme/m{number}/aws", "1.0.0")
    ask()
