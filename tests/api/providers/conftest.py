"""The publisher's draft_client and the keys of the providers' own tests."""

import hashlib

from tests.providers.conftest import draft_client, held, registered

__all__ = ["draft_client", "held", "registered"]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
