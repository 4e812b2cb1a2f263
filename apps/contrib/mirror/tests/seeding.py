"""Mirrored providers for the benchmark of lists (`bench/seeding.py`), and the pages that show them."""

import hashlib
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.contrib.mirror.models import KeyPin, KeyState, Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.models import Verdict as Verified
from apps.lib.versions import parse

HOST = "registry.other.example"
NAMESPACES = 50
VERIFIED = 30  # the newest versions of each, with their packages
PLATFORMS = [("linux", "amd64"), ("linux", "arm64"), ("darwin", "arm64"), ("windows", "amd64")]
_PROVIDERS = f"/api/v1/upstreams/{HOST}/providers"
PATHS: dict[str, tuple[str, ...]] = {
    "anybody": (
        f"/v1/mirror/{HOST}/other{{n}}/provider-{{n}}/index.json",
        "/mirror/providers",
        "/mirror/providers?q=provider-{n}",
        f"/mirror/providers/{HOST}/other{{n}}/provider-{{n}}",
    ),
    "admin": ("/mirror", f"/mirror/upstreams/{HOST}", "/mirror/alarms", "/mirror/sync"),
    "api": (_PROVIDERS, _PROVIDERS + "/other{n}/provider-{n}/versions", "/api/v1/upstreams"),
}


@transaction.atomic
def fill(size: Any) -> None:
    if not size.mirrored:
        return
    now = timezone.now()
    upstream = Upstream.objects.create(host=HOST, url=f"https://{HOST}", is_enabled=True, succeeded_at=now)
    pins = KeyPin.objects.bulk_create(
        KeyPin(
            upstream=upstream,
            namespace=f"other{n}",
            fingerprint=f"{n:040X}",
            armor="-",
            state=KeyState.TRUSTED,
        )
        for n in range(NAMESPACES)
    )
    providers = UpstreamProvider.objects.bulk_create(
        UpstreamProvider(
            upstream=upstream,
            namespace=f"other{n % NAMESPACES}",
            type=f"provider-{n}",
            listed_at=now,
            first_listed_at=now,
        )
        for n in range(size.mirrored)
    )
    numbers = [parse(f"{n // 100 + 1}.{n // 10 % 10}.{n % 10}") for n in range(size.mirrored_versions)]
    newest = {number.text for number in numbers[-VERIFIED:]}
    for n, provider in enumerate(providers):
        versions = UpstreamVersion.objects.bulk_create(
            UpstreamVersion(
                provider=provider,
                version=number.text,
                sort_key=number.sort_key,
                protocols=["5.0"],
                platforms=[list(platform) for platform in PLATFORMS],
                first_seen_at=now,
                was_in_first_list=True,
                **_verified(pins[n % NAMESPACES], now) if number.text in newest else {},
            )
            for number in numbers
        )
        UpstreamPackage.objects.bulk_create(
            _package(provider, version, os, arch)
            for version in versions
            if version.verified_at
            for os, arch in PLATFORMS
        )


def _verified(pin: KeyPin, now: Any) -> dict[str, Any]:
    return {"verdict": Verified.PINNED, "verified_at": now, "key": pin, "sums": b"-", "signature": b"-"}


def _package(provider: UpstreamProvider, version: UpstreamVersion, os: str, arch: str) -> UpstreamPackage:
    name = f"terraform-provider-{provider.type}_{version.version}_{os}_{arch}.zip"
    return UpstreamPackage(
        version=version,
        os=os,
        arch=arch,
        filename=name,
        digest=hashlib.sha256(f"{provider.pk} {name}".encode()).hexdigest(),
        size=5_000_000,
    )
