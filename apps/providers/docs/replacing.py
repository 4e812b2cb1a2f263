"""Replace the docs of a published version. Clients do not verify docs, so they may change.

Publishers upload an archive; a worker reads it and replaces the pages. A refused archive leaves them unchanged.
"""

import uuid
from collections.abc import Callable, Iterable
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs import database_availability, queue
from apps.jobs.claims import Claim
from apps.lib.addresses import ProviderAddress
from apps.lib.archives.sandboxed import Refusal
from apps.lib.digests import counted
from apps.lib.errors import Conflict, Invalid, Reason
from apps.providers import catalogue, reading
from apps.providers.docs import sources
from apps.providers.drafting import drafts
from apps.providers.models import DocsArchive, DocsPage, DocsState, ProviderVersion
from apps.releases.lifecycle import purging, release_blobs

JOB = "read-provider-docs"

GIVEN_UP = Reason(
    "gave_up", "that all attempts to read it failed", "a verdict", "Send it again, or ask an operator to check the log"
)

log = structlog.get_logger("larder.providers")


def version_of(viewer: Viewer, address: ProviderAddress, version: str) -> ProviderVersion:
    """The version, for publishers, who may change its docs."""
    provider, _ = reading.provider_and_role(viewer, address, need=Role.PUBLISHER)
    return reading.version_of(viewer, provider, version)


def receive(
    *, viewer: Viewer, version: ProviderVersion, open_body: Callable[[], Iterable[bytes]]
) -> tuple[DocsArchive, bool]:
    """Store an archive and queue a job to read it; return it, and False if the same bytes are shown or wait already.

    Raises Conflict, Invalid, or TooLarge beyond its limit.
    """
    limit, key = settings.PROVIDER_DOCS_MAX_BYTES, f"docs-{uuid.uuid4().hex}"
    staged = store.stage(key, counted(open_body(), limit=limit, what="The archive", setting=drafts.DOCS_SETTING))
    is_recorded = False
    try:
        if not staged.size:
            raise Invalid("The upload is empty.", hint="Send the zip itself as the body of the request.")
        database_availability.release_connection()
        archive, is_recorded = _record_received(viewer, version, key, staged)
    finally:
        if not is_recorded:
            store.discard_staged(key)
    return archive, is_recorded


@transaction.atomic
def _record_received(
    viewer: Viewer, version: ProviderVersion, key: str, staged: store.Staged
) -> tuple[DocsArchive, bool]:
    ProviderVersion.objects.select_for_update(no_key=True).get(pk=version.pk)  # one upload at a time
    known = version.docs_archives.filter(state__in=[DocsState.RECEIVED, DocsState.SHOWN]).order_by("-pk").first()
    if known is not None and known.digest == staged.digest:
        return known, False
    if known is not None and known.state == DocsState.RECEIVED:
        raise _busy(version)
    archive = DocsArchive.objects.create(
        version=version,
        state=DocsState.RECEIVED,
        staging_key=key,
        digest=staged.digest,
        size=staged.size,
        created_by=viewer.user,
    )
    facts = {"digest": staged.digest, "size": staged.size}
    viewer.record(Event.PROVIDER_DOCS_RECEIVED, subject=str(version), release=version.release_id, **facts)
    if not queue.enqueue_once(JOB, target=version.pk, created_by_id=viewer.user_id):
        raise _busy(version)
    return archive, True


def staging_keys(using: str) -> set[str]:
    """Return the staging keys of archives that no worker has read yet, as that database has them."""
    waiting = DocsArchive.objects.using(using).filter(state=DocsState.RECEIVED).exclude(staging_key="")
    return set(waiting.values_list("staging_key", flat=True))


def _busy(version: ProviderVersion) -> Conflict:
    return Conflict(
        f"Another documentation upload of {version} is being processed.", hint="Send yours again in a few seconds."
    )


# --- The worker -------------------------------------------------------------------------------------------------------


def run(claim: Claim) -> None:
    """Read the received archive. Safe to repeat: the rows change in one transaction."""
    rows = DocsArchive.objects.filter(version=claim.target, state=DocsState.RECEIVED).order_by("pk")
    archive = rows.select_related("version__provider__namespace", "version__release__namespace").first()
    if archive is None:
        return
    if claim.exhausted:
        _refuse(archive, [GIVEN_UP], claim)
        return
    version, release = archive.version, archive.version.release
    try:
        with store.open_staged(archive.staging_key) as staged:
            texts = sources.archive_texts(staged, digest=archive.digest)
    except Refusal as refusal:
        _refuse(archive, refusal.reasons, claim)
        return
    pages = list(sources.render(texts, version.provider.address, release.version))
    release_blobs.record_blobs(release, {archive.digest: drafts.docs_name(release)}, claim=claim)
    store.store_staged(archive.staging_key, digest=archive.digest, size=archive.size)
    _show(archive, pages, claim)
    store.discard_staged(archive.staging_key)


def _show(archive: DocsArchive, pages: list[DocsPage], claim: Claim) -> None:
    version = archive.version
    former = version.docs_archives.filter(state=DocsState.SHOWN).first()
    with transaction.atomic():
        claim.guard()
        is_there = ProviderVersion.objects.select_for_update(no_key=True).filter(pk=version.pk).exists()
        if is_there:
            version.docs_archives.filter(state=DocsState.SHOWN).update(state=DocsState.REPLACED)
            DocsArchive.objects.filter(pk=archive.pk).update(state=DocsState.SHOWN, staging_key="")
            sources.write(version, pages)
            catalogue.refresh(version.provider)
            _record(archive, "shown", pages=len(pages))
    superfluous = former.digest if former and is_there else archive.digest if not is_there else ""
    # The bytes of an archive that is no longer shown go, unless another row refers to them.
    is_used = superfluous == version.release.digest or version.packages.filter(digest=superfluous).exists()
    if superfluous and not is_used and purging.remove(version.release, superfluous, claim):
        version.release.blobs.filter(digest=superfluous).delete()
    log.info("docs_shown", version=str(version), pages=len(pages))


def _refuse(archive: DocsArchive, reasons: list[Reason], claim: Claim) -> None:
    rows = [reason.as_dict() for reason in reasons]
    with transaction.atomic():
        claim.guard()
        DocsArchive.objects.filter(pk=archive.pk).update(state=DocsState.REFUSED, reasons=rows, staging_key="")
        _record(archive, "refused", reasons=[reason.code for reason in reasons])
    store.discard_staged(archive.staging_key)


def _record(archive: DocsArchive, outcome: str, **more: Any) -> None:
    record(
        Event.PROVIDER_DOCS_READ,
        actor_id=None,
        subject=str(archive.version),
        release=archive.version.release_id,
        digest=archive.digest,
        outcome=outcome,
        **more,
    )
