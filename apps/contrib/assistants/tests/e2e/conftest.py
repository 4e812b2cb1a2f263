from tests.e2e.conftest import shelf

__all__ = ["shelf"]
