"""Published providers as rows, with bytes in storage and real signatures: what the pipeline would leave behind."""

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

from apps.accounts.models import Namespace
from apps.blobs import store
from apps.lib import versions
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.models import Release, ReleaseBlob
from apps.signing.models import SigningKey
from tests.builders import providers
from tests.builders.keys import TestKey

FIRST = datetime(2026, 1, 2, 3, 4, 5, 60000, tzinfo=UTC)
PLATFORMS = ("linux_amd64", "darwin_arm64")


def add_key(namespace: Namespace, made: TestKey, **fields) -> SigningKey:
    values = {"custody": "registry", "algorithm": made.kind, "armor": made.armor, **fields}
    return SigningKey.objects.create(namespace=namespace, fingerprint=made.fingerprint, key_id=made.key_id, **values)


def keep(data: bytes) -> str:
    """Bytes in storage, as the blob that they are; answers their digest."""
    digest = hashlib.sha256(data).hexdigest()
    store.stage(f"test-{digest[:32]}", iter([data]))
    store.store_staged(f"test-{digest[:32]}", digest=digest, size=len(data))
    return digest


def add_version(
    key: SigningKey,
    made: TestKey | None,
    type: str,  # noqa: A002 - the field's word
    number: str,
    platforms: Sequence[str] = PLATFORMS,
    **release_fields,
) -> ProviderVersion:
    """One published version with true bytes; without `made` its signature is any bytes that differ with the number."""
    files = providers.dist(type, number, platforms, protocols=())
    sums = files.pop(f"terraform-provider-{type}_{number}_SHA256SUMS")
    signature = made.sign(sums) if made else b"no signature of " + sums
    version = add_row(key, type, number, sums=keep(sums), signature=keep(signature), **release_fields)
    for name, data in files.items():
        add_package(version, name, keep(data), len(data))
    return version


def add_row(key, type, number, *, sums, signature, **release_fields) -> ProviderVersion:  # noqa: A002
    provider, _ = Provider.objects.get_or_create(namespace=key.namespace, type=type)
    release = Release.objects.create(
        kind="provider",
        namespace=key.namespace,
        name=type,
        version=number,
        sort_key=versions.sort_key(number),
        digest=sums,
        size=1,
        staging_key="",
        **{"state": "published", "published_at": FIRST, **release_fields},
    )
    ReleaseBlob.objects.create(release=release, digest=signature, name="SHA256SUMS.sig")
    return ProviderVersion.objects.create(
        provider=provider,
        release=release,
        is_prerelease=versions.parse(number).is_prerelease,
        protocols=["5.0"],
        signing=key.custody,
        key=key,
        sums_digest=sums,
        signature_digest=signature,
    )


def add_package(version: ProviderVersion, name: str, digest: str, size: int) -> Package:
    os, arch = name.removesuffix(".zip").split("_")[-2:]
    ReleaseBlob.objects.create(release=version.release, digest=digest, name=name)
    h1 = base64.b64encode(hashlib.sha256(name.encode()).digest()).decode()
    return Package.objects.create(
        version=version, os=os, arch=arch, filename=name, digest=digest, size=size, h1=f"h1:{h1}"
    )


def frozen_key(namespace: Namespace, letter: str = "A", **fields) -> SigningKey:
    """A key that is the same in every run, for documents that golden files hold: nothing can verify with it."""
    armor = f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{letter * 4}\n-----END PGP PUBLIC KEY BLOCK-----\n"
    values = {"fingerprint": letter * 40, "key_id": letter * 16, "algorithm": "ed25519", "armor": armor}
    return SigningKey.objects.create(namespace=namespace, **{"custody": "registry", **values, **fields})
