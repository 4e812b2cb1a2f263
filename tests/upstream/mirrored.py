"""Rows of a mirrored provider, as the jobs leave them, without a registry: for pages and the API."""

from datetime import timedelta

from django.utils import timezone

from apps.blobs.models import Blob
from apps.lib import versions
from apps.upstream.models import KeyPin, KeyState, Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion, Verdict

FINGERPRINT = "0C0AF313E5FD9F80"
PLATFORMS = [["linux", "amd64"], ["darwin", "arm64"]]


def upstream(host="registry.opentofu.org", **more):
    return Upstream.objects.create(host=host, **{"is_enabled": True, "cooldown_days": 3} | more)


def provider(of, address="hashicorp/random", numbers=("3.6.0", "3.7.0"), *, days=100):
    """Versions of that age, from the first list if they are old."""
    namespace, _, kind = address.partition("/")
    now = timezone.now()
    row, _ = UpstreamProvider.objects.get_or_create(
        upstream=of, namespace=namespace, type=kind, defaults={"listed_at": now, "first_listed_at": now}
    )
    for number in numbers:
        UpstreamVersion.objects.create(
            provider=row,
            version=number,
            sort_key=versions.parse(number).sort_key,
            protocols=["5.0"],
            platforms=PLATFORMS,
            first_seen_at=now - timedelta(days=days),
            was_in_first_list=days > 30,
        )
    return row


def pin(of, namespace="hashicorp", fingerprint=FINGERPRINT, state=KeyState.TRUSTED):
    row, _ = KeyPin.objects.get_or_create(
        upstream=of, namespace=namespace, fingerprint=fingerprint, defaults={"armor": "…", "state": state}
    )
    return row


def verify(version, *, verdict=Verdict.PINNED, stored=("linux_amd64",), by=None):
    """The whole record of a version, and the bytes of some packages."""
    version.verdict, version.verified_at = verdict, timezone.now()
    version.key = None if verdict == Verdict.NO_KEY else pin(version.provider.upstream, version.provider.namespace)
    version.sums, version.signature = b"sums", b"signature"
    version.save()
    for at, (os, arch) in enumerate(version.platforms):
        digest = f"{version.pk:032x}{at:032x}"
        blob = None
        if f"{os}_{arch}" in stored:
            blob = Blob.objects.create(digest=digest, size=2048)
        UpstreamPackage.objects.create(
            version=version,
            os=os,
            arch=arch,
            filename=f"terraform-provider-{version.provider.type}_{version.version}_{os}_{arch}.zip",
            digest=digest,
            size=2048,
            h1="h1:" + "A" * 43 + "=" if blob else "",
            blob=blob,
            fetched_at=timezone.now() if blob else None,
            fetched_by=by,
            fetched_from=f"https://github.com/{version.provider.address}/releases/{os}_{arch}.zip" if blob else "",
        )
    return version
