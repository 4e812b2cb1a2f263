from tests.e2e.conftest import example

__all__ = ["example"]
