"""Claims as Larder keeps them: bounded, and by the same names for each vendor."""

from collections.abc import Collection, Mapping
from typing import Any

from apps.accounts.identity.trusted.declarations import Vendor

MAX_CLAIMS = 40
MAX_ITEMS = 10
LONGEST_NAME = 80
LONGEST_VALUE = 200


def bounded(claims: Mapping[str, Any], *, first: Collection[str] = ()) -> dict[str, Any]:
    """Return claims that a database can store, whatever a stranger wrote: few, short, and flat; `first` among them."""
    ordered = sorted(claims.items(), key=lambda item: item[0] not in first)
    return {text(name)[:LONGEST_NAME]: _bounded(value) for name, value in ordered[:MAX_CLAIMS]}


def _bounded(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, list):
        return [_bounded(one) if not isinstance(one, list) else text(repr(one)) for one in value[:MAX_ITEMS]]
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    return text(value if isinstance(value, str) else repr(value))


def text(value: str) -> str:
    """Return at most LONGEST_VALUE characters of it that every database stores."""
    return value[:LONGEST_VALUE].replace("\0", "").encode(errors="replace").decode()


def origin_of(vendor: Vendor, claims: Mapping[str, Any]) -> dict[str, str]:
    """Return where a run comes from by the same names for each vendor, such as repository, commit, workflow and run."""
    found = {name: claims.get(claim) for name, claim in vendor.origin.items()}
    return {name: text(str(value)) for name, value in found.items() if isinstance(value, str | int) and value != ""}
