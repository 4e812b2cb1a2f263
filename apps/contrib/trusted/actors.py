"""The accounts behind a run, as marks that are compared with those of accounts: its claims name people of the
vendor.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from apps.accounts.identity import marks
from apps.accounts.identity.trusted.declarations import Vendor

MAX_IDENTITIES = 50


def marks_of(vendor: Vendor, issuer: str, claims: Mapping[str, Any]) -> set[str]:
    """Return the marks of the run's starter; none if its claims name no person, or name one ambiguously."""
    actor, places = vendor.actor, {issuer, vendor.site_of(issuer)} - {""}
    found = {
        marks.of_subject(place, subject)
        for claim in actor.ids
        for subject in _texts(claims.get(claim))
        for place in places
    }
    found |= {marks.of_address(one) for claim in actor.addresses for one in _texts(claims.get(claim)) if "@" in one}
    if actor.identities:
        for subject in _subjects(claims.get(actor.identities)):
            found.add(marks.of_subject(marks.ANYWHERE, subject))
            if "@" in subject:
                found.add(marks.of_address(subject))
    return found


def _texts(value: object) -> Iterator[str]:
    """Vendors write ids as numbers or as text."""
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        yield str(value)


def _subjects(listed: object) -> Iterator[str]:
    for one in listed[:MAX_IDENTITIES] if isinstance(listed, list) else []:
        yield from _texts(one.get("extern_uid")) if isinstance(one, dict) else ()
