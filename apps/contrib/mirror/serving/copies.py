"""The contents of a copy of the mirror: the stored packages that policy shows to every reader.

No registry is asked. The same rules as in answers.py. A version of which nothing is stored is left out: a copy cannot
fetch it.
"""

from collections.abc import Iterator
from datetime import datetime

from apps.accounts.models import Visibility
from apps.blobs.models import Problem
from apps.contrib.mirror.models import UpstreamPackage, UpstreamProvider
from apps.contrib.mirror.records import storage
from apps.contrib.mirror.serving.open_links import decided, mirrored, seconds_of
from apps.lib.mirrored import HostedProvider, MirroredCopy, MirroredPackage


def providers() -> Iterator[HostedProvider]:
    """Yield those with stored packages, by host and name."""
    stored = UpstreamPackage.objects.exclude(blob=None).values("version__provider")
    rows = UpstreamProvider.objects.filter(pk__in=stored).order_by("upstream__host", "namespace", "type")
    for host, namespace, type_ in rows.values_list("upstream__host", "namespace", "type").iterator():
        yield HostedProvider(host, namespace, type_)


def copied(provider: HostedProvider, *, now: datetime) -> MirroredCopy | None:
    """Return its stored packages; None for what is not there, switched off, or served to Terraform alone."""
    rows = UpstreamProvider.objects.select_related("upstream")
    named = {"upstream__host": provider.host, "namespace": provider.namespace, "type": provider.type}
    row = rows.filter(upstream__is_enabled=True, upstream__terraform_only=False, **named).first()
    if row is None:
        return None
    packages = UpstreamPackage.objects.filter(version__provider=row, blob__problem=Problem.NONE)
    packages = packages.select_related("version__provider__upstream").defer("version__sums", "version__signature")
    stored = list(packages.order_by("-version__sort_key", "os", "arch"))
    found = decided(stored, now)
    blocked = storage.quarantined({one.digest for one in stored})
    is_public = row.upstream.visibility == Visibility.PUBLIC
    versions: dict[str, list[MirroredPackage]] = {}
    for one in stored:
        if found[one.pk].is_visible and one.digest not in blocked:
            versions.setdefault(one.version.version, []).append(mirrored(one, is_public=is_public))
    return MirroredCopy(list(versions.items()), is_public, seconds_of(found.values(), now=now))
