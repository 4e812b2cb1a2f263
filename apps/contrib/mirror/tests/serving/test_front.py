"""Packages of other registries that the front sends itself: by the rules of the view, and each fetch counted."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import Visibility
from apps.audit import generation
from apps.blobs import capabilities
from apps.blobs.care.verified_files import verified_files
from apps.contrib.mirror.models import Effect, PolicyException, PolicyRule, Upstream, UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.serving import usage_counts
from apps.contrib.mirror.serving.open_links import fetchable
from apps.contrib.mirror.tests.shelf import add_package, add_upstream, add_version
from apps.lib.mirrored import HostedProvider, PackageLink
from registry_site.front.archives import SMALL_BYTES
from registry_site.server.connections import PATHSEND
from tests.site.front.asking import as_django_says


@pytest.fixture
def upstream(db) -> Upstream:
    return add_upstream(cooldown_days=0)


@pytest.fixture
def packages(upstream) -> list[UpstreamPackage]:
    version = add_version(upstream)
    return [add_package(version, arch.encode(), arch=arch) for arch in ("amd64", "arm64")]


def plain(package: UpstreamPackage) -> str:
    provider = package.version.provider
    return f"/v1/mirror/{provider}/{package.version.version}/{package.filename}"


def link_to(package: UpstreamPackage) -> str:
    capability = capabilities.sign(digest=package.digest, file_name=package.filename, now=datetime.now(tz=UTC))
    return plain(package).replace(f"/{package.filename}", f"/{capability}/{package.filename}")


def is_by_the_front(process, client, url: str) -> bool:
    answer = process.ask(client, url)
    return answer.was_ready and answer.status == 200


def test_a_package_that_was_never_asked_for_needs_no_django(process, packages, tofu):
    one, other = packages
    client = tofu()
    assert not process.ask(client, plain(one)).was_ready, "it shows how Django answers"

    for method in ("GET", "HEAD"):
        assert process.ask(client, plain(other), method).was_ready
        as_django_says(process, client, plain(other), method)
    assert process.ask(client, plain(other)).body == b"arm64"


def test_a_large_one_is_sent_as_a_file_once_it_was_checked(process, upstream, tofu, monkeypatch):
    process.offers = {"extensions": {PATHSEND: {}}}
    version = add_version(upstream)
    large = [add_package(version, arch.encode() * SMALL_BYTES, arch=arch) for arch in ("amd64", "arm64")]
    process.ask(tofu(), plain(large[0]))
    monkeypatch.setattr(verified_files, "_found", {})  # as in another process

    assert not process.ask(tofu(), plain(large[1])).was_ready, "nobody has hashed it"
    answer = process.ask(tofu(), plain(large[1]))
    assert answer.was_ready
    assert answer.body == b"arm64" * SMALL_BYTES


def test_a_link_opens_what_needs_credentials_and_a_wrong_one_is_the_views(process, upstream, packages, tofu):
    upstream.visibility = Visibility.INTERNAL
    upstream.save()
    one, other = packages
    assert process.ask(tofu(), link_to(one)).status == 200

    assert is_by_the_front(process, tofu(), link_to(other))
    assert process.ask(tofu(), plain(other)).status == 401
    forged = link_to(one).replace(one.filename, other.filename)
    assert process.ask(tofu(), forged).status == 403


def test_a_small_one_is_ready_for_no_longer_than_policy_says(process, upstream, packages, tofu):
    one, other = packages
    PolicyRule.objects.create(upstream=upstream, position=1, pattern="*", effect=Effect.DENY)
    soon = timezone.now() + timedelta(seconds=30)
    PolicyException.objects.create(version=one.version, reason="A fix.", expires_at=soon)
    process.ask(tofu(), plain(one))
    assert is_by_the_front(process, tofu(), plain(other))
    (entry,) = [found for key, found in process.front.table._entries.items() if key[2] == plain(other)]
    assert 0 < entry.until - time.monotonic() <= 30


def cool_down(upstream: Upstream) -> None:
    PolicyRule.objects.create(upstream=upstream, position=1, pattern="*", effect=Effect.COOL_DOWN, days=3)
    UpstreamVersion.objects.update(published_at=timezone.now())


CHANGES = {
    "denied": lambda it: PolicyRule.objects.create(upstream=it, position=1, pattern="*", effect=Effect.DENY),
    "held back": cool_down,
    "switched off": lambda _: Upstream.objects.update(is_enabled=False),
    "hidden": lambda _: Upstream.objects.update(visibility=Visibility.PRIVATE),
    "for terraform": lambda _: Upstream.objects.update(terraform_only=True),
    "evicted": lambda _: UpstreamPackage.objects.update(blob=None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_fetch_is_by_the_rules_of_that_moment(process, upstream, packages, tofu, change):
    one, other = packages
    process.ask(tofu(), plain(one))
    assert is_by_the_front(process, tofu(), plain(other))

    CHANGES[change](upstream)
    generation.touch([generation.EVERYTHING])  # as the verbs do
    process.learn()

    assert not is_by_the_front(process, tofu(), plain(other))
    assert process.ask(tofu(), plain(other)).status in (401, 403, 404, 503)


@pytest.mark.both
def test_a_platform_and_an_exception_count_as_in_the_view(process, upstream, packages, tofu):
    amd, arm = packages
    process.ask(tofu(), plain(amd))
    PolicyRule.objects.create(upstream=upstream, position=1, pattern="*", effect=Effect.DENY, platforms=["linux_arm64"])
    assert is_by_the_front(process, tofu(), plain(amd))
    process.learn()
    assert process.ask(tofu(), plain(arm)).status == 403
    hour = timezone.now() + timedelta(hours=1)
    PolicyException.objects.create(version=arm.version, reason="A fix.", expires_at=hour)
    assert is_by_the_front(process, tofu(), plain(arm))


def test_bytes_in_quarantine_are_not_served(process, packages, tofu, published, monkeypatch):
    one, other = packages
    process.ask(tofu(), plain(one))
    release = published("pantry/vpc/aws")
    type(release).objects.filter(pk=release.pk).update(digest=other.digest, quarantined_at=timezone.now())

    assert process.ask(tofu(), plain(other)).status == 403
    assert is_by_the_front(process, tofu(), plain(one))


@pytest.mark.both
def test_each_look_counts_as_a_fetch_and_what_is_repeated_from_memory_is_not_looked_for(process, upstream, tofu):
    usage_counts.flush()
    process.offers = {"extensions": {PATHSEND: {}}}
    version = add_version(upstream)
    small = add_package(version, b"small")
    large = add_package(version, b"large" * SMALL_BYTES, arch="arm64")
    UpstreamPackage.objects.update(uses=0)  # those of other tests
    for url in (plain(small), plain(small), plain(small), plain(large), plain(large), plain(large)):
        process.ask(tofu(), url)
    process.ask(tofu(), plain(large), "HEAD")
    usage_counts.flush()

    # The first one of each by a view; the small one stays ready after it was looked for once.
    assert [UpstreamPackage.objects.get(pk=row.pk).uses for row in (small, large)] == [2, 3]


@pytest.mark.both
def test_many_cost_a_few_queries(process, upstream, tofu, django_assert_max_num_queries):
    links = []
    for number in range(20):
        package = add_package(add_version(upstream, f"acme/p{number}"), str(number).encode())
        provider = HostedProvider(upstream.host, "acme", f"p{number}")
        links.append(PackageLink(provider, "3.6.0", package.filename, ""))
    with django_assert_max_num_queries(4):
        assert len(fetchable(links, now=timezone.now())) == 20
