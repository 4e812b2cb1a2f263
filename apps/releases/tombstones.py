"""Tombstones of purged versions: the number, which is never used again, and the reason."""

from apps.lib.errors import Conflict
from apps.releases.models import Release


class VersionRemoved(Conflict):
    def __init__(self, tombstone: Release) -> None:
        super().__init__(
            sentence_of(tombstone),
            hint="A version number is never used again: publish your archive under another one.",
        )


def sentence_of(tombstone: Release) -> str:
    """Return a sentence: `acme/vpc/aws 1.2.0 was removed on 2026-11-20: it held a key.`"""
    when = f" on {tombstone.lifecycle_at:%Y-%m-%d}" if tombstone.lifecycle_at else ""
    why = tombstone.lifecycle_reason
    return f"{tombstone} was removed{when}: {why}{'' if why[-1:] in ('.', '!', '?') else '.'}"
