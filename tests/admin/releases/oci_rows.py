"""Many repositories with a manifest, a tag, a blob and an upload each, made in bulk."""

from datetime import timedelta

from django.utils import timezone

from apps.accounts.models import Namespace, User
from apps.artifacts.models import Collection, Manifest, Repository, RepositoryBlob, Tag, UploadSession
from apps.blobs.models import Blob
from tests.admin.rows import digest_of

LISTED = (Repository, Manifest, Tag, UploadSession, Collection)


def make(start, stop):
    numbers, later = range(start, stop), timezone.now() + timedelta(hours=1)
    users = User.objects.bulk_create(User(username=f"packer{n}") for n in numbers)
    spaces = Namespace.objects.bulk_create(Namespace(name=f"depot{n}", canonical=f"depot{n}") for n in numbers)
    found = zip(numbers, spaces, users, strict=True)
    places = Repository.objects.bulk_create(
        Repository(namespace=space, path="crate/aws", created_by=user) for _, space, user in found
    )
    manifests = Manifest.objects.bulk_create(
        manifest(n, place, user) for n, place, user in zip(numbers, places, users, strict=True)
    )
    Tag.objects.bulk_create(
        Tag(repository=place, name=f"nightly{n}", manifest=one, moved_by=user)
        for n, place, one, user in zip(numbers, places, manifests, users, strict=True)
    )
    blobs = Blob.objects.bulk_create(Blob(digest=digest_of(f"layer{n}"), size=10, state="ready") for n in numbers)
    RepositoryBlob.objects.bulk_create(
        RepositoryBlob(repository=place, blob=blob) for place, blob in zip(places, blobs, strict=True)
    )
    UploadSession.objects.bulk_create(
        UploadSession(repository=place, user=user, size=5, expires_at=later)
        for place, user in zip(places, users, strict=True)
    )
    Collection.objects.bulk_create(Collection(blobs=n, bytes=10 * n, is_complete=n % 2 == 0) for n in numbers)


def manifest(number, repository, user):
    raw = b'{"schemaVersion": 2, "n": %d}' % number
    return Manifest(
        repository=repository,
        digest=f"sha256:{digest_of(f'manifest{number}')}",
        media_type="application/vnd.oci.image.manifest.v1+json",
        artifact_type="application/spdx+json",
        subject=f"sha256:{digest_of(f'subject{number}')}" if number % 2 else "",
        size=len(raw),
        raw=raw,
        pushed_by=user,
    )
