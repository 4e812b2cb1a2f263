"""The one JSON document that the child writes: a listing, reasons, or what broke."""

import json
from base64 import b64decode, b64encode
from typing import Any

from apps.lib.errors import Reason
from apps.lib.zips.outcome import Entry, Listing, Refusal

# The directory and the texts are capped; with every quote escaped and the texts in base 64 they stay below this.
MOST_BYTES = 64 * 1024 * 1024
OUT_OF_MEMORY = 75  # the child's exit code where it could not even write a document


class CheckBroken(Exception):
    """The check itself did not work: say nothing about the archive, try again later."""


def listing_document(listing: Listing) -> bytes:
    """A listing as JSON."""
    return _encoded(
        {
            "digest": listing.digest,
            "size": listing.size,
            "entries": [[entry.name, entry.size, entry.mode, entry.is_dir] for entry in listing.entries],
            "texts": {name: b64encode(text).decode("ascii") for name, text in listing.texts.items()},
            "pid": listing.pid,
        }
    )


def refusal_document(refusal: Refusal) -> bytes:
    """A refusal as JSON."""
    return _encoded({"reasons": [reason.as_dict() for reason in refusal.reasons]})


def broken_document(error: BaseException) -> bytes:
    """What went wrong with the check, as JSON."""
    return _encoded({"broken": f"{type(error).__name__}: {error}"})


def read_document(document: bytes) -> Listing:
    """Reads what one of the above wrote. Raises Refusal, or CheckBroken where it is neither."""
    try:
        fields: dict[str, Any] = json.loads(document)
        if "broken" in fields:
            raise CheckBroken(fields["broken"])
        if "reasons" in fields:
            raise Refusal([Reason.from_dict(reason) for reason in fields["reasons"]])
        entries = tuple(Entry(*entry) for entry in fields["entries"])
        texts = {name: b64decode(text) for name, text in fields["texts"].items()}
        return Listing(fields["digest"], fields["size"], entries, texts, fields["pid"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckBroken(f"the check answered {document[:80]!r}") from error


def _encoded(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
