"""Admin pages of mirrored registries: they show both sides, edit nothing, and their actions call the verbs."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import staff_roles
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.mirror.models import (
    Alarm,
    AlarmKind,
    AlarmState,
    KeyPin,
    KeyState,
    PolicyException,
    UnsignedAllowance,
    Upstream,
    UpstreamPackage,
    UpstreamProvider,
    UpstreamVersion,
)
from apps.contrib.mirror.records import alarms
from apps.contrib.mirror.tests.shelf import FINGERPRINT, HOST, add_package, add_upstream, add_version
from apps.jobs.models import Job
from tests.admin.lists import ask, list_of, page_of, run
from tests.cast import person
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
OTHER = "EF01" * 10
REASON = {"apply": "1", "reason": "The publisher announced it."}


@pytest.fixture
def staff(browser_of, olga) -> Client:
    return browser_of(olga)


@pytest.fixture
def upstream() -> Upstream:
    return add_upstream()


def alarm_about(upstream: Upstream) -> Alarm:
    provider = upstream.providers.first()
    pin = KeyPin.objects.create(
        upstream=upstream,
        namespace="hashicorp",
        provider=provider,
        fingerprint=OTHER,
        armor="-----BEGIN",
        state=KeyState.WAITING,
    )
    return Alarm.objects.create(
        kind=AlarmKind.KEY_CHANGED,
        upstream=upstream,
        provider=provider,
        namespace="hashicorp",
        subject=f"{pin.about} key {pin.fingerprint}",
        known={"fingerprint": FINGERPRINT},
        found={"fingerprint": OTHER},
        seen_at=timezone.now(),
    )


def told(page) -> str:
    return " ".join(str(message) for message in page.context["messages"])


def test_an_alarm_shows_both_fingerprints_and_is_accepted_once_with_a_reason(staff, upstream, olga):
    add_version(upstream)
    alarm = alarm_about(upstream)
    page = staff.get(page_of(alarm)).text
    row = page[page.index("<td>fingerprint</td>") :].partition("</tr>")[0]
    assert row.index(FINGERPRINT) < row.index(OTHER)
    asked = ask(staff, "accept", alarm).text
    assert asked.index(f"<td>fingerprint: {FINGERPRINT}</td>") < asked.index(f"<td>fingerprint: {OTHER}</td>")
    assert "From now on, Larder trusts the finding" in asked

    assert "This field is required" in ask(staff, "accept", alarm, apply="1", reason="  ").text
    alarm.refresh_from_db()
    assert alarm.state == AlarmState.OPEN

    assert "Accepted: 1." in told(run(staff, "accept", alarm, **REASON))
    alarm.refresh_from_db()
    assert (alarm.state, alarm.reason, alarm.resolved_by) == (AlarmState.ACCEPTED, REASON["reason"], olga)
    assert KeyPin.objects.get(fingerprint=OTHER).state == KeyState.TRUSTED
    assert AuditEvent.objects.filter(kind=Kind.UPSTREAM_ALARM_RESOLVED, actor_id=olga.pk).count() == 1
    assert "already accepted" in told(run(staff, "dismiss", alarm, **REASON))


def test_a_key_is_trusted_and_refused_beside_those_trusted_so_far(staff, upstream):
    add_version(upstream)
    alarm_about(upstream)
    pin = KeyPin.objects.get(fingerprint=OTHER)
    assert FINGERPRINT in ask(staff, "trust", pin).text
    run(staff, "trust", pin, **REASON)
    pin.refresh_from_db()
    assert pin.state == KeyState.TRUSTED
    assert Alarm.objects.get().state == AlarmState.ACCEPTED

    run(staff, "refuse", pin, **REASON)
    pin.refresh_from_db()
    assert pin.state == KeyState.REFUSED


@pytest.mark.both
def test_an_exception_of_a_module_is_listed_by_its_registry_exported_and_withdrawn(staff, upstream):
    row = PolicyException.objects.create(
        upstream=upstream,
        module="acme/vpc/aws",
        module_version="1.2.0",
        reason="a fix",
        expires_at=timezone.now() + timedelta(days=1),
    )
    page, about = "/admin/upstream/policyexception/", f"{upstream.host}/acme/vpc/aws 1.2.0"
    assert about in staff.get(page, {"host": upstream.host}).text
    assert about not in staff.get(page, {"host": "registry.example"}).text
    assert about in staff.get(f"{page}{row.pk}/change/").text
    exported = staff.post(page, {"action": "export_csv", "_selected_action": [row.pk]}).getvalue().decode()
    assert f"{upstream.host},acme/vpc/aws,1.2.0,a fix" in exported
    run(staff, "withdraw", row)
    row.refresh_from_db()
    assert row.withdrawn_at is not None


def test_an_allowance_is_withdrawn(staff, upstream):
    row = UnsignedAllowance.objects.create(upstream=upstream, namespace="acme", reason="they have no key")
    run(staff, "withdraw", row, **REASON)
    assert not UnsignedAllowance.objects.exists()
    assert AuditEvent.objects.get(kind=Kind.UPSTREAM_UNSIGNED_ALLOWED).detail["is_allowed"] is False


def test_registries_are_switched_sealed_and_asked_again_and_their_terms_accepted(staff, upstream):
    for action, field, value in (
        ("disable", "is_enabled", False),
        ("enable", "is_enabled", True),
        ("seal", "is_sealed", True),
        ("unseal", "is_sealed", False),
    ):
        run(staff, action, upstream)
        upstream.refresh_from_db()
        assert getattr(upstream, field) is value
    Upstream.objects.update(failures=5, open_until=timezone.now() + timedelta(hours=1))
    run(staff, "ask_again", upstream)
    upstream.refresh_from_db()
    assert (upstream.failures, upstream.open_until) == (0, None)
    assert AuditEvent.objects.filter(kind=Kind.UPSTREAM_CHANGED).count() == 5

    with_terms = add_upstream("registry.terraform.io", is_enabled=False)
    run(staff, "enable", with_terms)
    with_terms.refresh_from_db()
    assert with_terms.is_enabled
    assert with_terms.terms_accepted_at is not None


def test_a_list_is_refreshed_before_its_time_but_not_within_seconds(staff, upstream, olga):
    add_version(upstream)
    provider = UpstreamProvider.objects.get()
    assert "Its list was read at" in told(run(staff, "refresh", provider))
    UpstreamProvider.objects.update(listed_at=timezone.now() - timedelta(hours=1), retry_at=timezone.now())
    assert "Queued: 1." in told(run(staff, "refresh", provider))

    job = Job.objects.get()
    assert (job.kind, job.target, job.created_by_id) == ("fetch-upstream-list", provider.pk, olga.pk)
    run(staff, "refresh", provider)  # one is queued already
    assert Job.objects.count() == 1
    Upstream.objects.update(is_sealed=True)
    assert "offline mode" in told(run(staff, "refresh", provider))


def test_stored_bytes_are_deleted_with_a_reason_unless_pinned(staff, upstream, stored_files):
    package = add_package(add_version(upstream))
    run(staff, "pin", package.version, **REASON)
    assert "It is pinned" in told(run(staff, "evict", package, **REASON))
    run(staff, "unpin", package.version, **REASON)
    run(staff, "evict", package, **REASON)

    package.refresh_from_db()
    assert package.blob is None
    assert stored_files() == []
    assert UpstreamPackage.objects.count() == 1
    detail = AuditEvent.objects.get(kind=Kind.UPSTREAM_PACKAGES_EVICTED).detail
    assert detail["reason"] == REASON["reason"]


def test_no_page_or_export_shows_the_token(staff):
    row = add_upstream(sealed_token="sealed:hunter2")
    shown = staff.get(page_of(row)).text + staff.get(list_of(Upstream)).text
    exported = b"".join(run(staff, "export_csv", row).streaming_content).decode()

    assert "hunter2" not in shown + exported
    assert "token" in shown.lower()


def test_the_overview_has_open_alarms_with_what_can_be_done(staff, upstream):
    alarm = alarm_about(upstream)
    [found] = [line for line in staff.get(reverse("admin:index")).context["needs"] if line.title == str(alarm)]

    assert (found.tone, found.text) == ("bad", alarms.about(alarm))
    for act in ("accept", "dismiss"):
        assert f'value="{act}:{alarm.pk}" formaction="{reverse("admin:upstream_alarm_changelist")}"' in found.acts


@for_each_row(("role", "may"), [(staff_roles.OPERATOR, True), (staff_roles.AUDITOR, False)])
def test_operators_decide_and_auditors_look(browser_of, upstream, role, may):
    staff_roles.bring_up_to_date()
    sam = person("sam", is_staff=True)
    sam.groups.add(Group.objects.get(name=role))
    alarm = alarm_about(upstream)
    browser = browser_of(sam)

    assert browser.get(page_of(alarm)).status_code == 200
    run(browser, "dismiss", alarm, **REASON)
    alarm.refresh_from_db()
    assert (alarm.state == AlarmState.DISMISSED) is may


@pytest.mark.both
@for_each_row(
    "word", ["hashicorp/random", f"{HOST}/hashicorp/rand", "random", "hashicorp", HOST, "nowhere/random", "a/b/c/d"]
)
def test_addresses_find_their_providers_versions_and_packages(staff, upstream, word):
    add_package(add_version(upstream))
    add_package(add_version(add_upstream("other.example.com"), "acme/cloud"), b"other")
    wanted = 0 if word in ("nowhere/random", "a/b/c/d") else 1
    for model in (UpstreamProvider, UpstreamPackage):
        found = list(staff.get(list_of(model, q=word)).context["cl"].result_list)
        assert len(found) == wanted, model
        assert all("random" in str(row) for row in found)


@pytest.mark.both
def test_each_row_counts_what_is_its_own(staff, upstream):
    for number in range(3):
        version = add_version(upstream, version=f"3.{number}.0")
    add_package(version, b"one")
    add_package(version, b"two", arch="arm64")
    add_package(add_version(add_upstream("other.example.com"), "acme/cloud"), b"other")

    def counts(model, name: str) -> dict[str, int]:
        return {str(row): getattr(row, name) for row in staff.get(list_of(model)).context["cl"].result_list}

    assert counts(UpstreamProvider, "version_count") == {
        f"{HOST}/hashicorp/random": 3,
        "other.example.com/acme/cloud": 1,
    }
    assert sorted(counts(UpstreamVersion, "package_count").values()) == [0, 0, 1, 2]
    assert sorted(counts(KeyPin, "version_count").values()) == [1, 3]
    assert counts(Upstream, "stored_packages") == {HOST: 2, "other.example.com": 1}
