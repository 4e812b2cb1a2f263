"""Each act that takes something away, with three people in the browser and by mail: Dora or Olga acts, Alice and Dora
can do something about it, and Bob is hit. Charlie is a stranger, and learns nothing.
"""

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.notify import outbox
from apps.notify.attention.number import attention_for
from apps.notify.models import Letter
from apps.releases.models import DownloadCount, Fetch, Release
from tests import pages
from tests.notify.happenings import CAST
from tests.portal.rows import add_module
from tests.rows import for_each_row

URL = "/modules/acme/vpc/aws/1.0.0/lifecycle"
SAID = {"reason": "It leaks.", "notify": "on", "confirm": "acme/vpc/aws 1.0.0"}


@pytest.fixture
def used(cast):
    """Bob has downloaded acme/vpc/aws 1.0.0, which has a successor."""
    add_module(cast.acme, "vpc/aws", "1.0.0", "2.0.0")
    release, today = Release.objects.get(version="1.0.0"), timezone.now().date()
    DownloadCount.objects.create(release=release, day=today, client="other", count=3)
    Fetch.objects.create(release=release, user=cast.bob, last_on=today, count=3)
    return release


def home_of(browser) -> tuple[str, str]:
    """What home asks the person to do, and what it only tells."""
    page = pages.shown(browser.get("/"))
    to_do, to_know = (page.partition(part)[2].partition("</section>")[0] for part in (" data-to-do>", " data-to-know>"))
    return to_do, to_know


@pytest.mark.both
@for_each_row(
    ("act", "by", "asked", "told", "mailed"),
    [
        ("deprecate", "dora", {"dora": "Notify users"}, {"bob": "You use", "alice": "still used"}, {"bob"}),
        ("yank", "dora", {"dora": "Notify users"}, {"bob": "You use", "alice": "still used"}, {"bob"}),
        (
            "quarantine",
            "olga",
            {"alice": "See what to do", "dora": "See what to do"},
            {},
            {"alice", "bob", "dora"},
        ),
        ("purge", "olga", {}, {"alice": "was purged by olga", "dora": "was purged by olga"}, {"alice", "bob", "dora"}),
    ],
)
def test_who_acts_sees_who_is_hit_and_each_learns_of_it_at_home_and_by_mail(
    used, cast, browser_of, act, by, asked, told, mailed
):
    actor = browser_of(getattr(cast, by))
    url = f"{URL}/purge" if act == "purge" else f"{URL}?act={act}"
    card = pages.shown(actor.get(url)).partition("data-effects")[2].partition("</form>")[0]
    assert "bob" in card, "before the act"
    assert "charlie" not in card

    done = actor.post(url.partition("?")[0], {"act": act, **SAID}, follow=True)
    assert "Larder notifies 1 person." in done.text

    outbox.dispatch()
    assert {str(letter.user) for letter in Letter.objects.all()} == mailed
    assert all("acme/vpc/aws 1.0.0" in letter.subject and by in letter.subject for letter in Letter.objects.all())
    homes = {name: home_of(browser_of(getattr(cast, name))) for name in CAST}
    assert {name for name, (to_do, _) in homes.items() if "data-matter" in to_do} == set(asked)
    assert {name for name, (_, to_know) in homes.items() if "data-matter" in to_know} == set(told)
    assert [name for name, words in asked.items() if words not in homes[name][0]] == []
    assert [name for name, words in told.items() if words not in homes[name][1]] == []
    badges = {name: attention_for(Viewer(User.objects.get(username=name))).number for name in CAST}
    assert {name for name, number in badges.items() if number} == set(asked)
