"""Parts of an upload that a browser sends straight to object storage (LARDER_STORAGE_DIRECT_UPLOADS).

Larder gives a link for the next part and records it once it is there. Everything else is as if the bytes had come
through Larder: who may send, the order of the parts, the joining. No byte is accepted that Larder has not read itself:
a single part is hashed when it is recorded, several are when they are joined. The link creates an object of exactly
that size and never overwrites one, so what was hashed stays as it was.
"""

import uuid

from apps.artifacts import chunked
from apps.blobs import ingest, store
from apps.lib.digests import Tally
from apps.lib.errors import Conflict
from apps.releases.models import Upload
from apps.releases.publishing.resuming import Incoming, WrongOffset

# Larder reads the parts of a larger file and writes the whole once more.
PART_BYTES = 64 * 1024 * 1024


class NotStored(Conflict):
    code = "part_not_stored"

    def __init__(self) -> None:
        super().__init__("Storage does not have this part.", hint="Ask for a link, and send the part there first.")


def next_part(upload: Upload, *, start: int) -> tuple[store.UploadLink, int] | None:
    """Return the link for the next part, and its size; None if storage takes nothing from browsers.

    Raises WrongOffset.
    """
    if upload.finished_at is not None or start != upload.size:
        raise WrongOffset(upload.size)
    key, size = _next(upload)
    link = store.upload_link(key, size=size)
    return (link, size) if link else None


class InStorage(Incoming):
    """The part that the last link was for."""

    is_over = True

    def stage(self, upload: Upload, lease: uuid.UUID) -> tuple[str, store.Staged]:
        """Raises NotStored."""
        key, size = _next(upload)
        found = store.staged_size(key)
        if found != size:
            if found is not None:
                store.discard_staged(key)
            raise NotStored
        tally = Tally()
        if size == upload.length:
            for _ in tally.over(chunked.renewing(upload, lease, ingest.read_staged(key))):
                pass
        return key, store.Staged(tally.hexdigest, size)


def _next(upload: Upload) -> tuple[str, int]:
    """Return key and size of the next part: always the same ones, so that a lost answer costs nothing."""
    return f"{upload.pk.hex}-{upload.size}", min(PART_BYTES, upload.length - upload.size)
