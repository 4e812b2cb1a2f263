"""The digests in quarantine as this process last read them, for use while the database is away (D6).

Otherwise every fetch asks the database (`ReleaseQuerySet.with_bytes`).
"""

import time
from collections.abc import Callable, Mapping

from apps.audit import generation
from apps.blobs.renewing import Renewed
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import NotFound, Reason
from apps.releases.models import Release, ReleaseBlob

# 64 characters each, so a few MB.
MAX_DIGESTS = 50_000
MAX_AGE_SECONDS = 60.0


class Blocked(Renewed[frozenset[str]]):
    def __init__(self) -> None:
        super().__init__("blocked-digests", frozenset())
        # The last change of everything that this process knows (a quarantine is one), and that the list has.
        self.newest: Callable[[], int] = lambda: 0
        self._has = 0
        self._read_at = float("-inf")

    def __contains__(self, digest: str) -> bool:
        return digest in self.value

    def is_complete(self) -> bool:
        """Return whether the list has every quarantine that this process knows of: one may be newer than the list."""
        return self._has >= self.newest()

    def renew(self) -> None:
        """Read the list if it may have changed. Once a minute it is read anyway: rows may change behind the verbs."""
        number, now = generation.number_of(generation.EVERYTHING), time.monotonic()
        if number != self._has or now >= self._read_at + MAX_AGE_SECONDS:
            super().renew()
            self._has, self._read_at = number, now

    def clear(self) -> None:
        super().clear()
        self._read_at = float("-inf")

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
    """Raise NotFound if the release, or another with the same bytes, is in quarantine."""
    if not Release.objects.with_bytes(release.digest).filter(pk=release.pk).exists():
        raise NotFound(
            f"The files of {release} are not shown: the same bytes are in quarantine.",
            hint="Ask an operator.",
        )


def refuse_quarantined(files: Mapping[str, str]) -> None:
    """Raise Refusal for files (names by digest) whose bytes are in quarantine in any release, without naming it (D8).

    Such a release could be listed but never fetched.
    """
    rows = Release.objects.filter(quarantined_at__isnull=False, digest__in=files).values_list("digest")
    parts = ReleaseBlob.objects.filter(release__quarantined_at__isnull=False, digest__in=files).values_list("digest")
    found = {digest for (digest,) in rows.union(parts)}
    hint = "Build it again without the problem, or ask an operator to lift the quarantine"
    if found:
        raise Refusal(
            [
                Reason(
                    code="quarantined",
                    found=f"bytes that are in quarantine (sha256:{digest})",
                    expected="bytes that are not in quarantine",
                    hint=hint,
                    file=name,
                )
                for digest, name in files.items()
                if digest in found
            ]
        )


blocked = Blocked()
start = blocked.start
