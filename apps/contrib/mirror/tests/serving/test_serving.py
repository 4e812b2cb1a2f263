"""From a client's request by the network mirror to the registry and back: who sees what, and what it may cost."""

import hashlib
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Visibility
from apps.audit import generation
from apps.contrib.mirror import traffic
from apps.contrib.mirror.models import Effect, PolicyRule, Upstream, UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.serving import usage_counts
from apps.contrib.mirror.serving.fetch_jobs import LIST, PACKAGE, VERSION
from apps.contrib.mirror.tests import fetched
from apps.contrib.mirror.tests.edge_client import (
    TERRAFORM,
    Edge,
    body_of,
    edge,
    edge_of,
    index_url,
    package_url,
    said,
    tool,
    version_url,
)
from apps.contrib.mirror.traffic import Exchange
from apps.http.ready import ready_of
from apps.jobs.models import Job
from apps.lib.settings_values.rates import Rate
from tests.builders import faults

__all__ = ["edge", "edge_of", "tool"]


def rule(upstream: Upstream, effect: Effect, pattern: str = "*", **more) -> PolicyRule:
    position = PolicyRule.objects.filter(upstream=upstream).count() + 1
    return PolicyRule.objects.create(upstream=upstream, effect=effect, pattern=pattern, position=position, **more)


@pytest.mark.both
def test_a_client_installs_what_nobody_had_fetched(upstream, registry, tool, edge):
    assert edge.versions(upstream) == ["2.0.0-beta.1", "1.1.0", "1.0.0"]
    archives = edge.archives(upstream, "1.1.0")
    assert sorted(archives) == ["darwin_arm64", "linux_amd64"]
    zipped = tool.zip("1.1.0", "linux_amd64")
    assert archives["linux_amd64"]["hashes"] == [f"zh:{hashlib.sha256(zipped).hexdigest()}"]
    answer = edge.get(archives["linux_amd64"]["url"])
    assert body_of(answer) == zipped
    assert edge.waited == 3
    row = UpstreamPackage.objects.get(os="linux", version__version="1.1.0")
    assert edge.archives(upstream, "1.1.0")["linux_amd64"]["hashes"] == [row.h1, row.zh]


def test_what_was_fetched_is_answered_without_the_registry(upstream, registry, tool, edge):
    edge.versions(upstream)
    zipped = edge.zip(upstream)
    registry.stop()
    fetched.stale(upstream.providers.get(), hours=1)
    before = edge.waited

    assert edge.zip(upstream) == zipped
    assert edge.waited == before
    assert len(edge.versions(upstream)) == 3
    registry.start()


def test_a_server_that_cannot_wait_answers_503_and_the_bytes_are_there_on_retry(upstream, registry, tool, edge, tofu):
    url = edge.archives(upstream)["linux_amd64"]["url"]
    for _ in range(2):
        answer = tofu().get(url)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert upstream.host in said(answer)
    fetched.work()
    assert body_of(tofu().get(url)) == tool.zip("1.0.0")
    assert registry.count(tool.zip_path("1.0.0")) == 1

    # A HEAD waits as well: Terraform sends it first.
    url = edge.archives(upstream, "1.1.0")["linux_amd64"]["url"]
    head = edge.get(url, method="HEAD")
    assert (head.status_code, head.headers["Content-Length"]) == (200, str(len(tool.zip("1.1.0"))))


def test_a_registry_that_fails_is_named_with_its_url_and_status(upstream, registry, tool, edge):
    registry.misbehave(tool.list_path, faults.says(500))

    answer = edge.get(index_url(upstream))

    assert answer.status_code == 503
    assert registry.url + tool.list_path in said(answer)
    assert "500" in said(answer)


def test_d8_what_the_registry_does_not_have_is_not_here(upstream, edge):
    for path in ("acme/nothing", "nobody/tool"):
        assert edge.get(index_url(upstream, path)).status_code == 404
        assert edge.archives(upstream, address=path) == {}
    for number in ("9.9.9", "1.0", "nonsense"):
        assert edge.get(version_url(upstream, number)).status_code == 404
        assert edge.get(package_url(upstream, number)).status_code == 404


def test_a_switched_off_registry_is_unknown(upstream, edge):
    edge.zip(upstream)
    url = package_url(upstream)
    Upstream.objects.update(is_enabled=False)

    assert edge.get(index_url(upstream)).status_code == 404
    assert edge.archives(upstream) == {}
    assert edge.get(url).status_code == 401  # as for any host that nobody mirrors


# --- Who sees it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("visibility", "who", "sees"),
    [
        (Visibility.INTERNAL, None, False),
        (Visibility.INTERNAL, "charlie", True),
        (Visibility.PRIVATE, "charlie", False),
        (Visibility.PRIVATE, "olga", True),
    ],
)
def test_d8_visibility(request, upstream, tool, edge_of, visibility, who, sees):
    upstream.visibility = visibility
    upstream.save()
    edge = edge_of(request.getfixturevalue(who) if who else None)

    assert (edge.get(index_url(upstream)).status_code == 200) is sees
    archives = edge.archives(upstream)
    assert bool(archives) is sees
    assert not sees or body_of(Edge({}).get(archives["linux_amd64"]["url"])) == tool.zip("1.0.0")
    assert Client().get(package_url(upstream)).status_code == 401


def test_a_link_opens_nothing_that_was_switched_off_or_is_refused_since(upstream, edge_of, charlie):
    upstream.visibility = Visibility.INTERNAL
    upstream.save()
    url = edge_of(charlie).archives(upstream)["linux_amd64"]["url"]
    assert Edge({}).get(url).status_code == 200
    rule(upstream, Effect.DENY)
    refused = Edge({}).get(url)
    assert (refused.status_code, "rule 1" in said(refused)) == (403, True)
    PolicyRule.objects.all().delete()
    Upstream.objects.update(is_enabled=False)
    assert Edge({}).get(url).status_code == 403


def test_a_registry_whose_terms_allow_terraform_alone_serves_nobody_else(upstream, tool, edge_of):
    upstream.terraform_only = True
    upstream.save()
    terraform, tofu = edge_of(agent=TERRAFORM), edge_of()

    assert terraform.zip(upstream) == tool.zip("1.0.0")
    assert "Terraform alone" in said(tofu.get(index_url(upstream)))
    assert tofu.archives(upstream) == {}
    assert tofu.get(package_url(upstream)).status_code == 404
    ready = ready_of(terraform.get(index_url(upstream)))
    assert ready is None or ready.seconds <= 0  # who asks by another name must not get this answer


# --- Policy -------------------------------------------------------------------------------------------------------


def hold_back(number: str = "1.1.0") -> None:
    UpstreamVersion.objects.filter(version=number).update(
        published_at=timezone.now() - timedelta(days=1), was_in_first_list=False
    )


def test_what_is_held_back_is_absent_from_lists_and_refused_with_rule_and_date(upstream, registry, tool, edge):
    edge.zip(upstream, "1.1.0")
    rule(upstream, Effect.COOL_DOWN, "acme/*", days=7)
    hold_back()
    day = f"{timezone.now() + timedelta(days=6):%Y-%m-%d}"

    assert edge.versions(upstream) == ["1.0.0"]
    document, package = edge.get(version_url(upstream, "1.1.0")), edge.get(package_url(upstream, "1.1.0"))
    assert (document.status_code, package.status_code) == (409, 403)
    for answer in (document, package):
        assert "rule 1" in said(answer)
        assert day in said(answer)


def test_nothing_is_fetched_for_what_is_refused_and_a_rule_may_refuse_a_platform(upstream, registry, tool, edge):
    edge.versions(upstream)
    rule(upstream, Effect.DENY, "acme/tool")
    assert edge.versions(upstream) == []
    assert edge.get(version_url(upstream)).status_code == 409
    assert edge.get(package_url(upstream)).status_code == 403
    assert registry.count("*/download/*") == 0

    PolicyRule.objects.update(platforms=["darwin_arm64"])
    assert list(edge.archives(upstream)) == ["linux_amd64"]
    assert edge.get(package_url(upstream, platform="darwin_arm64")).status_code == 403


@pytest.mark.both
def test_d16_an_answer_ends_with_the_cool_down(upstream, edge):
    edge.versions(upstream)
    rule(upstream, Effect.COOL_DOWN, days=7)
    soon = timezone.now() - timedelta(days=7) + timedelta(seconds=20)
    UpstreamVersion.objects.filter(version="1.1.0").update(published_at=soon)

    ready = ready_of(edge.get(index_url(upstream)))

    assert ready is not None
    assert 0 < ready.seconds <= 20
    assert set(ready.scopes) == {generation.published_at(f"{upstream.host}/acme/tool")}


def test_d16_an_answer_ends_with_the_list(upstream, edge):
    edge.versions(upstream)
    fetched.stale(upstream.providers.get(), seconds=upstream.list_seconds - 15)

    ready = ready_of(edge.get(index_url(upstream)))

    assert ready is not None
    assert 0 < ready.seconds <= 15


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
        assert "in offline mode" in said(answer)
    assert edge.get(index_url(upstream, "acme/other")).status_code == 404
    assert registry.count("*") == asked


def test_what_a_client_has_fetched_is_limited_and_counts_once_for_a_request(upstream, tool, edge, settings):
    settings.RATES = settings.RATES | {"fetch": Rate.parse("2/h")}
    tool.versions.append("1.2.0")  # whose record a worker fetches ahead, which counts for nobody
    edge.zip(upstream)  # two requests: list and record, and the package
    refused = edge.get(version_url(upstream, "1.1.0"))

    assert (refused.status_code, "fetch" in said(refused)) == (429, True)
    assert edge.versions(upstream)
    assert edge.zip(upstream)
    assert Job.objects.filter(kind__in=[LIST, VERSION, PACKAGE]).count() == 4


@pytest.mark.both
def test_fetches_are_counted_behind_the_answer(upstream, edge):
    usage_counts.flush()  # those of other tests
    url = edge.archives(upstream)["linux_amd64"]["url"]
    for method in ("GET", "GET", "HEAD"):
        edge.get(url, method=method)
    assert UpstreamPackage.objects.get(os="linux").used_at is None

    assert usage_counts.flush() == 2
    row = UpstreamPackage.objects.get(os="linux")
    assert row.uses == 2
    assert row.size is not None
    today = timezone.now().date()
    assert traffic.exchanges(today, today) == [Exchange(upstream.host, 2, 2 * row.size, 1, row.size)]
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
