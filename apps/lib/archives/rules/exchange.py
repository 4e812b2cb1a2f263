"""What the confined child answers, as JSON: a listing, or reasons."""

from base64 import b64decode, b64encode
from typing import Any

from apps.lib.archives.rules.outcome import Entry, Listing, Refusal
from apps.lib.errors import Reason

_ENTRY = Entry.__slots__


def listing_fields(listing: Listing) -> dict[str, Any]:
    """A listing, ready for JSON."""
    return {
        "digest": listing.digest,
        "size": listing.size,
        "entries": [[getattr(entry, name) for name in _ENTRY] for entry in listing.entries],
        "texts": {name: b64encode(text).decode("ascii") for name, text in listing.texts.items()},
        "pid": listing.pid,
        "form": listing.form,
        "private_keys": listing.private_keys,
    }


def refusal_fields(refusal: Refusal) -> dict[str, Any]:
    """A refusal, ready for JSON."""
    return {"reasons": [reason.as_dict() for reason in refusal.reasons]}


def read_listing(fields: dict[str, Any]) -> Listing:
    """Reads what one of the above wrote. Raises Refusal; ValueError, KeyError or TypeError where it is neither."""
    raise_refusal(fields)
    return Listing(
        digest=fields["digest"],
        size=fields["size"],
        entries=tuple(Entry(*entry) for entry in fields["entries"]),
        texts={name: b64decode(text) for name, text in fields["texts"].items()},
        pid=fields["pid"],
        form=fields["form"],
        private_keys=tuple(fields["private_keys"]),
    )


def raise_refusal(fields: dict[str, Any]) -> None:
    """Raises the Refusal that the fields hold, if they do."""
    if "reasons" in fields:
        raise Refusal([Reason.from_dict(reason) for reason in fields["reasons"]])
