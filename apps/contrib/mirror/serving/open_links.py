"""The packages that links open right now, many at once: so that the front sends them without asking a view for each.

The same rules as in answers.py, of which this is the part that fetches nothing and refuses no one: what is not found
here is the view's, which says why.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from apps.accounts.models import Visibility
from apps.blobs import capabilities
from apps.blobs.models import Problem
from apps.contrib.mirror.models import PolicyException, UpstreamPackage
from apps.contrib.mirror.policy.evaluation import Decision, Policy, exceptions_of, next_change
from apps.contrib.mirror.records import storage
from apps.lib import versions
from apps.lib.errors import Invalid
from apps.lib.mirrored import MirroredPackage, OpenLink, PackageLink

# An answer that nothing but a change ends; whoever repeats it has a shorter limit of its own.
ALWAYS = 24 * 3600.0
_Key = tuple[str, str, str, bytes, str]


def mirrored(package: UpstreamPackage, *, is_public: bool) -> MirroredPackage:
    """The row as the edges see it."""
    return MirroredPackage(
        package.os,
        package.arch,
        package.filename,
        package.digest,
        package.size,
        package.h1,
        package.manifest_digest,
        is_public,
    )


def seconds_of(found: Iterable[Decision], *, now: datetime) -> float:
    """For how long these decisions hold without a change."""
    until = next_change(found)
    return ALWAYS if until is None else max(0.0, (until - now).total_seconds())


def fetchable(links: Collection[PackageLink], *, now: datetime) -> Mapping[PackageLink, OpenLink]:
    """A few queries, however many there are."""
    rows: dict[_Key | None, UpstreamPackage] = {_key_of(row): row for row in _stored(links)}
    asked = {link: row for link in links if (row := rows.get(_key(link))) is not None and _opens(link, row, now)}
    shown = {pk: found for pk, found in decided(asked.values(), now).items() if found.is_visible}
    blocked = storage.quarantined({row.digest for row in asked.values()}) if asked else frozenset()
    return {
        link: OpenLink(mirrored(row, is_public=_is_public(row)), seconds_of([shown[row.pk]], now=now))
        for link, row in asked.items()
        if row.pk in shown and row.digest not in blocked
    }


def _stored(links: Collection[PackageLink]) -> Collection[UpstreamPackage]:
    upstream = "version__provider__upstream"
    rows = UpstreamPackage.objects.select_related(upstream, "blob").defer("version__sums", "version__signature")
    wanted = {
        "filename__in": {link.filename for link in links},
        f"{upstream}__host__in": {link.provider.host for link in links},
        f"{upstream}__is_enabled": True,
        f"{upstream}__terraform_only": False,  # there the client's name decides as well
        "blob__problem": Problem.NONE,
    }
    return list(rows.filter(**wanted))


def _opens(link: PackageLink, row: UpstreamPackage, now: datetime) -> bool:
    if not link.capability:
        return _is_public(row)
    return capabilities.verify(link.capability, digest=row.digest, file_name=row.filename, now=now)


def _is_public(row: UpstreamPackage) -> bool:
    return row.version.provider.upstream.visibility == Visibility.PUBLIC


def decided(rows: Collection[UpstreamPackage], now: datetime) -> Mapping[int, Decision]:
    """Return the decision of policy about each package, by primary key. One query for each registry, and two more."""
    upstreams = {row.version.provider.upstream_id: row.version.provider.upstream for row in rows}
    policies = {pk: Policy.of(upstream) for pk, upstream in upstreams.items()}
    numbers = {row.version_id for row in rows}
    exceptions = exceptions_of(PolicyException.objects.filter(version__in=numbers), now=now) if numbers else {}
    found: dict[int, Decision] = {}
    for row in rows:
        version = row.version
        rules = policies[version.provider.upstream_id].for_address(version.provider.address)
        exception = exceptions.get(version.pk)
        found[row.pk] = rules.decide(version, now=now, exception=exception, platform=row.platform)
    return found


def _key_of(row: UpstreamPackage) -> _Key:
    provider = row.version.provider
    return provider.upstream.host, provider.namespace, provider.type, bytes(row.version.sort_key), row.filename


def _key(link: PackageLink) -> _Key | None:
    try:
        sort_key = versions.parse(link.number).sort_key
    except Invalid:
        return None
    return link.provider.host, link.provider.namespace, link.provider.type, sort_key, link.filename
