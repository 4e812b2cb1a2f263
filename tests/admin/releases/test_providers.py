"""Providers, versions, packages and keys as operators see them: listed cheaply, found by what they hold, untouched."""

from apps.providers import catalogue
from apps.providers.models import Provider, ProviderVersion
from apps.releases.models import SearchDoc
from tests.admin.lists import first, page_of, run
from tests.admin.releases import provider_rows
from tests.rows import for_each_row


@for_each_row("model", provider_rows.LISTED, ids=lambda model: model.__name__)
def test_each_row_leads_to_its_page_in_the_portal(operator_client, model):
    provider_rows.make(0, 1)
    page = operator_client.get(page_of(first(model)))
    assert operator_client.get(page.context["absolute_url"], follow=True).status_code == 200


def test_the_search_document_of_a_provider_is_rebuilt_and_goes_with_its_versions(operator_client):
    provider_rows.make(0, 1)
    provider = Provider.objects.get()
    catalogue.refresh(provider)
    Provider.objects.update(description="The kitchen's cloud.")

    assert "Rebuilt: 1." in run(operator_client, "rebuild", SearchDoc.objects.get(kind="provider")).text
    assert SearchDoc.objects.get().description == "The kitchen's cloud."
    ProviderVersion.objects.all().delete()
    run(operator_client, "rebuild", SearchDoc.objects.get())
    assert not SearchDoc.objects.exists()
