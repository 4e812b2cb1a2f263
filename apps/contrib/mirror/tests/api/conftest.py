from apps.contrib.mirror.tests.mirrored import auditor, shelf
from tests.api.conftest import as_described, in_pages

__all__ = ["as_described", "auditor", "in_pages", "shelf"]
