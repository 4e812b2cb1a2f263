"""Rows of a mirrored provider, as the jobs leave them, without a registry: for pages and the API."""

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from apps.blobs.models import Blob
from apps.contrib.mirror import stored_sums
from apps.contrib.mirror.models import (
    Alarm,
    AlarmKind,
    KeyPin,
    KeyState,
    PackageDocs,
    PackageDocsPage,
    UnsignedAllowance,
    Upstream,
    UpstreamPackage,
    UpstreamProvider,
    UpstreamVersion,
    Verdict,
)
from apps.contrib.mirror.serving import docs
from apps.lib import versions
from apps.releases.docs import layouts, rendering
from tests.builders import docs as builder
from tests.cast import person

FINGERPRINT = "C874011F0AB405110D02105534365D9472D7468F"
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


def pin(of, fingerprint=FINGERPRINT, state=KeyState.TRUSTED):
    """Of a provider."""
    address = {"upstream": of.upstream, "namespace": of.namespace, "provider": of}
    row, _ = KeyPin.objects.get_or_create(**address, fingerprint=fingerprint, defaults={"armor": "…", "state": state})
    return row


def verify(version, *, verdict=Verdict.PINNED, stored=("linux_amd64",), by=None):
    """The whole record of a version, and the bytes of some packages."""
    version.verdict, version.verified_at = verdict, timezone.now()
    version.key = None if verdict == Verdict.NO_KEY else pin(version.provider)
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
    stored_sums.recount_of(version.provider.upstream)
    return version


def document(version, files=builder.TODAY):
    """The docs of its stored package, as a worker reads them."""
    digest = version.packages.exclude(blob=None).order_by("pk").values_list("digest", flat=True)[0]
    places = layouts.about_in(files) | layouts.pages_in(files, is_archive=False)
    texts = {place: files[name].encode() for place, name in places.items()}
    kind = version.provider.type
    pages = list(rendering.render(texts, PackageDocsPage, prefix=docs.PREFIX, provider_type=kind))
    size = sum(len(page.html.encode()) for page in pages)
    read = PackageDocs.objects.create(digest=digest, reader=docs.READER, pages=len(pages), size=size)
    for page in pages:
        page.docs = read
    PackageDocsPage.objects.bulk_create(pages)
    stored_sums.recount_of(version.provider.upstream)


def alarm(kind, version, *, known, found, subject="", **more):
    provider = version.provider
    return Alarm.objects.create(
        kind=kind,
        upstream=provider.upstream,
        provider=provider,
        version=version,
        namespace=provider.namespace,
        subject=subject or str(version),
        known=known,
        found=found,
        url=f"https://{provider.upstream.host}/v1/providers/{provider.address}/{version.version}/download/linux/amd64",
        seen_at=timezone.now(),
        **more,
    )


NEW_KEY, OLD_KEY = "91A6E7F85D05C65630BEF18951852D87348FFC4C", FINGERPRINT
FAILURE = {
    "code": "status",
    "message": "The registry answered 503 Service Unavailable.",
    "url": "https://registry.opentofu.org/v1/providers/hashicorp/random/versions",
    "status": 503,
    "rule": "",
}


@dataclass(frozen=True)
class Shelf:
    """A mirror with everything that its pages can show; rows by what they are examples of."""

    public: Upstream
    private: Upstream
    provider: UpstreamProvider
    versions: dict[str, UpstreamVersion]
    alarms: dict[str, Alarm]
    waiting: KeyPin


def fill(by=None):
    now = timezone.now()
    public = upstream(failures=2, failed_at=now, failure=FAILURE, succeeded_at=now)
    terraform = upstream("registry.terraform.io", terraform_only=True, terms_accepted_at=now)
    private = upstream("registry.corp.example", visibility="private", is_sealed=True)
    row = provider(public, numbers=("3.5.1", "3.6.0", "3.6.3"))
    provider(public, numbers=("3.7.0", "3.8.0-beta1"), days=1)
    provider(terraform, "integrations/github", ("6.2.0",))
    provider(private, "corp/dns", ("1.0.0",))
    versions = {one.version: one for one in row.versions.all()}
    trusted = pin(row, fingerprint=OLD_KEY)
    trusted.source = "HashiCorp https://www.hashicorp.com/security.html"
    trusted.save()
    waiting = pin(row, fingerprint=NEW_KEY, state=KeyState.WAITING)
    verify(versions["3.5.1"], verdict=Verdict.FIRST_SEEN, stored=("linux_amd64", "darwin_arm64"), by=by)
    verify(versions["3.6.0"], stored=("linux_amd64",), by=by)
    document(versions["3.5.1"])
    versions["3.6.0"].is_listed = False
    versions["3.6.0"].save()
    verify(versions["3.6.3"], verdict=Verdict.PINNED, by=by)
    UnsignedAllowance.objects.create(
        upstream=public, namespace="kreuzwerker", reason="They sign from version 4.", created_by=by
    )
    docker = provider(public, "kreuzwerker/docker", ("3.0.2",)).versions.get()
    verify(docker, verdict=Verdict.NO_KEY, by=by)
    failed = versions["3.7.0"]
    failed.failure, failed.tried_at = FAILURE, now
    failed.save()
    return Shelf(public, private, row, versions, _alarms(versions, docker, by), waiting)


def _alarms(versions, docker, by):
    return {
        "key": alarm(
            AlarmKind.KEY_CHANGED,
            versions["3.7.0"],
            known={"fingerprint": OLD_KEY},
            found={"fingerprint": NEW_KEY},
            subject=f"{versions['3.7.0'].provider} key {NEW_KEY}",
        ),
        "bytes": alarm(
            AlarmKind.BYTES_CHANGED,
            versions["3.6.3"],
            known={"digest": "a" * 64},
            found={"digest": "d" * 64, "is_signed": True},
            subject=f"{versions['3.6.3']} terraform-provider-random_3.6.3_linux_amd64.zip",
            times=3,
        ),
        "signature": alarm(
            AlarmKind.SIGNATURE_BAD,
            versions["3.8.0-beta1"],
            known={"fingerprint": OLD_KEY},
            found={"fingerprint": NEW_KEY, "problem": "a signature that does not fit"},
        ),
        "done": alarm(
            AlarmKind.NO_KEY,
            docker,
            known={"fingerprint": ""},
            found={"fingerprint": ""},
            state="accepted",
            resolved_at=timezone.now(),
            resolved_by=by,
            reason="They sign from version 4.",
        ),
    }


# --- For test modules that import them -----------------------------------------------------------------------------


@pytest.fixture
def shelf(olga):
    return fill(olga)


@pytest.fixture
def auditor(db):
    user = person("audrey", is_staff=True)
    user.groups.add(Group.objects.get(name="Auditor"))
    return user
