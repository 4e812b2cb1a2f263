"""Rows of mirrored providers as a worker leaves them, with stored bytes, without any registry."""

import hashlib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from apps.blobs import store
from apps.blobs.models import Blob
from apps.contrib.mirror import stored_sums
from apps.contrib.mirror.models import (
    Alarm,
    AlarmKind,
    AlarmState,
    KeyPin,
    KeyState,
    Upstream,
    UpstreamPackage,
    UpstreamProvider,
    UpstreamVersion,
    Verdict,
)
from apps.lib import versions
from tests.cast import BLOBS

HOST = "registry.example.com"
FINGERPRINT = "ABCD" * 10


def add_upstream(host: str = HOST, **fields: Any) -> Upstream:
    return Upstream.objects.create(host=host, **{"is_enabled": True, **fields})


def add_version(upstream: Upstream, address: str = "hashicorp/random", version: str = "3.6.0") -> UpstreamVersion:
    """A verified version: sums, signature and key are there."""
    namespace, type_ = address.split("/")
    now = timezone.now()
    provider, _ = UpstreamProvider.objects.get_or_create(
        upstream=upstream, namespace=namespace, type=type_, defaults={"listed_at": now, "first_listed_at": now}
    )
    pin, _ = KeyPin.objects.get_or_create(
        upstream=upstream,
        namespace=namespace,
        provider=provider,
        fingerprint=FINGERPRINT,
        defaults={"armor": "-----BEGIN PGP PUBLIC KEY BLOCK-----", "state": KeyState.TRUSTED},
    )
    return UpstreamVersion.objects.create(
        provider=provider,
        version=version,
        sort_key=versions.sort_key(version),
        platforms=[["linux", "amd64"]],
        first_seen_at=now,
        verdict=Verdict.PINNED,
        verified_at=now,
        sums=b"the sums",
        signature=b"the signature",
        key=pin,
    )


def put(data: bytes) -> Blob:
    staged = store.stage("one", [data])
    blob = store.store_staged("one", digest=staged.digest, size=staged.size)
    store.discard_staged("one")
    return blob


def add_package(
    version: UpstreamVersion,
    data: bytes = b"a zip",
    *,
    arch: str = "amd64",
    used_at: datetime | None = None,
    fetched_at: datetime | None = None,
    **fields: Any,
) -> UpstreamPackage:
    """A package whose bytes are stored."""
    package = UpstreamPackage.objects.create(
        version=version,
        os="linux",
        arch=arch,
        filename=f"terraform-provider-{version.provider.type}_{version.version}_linux_{arch}.zip",
        digest=hashlib.sha256(data).hexdigest(),
        size=len(data),
        h1="h1:" + "a" * 43 + "=",
        blob=put(data),
        fetched_at=fetched_at or timezone.now(),
        used_at=used_at,
        **fields,
    )
    stored_sums.recount_of(version.provider.upstream)
    return package


def refetch(package: UpstreamPackage, data: bytes) -> None:
    """Fetch it again, like a worker."""
    UpstreamPackage.objects.filter(pk=package.pk).update(blob=put(data), fetched_at=timezone.now())
    stored_sums.recount_of(package.version.provider.upstream)


# --- Unwell --------------------------------------------------------------------------------------------------------


HOUR = timedelta(hours=1)
FAILURE = {"code": "hangs", "message": "no answer", "url": f"https://{HOST}/v1/x", "status": 0, "rule": "first_byte"}


def down(**fields: Any) -> Upstream:
    later = timezone.now() + HOUR
    return add_upstream(failures=5, open_until=later, failed_at=timezone.now(), failure=FAILURE, **fields)


def alarm_of(upstream: Upstream, state: str = AlarmState.OPEN, subject: str = f"{HOST}/hashicorp") -> Alarm:
    return Alarm.objects.create(
        kind=AlarmKind.KEY_CHANGED, upstream=upstream, namespace="hashicorp", subject=subject, state=state,
        seen_at=timezone.now(),
    )  # fmt: skip


def file_of(digest: str) -> Path:
    return BLOBS / "sha256" / digest[:2] / digest


def damage(digest: str) -> None:
    """Other bytes of the same length."""
    file = file_of(digest)
    file.chmod(0o644)
    file.write_bytes(b"?" * file.stat().st_size)
