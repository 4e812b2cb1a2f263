"""The pages of approvals: Bob looks at what Alice published, and decides; Alice cannot."""

import time

import pytest

from apps.accounts.models import Namespace
from apps.audit.models import AuditEvent
from apps.releases.models import Release, State
from apps.releases.origin.models import Approval
from tests import pages
from tests.accounts.identity.test_second_factor import code_of, fresh_cache, password, set_up
from tests.builders.approving import ask_for_approval, client_of, decide, publisher
from tests.builders.archives import module_zip
from tests.sessions import next_of
from tests.shelves import run_jobs

__all__ = ["fresh_cache"]

pytestmark = pytest.mark.django_db
BEFORE = module_zip({"main.tf": 'variable "name" {\n  default = "x"\n}\n', "README.md": "# Old\n"})
APPROVALS = 'data-count="portal:approvals"'
AFTER = module_zip({"main.tf": 'variable "name" {}\n', "README.md": "# <script>alert(1)</script>\n"})


@pytest.fixture
def waiting(acme, alice, bob, published) -> Release:
    publisher(bob, acme)
    published(version="1.2.0", data=BEFORE)
    ask_for_approval(acme)
    return published(version="1.3.0", data=AFTER)


def post(client, release, verb, **more):
    sent = {"digest": f"sha256:{release.digest}", **more}
    return client.post(f"/releases/{release.public_id}/{verb}", sent)


def page_of(client, release):
    return pages.markup_of(client.get(f"/releases/{release.public_id}"))


def test_the_approver_sees_changes_origin_and_what_is_unusual(waiting, bob, browser_of):
    Approval.objects.update(unusual=["This is the first release of acme/vpc/aws by alice."])

    page = page_of(browser_of(bob), waiting)

    assert "Changes since 1.2.0" in page
    assert 'data-rule="input_made_required"' in page
    assert "default removed: the input is now required" in page
    assert "+ # &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "alice" in page.partition("data-origin")[2]
    assert "published it in the browser." in page
    assert "This is the first release of acme/vpc/aws by alice." in page
    assert f"sha256:{waiting.digest}" in page
    assert "Approve and publish" in page


def test_bob_approves_on_its_page_what_it_showed_him(waiting, bob, browser_of):
    browser = browser_of(bob)

    assert post(browser, waiting, "approve", digest=f"sha256:{'0' * 64}").status_code == 409
    answer = post(browser, waiting, "approve")

    assert (answer.status_code, answer.url) == (303, f"/releases/{waiting.public_id}")
    late = post(browser, waiting, "approve")
    assert (late.status_code, "does not await approval" in pages.text_of(late)) == (409, True)
    run_jobs()
    waiting.refresh_from_db()
    assert waiting.state == State.PUBLISHED
    assert "By bob" in page_of(browser, waiting)


def test_alice_reads_why_she_cannot_has_no_button_and_may_cancel_it(waiting, alice, browser_of):
    browser = browser_of(alice)
    page = page_of(browser, waiting)

    assert "You published it yourself: someone else has to decide." in page
    assert "Approve and publish" not in page
    answer = post(browser, waiting, "approve")
    assert answer.status_code == 403
    assert "You published it yourself" in pages.text_of(answer)
    assert "Cancel this release" in page
    assert post(browser, waiting, "cancel").status_code == 303
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reasons[0]["code"]) == (State.REJECTED, "cancelled")


def test_declining_needs_a_reason_which_its_author_then_reads(waiting, alice, bob, browser_of):
    browser = browser_of(bob)
    assert post(browser, waiting, "decline").status_code == 422

    assert post(browser, waiting, "decline", reason="The default was in use.").status_code == 303

    assert "a release that was declined: The default was in use" in page_of(browser_of(alice), waiting)


@pytest.mark.both
def test_the_list_and_the_badge_are_for_those_who_can_decide(
    waiting, alice, bob, published, browser_of, django_assert_max_num_queries
):
    browser = browser_of(bob)
    assert f"/releases/{waiting.public_id}" in pages.markup_of(browser.get("/approvals"))
    theirs = pages.markup_of(browser_of(alice).get("/approvals"))
    assert "Nothing awaits your approval" in theirs
    assert APPROVALS not in theirs
    assert "Awaiting approval" in pages.markup_of(browser_of(alice).get("/releases"))

    for number in range(4, 8):
        published(version=f"1.{number}.0", data=AFTER)
    with django_assert_max_num_queries(26):
        page = pages.markup_of(browser.get("/approvals"))
    assert APPROVALS in page
    assert page.count("rows__version") == 5


def test_owners_switch_it_on_and_are_asked_who_they_are_before_they_switch_it_off(acme, dora, browser_of):
    sent = {"breaking_changes": "warn", "cooldown_hours": "0"}
    browser = browser_of(dora, confirmed=False)
    on = sent | {"requires_approval": "on", "approval_needs_second_factor": "on", "approval_needs_two_people": "on"}
    assert browser.post("/namespaces/acme/rules", on).status_code == 303
    acme.refresh_from_db()
    assert (acme.requires_approval, acme.approval_needs_second_factor, acme.approval_needs_two_people) == (True,) * 3

    asked = browser.post("/namespaces/acme/rules", sent)

    assert asked.status_code == 302
    acme.refresh_from_db()
    assert acme.requires_approval
    assert browser_of(dora).post("/namespaces/acme/rules", sent).status_code == 303
    acme.refresh_from_db()
    assert not acme.requires_approval


# --- A fresh second factor --------------------------------------------------------------------------------------------


@pytest.fixture
def strict(waiting) -> Release:
    Namespace.objects.update(approval_needs_second_factor=True)
    return waiting


def test_a_person_without_a_second_factor_is_told_to_set_one_up(strict, bob, browser_of):
    answer = post(browser_of(bob), strict, "approve")

    assert answer.status_code == 403
    assert "requires a second factor" in pages.text_of(answer)
    assert AuditEvent.objects.get(kind="namespace:release:approval-refused").detail["why"] == "second-factor"
    strict.refresh_from_db()
    assert strict.state == State.AWAITING_APPROVAL
    assert decide(client_of(bob), strict, "decline", reason="No").status_code == 200, "that needs none"


def test_a_token_has_none(strict, bob):
    answer = decide(client_of(bob), strict, "approve")

    assert answer.status_code == 403
    assert "a token has none" in answer.json()["error"]["message"]


@pytest.mark.slow
def test_a_second_factor_counts_for_ten_minutes_and_is_kept(strict, bob, time_machine):
    client = password(bob)[0]
    set_up(client)
    start = time.time()

    time_machine.move_to(start + 601)
    assert post(client, strict, "approve").status_code == 302
    strict.refresh_from_db()
    assert strict.state == State.AWAITING_APPROVAL
    time_machine.move_to(start + 590)
    assert post(client, strict, "approve").status_code == 303
    assert Approval.objects.get(release=strict).has_second_factor


def test_an_older_one_is_asked_for_again_and_the_form_waits(strict, bob, browser_of):
    secret, _ = set_up(password(bob)[0])
    client = browser_of(bob)  # the password, a moment ago

    asked = post(client, strict, "approve")

    assert asked.status_code == 302
    strict.refresh_from_db()
    assert strict.state == State.AWAITING_APPROVAL
    done = client.post(asked.url, {"code": code_of(secret)})
    assert done.url == next_of(asked)
    assert f"Approve {strict}" in pages.text_of(client.get(done.url))
    assert post(client, strict, "approve").status_code == 303


def test_its_author_is_told_so_and_not_asked_for_a_factor(strict, alice):
    client = password(alice)[0]
    set_up(client)

    assert post(client, strict, "approve").status_code == 403
