"""Which blobs a release is made of: noted before their bytes are stored, and kept with the tombstone.

So whoever removes bytes sees all who need them (`purging`), a quarantine reaches every one of them (`blocking`), and
`verifying` reads them all. A module's archive is the release's own digest and needs no row here.
"""

from collections.abc import Mapping

from django.db import transaction

from apps.jobs.claims import Claim
from apps.releases.models import Release, ReleaseBlob


def record_blobs(release: Release, names: Mapping[str, str], *, claim: Claim | None = None) -> None:
    """`names`: digest -> what clients call it. Call it before the bytes are stored; the same again is success.

    `claim`: the job that stores them, where a worker does.
    """
    with transaction.atomic():
        if claim is not None:
            claim.guard()
        rows = [ReleaseBlob(release=release, digest=digest, name=name) for digest, name in names.items()]
        ReleaseBlob.objects.bulk_create(rows, ignore_conflicts=True)


def blobs_of(release: Release) -> dict[str, str]:
    """Digest -> name, the release's own digest first."""
    named = dict(release.blobs.order_by("name", "pk").values_list("digest", "name"))
    own = {release.digest: named.get(release.digest, release.file_name or "archive")} if release.digest else {}
    return own | named
