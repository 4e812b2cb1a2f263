"""Providers, versions, packages and keys as operators see them: listed cheaply, found by what they hold, untouched."""

import pytest
from django.forms.models import model_to_dict
from django.urls import reverse

from apps.audit.models import AuditEvent
from apps.providers.models import Package, ProviderVersion
from apps.signing.models import SigningKey
from tests.admin import provider_rows
from tests.admin.rows import digest_of
from tests.admin.test_export import export
from tests.admin.test_lists import list_of, page_of, queries_of
from tests.admin.test_read_only import name_of


def first(model):
    return model.objects.order_by("pk").first()


def test_500_rows_cost_as_many_queries_as_5(desk):
    provider_rows.make(0, 5)
    desk.get(reverse("admin:index"))
    few = {model.__name__: queries_of(desk, list_of(model)) for model in provider_rows.LISTED}
    provider_rows.make(5, 500)
    many = {model.__name__: queries_of(desk, list_of(model)) for model in provider_rows.LISTED}

    assert many == few
    assert max(many.values()) <= 12


def test_a_page_of_one_row_costs_the_same_beside_500(desk):
    provider_rows.make(0, 5)
    pages = {model.__name__: page_of(first(model)) for model in provider_rows.LISTED}
    for page in pages.values():
        desk.get(page)  # Django remembers the content type of each model
    few = {name: queries_of(desk, page) for name, page in pages.items()}
    provider_rows.make(5, 500)

    assert {name: queries_of(desk, page) for name, page in pages.items()} == few
    assert max(few.values()) <= 12


@pytest.mark.parametrize(
    ("model", "words", "count"),
    [
        (ProviderVersion, digest_of("sums7")[:10], 1),
        (ProviderVersion, digest_of("zip7arm64")[:10], 1),
        (ProviderVersion, f"sha256:{digest_of('sums7')}", 1),
        (ProviderVersion, "kitchen7/cloud", 1),
        (ProviderVersion, "kitchen7 1.0.0", 1),
        (ProviderVersion, "0000000000000007", 1),
        (Package, digest_of("zip7arm64")[:10], 1),
        (Package, f"zh:{digest_of('zip7arm64')}", 1),
        (Package, "kitchen7/cloud", 2),
        (Package, "kitchen7/cloud linux_arm64", 1),
        (SigningKey, "0007AAAA", 1),
        (SigningKey, "0x0000000000000007", 1),
        (SigningKey, "cook7@example.com", 1),
        (SigningKey, "kitchen7", 1),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value)[:20],
)
def test_a_row_is_found_by_what_it_holds(desk, model, words, count):
    provider_rows.make(0, 20)
    assert desk.get(list_of(model, q=words)).context["cl"].result_count == count


@pytest.mark.parametrize(
    ("model", "query", "count"),
    [
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
    ids=lambda value: value.__name__ if isinstance(value, type) else "-".join(value) if isinstance(value, dict) else "",
)
def test_filters_narrow_the_list(desk, model, query, count):
    provider_rows.make(0, 20)
    assert desk.get(list_of(model, **query)).context["cl"].result_count == count


@pytest.mark.parametrize("model", provider_rows.LISTED, ids=lambda model: model.__name__)
def test_nothing_that_is_posted_changes_anything(desk, model):
    provider_rows.make(0, 1)
    row = first(model)
    before, events = model_to_dict(row), AuditEvent.objects.count()
    page = desk.get(page_of(row))
    posted = {field.name: "0" * 40 for field in model._meta.fields if field.editable}

    assert page.context["adminform"].form.fields == {}
    assert desk.post(page_of(row), posted).status_code == 403
    assert desk.post(reverse(f"{name_of(model)}_add"), posted).status_code == 403
    assert desk.post(reverse(f"{name_of(model)}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert model_to_dict(first(model)) == before
    assert AuditEvent.objects.count() == events


@pytest.mark.parametrize("model", provider_rows.LISTED, ids=lambda model: model.__name__)
def test_every_list_offers_its_rows(desk, model):
    provider_rows.make(0, 3)
    (head, *lines), _ = export(desk, model, first(model), everything=True)

    assert len(lines) == model.objects.count()
    assert {len(line) for line in lines} == {len(head)}
    assert head[0].endswith("namespace name")


@pytest.mark.parametrize("model", provider_rows.LISTED, ids=lambda model: model.__name__)
def test_each_row_leads_to_its_page_in_the_portal(desk, model):
    provider_rows.make(0, 1)
    page = desk.get(page_of(first(model)))
    assert desk.get(page.context["absolute_url"], follow=True).status_code == 200
