"""A registry in operation: what was lost or evicted is fetched again, and each fetch is counted."""

import pytest

from apps.blobs import store
from apps.contrib.mirror import stored_sums
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import Upstream, UpstreamPackage
from apps.contrib.mirror.records import storage
from apps.contrib.mirror.serving import fetch_jobs, on_demand
from apps.contrib.mirror.tests import fetched
from apps.contrib.mirror.tests.shelf import damage
from apps.jobs import queue
from apps.jobs.models import Job
from apps.lib.errors import Unavailable
from apps.lib.process import metrics
from registry_site.operations import doctor, examining
from tests.builders.faults import says, wrong_bytes
from tests.cast import BLOBS

pytestmark = pytest.mark.django_db


def counted(what: str, outcome: str, host: str) -> float:
    labels = {"host": host, "what": what, "outcome": outcome}
    return metrics.registry.get_sample_value("larder_upstream_fetches_total", labels) or 0.0


def fetch_again(upstream: Upstream) -> UpstreamPackage:
    fetched.without_pauses()
    return fetched.stored(upstream)


def test_lost_bytes_of_a_registry_that_is_down_are_its_outage_and_not_of_storage(upstream, registry):
    registry.add_provider()
    package = fetched.stored(upstream)
    damage(package.digest)
    with pytest.raises(store.DamagedInStorage):
        b"".join(store.read(package.digest))
    registry.misbehave("*", says(503))

    lost = storage.without_lost_bytes(fetched.reread(package))
    with pytest.raises(Unavailable) as refused:
        fetched.ask(on_demand.package_with_bytes, lost)
    assert registry.url in str(refused.value)
    assert "503" in str(refused.value)
    looks = {name: doctor.LOOKS[name] for name in ("database", "storage")}
    assert {finding.part: finding.state for finding in examining.examine(looks)}["storage"] == "ok"


def test_a_full_quota_refuses_with_its_rule_keeps_nothing_and_a_larger_one_lets_it_in(upstream, registry):
    registry.add_provider()
    Upstream.objects.update(quota_bytes=10)
    with pytest.raises(Unavailable, match="quota"):
        fetched.stored(upstream)
    package = UpstreamPackage.objects.get(os="linux", arch="amd64")
    assert (package.blob, package.failure["rule"], package.failure["url"]) == (None, "quota", upstream.base_url)
    assert stored_sums.used_bytes(upstream) == 0
    assert not list(BLOBS.rglob("staging/*"))

    Upstream.objects.update(quota_bytes=10**9)
    assert fetch_again(upstream).blob is not None


def test_each_try_is_counted_by_what_came_of_it(upstream, registry):
    tool = registry.add_provider()
    host = upstream.host
    before = {
        (what, outcome): counted(what, outcome, host)
        for what in ("list", "version", "package")
        for outcome in ("done", "failed", "refused")
    }

    def more(what: str, outcome: str) -> float:
        return counted(what, outcome, host) - before[what, outcome]

    registry.misbehave(tool.zip_path("1.0.0"), says(500), times=99)
    package = fetched.package(upstream)
    with pytest.raises(Unavailable):
        fetched.ask(on_demand.package_with_bytes, package)
    assert (more("list", "done"), more("version", "done"), more("package", "failed")) == (1, 1, 1)

    registry.behave()
    registry.misbehave(tool.zip_path("1.0.0"), wrong_bytes())
    fetched.without_pauses()
    upstreams.ask_again(upstream)
    Upstream.objects.update(failures=0, open_until=None)
    with pytest.raises(Exception, match="sha256"):
        fetched.ask(on_demand.package_with_bytes, fetched.reread(package))
    assert more("package", "refused") == 1

    registry.behave()
    Upstream.objects.update(failures=0, open_until=None)
    fetch_again(upstream)
    assert more("package", "done") == 1


def test_how_long_a_fetch_waited_is_counted_once(upstream, registry):
    registry.add_provider()

    def waits() -> float:
        return metrics.registry.get_sample_value("larder_upstream_queue_duration_seconds_count", {"what": "list"}) or 0

    before = waits()
    provider = fetched.listed(upstream)
    assert waits() == before + 1
    queue.enqueue(fetch_jobs.LIST, target=provider.pk, created_by_id=None)
    Job.objects.filter(state="queued").update(attempts=1, fence=1)
    fetched.work()
    assert waits() == before + 1
