"""The blobs of a release, recorded before their bytes are stored and kept with the tombstone.

`purging`, `quarantine` and `verification` work on all of them. A module's archive is the release's own digest and
needs no row.
"""

from collections.abc import Collection, Mapping

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from apps.jobs.claims import Claim
from apps.releases.models import WORKING, Release, ReleaseBlob, State


def record_blobs(release: Release, names: Mapping[str, str], *, claim: Claim | None = None) -> None:
    """Record blobs (digest to the name that clients use) before their bytes are stored. Safe to repeat.

    Pass the claim if a worker stores them.
    """
    with transaction.atomic():
        if claim is not None:
            claim.guard()
        rows = [ReleaseBlob(release=release, digest=digest, name=name) for digest, name in names.items()]
        ReleaseBlob.objects.bulk_create(rows, ignore_conflicts=True)


def forget_others(release: Release, name: str, digests: Collection[str]) -> None:
    """Drop the other rows of that name: an attempt that failed recorded bytes that no client was told of.

    It may not have stored them; garbage collection removes what it did. Call in the transaction that tells of these.
    """
    release.blobs.filter(name=name).exclude(digest__in=digests).delete()


def blobs_of(release: Release) -> dict[str, str]:
    """Return names by digest, the release's own digest first."""
    return blobs_of_each([release])[release.pk]


def blobs_of_each(releases: Collection[Release]) -> dict[int, dict[str, str]]:
    """Return what `blobs_of` does, by release."""
    named: dict[int, dict[str, str]] = {release.pk: {} for release in releases}
    rows = ReleaseBlob.objects.filter(release__in=named).order_by("name", "pk")
    for number, digest, name in rows.values_list("release_id", "digest", "name"):
        named[number][digest] = name
    for release in releases:
        some = named[release.pk]
        own = {release.digest: some.get(release.digest, release.file_name or "archive")} if release.digest else {}
        named[release.pk] = own | some
    return named


def referenced_by_release() -> Q:
    """Match blobs of releases that are published or may be, for `blobs.references`."""
    states = [*WORKING, State.PUBLISHED]
    whole = Release.objects.filter(digest=OuterRef("digest"), state__in=states)
    part = ReleaseBlob.objects.filter(digest=OuterRef("digest"), release__state__in=states)
    return Q(Exists(whole)) | Q(Exists(part))
