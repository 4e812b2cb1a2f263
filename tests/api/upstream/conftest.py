from tests.upstream.mirrored import auditor, shelf

__all__ = ["auditor", "shelf"]
