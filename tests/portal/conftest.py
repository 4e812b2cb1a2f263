"""The publisher's desk and the keys of the providers' own tests."""

from tests.providers.conftest import desk, held, registered, worker

__all__ = ["desk", "held", "registered", "worker"]
