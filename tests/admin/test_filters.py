"""Filters read as words, and narrow by them."""

import re
from datetime import timedelta

import pytest
from django.contrib import admin
from django.utils import timezone

from apps.accounts.models import ApiToken, Invitation, User
from apps.artifacts.models import Manifest
from registry_site.templatetags.admin_lists import as_words
from tests.admin import rows
from tests.admin.lists import first, list_of
from tests.admin.releases import oci_rows
from tests.rows import for_each_row


def shown_filters(client, model):
    changelist = client.get(list_of(model)).context["cl"]
    return {
        as_words(spec.title): [one.get("display") for one in spec.choices(changelist)]
        for spec in changelist.filter_specs
    }


@pytest.mark.both
def test_tokens_invitations_and_manifests_are_filtered_by_yes_and_no(operator_client):
    rows.make(0, 3)
    oci_rows.make(0, 3)
    yesterday = timezone.now() - timedelta(days=1)
    ApiToken.objects.filter(pk=first(ApiToken).pk).update(
        revoked_at=yesterday, suspended_at=yesterday, last_used_at=yesterday, leaked_at=yesterday
    )
    Invitation.objects.filter(pk=first(Invitation).pk).update(used_at=yesterday)
    Manifest.objects.update(subject="")
    Manifest.objects.filter(pk=first(Manifest).pk).update(subject=f"sha256:{'a' * 64}")
    filters = [(ApiToken, name) for name in ("revoked", "suspended", "used", "leaked")]
    for model, name in (*filters, (Invitation, "used"), (Manifest, "attached")):
        lists = [operator_client.get(list_of(model, **{name: answer})).context["cl"] for answer in ("1", "0", "")]
        assert [one.result_count for one in lists] == [1, 2, 3], (model, name)


@pytest.mark.slow
def test_every_filter_reads_as_words(operator_client):
    """No names of fields, no "Empty": "Revoked: Yes" and not "By revoked at: Not empty"."""
    titles = set()
    for model in admin.site._registry:
        for title, choices in shown_filters(operator_client, model).items():
            titles.add(title)
            assert not {"Empty", "Not empty", "True", "False"} & set(choices), (model, title)
    assert [title for title in titles if re.search(r"_|^Is |^By | at$", title)] == []
    assert {"Revoked", "Prerelease", "Published", "Active", "Kind"} <= titles
    page = operator_client.get(list_of(User)).text
    assert '<h2 class="field__label">Active</h2>' in page
    assert "By active" not in page


@for_each_row(
    ("query", "told"),
    [
        ({}, []),
        ({"revoked": "1"}, ["Revoked: Yes"]),
        ({"person": "person1", "scope__exact": "read"}, ["Scope: read: find and download", "Person: person1"]),
    ],
)
def test_the_drawer_says_what_is_chosen(operator_client, query, told):
    rows.make(0, 2)
    page = operator_client.get(list_of(ApiToken, **query)).text

    assert re.findall(r'<span class="badge">(.*?)</span>', page.partition("data-filter-title")[2]) == told
    assert ("Clear all filters" in page) == bool(told)
