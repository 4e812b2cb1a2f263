"""Many mirrored registries with everything that the admin lists of them, made in bulk."""

from datetime import timedelta

from django.utils import timezone

from apps.accounts.models import User
from apps.contrib.mirror.models import (
    Alarm,
    KeyPin,
    PolicyException,
    PolicyRule,
    Schedule,
    SyncRun,
    UnsignedAllowance,
    Upstream,
    UpstreamPackage,
    UpstreamProvider,
    UpstreamVersion,
)
from apps.lib.versions import parse
from tests.admin.rows import digest_of

LISTED = (
    Alarm,
    Upstream,
    UpstreamProvider,
    UpstreamVersion,
    UpstreamPackage,
    KeyPin,
    UnsignedAllowance,
    PolicyRule,
    PolicyException,
    SyncRun,
    Schedule,
)


def make(start, stop):
    now, numbers = timezone.now(), range(start, stop)
    users = User.objects.bulk_create(User(username=f"mirror{n}") for n in numbers)
    hosts = Upstream.objects.bulk_create(
        Upstream(host=f"registry{n}.example.com", is_enabled=True, created_by=user)
        for n, user in zip(numbers, users, strict=True)
    )
    both = list(zip(numbers, hosts, users, strict=True))
    providers = UpstreamProvider.objects.bulk_create(
        UpstreamProvider(upstream=host, namespace=f"kitchen{n}", type="cloud", listed_at=now) for n, host, _ in both
    )
    pins = KeyPin.objects.bulk_create(
        KeyPin(
            upstream=host,
            namespace=f"kitchen{n}",
            provider=provider,
            fingerprint=f"{n:04X}" + "A" * 36,
            armor="-----BEGIN PGP PUBLIC KEY BLOCK-----",
            state="trusted",
            decided_by=user,
        )
        for (n, host, user), provider in zip(both, providers, strict=True)
    )
    versions = UpstreamVersion.objects.bulk_create(
        UpstreamVersion(
            provider=provider,
            version="1.0.0",
            sort_key=parse("1.0.0").sort_key,
            first_seen_at=now,
            verdict="pinned",
            verified_at=now,
            key=pin,
            sums=b"sums",
        )
        for provider, pin in zip(providers, pins, strict=True)
    )
    UpstreamPackage.objects.bulk_create(
        UpstreamPackage(
            version=version,
            os="linux",
            arch=arch,
            filename=f"terraform-provider-cloud_1.0.0_linux_{arch}.zip",
            digest=digest_of(f"package {version.pk} {arch}"),
            size=10,
            fetched_by=user,
            used_at=now,
        )
        for version, user in zip(versions, users, strict=True)
        for arch in ("amd64", "arm64")
    )
    decided(both, providers, versions, now)


def decided(both, providers, versions, now):
    """Make the decisions of staff, those that they are asked for, and syncs."""
    users = [user for *_, user in both]
    UnsignedAllowance.objects.bulk_create(
        UnsignedAllowance(upstream=host, namespace=f"kitchen{n}", reason="no key", created_by=user)
        for n, host, user in both
    )
    PolicyRule.objects.bulk_create(
        PolicyRule(upstream=host, position=1, pattern="*", effect="allow", created_by=user) for _, host, user in both
    )
    PolicyException.objects.bulk_create(
        PolicyException(version=version, reason="a fix", expires_at=now + timedelta(days=1), created_by=user)
        for version, user in zip(versions, users, strict=True)
    )
    Alarm.objects.bulk_create(
        Alarm(
            kind="key_changed",
            upstream=host,
            provider=provider,
            namespace=provider.namespace,
            subject=f"{host}/{provider.namespace} key {n}",
            known={"fingerprint": "A" * 40},
            found={"fingerprint": "B" * 40},
            seen_at=now,
            resolved_by=user,
        )
        for (n, host, user), provider in zip(both, providers, strict=True)
    )
    schedules = Schedule.objects.bulk_create(Schedule(request={}, next_at=now, created_by=user) for user in users)
    SyncRun.objects.bulk_create(
        SyncRun(request={}, plan=["x" * 1000], created_by=user, schedule=schedule)
        for user, schedule in zip(users, schedules, strict=True)
    )
