"""Marks of identities: digests that are equal for one identity, where it is only compared and not shown.

A run's actor and a tag's tagger are people of a forge. Larder keeps their marks with a release, and compares them with
those of its accounts: `people.same_person.marks_of`.
"""

import hashlib

from apps.accounts.models import PastIdentity

# In the place of an issuer, if a claim names a subject without one.
ANYWHERE = "*"


def of_subject(issuer: str, subject: str) -> str:
    """A subject of an issuer, as sign-on has it; issuers with and without a slash at their end are one."""
    return _digest(issuer.strip().rstrip("/"), subject.strip())


def of_address(address: str) -> str:
    """A mail address, without regard to letter case."""
    return _digest(PastIdentity.MAIL, address.strip().lower())


def _digest(provider: str, uid: str) -> str:
    return hashlib.sha256(f"{provider}\n{uid}".encode(errors="replace")).hexdigest()
