from django.contrib import admin
from django.db.models import Q

from apps.accounts.admin.filters import in_namespace
from apps.admin_base import Column, ReadOnlyAdmin, row_link
from apps.admin_base.base import address_condition
from apps.releases.models import DownloadCount


@admin.register(DownloadCount)
class DownloadCountAdmin(ReadOnlyAdmin[DownloadCount]):
    """Downloads by day and client, never by person."""

    list_display = ("day", "title", "client", "count")
    list_filter = (in_namespace("release__namespace__name"),)
    list_select_related = ("release__namespace",)
    date_hierarchy = "day"
    ordering = ("-day", "-pk")
    search_fields = ("release__name",)
    search_help_text = "An address (acme/vpc/aws) or its beginning, or a version."
    fields = ("day", "release_page", "client", "count")
    readonly_fields = ("release_page",)
    csv_columns = ("day", "release__namespace__name", "release__name", "release__version", "client", "count")

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "release__namespace__name", "release__name"):
            return by_address
        return Q(release__namespace__name=word) | Q(release__name__begins=word) | Q(release__version=word)

    title = Column("release", lambda row: str(row.release), order="release__name")
    release_page = Column("release", lambda row: row_link(row.release))
