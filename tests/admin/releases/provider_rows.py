"""Many signing keys, providers, versions and packages, made in bulk, every one with its own namespace."""

from django.utils import timezone

from apps.accounts.models import Namespace, User
from apps.lib.versions import parse
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.models import Release
from apps.signing.models import SigningKey
from tests.admin.rows import digest_of

LISTED = (SigningKey, Provider, ProviderVersion, Package)


def make(start, stop):
    now, numbers = timezone.now(), range(start, stop)
    users = User.objects.bulk_create(User(username=f"cook{n}") for n in numbers)
    spaces = Namespace.objects.bulk_create(Namespace(name=f"kitchen{n}", canonical=f"kitchen{n}") for n in numbers)
    keys = SigningKey.objects.bulk_create(key(n, ns, user) for n, ns, user in zip(numbers, spaces, users, strict=True))
    releases = Release.objects.bulk_create(
        release(n, ns, user, now) for n, ns, user in zip(numbers, spaces, users, strict=True)
    )
    providers = Provider.objects.bulk_create(Provider(namespace=ns, type="cloud") for ns in spaces)
    versions = ProviderVersion.objects.bulk_create(
        ProviderVersion(
            provider=provider,
            release=row,
            is_prerelease=False,
            protocols=["5.0"],
            signing="publisher",
            key=by,
            sums_digest=row.digest,
            signature_digest=digest_of(f"signature{row.pk}"),
        )
        for provider, row, by in zip(providers, releases, keys, strict=True)
    )
    Package.objects.bulk_create(
        package(n, version, arch) for n, version in zip(numbers, versions, strict=True) for arch in ("amd64", "arm64")
    )


def key(number, namespace, user):
    fingerprint = f"{number:04X}" + "A" * 36
    return SigningKey(
        namespace=namespace,
        custody="publisher",
        fingerprint=fingerprint,
        key_id=f"{number:016X}",
        armor="-----BEGIN PGP PUBLIC KEY BLOCK-----",
        algorithm="ed25519",
        uid=f"Cook {number} <cook{number}@example.com>",
        added_by=user,
    )


def release(number, namespace, user, now):
    return Release(
        kind="provider",
        namespace=namespace,
        name="cloud",
        version="1.0.0",
        sort_key=parse("1.0.0").sort_key,
        state="published",
        staging_key=f"kitchen-{number}",
        digest=digest_of(f"sums{number}"),
        size=10,
        created_by=user,
        published_at=now,
    )


def package(number, version, arch):
    name = f"terraform-provider-cloud_1.0.0_linux_{arch}.zip"
    digest = digest_of(f"zip{number}{arch}")
    return Package(version=version, os="linux", arch=arch, filename=name, digest=digest, size=10, h1="h1:x")
