"""The lists of the admin: search by digest and address, filters, links, columns."""

import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.contrib.admin.templatetags import admin_urls
from django.template.loader import render_to_string
from django.urls import resolve, reverse
from django.utils import timezone

from apps.accounts.models import Grant, Namespace, User
from apps.admin_base.display import moment, size
from apps.artifacts.models import Collection, Manifest, Repository, Tag, UploadSession
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.modules.models import ModuleVersion
from apps.providers.models import Package, ProviderVersion
from apps.releases.models import DownloadCount, Release, SearchDoc
from apps.signing.models import SigningKey
from tests.admin import rows
from tests.admin.lists import list_of, page_of
from tests.admin.releases import oci_rows, provider_rows
from tests.admin.rows import digest_of

SELECT = re.compile(r"<select[^>]*>")
NAME = re.compile(r'name="([^"]+)"')


SOUGHT = {
    rows: [
        (Release, {"q": digest_of("stored7")[:10]}, 1),
        (Release, {"q": digest_of("uploaded7")[:10]}, 1),
        (Release, {"q": f"sha256:{digest_of('stored7')[:10]}"}, 1),
        (ModuleVersion, {"q": digest_of("stored7")[:10]}, 1),
        (ModuleVersion, {"q": digest_of("uploaded7")[:10]}, 1),
        (ModuleVersion, {"q": f"sha256:{digest_of('stored7')[:10]}"}, 1),
        (Release, {"q": "team7/vpc/aws"}, 1),
        (Release, {"q": "team7/vpc"}, 1),
        (Release, {"q": "team7 1.0.0"}, 1),
        (ModuleVersion, {"q": "team7/vpc/aws"}, 1),
        (ModuleVersion, {"q": "team7/vpc"}, 1),
        (ModuleVersion, {"q": "team7 1.0.0"}, 1),
        (Release, {"in": "team7"}, 1),
        (Release, {"state__exact": "rejected"}, 0),
        (ModuleVersion, {"in": "team7", "is_prerelease__exact": "0"}, 1),
        (ModuleVersion, {"release__lifecycle__exact": "maintained"}, 20),
        (ModuleVersion, {"release__lifecycle__exact": "yanked"}, 0),
        (ModuleVersion, {"quarantined": "1"}, 0),
        (ModuleVersion, {"quarantined": "0", "person": "person7"}, 1),
        (ModuleVersion, {"inspection": "outdated"}, 20),
        (Release, {"quarantined": "1"}, 0),
        (Release, {"lifecycle__exact": "maintained", "person": "person7"}, 1),
        (Release, {"in": "te\0am7"}, 1),
        (Grant, {"person": "person7"}, 1),
        (Grant, {"team": "crew7"}, 1),
        (DownloadCount, {"in": "team7"}, 1),
        (DownloadCount, {"q": "team7/vpc"}, 1),
        (SearchDoc, {"in": "team7", "is_listed__exact": "1"}, 1),
        (Job, {"state__exact": "failed"}, 20),
        (Job, {"q": "no-such-kind"}, 0),
        (AuditEvent, {"q": "person7"}, 1),
        (AuditEvent, {"person": "person7"}, 1),
        (AuditEvent, {"q": "team7"}, 1),
        (User, {"role": "superuser"}, 1),
        (User, {"role": "Auditor"}, 0),
    ],
    provider_rows: [
        (ProviderVersion, {"q": digest_of("sums7")[:10]}, 1),
        (ProviderVersion, {"q": digest_of("zip7arm64")[:10]}, 1),
        (ProviderVersion, {"q": f"sha256:{digest_of('sums7')}"}, 1),
        (ProviderVersion, {"q": "kitchen7/cloud"}, 1),
        (ProviderVersion, {"q": "kitchen7 1.0.0"}, 1),
        (ProviderVersion, {"q": "0000000000000007"}, 1),
        (Package, {"q": digest_of("zip7arm64")[:10]}, 1),
        (Package, {"q": f"zh:{digest_of('zip7arm64')}"}, 1),
        (Package, {"q": "kitchen7/cloud"}, 2),
        (Package, {"q": "kitchen7/cloud linux_arm64"}, 1),
        (SigningKey, {"q": "0007AAAA"}, 1),
        (SigningKey, {"q": "0x0000000000000007"}, 1),
        (SigningKey, {"q": "cook7@example.com"}, 1),
        (SigningKey, {"q": "kitchen7"}, 1),
        (ProviderVersion, {"in": "kitchen7"}, 1),
        (ProviderVersion, {"signing__exact": "registry"}, 0),
        (ProviderVersion, {"quarantined": "1"}, 0),
        (ProviderVersion, {"release__lifecycle__exact": "maintained", "person": "cook7"}, 1),
        (Package, {"in": "kitchen7", "arch": "arm64"}, 1),
        (SigningKey, {"state__exact": "active", "in": "kitchen7"}, 1),
        (SigningKey, {"expiry": "never"}, 20),
        (SigningKey, {"expiry": "soon"}, 0),
        (SigningKey, {"expiry": "over"}, 0),
    ],
    oci_rows: [
        (Repository, {"q": "depot7"}, 1),
        (Repository, {"q": "depot7/crate/aws"}, 1),
        (Repository, {"q": "crate"}, 20),
        (Manifest, {"q": digest_of("manifest7")[:10]}, 1),
        (Manifest, {"q": f"sha256:{digest_of('subject7')}"}, 1),
        (Manifest, {"q": "application/spdx+json depot7"}, 1),
        (Tag, {"q": "nightly7"}, 1),
        (Tag, {"q": "depot7/crate"}, 1),
        (UploadSession, {"q": "packer7"}, 1),
        (UploadSession, {"q": "depot7/crate/aws"}, 1),
        (Repository, {"in": "depot7", "person": "packer7"}, 1),
        (Manifest, {"in": "depot7", "person": "packer7"}, 1),
        (Manifest, {"attached": "0"}, 10),
        (Tag, {"in": "depot7", "person": "packer7"}, 1),
        (UploadSession, {"in": "depot7", "person": "packer7"}, 1),
        (UploadSession, {"coming": "1"}, 0),
        (Collection, {"is_complete__exact": "0"}, 10),
    ],
}


@pytest.mark.both
@pytest.mark.parametrize("shelf", SOUGHT, ids=["rows", "provider_rows", "oci_rows"])
def test_words_filters_and_the_begin_of_a_digest_narrow_the_list(operator_client, shelf):
    shelf.make(0, 20)
    found = [
        (model, query, operator_client.get(list_of(model, **query)).context["cl"].result_count)
        for model, query, _ in SOUGHT[shelf]
    ]

    assert found == SOUGHT[shelf]


def test_an_event_names_its_actor_and_whom_it_is_about_or_says_that_they_are_forgotten(operator_client, bob):
    rows.make(0, 1)
    AuditEvent.objects.create(kind="account:user:joined", actor_id=999_999, subject="user/999999")
    event = AuditEvent.objects.create(kind="account:user:changed", subject=f"user/{bob.pk}")
    AuditEvent.objects.create(kind="account:user:changed", subject="user/" + "9" * 40)
    page = operator_client.get(list_of(AuditEvent)).text

    assert "person0" in page
    assert "account 999999, erased" in page
    for text in (page, operator_client.get(page_of(event)).text):
        assert f"bob (user/{bob.pk})" in text


def test_the_audit_is_found_by_whom_it_is_about_and_by_address(operator_client, bob, client):
    client.post(reverse("account_login"), {"login": "bob", "password": "wrong"}, REMOTE_ADDR="198.51.100.7")
    for words in ("bob", "198.51.100.7"):
        page = operator_client.get(list_of(AuditEvent, q=words))
        assert "account:user:sign-in-failed" in page.text, words
        assert "198.51.100.7" in page.text
    assert operator_client.get(list_of(AuditEvent, q="198.51.100.8")).context["cl"].result_count == 0


@pytest.mark.slow
def test_every_list_is_sorted_by_each_of_its_columns(operator_client):
    """By a click on its head, either way; few columns cannot be: links, and what several fields make up."""
    rows.make(0, 2)
    unsorted = set()
    for model in rows.LISTED:
        listed = operator_client.get(list_of(model)).context["cl"]
        for number, column in enumerate(listed.list_display[1:], start=1):
            if listed.get_ordering_field(column) is None:
                unsorted.add(f"{model.__name__}.{getattr(column, '__name__', column)}")
            else:
                assert operator_client.get(list_of(model, o=f"-{number}")).context["cl"].result_count

    assert {one for one in unsorted if not one.endswith(".row_acts")} == {
        "Namespace.page",
        "Team.page",
        "Release.page",
        "Module.page",
        "ModuleVersion.page",
    } | {
        "Invitation.state",
        "AuditEvent.from_address",
    }


def test_times_and_sizes_are_the_portals_and_reasons_can_be_read(operator_client, published):
    published("acme/vpc/aws", "1.2.0")
    release = Release.objects.get()
    reason = {"code": "empty", "found": "an archive without files", "expected": "files", "hint": "Zip them"}
    Release.objects.update(size=12_345, reasons=[reason])
    for page in (operator_client.get(list_of(Release)), operator_client.get(page_of(release))):
        assert "<time datetime=" in page.text
        assert "12 kB" in page.text
    assert "an archive without files" in page.text
    assert "Zip them" in page.text
    alice = User.objects.get(username="alice")
    assert re.search(r"\d+ \w{3} \d{4}, \d\d:\d\d UTC</div>", operator_client.get(page_of(alice)).text)
    where = reverse("portal:module-version", args=["acme", "vpc", "aws", "1.2.0"])
    assert f'href="{where}"' in operator_client.get(list_of(ModuleVersion)).text


def test_another_row_is_chosen_by_searching_and_from_no_long_list(operator_client):
    rows.make(0, 2)
    pages = [reverse(f"admin:accounts_{model}_add") for model in ("namespace", "team", "grant", "invitation")]
    pages += [page_of(model.objects.order_by("pk").first()) for model in rows.LISTED]
    searched: set[str] = set()
    listed: set[str] = set()
    for page in pages:
        for found in SELECT.findall(operator_client.get(page).text):
            named = NAME.search(found)
            assert named is not None
            name = named[1].rpartition("-")[2]
            (searched if "admin-autocomplete" in found else listed).add(name)

    assert searched == {"namespace", "user", "team"}
    assert listed == {"role", "visibility", "breaking_changes"}


def test_a_date_hierarchy_stands_on_an_index():
    for listed in admin.site._registry.values():
        if not (path := listed.date_hierarchy):
            assert not [field for field in listed.model._meta.fields if field.name in ("created_at", "given_at", "at")]
            continue
        model = listed.model
        *through, name = path.split("__")
        for part in through:
            model = model._meta.get_field(part).related_model
        field = model._meta.get_field(name)
        leading = {fields[0].lstrip("-") for index in model._meta.indexes if (fields := index.fields)}
        assert field.db_index or name in leading, path


def test_the_cells_of_a_list_are_what_their_templates_write(operator_client):
    """They are written without them, hundreds of times a page."""
    rows.make(0, 2)
    release = Release.objects.get(namespace__name="team1")
    listed = admin.site.get_model_admin(Release)
    for days in (-400, -1, 0, 3):
        at = timezone.now() + timedelta(days=days)
        assert moment(at) == render_to_string("partials/time.html", {"at": at})
    for count in (0, 1, 999, 12_345, 7 * 10**9):
        assert size(count) == render_to_string("partials/size.html", {"size": count}).strip()
    assert (moment(None), size(None)) == ("-", "-")
    Namespace.objects.filter(pk=release.namespace_id).update(name="<\"&'")
    release.refresh_from_db()
    assert listed.action_checkbox(release) == admin.ModelAdmin.action_checkbox(listed, release)


def test_a_digest_finds_its_row_and_the_page_of_a_row_leads_back_to_the_filtered_list(operator_client, monkeypatch):
    """And that takes no look at the site's addresses for each row."""
    rows.make(0, 20)
    looked: list[str] = []

    def look(path):
        looked.append(path)
        return resolve(path)

    monkeypatch.setattr(admin_urls, "resolve", look)
    release = Release.objects.get(namespace__name="team7")
    for model in (Release, ModuleVersion):
        assert "team7/vpc/aws" in operator_client.get(list_of(model, q=release.digest[:10])).text
    for query in ({}, {"state__exact": "published", "o": "-2"}, {"q": "1.0.0", "in": "team7"}):
        listed = operator_client.get(list_of(Release, **query)).text
        back = urlencode({"_changelist_filters": urlencode(query)}) if query else ""
        assert f'<a href="{page_of(release)}{"?" if back else ""}{back}">' in listed
    assert looked == []
