from apps.contrib.mirror.tests.mirrored import auditor, shelf

__all__ = ["auditor", "shelf"]
