"""From a name to verified bytes: the list, the record and the package, each by one job."""

import time

import pytest

from apps.blobs import store
from apps.jobs.models import Job
from apps.lib.errors import NotFound
from apps.upstream import fetching
from apps.upstream.models import KeyPin, KeyState, UpstreamProvider, Verdict
from tests.rows import for_each_row
from tests.upstream import fetched

pytestmark = pytest.mark.both


def test_a_package_is_listed_verified_and_stored(upstream, registry, alice):
    tool = registry.add_provider(versions=["1.0.0"], platforms=["linux_amd64", "darwin_arm64"])
    row = fetched.stored(upstream, by=alice.pk)

    assert b"".join(store.read(row.digest)) == tool.zip("1.0.0")
    assert row.h1.startswith("h1:")
    assert row.size == len(tool.zip("1.0.0"))
    assert (row.fetched_by, row.fetched_from) == (alice, registry.url + tool.zip_path("1.0.0"))
    found = row.version
    assert bytes(found.sums) == tool.sums("1.0.0")
    assert found.verdict == Verdict.FIRST_SEEN
    assert found.key is not None
    assert found.key.state == KeyState.TRUSTED
    assert sorted(one.platform for one in found.packages.all()) == ["darwin_arm64", "linux_amd64"]
    assert registry.count(tool.zip_path("1.0.0")) == 1
    assert registry.count(tool.zip_path("1.0.0", "darwin_arm64")) == 0


def test_the_first_key_is_pinned_and_the_next_version_is_signed_by_a_pinned_key(upstream, registry):
    registry.add_provider(versions=["1.0.0", "1.1.0"])
    assert fetched.recorded(upstream, "1.0.0").verdict == Verdict.FIRST_SEEN
    assert fetched.recorded(upstream, "1.1.0").verdict == Verdict.PINNED
    assert KeyPin.objects.count() == 1


@for_each_row("name", ["1.5", "-tool", "tool-", "to ol", "", "t" * 65])
def test_a_name_that_no_client_sends_is_asked_of_no_registry(upstream, registry, name):
    for namespace, kind in ((name, "tool"), ("acme", name)):
        with pytest.raises(NotFound, match="cannot be the address of a provider"):
            fetching.provider_with_list(upstream, namespace, kind, by=None, until=time.monotonic())
    assert registry.requests == []
    assert not UpstreamProvider.objects.exists()
    assert not Job.objects.exists()
