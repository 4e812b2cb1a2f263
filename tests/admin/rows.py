"""Many rows of everything the admin lists, made in bulk."""

import hashlib
from datetime import timedelta

from django.utils import timezone

from apps.accounts.models import ApiToken, Grant, Invitation, Membership, Namespace, Team, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.blobs.models import Blob
from apps.jobs.models import Job
from apps.lib.versions import parse
from apps.modules.models import Module, ModuleCall, ModuleVersion
from apps.releases.cleanup_rules import CleanupRule
from apps.releases.models import DownloadCount, Release, SearchDoc

LISTED = (
    Namespace,
    Team,
    Grant,
    User,
    Invitation,
    ApiToken,
    AuditEvent,
    Blob,
    Job,
    Release,
    DownloadCount,
    SearchDoc,
    CleanupRule,
    Module,
    ModuleVersion,
)


def digest_of(text):
    return hashlib.sha256(text.encode()).hexdigest()


def make(start, stop):
    """Rows number `start` up to `stop` of each listed model, every one with its own namespace, person and so on."""
    now, numbers = timezone.now(), range(start, stop)
    users = User.objects.bulk_create(User(username=f"person{n}") for n in numbers)
    namespaces = Namespace.objects.bulk_create(
        Namespace(name=f"team{n}", canonical=f"team{n}", created_by=user)
        for n, user in zip(numbers, users, strict=True)
    )
    both = list(zip(numbers, namespaces, users, strict=True))
    Grant.objects.bulk_create(Grant(namespace=ns, user=user, role=1, given_by=user) for _, ns, user in both)
    teams = Team.objects.bulk_create(Team(name=f"crew{n}", created_by=user) for n, _, user in both)
    Membership.objects.bulk_create(
        Membership(team=team, user=user, added_by=user) for team, user in zip(teams, users, strict=True)
    )
    Grant.objects.bulk_create(
        Grant(namespace=ns, team=team, role=2, given_by=user) for team, (_, ns, user) in zip(teams, both, strict=True)
    )
    soon = now + timedelta(days=1)
    Invitation.objects.bulk_create(
        Invitation(digest=digest_of(f"i{n}"), namespace=ns, role=1, created_by=user, used_by=user, expires_at=soon)
        for n, ns, user in both
    )
    ApiToken.objects.bulk_create(
        ApiToken(user=user, label="ci", start=f"lrd_u_{n}", digest=digest_of(f"t{n}"), scope="read", expires_at=soon)
        for n, _, user in both
    )
    AuditEvent.objects.bulk_create(
        AuditEvent(kind=Kind.NAMESPACE_CREATED, actor_id=user.pk, subject=ns.name, request_id=f"request-{n}")
        for n, ns, user in both
    )
    Blob.objects.bulk_create(Blob(digest=digest_of(f"b{n}"), size=n) for n in numbers)
    releases = Release.objects.bulk_create(release(n, ns, user, now) for n, ns, user in both)
    Job.objects.bulk_create(
        Job(kind="publish-module", target=row.pk, state="failed", finished_at=now) for row in releases
    )
    modules = Module.objects.bulk_create(
        Module(namespace=ns, name="vpc", system="aws", canonical="vpc/aws") for ns in namespaces
    )
    versions = ModuleVersion.objects.bulk_create(
        ModuleVersion(module=module, release=row, is_prerelease=False)
        for module, row in zip(modules, releases, strict=True)
    )
    ModuleCall.objects.bulk_create(
        ModuleCall(version=version, name="subnets", source="./modules/subnets") for version in versions
    )
    DownloadCount.objects.bulk_create(
        DownloadCount(release=row, day=now.date(), client="OpenTofu 1.12.6", count=3) for row in releases
    )
    SearchDoc.objects.bulk_create(search_doc(row, now) for row in releases)
    CleanupRule.objects.bulk_create(CleanupRule(namespace=ns, changed_by=user) for _, ns, user in both)


def search_doc(row, now):
    return SearchDoc(
        kind=row.kind,
        namespace=row.namespace,
        name=row.name,
        release=row,
        version=row.version,
        lifecycle=row.lifecycle,
        is_prerelease=False,
        is_listed=True,
        published_at=now,
        downloads=3,
    )


def release(number, namespace, user, now):
    return Release(
        kind="module",
        namespace=namespace,
        name="vpc/aws",
        version="1.0.0",
        sort_key=parse("1.0.0").sort_key,
        state="published",
        staging_key=f"staged-{number}",
        digest=digest_of(f"stored{number}"),
        uploaded_digest=digest_of(f"uploaded{number}"),
        size=10,
        created_by=user,
        published_at=now,
    )


def more_versions(module, count):
    """So many more versions of one module."""
    now, user = timezone.now(), User.objects.order_by("pk").first()
    made = [release(10_000 + n, module.namespace, user, now) for n in range(count)]
    for n, row in enumerate(made):
        row.version = f"2.{n}.0"
        row.sort_key = parse(row.version).sort_key
    made = Release.objects.bulk_create(made)
    ModuleVersion.objects.bulk_create(ModuleVersion(module=module, release=row, is_prerelease=False) for row in made)
