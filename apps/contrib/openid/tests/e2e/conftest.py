from tests.e2e.conftest import terraform

__all__ = ["terraform"]
