"""Sealed mirrors, the limit of what clients have fetched, what is counted, and what an answer costs."""

import pytest
from django.core.cache import cache

from apps.jobs.models import Job
from apps.lib.settings_values.rates import Rate
from apps.upstream import uses
from apps.upstream.models import Upstream, UpstreamPackage
from apps.upstream.working import LIST, PACKAGE, VERSION
from tests.upstream.serving import edge, edge_of, index_url, package_url, said, tool, version_url

__all__ = ["edge", "edge_of", "tool"]


def test_a_sealed_mirror_lists_what_it_has_and_fetches_nothing(upstream, registry, tool, edge):
    edge.zip(upstream)
    Upstream.objects.update(is_sealed=True)
    asked = registry.count("*")

    assert edge.versions(upstream) == ["1.0.0"]
    assert list(edge.archives(upstream)) == ["linux_amd64"]
    assert edge.zip(upstream) == tool.zip("1.0.0")
    for url in (version_url(upstream, "1.1.0"), package_url(upstream, platform="darwin_arm64")):
        answer = edge.get(url)
        assert answer.status_code in (403, 409)
        assert "sealed" in said(answer)
    assert edge.get(index_url(upstream, "acme/other")).status_code == 404
    assert registry.count("*") == asked


def test_what_a_client_has_fetched_is_limited_and_counts_once_for_a_request(upstream, edge, edge_of, settings):
    settings.RATES = settings.RATES | {"fetch": Rate.parse("2/h")}
    edge.zip(upstream)  # two requests: list and record, and the package
    refused = edge.get(version_url(upstream, "1.1.0"))

    assert (refused.status_code, "fetch" in said(refused)) == (429, True)
    assert edge.versions(upstream)
    assert edge.zip(upstream)
    assert Job.objects.filter(kind__in=[LIST, VERSION, PACKAGE]).count() == 3


@pytest.mark.both
def test_fetches_are_counted_behind_the_answer(upstream, edge):
    uses.flush()  # those of other tests
    url = edge.archives(upstream)["linux_amd64"]["url"]
    for method in ("GET", "GET", "HEAD"):
        edge.get(url, method=method)
    row = UpstreamPackage.objects.get(os="linux")
    assert row.used_at is None

    assert uses.flush() == 2
    row.refresh_from_db()
    assert row.uses == 2
    assert row.used_at is not None


def test_documents_cost_the_same_at_any_length(upstream, tool, edge, django_assert_max_num_queries):
    tool.versions += [f"3.{number}.0" for number in range(40)]
    edge.versions(upstream)
    edge.zip(upstream)
    for url in (index_url(upstream), version_url(upstream), package_url(upstream)):
        with django_assert_max_num_queries(11):
            assert edge.get(url).status_code == 200


def test_who_fetched_a_package_is_who_asked_for_its_document_although_clients_send_no_token_for_it(
    upstream, edge, edge_of, alice
):
    cache.clear()
    archives = edge_of(alice).archives(upstream)
    edge.get(archives["linux_amd64"]["url"])
    edge.get(package_url(upstream, "1.1.0"))

    by = dict(UpstreamPackage.objects.exclude(blob=None).values_list("version__version", "fetched_by"))
    assert by == {"1.0.0": alice.pk, "1.1.0": None}
