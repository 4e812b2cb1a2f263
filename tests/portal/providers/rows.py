"""Rows of keys and published providers, where a test reads pages and not the pipeline that makes them."""

import hashlib

from django.utils import timezone

from apps.lib.versions import parse
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.models import Release, ReleaseBlob
from apps.signing.models import SigningKey

PLATFORMS = ("darwin_arm64", "linux_amd64", "windows_amd64")


def row_of_key(namespace, number, **more):
    """An active key of its publisher; its armour is none."""
    fingerprint = f"{number:040X}"
    fields = {"custody": "publisher", "fingerprint": fingerprint, "key_id": fingerprint[-16:], "algorithm": "ed25519"}
    fields |= {"armor": "-----BEGIN PGP PUBLIC KEY BLOCK-----", "uid": f"Key {number} <{number}@example.com>"}
    return SigningKey.objects.create(namespace=namespace, made_at=timezone.now(), **fields | more)


def provider_version(namespace, type_, version, *, key, platforms=PLATFORMS, user=None, **more):
    """A published version with its packages; `more` are fields of its release."""
    now, parsed = timezone.now(), parse(version)
    fields = {"state": "published", "published_at": now, "created_by": user, "staging_key": f"{type_}-{version}"}
    fields |= {"digest": digest_of(f"sums {namespace} {type_} {version}"), "size": 5_000_000 * len(platforms)}
    release = Release.objects.create(
        kind="provider", namespace=namespace, name=type_, version=version, sort_key=parsed.sort_key, **fields | more
    )
    provider, _ = Provider.objects.get_or_create(namespace=namespace, type=type_)
    found = ProviderVersion.objects.create(
        provider=provider,
        release=release,
        is_prerelease=parsed.is_prerelease,
        protocols=["5.0", "6.0"],
        signing=key.custody,
        key=key,
        sums_digest=digest_of(f"sums {namespace} {type_} {version}"),
        signature_digest=digest_of(f"signature {namespace} {type_} {version}"),
    )
    packages = Package.objects.bulk_create(package(found, platform) for platform in platforms)
    blobs = [(one.digest, one.filename) for one in packages] + [(found.signature_digest, "SHA256SUMS.sig")]
    ReleaseBlob.objects.bulk_create(ReleaseBlob(release=release, digest=digest, name=name) for digest, name in blobs)
    return found


def package(version, platform):
    os, arch = platform.split("_")
    name = f"terraform-provider-{version.provider.type}_{version.release.version}_{platform}.zip"
    digest = digest_of(f"{version.release} {platform}")
    return Package(
        version=version, os=os, arch=arch, filename=name, digest=digest, size=5_000_000, h1=f"h1:{digest[:43]}="
    )


def digest_of(text):
    return hashlib.sha256(text.encode()).hexdigest()
