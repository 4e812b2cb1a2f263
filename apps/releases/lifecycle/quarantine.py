"""The digests in quarantine as this process last knew them: what holds while the database is away (D6).

While it answers, every fetch asks it (`ReleaseQuerySet.with_bytes`) and nobody needs this list.
"""

from collections.abc import Mapping

from apps.blobs.renewing import Renewed
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import NotFound, Reason
from apps.releases.models import Release, ReleaseBlob

# 64 characters each: a few MB. More than this in quarantine at once is an incident that stops more than downloads.
MAX_DIGESTS = 50_000


class Blocked(Renewed[frozenset[str]]):
    def __init__(self) -> None:
        super().__init__("blocked-digests", frozenset())

    def __contains__(self, digest: str) -> bool:
        return digest in self.value

    def read(self) -> frozenset[str]:
        rows = Release.objects.filter(quarantined_at__isnull=False).order_by("-quarantined_at", "-pk")
        parts = ReleaseBlob.objects.filter(release__quarantined_at__isnull=False)
        newest = parts.order_by("-release__quarantined_at", "-pk")
        found = [
            *rows.values_list("digest", flat=True)[:MAX_DIGESTS],
            *newest.values_list("digest", flat=True)[:MAX_DIGESTS],
        ]
        return frozenset(found)


def refuse_blocked(release: Release) -> None:
    """Raises NotFound where its bytes are in quarantine, its own or another's with the same: no page shows them."""
    if not Release.objects.with_bytes(release.digest).filter(pk=release.pk).exists():
        raise NotFound(
            f"The files of {release} are not shown: the same bytes are in quarantine.",
            hint="Ask those who operate this registry.",
        )


def refuse_quarantined(files: Mapping[str, str]) -> None:
    """`files` are names by their digests. Raises Refusal for those whose bytes are in quarantine under whatever name:
    what is published of them could be listed, and fetched by nobody. Whose release it is stays untold (D8).
    """
    rows = Release.objects.filter(quarantined_at__isnull=False, digest__in=files).values_list("digest")
    parts = ReleaseBlob.objects.filter(release__quarantined_at__isnull=False, digest__in=files).values_list("digest")
    found = {digest for (digest,) in rows.union(parts)}
    if found:
        raise Refusal([_in_quarantine(digest, files[digest]) for digest in files if digest in found])


def _in_quarantine(digest: str, name: str) -> Reason:
    return Reason(
        code="quarantined",
        found=f"bytes that are in quarantine here (sha256:{digest})",
        expected="bytes that may be fetched",
        hint="Build it anew without what was wrong with them, or ask those who operate this registry to release them",
        file=name,
    )


blocked = Blocked()
start = blocked.start
