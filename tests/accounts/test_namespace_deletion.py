"""Deleting an empty namespace, by API, in the portal and in the admin; and who may have its name again."""

import json

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from apps.accounts import namespace_deletion
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Invitation, Namespace, Role, Visibility
from apps.accounts.people import invitations, teams
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import NotFound
from apps.modules import lifecycle, publishing
from apps.releases.models import Release, State
from apps.releases.publishing import reserving
from tests.cast import person
from tests.oci.uploading import Uploader, sha256

URL = "/api/v1/namespaces/acme"
BODY = json.dumps({"visibility": "internal", "description": "Again."})


@pytest.fixture
def put(tofu):
    return lambda user, url=URL: tofu(user).put(url, BODY, content_type="application/json")


def test_its_owner_deletes_it_and_nothing_of_it_is_seen_any_more(tofu, acme, dora, bob, browser_of):
    _, secret = invitations.invite(actor=Viewer(dora), note="Erin", namespace=acme, role=Role.READER)

    assert tofu(dora).delete(URL).status_code == 204

    assert not Namespace.objects.filter(name="acme").exists()
    assert not Grant.objects.filter(namespace=acme).exists()
    for user in (dora, bob):
        assert tofu(user).get(URL).status_code == 404
    assert tofu(dora).delete(URL).status_code == 404
    assert "acme" not in browser_of(dora).get("/").text
    assert Invitation.objects.get().revoked_at is not None
    assert browser_of(None).get(reverse("portal:invitation", args=[secret])).status_code == 404
    event = AuditEvent.objects.get(kind=Kind.NAMESPACE_DELETED)
    assert (event.actor_id, event.subject) == (dora.pk, "acme")
    assert event.detail["former_owners"] == {"users": [dora.pk], "teams": []}


@pytest.mark.both
def test_its_name_is_its_former_owners_alone(tofu, put, acme, dora, bob, charlie, olga):
    teams_owner = teams.create(name="cooks", actor=Viewer(bob))
    Grant.objects.create(namespace=acme, team=teams_owner, role=Role.OWNER)
    tofu(dora).delete(URL)

    assert put(charlie).status_code == 409
    assert put(bob).status_code == 201, "of the team that owned it"
    again = Namespace.objects.get(name="acme")
    assert (again.pk, again.visibility, again.description) == (acme.pk, Visibility.INTERNAL, "Again.")
    owners = Grant.objects.filter(namespace=again, role=Role.OWNER)
    assert {grant.grantee for grant in owners} == {dora, teams_owner}
    assert AuditEvent.objects.filter(kind=Kind.NAMESPACE_CREATED, subject="acme").get().detail["again"] is True


def test_staff_give_it_back_to_its_owners_and_to_nobody_else(tofu, put, acme, dora, olga):
    tofu(dora).delete(URL)
    assert put(olga).status_code == 201
    assert [grant.user for grant in Grant.objects.filter(namespace=acme)] == [dora]

    tofu(dora).delete(URL)
    dora.is_active = False
    dora.save()
    assert put(olga).status_code == 409


def test_what_holds_anything_is_not_deleted(tofu, acme, dora, alice, published, browser_of):
    published()
    refused = tofu(dora).delete(URL)
    page = browser_of(dora).post(reverse("portal:namespace-delete", args=["acme"]))

    assert (refused.status_code, page.status_code) == (409, 409)
    assert "it contains 1 version" in refused.json()["error"]["message"]
    assert Namespace.objects.filter(name="acme").exists()
    assert not AuditEvent.objects.filter(kind=Kind.NAMESPACE_DELETED).exists()


def test_neither_is_what_something_is_on_its_way_to_or_what_was_pushed_over_oci(tofu, acme, dora, alice):
    Uploader(tofu(alice), "acme/vpc/aws").push(b"a layer", sha256(b"a layer"))
    assert "OCI" in tofu(dora).delete(URL).json()["error"]["message"]

    publishing.reserve_release(viewer=Viewer(alice), address=ModuleAddress("acme", "vpc", "aws"), version="1.0.0")
    assert "1 version" in tofu(dora).delete(URL).json()["error"]["message"]


def test_purged_numbers_stay_taken_when_it_comes_back(tofu, put, acme, dora, olga, alice, published):
    release = published()
    vpc = ModuleAddress("acme", "vpc", "aws")
    lifecycle.purge(viewer=Viewer(olga), address=vpc, version="1.2.0", reason="A key.", confirm=str(release))
    assert tofu(dora).delete(URL).status_code == 204
    assert put(dora).status_code == 201

    again = tofu(dora).put("/api/v1/modules/acme/vpc/aws/1.2.0", b"PK", content_type="application/zip")
    assert (again.status_code, Release.objects.get(pk=release.pk).state) == (409, State.PURGED)


def test_who_publishes_meanwhile_finds_it_gone(acme, dora, alice):
    """The gate let them in before; the reservation looks under the namespace's lock."""
    held = publishing.authorise_coordinate(Viewer(alice), ModuleAddress("acme", "vpc", "aws"), "1.0.0")
    namespace_deletion.delete(namespace=acme, actor=Viewer(dora))

    with pytest.raises(NotFound, match="was deleted"):
        reserving.reserve(coordinate=held, viewer=Viewer(alice), file_name="", provenance={})
    assert not Release.objects.exists()


def test_the_portal_asks_first(browser_of, acme, dora):
    url, browser = reverse("portal:namespace-delete", args=["acme"]), browser_of(dora)

    assert url in browser.get(reverse("portal:namespace-change", args=["acme"])).text
    assert "The name stays reserved" in browser.get(url).text
    assert Namespace.objects.filter(name="acme").exists()
    assert browser.post(url).status_code == 303
    assert not Namespace.objects.filter(name="acme").exists()


def test_in_the_admin_it_has_its_permission(browser_of, tofu, acme, pantry, olga):
    sam = person("sam", is_staff=True)
    sam.user_permissions.add(Permission.objects.get(codename="view_namespace"))
    url = reverse("admin:accounts_namespace_changelist")
    told = {"action": "delete_empty", "_selected_action": [acme.pk, pantry.pk]}

    browser_of(sam).post(url, told)
    assert tofu(sam).delete(URL).status_code == 403
    assert Namespace.objects.count() == 2
    page = browser_of(olga).post(url, told, follow=True).text
    assert "Deleted: 2." in page
    assert Namespace.objects.count() == 0
