"""Providers, versions, packages and keys as operators see them: listed cheaply, found by what they hold, untouched."""

import pytest

from apps.providers import catalogue
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.models import SearchDoc
from apps.signing.models import SigningKey
from tests.admin.lists import first, list_of, page_of
from tests.admin.releases import provider_rows
from tests.admin.rows import digest_of


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
def test_a_row_is_found_by_what_it_holds(operator_client, model, words, count):
    provider_rows.make(0, 20)
    assert operator_client.get(list_of(model, q=words)).context["cl"].result_count == count


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
def test_filters_narrow_the_list(operator_client, model, query, count):
    provider_rows.make(0, 20)
    assert operator_client.get(list_of(model, **query)).context["cl"].result_count == count


@pytest.mark.parametrize("model", provider_rows.LISTED, ids=lambda model: model.__name__)
def test_each_row_leads_to_its_page_in_the_portal(operator_client, model):
    provider_rows.make(0, 1)
    page = operator_client.get(page_of(first(model)))
    assert operator_client.get(page.context["absolute_url"], follow=True).status_code == 200


def test_the_search_document_of_a_provider_is_rebuilt(operator_client):
    provider_rows.make(0, 1)
    provider = Provider.objects.get()
    catalogue.refresh(provider)
    Provider.objects.update(description="The kitchen's cloud.")
    chosen = {"action": "rebuild", "_selected_action": SearchDoc.objects.get(kind="provider").pk}

    assert "Rebuilt: 1." in operator_client.post(list_of(SearchDoc), chosen, follow=True).text
    assert SearchDoc.objects.get().description == "The kitchen's cloud."


def test_the_search_document_of_what_is_gone_goes_too(operator_client):
    provider_rows.make(0, 1)
    catalogue.refresh(Provider.objects.get())
    ProviderVersion.objects.all().delete()
    chosen = {"action": "rebuild", "_selected_action": SearchDoc.objects.get().pk}

    operator_client.post(list_of(SearchDoc), chosen)

    assert not SearchDoc.objects.exists()
