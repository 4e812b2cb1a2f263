"""The table of what needs attention, row by row: who can act, who is only told, and who learns nothing; at home and by
mail. Alice publishes, Bob reads, Charlie is a stranger, Dora owns, Olga operates.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Namespace, Role, User, Visibility
from apps.notify import outbox
from apps.notify.attention import table
from apps.notify.attention.matter import MOST, no_reader
from apps.notify.attention.number import attention_for
from apps.notify.events import EVENTS
from apps.notify.models import Letter, LetterState, Topic
from apps.releases.lifecycle import messages
from apps.releases.models import Lifecycle, Release
from apps.releases.origin.models import Approval
from apps.releases.publishing import approving
from tests import pages, rooms
from tests.builders.approving import ask_for_approval, publisher
from tests.builders.archives import module_zip
from tests.notify.happenings import (
    CAST,
    a_key_expires,
    a_release_awaits_approval,
    a_release_is_held,
    a_release_is_rejected,
    a_release_of_a_machine_is_held,
    a_token_of_a_machine_expires,
    a_version_in_use_is_deprecated,
    an_owner_leaves_a_connection,
    lines,
    somebody_requests_access,
    what_a_machine_published_awaits_approval,
)
from tests.portal.providers.rows import row_of_key
from tests.portal.rows import add_module
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
BEFORE = module_zip({"main.tf": 'variable "name" {\n  default = "x"\n}\n'})
AFTER = module_zip({"main.tf": 'variable "name" {}\n'})


Arrange = Callable[[Any], None]
REVIEW = "Review and approve"


@for_each_row(
    ("happens", "acting", "told", "mailed"),
    [
        (a_release_awaits_approval, {"bob", "dora"}, {"alice"}, {"bob": REVIEW, "dora": REVIEW}),
        (
            what_a_machine_published_awaits_approval,
            {"alice", "dora"},
            {"bob"},
            {"alice": REVIEW, "dora": REVIEW, "bob": ""},
        ),
        (a_release_is_held, {"alice"}, set(), {"alice": "Open the release"}),
        (a_release_of_a_machine_is_held, {"dora"}, set(), {"dora": "Open the release"}),
        (a_release_is_rejected, {"alice"}, set(), {"alice": "Open the release"}),
        (somebody_requests_access, {"dora"}, set(), {"dora": "Answer the request"}),
        (an_owner_leaves_a_connection, {"dora"}, set(), {"dora": "Review the connections"}),
        (a_key_expires, {"dora"}, {"alice"}, {"dora": "Replace the key"}),
        (a_token_of_a_machine_expires, {"dora"}, {"bob"}, {"dora": "Create a new token"}),
        (a_version_in_use_is_deprecated, {"dora"}, {"alice", "bob"}, {"bob": ""}),
        *rooms.entries("HAPPENINGS"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_those_who_can_act_are_asked_and_the_others_are_told_or_not(cast, happens: Arrange, acting, told, mailed):
    happens(cast)
    outbox.dispatch()

    seen = {name: lines(getattr(cast, name)) for name in CAST}
    assert {name for name, (to_do, _) in seen.items() if to_do} == acting
    assert {name for name, (_, to_know) in seen.items() if to_know} == told
    assert {str(letter.user): letter.button for letter in Letter.objects.all()} == mailed
    numbers = {name: attention_for(Viewer(User.objects.get(username=name))).number for name in CAST}
    assert numbers == {name: len(to_do) for name, (to_do, _) in seen.items()}, "the badge of every page"


def test_no_event_is_mailed_by_two_rows_and_each_has_a_name():
    rows = [*table.TABLE, *table.of_rooms]
    mailed = [event for one in rows for event in one.events]

    assert len(mailed) == len(set(mailed) & set(EVENTS))
    assert {one.topic for one in rows} == set(Topic) or not rooms.ARE_ALL_HERE
    assert not [one.name for one in rows if one.can_act is not no_reader and not one.act]


# --- An approval, which is the first line at home ---------------------------------------------------------------------


@pytest.fixture
def breaking(cast, browser_of):
    """acme/vpc/aws 1.3.0 of Alice's breaks users of 1.2.0, and waits for Bob or Dora."""
    publisher(cast.bob, cast.acme)
    cast.published(version="1.2.0", data=BEFORE)
    ask_for_approval(cast.acme)
    release = cast.published(version="1.3.0", data=AFTER)
    row_of_key(cast.acme, 1, expires_at=timezone.now() + timedelta(days=5))
    outbox.dispatch()
    return release


CHANGE = "Breaking, but not a major version. Since 1.2.0: input name (default removed: the input is now required)."


def test_an_approval_is_the_first_line_with_what_changes_and_its_author_reads_who_can(breaking, cast, browser_of):
    page = pages.shown(browser_of(cast.dora).get("/")).partition("data-to-do")[2].partition("</section>")[0]

    assert page.index('data-matter="approval"') < page.index('data-matter="key"')
    line = " ".join(page.partition('data-matter="approval"')[2].partition("</li>")[0].split())
    assert "acme/vpc/aws 1.3.0 awaits your approval" in line
    assert f"By alice. {CHANGE}" in line
    assert "Expires" in line
    assert line.count(f'href="/releases/{breaking.public_id}"') == 2
    assert "Review and approve" in line

    to_do, to_know = lines(cast.alice)
    assert to_do == []
    assert to_know[0].title == "acme/vpc/aws 1.3.0 is waiting for approval by bob or dora"
    assert to_know[0].at == Approval.objects.get(release=breaking).until


def test_the_mail_has_author_changes_and_end_and_leads_to_the_button(breaking, cast):
    letter = Letter.objects.get(user=cast.bob)

    assert letter.subject == "alice asks you to approve acme/vpc/aws 1.3.0"
    first, by, changes, end, *_ = letter.text.split("\n")
    assert (first, by, changes) == (f"{letter.subject}.", "Published by: alice", f"Changes: {CHANGE}")
    until = Approval.objects.get(release=breaking).until
    assert end.startswith(f"Expires: {until:%Y-%m-%d %H:%M} UTC.")


def test_home_costs_one_who_approves_a_few_queries_more(cast, browser_of, django_assert_max_num_queries):
    publisher(cast.bob, cast.acme)
    ask_for_approval(cast.acme)
    for number in range(3):
        cast.published(version=f"1.{number}.0")
    browser = browser_of(cast.bob)

    with django_assert_max_num_queries(24):
        assert pages.shown(browser.get("/")).count('data-matter="approval"') == 3


def test_the_badge_counts_all_approvals_and_what_the_person_does_shows_at_once(cast, browser_of):
    publisher(cast.bob, cast.acme)
    ask_for_approval(cast.acme)
    for number in range(MOST + 2):
        cast.published(version=f"1.{number}.0", data=BEFORE if number == 0 else None)
    browser = browser_of(cast.bob)

    def badges() -> set[str]:
        found = (pages.shown(browser.get(page)) for page in ("/", "/modules"))
        return {page.partition("data-attention-count>")[2].partition("<")[0].strip() for page in found}

    assert badges() == {str(MOST + 2)}
    first = Release.objects.filter(state="awaiting-approval").order_by("pk")[0]
    approving.decline(release=first, viewer=Viewer(cast.bob), reason="No.", digest=first.approval.digest)
    assert badges() == {str(MOST + 1)}


def test_the_badge_costs_who_has_nothing_to_do_one_query(cast, django_assert_num_queries):
    for _first_and_repeated in range(2):
        with django_assert_num_queries(1):
            assert attention_for(Viewer(cast.bob)).number == 0


def test_a_release_that_waits_shows_in_a_number_that_was_repeated(cast):
    assert attention_for(Viewer(cast.bob)).number == 0
    a_release_awaits_approval(cast)
    assert attention_for(Viewer(cast.bob)).number == 1


# --- People without an address ----------------------------------------------------------------------------------------


def test_home_says_what_could_not_reach_a_person_without_an_address(cast, browser_of, settings):
    add_module(cast.acme, "vpc/aws", "1.0.0")
    for user in (cast.bob, cast.charlie):
        User.objects.filter(pk=user.pk).update(email="")
    Grant.objects.create(namespace=cast.acme, user=cast.charlie, role=Role.READER)
    for text in ("Move to 2.0.0.", "Before March."):
        messages.notify_users(
            actor=Viewer(cast.dora),
            namespace=cast.acme,
            subject="acme/vpc/aws 1.0.0",
            people=[cast.alice.pk],
            receivers=0,
            message=text,
            without_address=[cast.bob.pk],
        )
    outbox.dispatch()

    assert Letter.objects.filter(state=LetterState.MISSED).count() == 2
    page = pages.shown(browser_of(cast.bob).get("/"))
    assert "2 messages could not reach you" in page
    assert 'href="/account/mail"' in page
    listed = pages.shown(browser_of(cast.bob).get("/account/mail")).partition("data-missed")[2]
    assert listed.count("dora wrote to users of acme/vpc/aws 1.0.0") == 2
    assert "could not reach" not in pages.shown(browser_of(cast.charlie).get("/"))
    User.objects.filter(pk=cast.bob.pk).update(email="bob@acme.example")
    assert "could not reach" not in pages.shown(browser_of(cast.bob).get("/"))
    Grant.objects.filter(user=cast.bob).delete()
    Namespace.objects.update(visibility=Visibility.PRIVATE)
    assert "dora wrote" not in pages.shown(browser_of(cast.bob).get("/account/mail")), "it may no longer be read"


def test_a_version_is_told_to_those_who_use_it_only_while_they_see_it(cast):
    a_version_in_use_is_deprecated(cast)
    [line] = lines(cast.bob)[1]
    assert line.title == "You use acme/vpc/aws 1.0.0, which is deprecated"
    assert line.text == "Use 2.0.0 instead. It leaks."
    [asked] = lines(cast.dora)[0]
    assert (asked.act, asked.url) == ("Notify users", "/modules/acme/vpc/aws/usage/notify?version=1.0.0")

    Grant.objects.filter(user=cast.bob).delete()
    assert lines(cast.bob) == ([], [])
    Release.objects.update(lifecycle=Lifecycle.MAINTAINED)
    assert lines(cast.dora) == ([], [])
