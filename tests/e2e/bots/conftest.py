from tests.e2e.test_documents import registry

__all__ = ["registry"]
