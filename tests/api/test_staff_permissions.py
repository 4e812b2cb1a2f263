"""Staff need one permission for each action, in the API, the portal and the admin alike."""

import json

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from apps.accounts.models import Grant, Role
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.releases.models import Release, State
from tests.cast import person
from tests.rows import for_each_row

pytestmark = pytest.mark.usefixtures("shelf")

URL = "/api/v1/modules/acme/vpc/aws/1.2.0"
ACTS = ["deprecate", "yank", "quarantine", "restore", "purge", "verify"]
# What else staff may, with its permission: method, address and body.
CALLS = {
    "accounts.change_namespace": [("patch", "namespaces/acme", {"quota_versions": 3})],
    "accounts.view_user": [("get", "users", {}), ("get", "users/alice", {})],
    "accounts.change_user": [("patch", "users/alice", {"active": True}), ("delete", "users/alice/sessions", {})],
    "accounts.view_apitoken": [("get", "users/alice/tokens", {})],
    "accounts.revoke_apitoken": [("delete", "users/alice/tokens", {})],
    "jobs.view_job": [("get", "jobs", {})],
    "jobs.retry_job": [("post", "jobs/{job}/retry", {})],
    "jobs.cancel_job": [("post", "jobs/{job}/cancel", {})],
}
PLACE = {"namespace": "acme", "name": "vpc", "system": "aws", "version": "1.2.0"}


@pytest.fixture
def sam(db):
    """Staff, with no permission yet."""
    return person("sam", is_staff=True)


@pytest.fixture
def post(tofu):
    def send(user, act):
        told = {"reason": "No."} | ({"confirm": "acme/vpc/aws 1.2.0"} if act == "purge" else {})
        return tofu(user).post(f"{URL}/{act}", json.dumps(told), content_type="application/json")

    return send


def allow(user, *acts):
    user.user_permissions.add(*Permission.objects.filter(codename__in=[f"{act}_release" for act in acts]))


@for_each_row("act", ACTS)
def test_staff_without_the_permission_are_refused_by_api(published, post, sam, act):
    release = published()
    if act == "restore":
        Release.objects.filter(pk=release.pk).update(lifecycle="deprecated")
    allow(sam, *(other for other in ACTS if other != act))

    answer = post(sam, act)

    assert answer.status_code == 403
    name = Permission.objects.get(codename=f"{act}_release").name
    assert f'"{name}"' in answer.json()["error"]["message"]
    refused = AuditEvent.objects.get(kind=Kind.PERMISSION_REFUSED)
    assert (refused.detail["needed"], refused.detail["held"]) == (f"releases.{act}_release", "staff")
    allow(sam, act)
    assert post(sam, act).status_code in (200, 202)


def test_staff_without_the_permission_are_refused_in_the_portal(published, browser_of, sam):
    published()
    sam.user_permissions.add(Permission.objects.get(codename="operate_namespace"))
    browser, purge = browser_of(sam), reverse("portal:module-purge", kwargs=PLACE)
    page = reverse("portal:module-lifecycle", kwargs=PLACE)

    assert browser.get(purge).status_code == 403
    told = {"reason": "No.", "confirm": "acme/vpc/aws 1.2.0"}
    assert browser.post(purge, told).status_code == 403
    assert browser.post(page, {"act": "quarantine", "reason": "No."}).status_code == 403
    assert purge not in browser.get(page).text
    assert not Release.objects.filter(state=State.PURGED).exists()
    allow(sam, "purge")
    assert purge in browser_of(sam).get(page).text
    assert browser_of(sam).post(purge, told).status_code == 303


def test_a_role_of_their_own_is_enough_for_what_its_holders_may(published, post, acme, sam):
    published()
    Grant.objects.create(namespace=acme, user=sam, role=Role.OWNER)

    assert post(sam, "yank").status_code == 200
    assert post(sam, "restore").status_code == 200
    assert post(sam, "purge").status_code == 403


@pytest.mark.both
def test_each_call_needs_its_own_permission(published, tofu, sam):
    job = Job.objects.create(kind="verify-release", target=published().pk, state="failed")

    def answers(calls):
        for method, place, body in calls:
            more = {"data": json.dumps(body), "content_type": "application/json"} if body else {}
            yield getattr(tofu(sam), method)(f"/api/v1/{place.format(job=job.pk)}", **more)

    for permission, calls in CALLS.items():
        asked = Permission.objects.get(codename=permission.partition(".")[2])
        for refused in answers(calls):
            assert refused.status_code == 403
            assert f'"{asked.name}"' in refused.json()["error"]["message"]
        sam.user_permissions.add(asked)
        assert {answer.status_code for answer in answers(calls)} <= {200, 204}, permission
