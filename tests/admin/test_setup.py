"""The setup checklist: each step is done or to do, and leads to what to do."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import staff_roles
from apps.accounts.models import GroupMapping, Team, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.audit.recorder import record
from apps.signing import fingerprints
from registry_site.admin import setup
from registry_site.startup import checks
from tests.cast import person


def state(name):
    return next((step["is_done"], step["found"]) for step in setup.steps() if step["name"] == name)


def test_each_step_leads_to_what_to_do(operator_client):
    first = operator_client.get(reverse("admin:index"))
    page = operator_client.get(reverse("admin:setup"))

    assert f"of {len(setup.STEPS)} steps are done" in first.text
    assert f'href="{reverse("admin:setup")}"' in first.text
    for step in setup.steps():
        assert f'id="{step["name"]}"' in page.text
        assert step["how"] in page.text
        assert bool(step["how"]) is not step["is_done"]


def test_mail_tls_and_sign_on_are_what_the_settings_say(db, settings):
    settings.SMTP, settings.TLS, settings.PUBLIC_URL = None, "auto", "https://larder.example"
    settings.IDENTITY_PROVIDERS = ()
    assert [state(name)[0] for name in ("mail", "tls", "single-sign-on")] == [False, False, False]

    settings.SMTP, settings.TLS = object(), "off"
    acme = SimpleNamespace(name="Acme", issuer="https://id.acme.example", new_accounts="everyone")
    settings.IDENTITY_PROVIDERS = [acme]
    assert [state(name)[0] for name in ("mail", "tls", "single-sign-on")] == [True, True, True]
    assert "Acme" in state("single-sign-on")[1]

    settings.PUBLIC_URL = "http://larder.example"
    assert state("tls") == (False, "Passwords and tokens are sent unencrypted: http://larder.example.")


def test_sign_on_is_done_once_a_group_is_mapped(operator_client, settings):
    acme = SimpleNamespace(id="acme", name="Acme", issuer="https://id.acme.example", new_accounts="groups")
    settings.IDENTITY_PROVIDERS = [acme]
    page = operator_client.get(reverse("admin:setup")).text
    assert state("single-sign-on")[0] is False
    assert "No group of Acme is mapped" in page
    assert "LARDER_SIGN_ON_FILE" not in page, "it is set"

    GroupMapping.objects.create(issuer=acme.issuer, group="ops", team=Team.objects.create(name="ops"))
    page = operator_client.get(reverse("admin:setup")).text
    assert state("single-sign-on")[0] is True
    assert "People sign in with Acme." in page
    assert "Add a sign-on group" not in page


def test_a_backup_counts_for_a_week(db):
    assert state("backup")[0] is False
    event = record(Kind.BACKUP_WRITTEN, actor_id=None, subject="backup", rows=1, blobs=1)
    assert state("backup")[0] is True
    later = timezone.now() + timedelta(days=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: later)
        assert state("backup")[0] is False
    assert AuditEvent.objects.filter(pk=event.pk).exists()


def test_a_key_beside_the_database_or_unknown_is_to_do(db, monkeypatch):
    monkeypatch.setattr(
        checks, "keys_are_apart_from_what_they_protect", lambda _: [SimpleNamespace(msg="It is beside.")]
    )
    assert state("key-encryption-key") == (False, "It is beside.")

    monkeypatch.setattr(checks, "keys_are_apart_from_what_they_protect", lambda _: [])
    assert state("key-encryption-key")[0] is False
    monkeypatch.setattr(fingerprints, "kek_place", lambda: fingerprints.KekPlace("Vault", is_answering=True))
    assert state("key-encryption-key") == (True, "It is in Vault.")


def test_a_second_operator_is_an_active_person_with_that_role(db):
    staff_roles.bring_up_to_date()
    User.objects.create_superuser("root")
    person("audrey", is_staff=True).groups.add(Group.objects.get(name="Auditor"))
    gone = person("gone", is_staff=True, is_active=False)
    gone.groups.add(Group.objects.get(name="Operator"))
    assert state("second-operator")[0] is False

    person("opal", is_staff=True).groups.add(Group.objects.get(name="Operator"))
    assert state("second-operator")[0] is True
