"""The publisher's draft_client and the keys of the providers' own tests."""

from tests.providers.conftest import draft_client, held, registered

__all__ = ["draft_client", "held", "registered"]
