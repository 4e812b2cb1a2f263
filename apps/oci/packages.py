"""Module packages: the meaning of a tag or a digest in a module's repository."""

from datetime import datetime
from operator import itemgetter
from typing import Any

from django.db.models import DateTimeField, Exists, OuterRef, Subquery, Value
from django.db.models.functions import Cast, Now

from apps.artifacts.errors import ManifestUnknown
from apps.artifacts.models import Manifest, Tag
from apps.artifacts.names import Digest, is_release_tag, tag_of, version_of
from apps.lib import versions
from apps.lib.formats.oci_manifests import IMAGE_MANIFEST, digest_of
from apps.modules import package_manifest
from apps.modules.models import ModuleVersionQuerySet
from apps.oci.repositories import VisibleRepository, versions_of
from apps.oci.served import Served
from apps.provenance import referrers
from apps.releases.cooldown import Shown, require_visible, shown
from apps.releases.models import Kind, Lifecycle, Release, ReleaseQuerySet, visible_now

LATEST = "latest"
NEVER_DELETED = "Releases cannot be deleted over OCI: yank it on its page, or ask staff to purge it."


def served_by_tag(found: VisibleRepository, tag: str, *, bytes_wanted: bool = True) -> Served | None:
    """Return the release of a tag; for `latest` its present meaning, which may be a row. None: ask the rows of tags."""
    if tag == LATEST:
        return _latest(found, bytes_wanted=bytes_wanted)
    if not is_release_tag(tag):
        return None
    number = versions.parse(version_of(tag))
    rows = _versions(found, bytes_wanted=bytes_wanted).published()
    with_it = rows.filter(release__sort_key=number.sort_key, release__version=number.text)
    version = next(iter(with_it), None)
    if version is None:
        return None
    _require_visible(found, version.release)
    return _served(version)


def _require_visible(found: VisibleRepository, release: Release) -> None:
    if release.is_held_back:  # else the address need not be read
        require_visible(release, what=f"{found.registered} {release.version}")


def served_by_digest(
    found: VisibleRepository, digest: str, *, bytes_wanted: bool = True, is_by_tag: bool = False
) -> Served | None:
    """Return the release with that manifest. None: look at the rows of manifests.

    Raises ManifestUnknown for what is in quarantine, whatever the rows say; and HeldBack for what is in its cool-down
    where a tag led to the digest.
    """
    rows = _versions(found, bytes_wanted=bytes_wanted).filter(manifest_digest=digest)
    with_it = list(rows.newest_first())
    readable = [one for one in with_it if one.release.quarantined_at is None]
    if readable:
        # The same bytes may have been published under two numbers.
        best = next((one for one in readable if not one.release.is_held_back), readable[0])
        if is_by_tag:
            _require_visible(found, best.release)
        return _served(best)
    if with_it:
        raise ManifestUnknown(f"There is no manifest {digest} in {found.address}.")
    return None


def size_of(found: VisibleRepository, digest: Digest) -> int | None:
    """Return the size of the manifest by which a release is served, or None."""
    try:
        served = served_by_digest(found, str(digest), bytes_wanted=False) if found.module else None
    except ManifestUnknown:
        return None
    if served is not None:
        return served.length
    attached = referrers.with_digest(_releases(found).published(), str(digest)) if found.module else None
    return attached.size if attached else None


def tags(found: VisibleRepository) -> Shown[str]:
    """Return every tag that answers, in byte order: rows, listed versions, and `latest` if it leads somewhere.

    Tools that copy a whole repository end at the first name that is listed and not there.
    """
    of_module = versions_of(**found.coordinate)
    with_it = of_module.filter(manifest_digest=OuterRef("manifest__digest"))
    # Not those on the manifest of a release in quarantine or in its cool-down.
    served = with_it.published().filter(visible_now("release__"))
    rows = Tag.objects.filter(**found.here).exclude(Exists(with_it) & ~Exists(served))
    # One query: the name, whether it is a release's, whether that is a pre-release, and when clients see it.
    never = Value(None, output_field=DateTimeField())
    pushed = rows.values_list("name", Value(value=False), Value(value=False), Cast(never, DateTimeField()))
    numbers = of_module.unyanked().values_list(
        "release__version", Value(value=True), "is_prerelease", "release__visible_at"
    )
    both = shown(pushed.union(numbers, all=True), itemgetter(3))
    released = {tag_of(version): is_prerelease for version, is_release, is_prerelease, _ in both.rows if is_release}
    found_tags = {name for name, is_release, *_ in both.rows if not is_release} | set(released)
    if not all(released.values()):
        found_tags.add(LATEST)
    elif LATEST in found_tags and served_by_tag(found, LATEST) is None:
        found_tags.remove(LATEST)
    return Shown(sorted(found_tags), both.next_at)


def archive_of(found: VisibleRepository, sha256: str) -> Release | None:
    """Return a published release of the module with these bytes, unless they are in quarantine."""
    return Release.objects.with_bytes(sha256).filter(pk__in=_releases(found)).order_by("pk").first()


def has_empty_config(found: VisibleRepository) -> bool:
    """Return whether a generated manifest names the empty config `{}`, which is then readable without a row."""
    releases = _releases(found).published()
    return releases.filter(provenance__manifest__isnull=True).exists() or referrers.has_any(releases)


def _latest(found: VisibleRepository, *, bytes_wanted: bool) -> Served | None:
    """The version that the tag was moved to, until the next stable release; else the highest stable listed one.

    Versions that are not deprecated come first: a deprecated one is `latest` only if there is no other. A row that
    leads to a release which was yanked or put into quarantine since leads nowhere.
    """
    rows = Tag.objects.filter(**found.here, name=LATEST)
    # Whether there is a row stands in the query for the version, since hardly any module has one.
    stable = _versions(found, bytes_wanted=bytes_wanted).listed().filter(is_prerelease=False)
    held = versions_of(**found.coordinate).unyanked().filter(release__visible_at__gt=Now())
    soonest = held.order_by("release__visible_at").values("release__visible_at")[:1]
    stable = stable.annotate(has_row=Exists(rows), next_at=Subquery(soonest))
    best: Any = stable.exclude(release__lifecycle=Lifecycle.DEPRECATED).newest_first().first()
    best = best or stable.newest_first().first()
    until = best.next_at if best else None
    row = rows.select_related("manifest").first() if best is None or best.has_row else None
    if row is not None:
        if best is None:
            until = soonest.values_list("release__visible_at", flat=True).first()
        newest = stable.order_by("-release__published_at").values_list("release__published_at", flat=True).first()
        if newest is None or row.moved_at > newest:
            manifest = row.manifest
            with_it = _versions(found, bytes_wanted=True).filter(manifest_digest=manifest.digest)
            pushed = with_it.listed().newest_first().first()
            if pushed is not None:
                return _served(pushed, until)
            if not with_it.exists():
                return Served(bytes(manifest.raw), manifest.digest, manifest.media_type, until=until)
    return _served(best, until) if best else None


def _served(version: Any, until: datetime | None = None) -> Served | None:
    """Return the manifest of a release: generated, or pushed with it."""
    release = version.release
    raw = package_manifest.synthesised(release)
    digest = digest_of(raw)
    if version.manifest_digest in ("", digest):
        return Served(raw, digest, IMAGE_MANIFEST, release, is_download=True, until=until)
    if version.media_type is None:
        return None
    size = version.pushed if isinstance(version.pushed, int) else None
    pushed = b"" if size is not None else bytes(version.pushed)
    return Served(
        pushed, version.manifest_digest, version.media_type, release, is_download=True, size=size, until=until
    )


# Columns that serving a manifest needs: naming all columns of both tables takes Django longer than the query.
_READ = (
    "manifest_digest",
    *(f"release__{column}" for column in ("name", "version", "digest", "size", "quarantined_at", "visible_at")),
    *(f"release__lifecycle{column}" for column in ("", "_reason", "_replacement")),
)


def _versions(found: VisibleRepository, *, bytes_wanted: bool) -> ModuleVersionQuerySet:
    """Of the module, each with its pushed manifest, or the size of it. Every read of a manifest asks this one query."""
    manifests = Manifest.objects.filter(**found.here, digest=OuterRef("manifest_digest"))
    rows = versions_of(**found.coordinate).select_related("release").only(*_READ)
    return rows.annotate(
        pushed=Subquery(manifests.values("raw" if bytes_wanted else "size")),
        media_type=Subquery(manifests.values("media_type")),
    )


def _releases(found: VisibleRepository) -> ReleaseQuerySet:
    return Release.objects.filter(kind=Kind.MODULE, namespace=found.namespace, name=found.registered.path_name)
