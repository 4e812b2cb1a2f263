"""The acts on providers' versions in the admin: each by a page that asks, or at once where a worker does it."""

import pytest
from django.utils import timezone

from apps.jobs.models import Job
from apps.providers.models import ProviderVersion
from apps.releases.models import Release
from apps.signing.models import PrivateKey
from tests import pages
from tests.admin.lists import list_of, page_of, run
from tests.portal.providers.rows import provider_version, row_of_key


@pytest.fixture
def versions(acme, alice):
    key = row_of_key(acme, 1, custody="registry")
    return [provider_version(acme, "dns", number, key=key, user=alice) for number in ("1.0.0", "1.1.0")]


def test_stored_bytes_are_verified_and_damage_is_loud(operator_client, versions, olga):
    assert "Queued: 2." in run(operator_client, "verify", *versions).text
    assert set(Job.objects.filter(kind="verify-provider").values_list("target", flat=True)) == {
        row.release_id for row in versions
    }
    assert "is already being verified" in run(operator_client, "verify", versions[0]).text
    finding = {"name": "dns.zip", "digest": "a" * 64, "outcome": "damaged", "found": "b" * 64}
    rows = Release.objects.filter(pk=versions[0].release_id)
    rows.update(verified_at=timezone.now(), verified_as="damaged", verified_findings=[finding])

    assert operator_client.get(list_of(ProviderVersion)).text.count('badge--bad">damaged') == 1
    assert operator_client.get(list_of(ProviderVersion, verified="unsound")).context["cl"].result_count == 1
    assert f"dns.zip is damaged: {'b' * 64}" in operator_client.get(page_of(versions[0])).text
    assert "not since it was published" in operator_client.get(page_of(versions[1])).text


def test_versions_are_signed_anew_or_it_says_why_not(operator_client, versions, acme):
    assert "acme has no active key in this registry" in run(operator_client, "resign", versions[0]).text
    newer = row_of_key(acme, 2, custody="registry")
    PrivateKey.objects.create(key=newer, nonce=b"n", ciphertext=b"c", kek_id="k")
    theirs = provider_version(acme, "mail", "1.0.0", key=row_of_key(acme, 3))
    page = run(operator_client, "resign", *versions, theirs).text

    assert "Queued: 2." in page
    assert "acme/mail 1.0.0 is signed by its publisher" in page
    assert Job.objects.filter(kind="resign-provider").count() == 2


def test_a_page_of_twenty_costs_as_much_as_one_of_two(operator_client, versions, acme, alice):
    costs = []
    for numbers in ((), range(2, 20)):
        for number in numbers:
            provider_version(acme, "dns", f"1.{number}.0", key=versions[0].key, user=alice)
        costs.append(pages.queries_of(operator_client, list_of(ProviderVersion)))

    assert costs[0] == costs[1] <= 12
