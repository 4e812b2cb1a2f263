"""Quotas of a namespace: enforced before a body is read and again when it is accepted, races included."""

from typing import Any

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace
from apps.audit.models import AuditEvent
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Invalid, RoleRequired
from apps.modules import publishing
from apps.releases.models import Release, State
from apps.releases.publishing import quotas
from tests.api.conftest import Untouchable
from tests.builders.archives import module_zip
from tests.rows import for_each_row
from tests.threads import at_once

ADDRESS = ModuleAddress.parse("acme/vpc/aws")
ARCHIVE = module_zip(comment=b"-" * 20)


def set_quota(**quota):
    Namespace.objects.filter(name="acme").update(**quota)


def publish(alice, version, data=ARCHIVE):
    return publishing.publish(viewer=Viewer(alice), address=ADDRESS, version=version, open_body=lambda: iter([data]))


def upload(tofu, alice, version, data=ARCHIVE, **more):
    url = f"/api/v1/modules/acme/vpc/aws/{version}"
    return tofu(alice).generic("PUT", url, data, content_type="application/zip", **more)


UNREAD = {"wsgi.input": Untouchable(), "CONTENT_LENGTH": "1000"}


def test_without_a_quota_nothing_is_counted(acme, django_assert_num_queries):
    with django_assert_num_queries(1):
        quotas.check(acme, more_bytes=10**15, more_versions=10**6)


@for_each_row(
    ("setting", "own", "fits"),
    [(0, None, True), (5, None, False), (5, 0, True), (0, 5, False), (5, 10**6, True), (10**6, 5, False)],
)
@for_each_row("kind", ["BYTES", "VERSIONS"])
def test_the_namespaces_own_number_goes_before_the_registrys(acme, settings, kind, setting, own, fits):
    setattr(settings, f"NAMESPACE_MAX_{kind}", setting)
    set_quota(**{f"quota_{kind.lower()}": own})
    more: dict[str, Any] = {f"more_{kind.lower()}": 6}
    try:
        quotas.check(acme, **more)
    except quotas.QuotaFull:
        assert not fits
    else:
        assert fits


@pytest.mark.both
def test_what_is_stored_and_what_is_on_its_way_counts(acme, published, alice, tofu):
    stored = published("acme/vpc/aws", "1.0.0")
    upload(tofu, alice, "1.1.0")  # received, not checked yet
    rejected = published("acme/vpc/aws", "2.0.0", data=b"no zip")
    assert rejected.state == State.REJECTED

    used = quotas.usage(acme)

    assert (used.bytes, used.versions) == (stored.size + len(ARCHIVE), 2)


def test_a_tombstone_takes_no_room_and_keeps_its_number(acme, published, alice, tofu):
    published("acme/vpc/aws", "1.0.0")
    set_quota(quota_versions=1)
    assert upload(tofu, alice, "1.1.0").status_code == 413
    Release.objects.update(state=State.PURGED)

    assert quotas.usage(Namespace.objects.get(name="acme")) == quotas.Usage(0, 0, 0, 1)
    assert upload(tofu, alice, "1.1.0").status_code == 202
    assert upload(tofu, alice, "1.0.0").status_code in (409, 410)


def test_a_full_namespace_is_refused_before_the_body_is_read(acme, published, alice, tofu):
    used = published("acme/vpc/aws", "1.0.0").size
    full = {
        f"its quota is {used:,} bytes, {used:,} are used": {"quota_bytes": used},
        "its quota is 1 version, and it has 1": {"quota_bytes": None, "quota_versions": 1},
    }
    for words, quota in full.items():
        set_quota(**quota)
        answer = upload(tofu, alice, "1.1.0", **UNREAD)
        assert answer.status_code == 413
        assert words in answer.json()["error"]["message"]
        assert "staff" in answer.json()["error"]["hint"]
        assert not Release.objects.filter(version="1.1.0").exists(), "no reservation is left"


def test_what_does_not_fit_is_refused_on_arrival_and_leaves_nothing(acme, alice, tofu, work, stored_files):
    set_quota(quota_bytes=len(ARCHIVE) - 1)

    answer = upload(tofu, alice, "1.0.0")

    assert answer.status_code == 413
    assert f"and this one has {len(ARCHIVE):,}" in answer.json()["error"]["message"]
    release = Release.objects.get()
    assert (release.state, release.reasons[0]["code"]) == (State.REJECTED, "quota_full")
    assert stored_files() == []
    set_quota(quota_bytes=len(ARCHIVE))
    assert upload(tofu, alice, "1.0.0").status_code == 202, "the number is free, and the last byte may be used"
    work()
    set_quota(quota_versions=1, quota_bytes=1)
    assert upload(tofu, alice, "1.0.0").status_code == 200, "the same bytes again are welcome"


def test_the_publish_form_says_that_it_is_full(acme, alice, browser_of):
    set_quota(quota_versions=1)
    form = {"module": "new", "namespace": "acme", "name": "vpc", "system": "aws", "version": "1.0.0"}
    browser = browser_of(alice)
    assert browser.post("/publish", form).status_code == 303

    page = browser.post("/publish", {**form, "version": "1.1.0"})

    assert page.status_code == 413
    assert "its quota is 1 version" in page.text


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
@for_each_row("quota", [{"quota_bytes": 2 * len(ARCHIVE) + 1}, {"quota_versions": 2}])
def test_of_six_uploads_at_once_only_those_that_fit_get_in(acme, alice, quota):
    set_quota(**quota)

    results = at_once(*(lambda n=n: publish(alice, f"1.{n}.0") for n in range(6)))

    assert [type(result) for result in results].count(quotas.QuotaFull) == 4
    used = quotas.usage(acme)
    assert (used.versions, used.bytes) == (2, 2 * len(ARCHIVE))


# --- Setting them ----------------------------------------------------------------------------------------------------


def test_staff_set_them_and_leave_a_row(acme, dora, olga):
    with pytest.raises(RoleRequired, match="Only operators set the quotas"):
        namespaces.set_quotas(namespace=acme, actor=Viewer(dora), quota_bytes=10**12)
    namespaces.set_quotas(namespace=acme, actor=Viewer(olga), quota_bytes=10, quota_versions=None)
    namespaces.set_quotas(namespace=acme, actor=Viewer(olga), quota_versions=3)
    namespaces.set_quotas(namespace=acme, actor=Viewer(olga), quota_versions=3)

    acme.refresh_from_db()
    assert (acme.quota_bytes, acme.quota_versions) == (10, 3)
    rows = AuditEvent.objects.filter(kind="namespace:quota:changed").order_by("pk")
    assert [row.detail for row in rows] == [
        {"changes": {"quota_bytes": [None, 10]}},
        {"changes": {"quota_versions": [None, 3]}},
    ]


@for_each_row("quota", [{"quota_bytes": -1}, {"quota_bytes": 2**63}, {"quota_versions": 2**31}, {"x": 1}])
def test_numbers_that_no_column_holds_are_refused(acme, olga, quota):
    with pytest.raises(Invalid):
        namespaces.set_quotas(namespace=acme, actor=Viewer(olga), **quota)
