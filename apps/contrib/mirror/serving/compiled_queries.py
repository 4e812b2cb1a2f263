"""The rows that each request for a mirrored provider asks for, in SQL that Django writes once."""

from django.db.models import BigIntegerField, BinaryField, CharField, QuerySet

from apps.contrib.mirror.models import Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.lib.mirrored import HostedProvider

# What deciding and answering read; whoever fetches something loads the rest.
_OF_UPSTREAM = (
    *("host", "url", "is_enabled", "is_sealed", "visibility", "terraform_only"),
    *("cooldown_days", "list_seconds", "stale_hours"),
)
_OF_VERSION = (
    *("version", "sort_key", "platforms", "is_listed", "absence", "first_seen_at", "published_at", "was_in_first_list"),
    *("verdict", "tries", "tried_at", "retry_at", "failure"),
)
_OF_PROVIDER = ("namespace", "type")
_OF_PACKAGE = (
    *("os", "arch", "filename", "digest", "size", "h1", "manifest_digest"),
    *("tries", "tried_at", "retry_at", "failure"),
    *("blob__digest", "blob__size", "blob__problem"),
)
_HOST, _NAMESPACE, _TYPE = (Slot(name, CharField()) for name in ("host", "namespace", "type"))


def _packages() -> QuerySet[UpstreamPackage]:
    provider = "version__provider"
    columns = (
        *_OF_PACKAGE,
        *(f"version__{column}" for column in _OF_VERSION),
        *(f"{provider}__{column}" for column in _OF_PROVIDER),
        *(f"{provider}__upstream__{column}" for column in _OF_UPSTREAM),
    )
    rows = UpstreamPackage.objects.select_related(f"{provider}__upstream", "blob").only(*columns)
    return rows.filter(
        version__provider__upstream__host=_HOST,
        version__provider__namespace=_NAMESPACE,
        version__provider__type=_TYPE,
    )


_UPSTREAM = CompiledQuery(lambda: Upstream.objects.filter(host=_HOST, is_enabled=True).only(*_OF_UPSTREAM))
_VERSION = CompiledQuery(
    lambda: (
        UpstreamVersion.objects.filter(provider=Slot("provider", BigIntegerField()))
        .filter(sort_key=Slot("sort_key", BinaryField()))
        .defer("sums", "signature")
    )
)
_PACKAGE = CompiledQuery(
    lambda: _packages().filter(
        version__sort_key=Slot("sort_key", BinaryField()), filename=Slot("filename", CharField())
    )
)
_WITH_DIGEST = CompiledQuery(
    lambda: _packages().filter(digest=Slot("digest", CharField())).order_by("-version__is_listed", "pk")
)


def enabled(host: str) -> Upstream | None:
    """`host` is normalised."""
    return next(iter(_UPSTREAM(host=host)), None)


def version(provider: UpstreamProvider, sort_key: bytes) -> UpstreamVersion | None:
    for row in _VERSION(provider=provider.pk, sort_key=sort_key):
        row.provider = provider
        return row
    return None


def package(provider: HostedProvider, sort_key: bytes, filename: str) -> UpstreamPackage | None:
    return next(iter(_PACKAGE(sort_key=sort_key, filename=filename, **_address(provider))), None)


def package_with_digest(provider: HostedProvider, digest: str) -> UpstreamPackage | None:
    """The bytes may be those of several versions."""
    return next(iter(_WITH_DIGEST(digest=digest, **_address(provider))), None)


def _address(provider: HostedProvider) -> dict[str, str]:
    return {"host": provider.host, "namespace": provider.namespace, "type": provider.type}
