"""Inspect stored archives again after the rules of inspection changed. Their bytes stay unchanged (D5)."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs import queue, turns
from apps.jobs.claims import Claim
from apps.lib.archives import sandboxed
from apps.modules import checking, folder_names, inspection
from apps.modules.catalogue import entries
from apps.modules.contents import extraction, readme
from apps.modules.models import ModuleVersion, ModuleVersionQuerySet

JOB = "inspect-module"
SOURCE = "inspections"


def outdated() -> ModuleVersionQuerySet:
    first, *others = outdated_parts()
    return ModuleVersion.objects.filter(pk__in=first.union(*others))


def outdated_parts() -> list[QuerySet[ModuleVersion, Any]]:
    """Return their keys range by range, no key twice: an index serves each of them, and no "not equal"."""
    every, rules, renderer = ModuleVersion.objects.values("pk"), inspection.INSPECTOR, readme.RENDERER
    return [
        every.filter(inspector__lt=rules),
        every.filter(inspector__gt=rules),
        every.filter(inspector=rules, readme_renderer__lt=renderer),
        every.filter(inspector=rules, readme_renderer__gt=renderer),
    ]


def request(versions: ModuleVersionQuerySet, *, actor_id: int | None) -> int:
    """Queue a job for each version that has none yet; return the number queued."""
    rows = sorted(versions.values_list("pk", "module__namespace"))
    source = turns.source_of(SOURCE, count=len(rows))
    return sum(
        queue.enqueue_once(JOB, target=pk, created_by_id=actor_id, source=source, share=f"namespace {namespace}")
        for pk, namespace in rows
    )


def run(claim: Claim) -> None:
    rows = ModuleVersion.objects.filter(pk=claim.target).without_texts()
    version = rows.select_related("module__namespace", "release__namespace").first()
    if version is None:
        return  # purged meanwhile
    release = version.release
    with store.open_blob(release.digest) as file:
        listing = sandboxed.inspect(file, checking.limits(), wanted=extraction.WANTED)
    if listing.digest != release.digest:
        raise store.Damaged(f"The stored bytes of {release} differ from the published ones.")
    address = version.module.address
    pages = readme.page_path(address, release.version)
    inspected = extraction.inspect(listing, pages, folder_names.several(release.folder))
    contents = extraction.read(listing, inspected, address=address, version=release.version)
    with transaction.atomic():
        claim.guard()
        extraction.write(version, contents)
        entries.refresh(version.module)
        rules = f"{version.inspector}/{version.readme_renderer}"
        record(Event.RELEASE_INSPECTED, actor_id=None, subject=str(release), release=release.pk, rules=rules)
