"""The targets of jobs that fetch from other registries. A search word is a host, or its namespace/type."""

from django.db.models import Q

from apps.contrib.mirror.ahead import locking, syncing
from apps.contrib.mirror.asking import checking
from apps.contrib.mirror.models import LockRun, SyncRun, Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.serving import docs, fetch_jobs
from apps.jobs.targets import Source


def _by_address(word: str, provider: str = "") -> Q:
    """Match a host, or a host with the address or its beginning."""
    parts = word.strip("/").split("/")
    names = (f"{provider}upstream__host", f"{provider}namespace", f"{provider}type")
    if len(parts) > len(names):
        return Q(pk__in=[])
    return Q(**dict(zip(names, parts, strict=False)))


def _by_host(word: str) -> Q:
    return Q(host=word)


_VERSIONS = Source(
    UpstreamVersion.objects.select_related("provider__upstream").defer("sums", "signature").all,
    lambda word: _by_address(word, "provider__"),
)
SOURCES = {
    checking.JOB: Source(Upstream.objects.all, _by_host),
    locking.JOB: Source(LockRun.objects.all, lambda _: Q(pk__in=[])),
    syncing.JOB: Source(SyncRun.objects.all, lambda _: Q(pk__in=[])),
    fetch_jobs.LIST: Source(UpstreamProvider.objects.select_related("upstream").all, _by_address),
    **dict.fromkeys((fetch_jobs.VERSION, docs.JOB, fetch_jobs.SIZES), _VERSIONS),
    fetch_jobs.PACKAGE: Source(
        UpstreamPackage.objects.select_related("version__provider__upstream").all,
        lambda word: _by_address(word, "version__provider__"),
    ),
}
