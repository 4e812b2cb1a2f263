"""What a namespace requires: releases that lack it are marked, or wait until the reports arrive or an owner waives."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.contrib.checks import holding, policy
from apps.contrib.checks.models import Hold, Report
from apps.contrib.checks.policy import Requirement
from apps.contrib.checks.tests import samples
from apps.notify import outbox
from apps.notify.models import Letter
from apps.releases.models import Release, State
from apps.releases.origin.models import Origin
from apps.releases.publishing import approving, sweeping
from tests.builders.approving import ask_for_approval, decide, publisher
from tests.rows import for_each_row

JSON = "application/json"
CHECKOV = Requirement("checkov")
POLICY = "/api/v1/namespaces/acme/checks"


def waive(client, release, reason="We accept it.", digest=None):
    body = {"digest": f"sha256:{digest or release.digest}", "reason": reason}
    return client.post(f"/api/v1/releases/{release.public_id}/waive-checks", json.dumps(body), content_type=JSON)


def state_of(release):
    return Release.objects.get(pk=release.pk).state


def test_a_release_waits_until_a_report_of_the_required_check_passes(require, published, tofu, send, alice, work):
    require(CHECKOV, mode="hold")
    release = published()
    assert release.state == State.AWAITING_APPROVAL
    assert Hold.objects.get().missing == ["checkov: no report was sent"]

    assert send(tofu(alice), samples.FINDINGS).status_code == 202
    assert Hold.objects.get().missing == ["checkov: checkov failed: 1 high and 1 low findings"]
    work()
    assert state_of(release) == State.AWAITING_APPROVAL

    assert send(tofu(alice), samples.CLEAN).status_code == 202
    work()

    assert state_of(release) == State.PUBLISHED
    assert tofu(alice).get("/api/v1/modules/acme/vpc/aws/1.2.0/checks").json()["line"] == "1 check passed"


def test_a_report_that_was_there_before_lets_a_release_through(require, published, tofu, send, alice):
    require(CHECKOV)
    send(tofu(alice), samples.CLEAN)

    assert published().state == State.PUBLISHED
    assert not Hold.objects.exists()


def test_a_report_about_other_bytes_does_not_count(require, published, tofu, send, alice, acme):
    require(CHECKOV)
    assert send(tofu(alice), samples.CLEAN, digest=f"sha256:{'1' * 64}").status_code == 202

    assert published().state == State.AWAITING_APPROVAL
    assert Hold.objects.get().missing == ["checkov: the report is about other bytes"]


def test_a_namespace_that_only_warns_publishes_and_marks(require, published, tofu, bob):
    require(CHECKOV, mode="warn")

    assert published().state == State.PUBLISHED
    listed = tofu(bob).get("/api/v1/modules/acme/vpc/aws/1.2.0/checks").json()
    assert (listed["line"], listed["missing"]) == ("No checks were sent", ["checkov: no report was sent"])


def test_another_namespace_publishes_as_before(require, published, pantry):
    require(CHECKOV)

    assert published("pantry/vpc/aws", "1.0.0").state == State.PUBLISHED


def test_a_published_version_keeps_its_state_whatever_is_reported(require, published, tofu, send, alice):
    require(CHECKOV)
    send(tofu(alice), samples.CLEAN)
    release = published()

    assert send(tofu(alice), samples.FINDINGS).status_code == 201

    assert state_of(release) == State.PUBLISHED
    assert policy.missing(release) == ["checkov: checkov failed: 1 high and 1 low findings"]


def test_an_owner_waives_what_is_missing_with_a_reason(require, published, tofu, alice, bob, dora, work):
    require(CHECKOV)
    release = published()
    assert waive(tofu(alice), release).status_code == 403
    assert waive(tofu(bob), release).status_code == 403
    assert waive(tofu(dora), release, reason=" ").status_code == 422
    assert waive(tofu(dora), release, digest="1" * 64).status_code == 409

    assert waive(tofu(dora), release).status_code == 202
    work()

    assert state_of(release) == State.PUBLISHED
    event = AuditEvent.objects.get(kind="namespace:release:checks-waived")
    assert (event.actor_id, event.detail["reason"]) == (dora.pk, "We accept it.")
    assert event.detail["missing"] == ["checkov: no report was sent"]
    assert waive(tofu(dora), release).status_code == 409


@for_each_row("first", ["approval", "report"])
def test_a_release_that_needs_approval_too_waits_for_both(
    require, published, tofu, send, alice, dora, acme, work, first
):
    require(CHECKOV)
    ask_for_approval(acme)
    publisher(dora, acme)
    release = published(f"acme/{first}/aws")
    url = f"/api/v1/modules/acme/{first}/aws/1.2.0/checks"
    steps = {
        "approval": lambda: decide(tofu(dora), release, "approve"),
        "report": lambda: send(tofu(alice), samples.CLEAN, url=url),
    }
    assert steps.pop(first)().status_code == 202
    work()
    assert state_of(release) == State.AWAITING_APPROVAL

    [(_, last)] = steps.items()
    assert last().status_code == 202
    work()

    assert state_of(release) == State.PUBLISHED


def test_an_approved_release_that_waits_for_checks_asks_no_one_for_approval(
    require, published, tofu, alice, dora, acme, work
):
    require(CHECKOV)
    ask_for_approval(acme)
    publisher(dora, acme)
    release = published()
    decide(tofu(dora), release, "approve")
    work()

    assert state_of(release) == State.AWAITING_APPROVAL
    assert not approving.waiting_for(Viewer(dora)).exists()
    assert decide(tofu(dora), release, "approve").status_code == 409
    Release.objects.get(pk=release.pk).approval.__class__.objects.update(until=timezone.now() - timedelta(days=1))
    sweeping.sweep()
    assert state_of(release) == State.AWAITING_APPROVAL


@for_each_row(
    ("required", "missing"),
    [
        (Requirement("checkov", passed=False, no_finding_at="critical"), ""),
        (Requirement("checkov", passed=False, no_finding_at="high"), "checkov has 1 high and 1 low findings"),
        (Requirement("checkov", passed=False, max_age_days=30), "checkov is 40 days old"),
        (Requirement("checkov", passed=False, max_age_days=50), ""),
        (Requirement("check*", passed=False), ""),
        (Requirement("tofu-*"), "no report was sent"),
        (Requirement("checkov", passed=False, verified_origin=True), "was not sent by a run of the release's verified"),
    ],
)
def test_each_part_of_a_requirement_is_asked(require, published, tofu, send, alice, required, missing):
    release = published()
    send(tofu(alice), samples.FINDINGS)
    Report.objects.update(received_at=timezone.now() - timedelta(days=40, hours=1))
    require(required)

    found = policy.missing(release)

    assert len(found) == bool(missing)
    assert missing in "".join(found)


def test_a_release_continues_once_the_policy_asks_for_less(require, published, alice, work):
    require(CHECKOV)
    release = published()
    require(mode="hold")

    holding.sweep()
    work()

    assert state_of(release) == State.PUBLISHED


def test_a_release_that_waited_too_long_is_rejected(require, published, alice):
    require(CHECKOV)
    release = published()
    Hold.objects.update(until=timezone.now() - timedelta(minutes=1))

    holding.sweep()

    release.refresh_from_db()
    assert (release.state, release.reasons[0]["code"]) == (State.REJECTED, "checks_missing")


def test_a_publisher_cancels_a_release_that_only_waits_for_checks(require, published, browser_of, alice, dora):
    require(CHECKOV)
    release = published()

    assert browser_of(dora).post(f"/releases/{release.public_id}/cancel").status_code == 303

    assert state_of(release) == State.REJECTED


def test_owners_set_the_policy_and_readers_see_it(tofu, alice, bob, dora, acme):
    body = {"mode": "hold", "requirements": [{"name": "checkov*", "no_finding_at": "high", "passed": False}]}
    put = lambda client, **more: client.put(POLICY, json.dumps(body | more), content_type=JSON)  # noqa: E731
    assert put(tofu(alice)).status_code == 403
    assert put(tofu(dora), mode="never").status_code == 422
    assert put(tofu(dora), requirements=[{"name": "a"}] * 21).status_code == 422

    assert put(tofu(dora), mail_at="high").status_code == 200

    found = tofu(bob).get(POLICY).json()
    assert (found["mode"], found["mail_at"]) == ("hold", "high")
    assert found["requirements"][0]["sentence"] == "checkov*: no finding that is high or higher"
    assert AuditEvent.objects.filter(kind="namespace:checks:policy-changed", actor_id=dora.pk).exists()


def test_people_are_told_what_a_release_waits_for_and_what_was_found(require, published, tofu, send, alice, dora):
    alice.email, dora.email = "alice@example.com", "dora@example.com"
    alice.save(), dora.save()
    require(CHECKOV, mail_at="high")
    published()
    outbox.dispatch()
    assert [(one.user, one.subject) for one in Letter.objects.all()] == [
        (alice, "acme/vpc/aws 1.2.0 waits for required checks")
    ]
    Letter.objects.all().delete()

    require(CHECKOV, mode="warn", mail_at="high")
    holding.sweep()
    from tests.shelves import run_jobs

    run_jobs()
    send(tofu(alice), samples.FINDINGS)
    send(tofu(alice), samples.sarif(samples.result(line=9)))  # the same finding in another line
    outbox.dispatch()

    told = Letter.objects.filter(topic="checks")
    assert [(one.user, one.subject) for one in told] == [(dora, "acme/vpc/aws 1.2.0 has new findings")]
    assert "checkov found high: CKV_AWS_1 in main.tf" in told[0].text


@pytest.mark.both
def test_a_held_release_is_seen_at_home_and_on_its_page(require, published, browser_of, alice, dora):
    require(Requirement("tofu-test"))
    release = published()

    home = browser_of(dora).get("/").content.decode()
    page = browser_of(dora).get(f"/releases/{release.public_id}").content.decode()

    assert "acme/vpc/aws 1.2.0 waits for required checks" in home
    assert "tofu-test: no report was sent" in page
    assert "/checks/tofu-test" in page, "the command sends what is missing"
    assert "Continue without these checks" in page
    assert (
        "Continue without these checks" not in browser_of(alice).get(f"/releases/{release.public_id}").content.decode()
    )


def test_a_run_of_the_repository_that_published_the_release_is_its_verified_origin():
    ours: dict[str, Any] = {"vendor": "github", "issuer": "https://issuer.example", "facts": {"repository": "acme/vpc"}}
    origin, report = Origin(claims={"sub": "x"}, **ours), Report(**ours)
    assert policy.is_from_origin(report, origin)

    others: tuple[dict[str, Any], ...] = (
        {"vendor": ""},
        {"issuer": "https://other.example"},
        {"facts": {"repository": "acme/dns"}},
        {"facts": {}},
    )
    for other in others:
        assert not policy.is_from_origin(Report(**ours | other), origin), other
    assert not policy.is_from_origin(report, Origin(**ours)), "its claims were not verified"
    assert not policy.is_from_origin(report, None)
