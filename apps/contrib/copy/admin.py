"""Admin pages of the static copy. Nothing is edited here: `manage.py static_copy` checks and repairs."""

from typing import Any

from django.conf import settings
from django.contrib import admin

from apps.admin_base import ReadOnlyAdmin
from apps.contrib.copy.models import Copy, Due
from apps.contrib.copy.writing import following


@admin.register(Copy)
class CopyAdmin(ReadOnlyAdmin[Copy]):
    names = ("static copy", "static copies")
    list_display = ("title", "behind", "current_at", "addresses_count", "failure")
    csv_columns = ("url", "current_at", "whole_at", "generation", "failing_since", "failure")
    fields = (("title", "behind"), ("current_at", "whole_at", "generation"), ("failing_since", "failure"), "fence")

    @admin.display(description="URL")
    def title(self, copy: Copy) -> str:
        return str(copy)

    @admin.display(description="Behind")
    def behind(self, copy: Any) -> str:
        """The age of the oldest change that it lacks, if it follows changes."""
        if copy.url != settings.STATIC_COPY.url:
            return "does not follow changes"
        return f"{following.behind().total_seconds():,.0f} s"

    @admin.display(description="Addresses")
    def addresses_count(self, copy: Copy) -> int:
        return copy.addresses.count()


@admin.register(Due)
class DueAdmin(ReadOnlyAdmin[Due]):
    names = ("change that the static copy lacks", "changes that the static copy lacks")
    list_display = ("scope", "created_at")
    csv_columns = ("scope", "created_at")
    fields = (("scope", "created_at"),)
