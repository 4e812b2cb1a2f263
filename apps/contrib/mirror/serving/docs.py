"""The docs of mirrored versions: read from one stored package each by a worker, and shown as those of our own.

Not when the package is stored, which is while a client waits for the next one: when they are first opened, and what was
not opened each hour, in bulk.

Nothing is fetched for them. Registries name only packages, sums and signatures: a source archive that the sums may
list has no address.
"""

from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from apps.blobs import store
from apps.contrib.mirror import stored_sums
from apps.contrib.mirror.models import PackageDocs, PackageDocsPage, Upstream, UpstreamPackage, UpstreamVersion
from apps.contrib.mirror.records.storage import quarantined
from apps.jobs import queue
from apps.jobs.claims import Claim
from apps.lib.archives.rules.outcome import Refusal
from apps.lib.markdown.rendering import RENDERER
from apps.lib.packages import sandboxed
from apps.releases.docs import reading, rendering

JOB = "read-mirrored-docs"
SOURCE = "mirrored docs"
# Each change of what is read, or of how it is shown, has stored packages read again.
READER = f"1/{RENDERER}"
# Where links between pages begin in what is stored: the address of the pages differs for each version.
PREFIX = "/mirror/docs"
# Registries whose pages for people are elsewhere than those of Larder.
_PAGES = {"registry.opentofu.org": ("https://search.opentofu.org/provider", "v{}")}
# Versions that are asked for at once. The next run continues.
MAX_QUEUED = 500

log = structlog.get_logger("larder.upstream")


# --- Which are read ---------------------------------------------------------------------------------------------------


def request(version: UpstreamVersion, *, source: str = "") -> None:
    """Have a worker read the docs of a version with a stored package, unless they are read already."""
    if _unread().filter(pk=version.pk).exists():
        share = f"upstream {version.provider.upstream_id}"
        queue.enqueue_once(JOB, target=version.pk, created_by_id=None, source=source, share=share)


def request_unread() -> int:
    """Ask for versions that were never opened, or whose package went; return how many."""
    rows = list(_unread().select_related("provider").only("pk", "provider__upstream").order_by("-pk")[:MAX_QUEUED])
    for version in rows:
        request(version, source=SOURCE)
    return len(rows)


def _unread() -> QuerySet[UpstreamVersion]:
    """Return versions with a stored package of which no package was read."""
    packages = UpstreamPackage.objects.filter(version=OuterRef("pk"), blob__isnull=False)
    read = packages.filter(digest__in=PackageDocs.objects.filter(reader=READER).values("digest"))
    return UpstreamVersion.objects.filter(Exists(packages), ~Exists(read))


# --- The worker -------------------------------------------------------------------------------------------------------


def run(claim: Claim) -> None:
    """Read the smallest stored package of a version. Safe to repeat: the rows change in one transaction."""
    version = _unread().select_related("provider").filter(pk=claim.target).first()
    packages = UpstreamPackage.objects.filter(version=claim.target, blob__isnull=False).order_by("size", "pk")
    package = packages.first() if version is not None else None
    if version is None or package is None:
        return  # read by now, or dropped
    pages = [] if claim.exhausted else _pages(package.digest, version.provider.type)
    _write(package.digest, pages, claim)
    log.info("mirrored_docs_read", version=str(version), package=package.digest, pages=len(pages))


def _pages(digest: str, provider_type: str) -> list[PackageDocsPage]:
    """Empty if the package cannot be read: clients want it without docs, too."""
    limits = sandboxed.limits(
        packed_bytes=settings.PROVIDER_PACKAGE_MAX_BYTES, unpacked_bytes=settings.PROVIDER_UNPACKED_MAX_BYTES
    )
    try:
        with store.open_blob(digest) as file:
            listing = sandboxed.inspect_foreign(file, limits)
    except Refusal as refusal:  # the limits are lower than they were
        log.warning("mirrored_docs_refused", package=digest, why=str(refusal)[:300])
        return []
    if listing.digest != digest:
        raise store.Damaged(f"The stored bytes of sha256:{digest} differ from the verified ones.")
    texts = reading.package_texts(digest, listing.entries, partial(store.read, digest), is_foreign=True)
    return list(rendering.render(texts, PackageDocsPage, prefix=PREFIX, provider_type=provider_type))


def _write(digest: str, pages: list[PackageDocsPage], claim: Claim) -> None:
    alike = UpstreamPackage.objects.filter(digest=digest, blob__isnull=False)
    upstreams = Upstream.objects.filter(providers__versions__packages__in=alike).values_list("pk", flat=True)
    size = sum(len(page.html.encode()) for page in pages)
    fields = {"reader": READER, "pages": len(pages), "size": size}
    with transaction.atomic(), stored_sums.changing(upstreams, {digest}):
        claim.guard()
        docs, _ = PackageDocs.objects.update_or_create(digest=digest, defaults=fields)
        docs.rows.all().delete()
        for page in pages:
            page.docs = docs
        PackageDocsPage.objects.bulk_create(pages, batch_size=50)


# --- For pages --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """`docs`: None if the version has none to show, and `why` not then. `are_coming`: a worker was asked for them."""

    docs: PackageDocs | None
    why: str = ""
    are_coming: bool = False


def of(version: UpstreamVersion) -> Shown:
    """Return the docs of a version that its reader may see: three queries at most. Ask for them the first time."""
    digests = list(version.packages.filter(blob__isnull=False).values_list("digest", flat=True))
    if not digests:
        return Shown(None, "Larder reads documentation from stored packages, and stores none of this version.")
    read = list(PackageDocs.objects.filter(digest__in=digests).order_by("-pages", "pk"))
    if not read:
        request(version)
        return Shown(None, "Larder is reading the packages of this version.", are_coming=True)
    if not read[0].pages:
        return Shown(None, "The packages of this version contain no documentation that Larder can read.")
    if quarantined(digests):
        return Shown(None, "Packages of this version are quarantined: their documentation is not shown.")
    return Shown(read[0])


def placed(html: str, url: str) -> str:
    """Return the HTML of a page with links that begin with `url`, the address of the version's docs."""
    return html.replace(f'href="{PREFIX}', f'href="{url}')


def registry_page(version: UpstreamVersion) -> str:
    """Return the URL of the page that the registry has about a version, for people."""
    provider = version.provider
    start, end = _PAGES.get(provider.upstream.host, (f"{provider.upstream.base_url}/providers", "{}/docs"))
    return f"{start}/{provider.address}/{end.format(quote(version.version, safe='+'))}"
