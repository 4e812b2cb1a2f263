"""A second pair of eyes: what waits, who decides, and what becomes of the release."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import ApiToken, Namespace, Scope
from apps.accounts.people import service_accounts
from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.jobs.models import Job
from apps.lib.errors import RoleRequired
from apps.releases.models import Release, State
from apps.releases.origin.models import Approval, Decision
from apps.releases.publishing import sweeping
from tests.builders.approving import ask_for_approval, client_of, decide, machine_of, publisher, team_of
from tests.builders.archives import module_zip
from tests.rows import for_each_row
from tests.shelves import run_jobs

pytestmark = pytest.mark.django_db
VERSION = "/api/v1/modules/acme/vpc/aws/1.2.0"


@pytest.fixture
def waiting(acme, alice, bob, published) -> Release:
    """acme/vpc/aws 1.2.0 of Alice's, which Bob may approve."""
    publisher(bob, acme)
    ask_for_approval(acme)
    return published(version="1.2.0")


def kinds(release: Release) -> list[str]:
    rows = AuditEvent.objects.filter(detail__release=release.pk).order_by("pk")
    return [row.kind.rpartition(":")[2] for row in rows]


def test_a_release_waits_before_anything_is_stored_for_good(waiting, alice, bob, stored_files):
    approval = Approval.objects.get(release=waiting)

    assert waiting.state == State.AWAITING_APPROVAL
    assert (approval.decision, approval.digest) == (Decision.WAITING, waiting.digest)
    assert approval.until - approval.asked_at == timedelta(days=14)
    assert {name.partition("/")[0] for name in stored_files()} == {"staging"}
    assert not Job.objects.filter(state__in=["queued", "running"]).exists()

    document = client_of(bob).get(f"/api/v1/releases/{waiting.public_id}").json()
    steps = {step["name"]: step["state"] for step in document["steps"]}
    assert steps == {"received": "done", "checked": "done", "approved": "waiting", "published": "waiting"}
    assert document["approval"]["digest"] == f"sha256:{waiting.digest}"
    assert document["approval"]["decision"] == "waiting"
    for state, found in (("awaiting-approval", ["awaiting-approval"]), ("running", [])):
        listed = client_of(alice).get(f"/api/v1/releases?state={state}").json()["releases"]
        assert [row["state"] for row in listed] == found


@pytest.mark.both
def test_clients_do_not_see_it_until_it_is_approved(waiting, tofu, bob):
    client = client_of(bob)
    listed = "/v1/modules/acme/vpc/aws/versions"
    assert client.get(listed).status_code == 404

    answer = decide(client, waiting, "approve")
    run_jobs()

    assert (answer.status_code, answer.json()["state"]) == (202, "received")
    assert [one["version"] for one in client.get(listed).json()["modules"][0]["versions"]] == ["1.2.0"]
    waiting.refresh_from_db()
    assert waiting.state == State.PUBLISHED
    approval = Approval.objects.get(release=waiting)
    assert (approval.decision, approval.decided_by, approval.has_second_factor) == (Decision.APPROVED, bob, False)
    assert approval.token_id is not None
    assert kinds(waiting) == ["reserved", "received", "approval-requested", "approved", "published"]


def test_declining_rejects_it_with_the_reason_and_frees_the_number(waiting, bob, acme, published, stored_files):
    assert decide(client_of(bob), waiting, "decline", reason=" \n").status_code == 422
    answer = decide(client_of(bob), waiting, "decline", reason="Its subnets\n overlap.")

    assert answer.status_code == 200
    assert answer.json()["reasons"][0]["found"] == "a release that was declined: Its subnets overlap"
    waiting.refresh_from_db()
    assert waiting.state == State.REJECTED
    assert stored_files() == []
    assert Approval.objects.get(release=waiting).decision == Decision.DECLINED
    assert kinds(waiting)[-2:] == ["declined", "rejected"]
    Namespace.objects.update(requires_approval=False)
    assert published(version="1.2.0").state == State.PUBLISHED


def test_another_digest_than_the_one_that_waits_is_refused(waiting, bob):
    answer = decide(client_of(bob), waiting, "approve", digest="sha256:" + "0" * 64)

    assert answer.status_code == 409
    assert "changed in the meantime" in answer.json()["error"]["message"]
    assert waiting.digest in answer.json()["error"]["message"]
    refused = AuditEvent.objects.get(kind="namespace:release:approval-refused")
    assert (refused.actor_id, refused.detail["why"]) == (bob.pk, "digest")
    assert decide(client_of(bob), waiting, "decline", digest="sha256:00", reason="No").status_code == 409
    waiting.refresh_from_db()
    assert waiting.state == State.AWAITING_APPROVAL


def test_other_bytes_after_the_approval_wait_again(waiting, bob):
    """The worker of a newer Larder makes another zip of the upload."""
    decide(client_of(bob), waiting, "approve")
    Approval.objects.update(digest="f" * 64)

    run_jobs()

    waiting.refresh_from_db()
    approval = Approval.objects.get(release=waiting)
    assert waiting.state == State.AWAITING_APPROVAL
    assert (approval.decision, approval.digest, approval.decided_by) == (Decision.WAITING, waiting.digest, None)
    assert decide(client_of(bob), waiting, "approve").status_code == 202
    run_jobs()
    waiting.refresh_from_db()
    assert waiting.state == State.PUBLISHED


def test_its_author_can_cancel_it_and_nobody_else(waiting, alice, bob, stored_files):
    url = f"/api/v1/releases/{waiting.public_id}/cancel"

    other = client_of(bob).post(url)
    assert other.status_code == 409
    assert "only its author" in other.json()["error"]["message"]
    assert client_of(alice).post(url).status_code == 200

    waiting.refresh_from_db()
    assert waiting.state == State.REJECTED
    assert waiting.reasons[0]["code"] == "cancelled"
    assert stored_files() == []


@pytest.mark.both
def test_a_sweep_leaves_it_for_14_days_and_then_rejects_it(waiting, stored_files):
    """It has no job, and is no orphan for that. It waits on when the namespace asks no more."""
    Namespace.objects.update(requires_approval=False)
    Approval.objects.update(until=timezone.now() + timedelta(minutes=1))
    assert sweeping.sweep() == 0

    Approval.objects.update(until=timezone.now() - timedelta(minutes=1))
    assert sweeping.sweep() == 1

    waiting.refresh_from_db()
    assert (waiting.state, waiting.reasons[0]["code"]) == (State.REJECTED, "not_approved")
    assert stored_files() == []


def test_its_staged_bytes_stay_while_others_go_after_a_day(waiting, bob):
    store.stage("f" * 32, [b"left over"])

    assert store.sweep(now=timezone.now() + timedelta(days=10)) == 1
    decide(client_of(bob), waiting, "approve")
    run_jobs()
    waiting.refresh_from_db()
    assert waiting.state == State.PUBLISHED


def test_publishing_the_same_bytes_again_is_answered_with_what_waits(waiting, alice):
    body = module_zip(comment=b"1.2.0")

    again = client_of(alice).put(f"{VERSION}?confirm=unloadable", body, content_type="application/octet-stream")

    assert (again.status_code, again.json()["state"]) == (200, "awaiting-approval")


def test_the_list_has_what_awaits_the_caller_and_not_their_own(waiting, alice, bob, dora):
    rows = client_of(bob).get("/api/v1/approvals").json()["releases"]

    assert [(row["id"], row["by"], row["digest"]) for row in rows] == [
        (str(waiting.public_id), "alice", f"sha256:{waiting.digest}")
    ]
    assert client_of(alice).get("/api/v1/approvals").json()["releases"] == []
    assert len(client_of(dora).get("/api/v1/approvals").json()["releases"]) == 1


@for_each_row(
    ("limits", "count"),
    [({}, 1), ({"only_name": "vpc/aws"}, 1), ({"only_name": "dns/aws"}, 0), ({"namespaces": ["hall"]}, 0)],
    ids=str,
)
def test_a_token_with_limits_lists_what_it_may_decide_about_alone(waiting, bob, hall, bearer, client, limits, count):
    publisher(bob, hall)
    given = {**limits, **({"namespaces": [hall]} if "namespaces" in limits else {})}
    headers = bearer(bob, Scope.PUBLISH, **given)

    assert len(client.get("/api/v1/approvals", headers=headers).json()["releases"]) == count
    decided = decide(Client(headers=headers), waiting, "approve")
    assert decided.status_code == (202 if count else 404 if "namespaces" in limits else 403)


def test_owners_set_it_and_the_audit_has_it(dora, acme, tofu):
    body = json.dumps({"requires_approval": True, "approval_needs_second_factor": True})
    answer = tofu(dora).patch("/api/v1/namespaces/acme", body, content_type="application/json")

    assert (answer.json()["requires_approval"], answer.json()["approval_needs_second_factor"]) == (True, True)
    event = AuditEvent.objects.filter(kind="namespace:namespace:changed").latest("pk")
    assert event.detail["changes"] == {
        "requires_approval": [False, True],
        "approval_needs_second_factor": [False, True],
    }


def test_a_service_account_cannot_change_the_rule(acme, bob, dora, tofu):
    machine = machine_of(team_of(bob, acme), bob)
    acme.grants.filter(team__isnull=False).update(role=3)
    service_accounts.allow_manage(account=machine, allowed=True, actor=Viewer(bob))
    ask_for_approval(acme)

    with pytest.raises(RoleRequired, match="A service account cannot change who approves releases"):
        namespaces.require_approval(
            namespace=acme, actor=Viewer(machine, ApiToken(manages_people=False)), requires_approval=False
        )

    acme.refresh_from_db()
    assert acme.requires_approval
