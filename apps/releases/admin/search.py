from django.contrib import admin
from django.db.models import Q

from apps.accounts.admin.actors import each
from apps.accounts.admin.filters import in_namespace
from apps.admin_base import Act, Column, ReadOnlyAdmin, row_link
from apps.admin_base.base import address_condition
from apps.releases.catalogue import rebuilding
from apps.releases.models import SearchDoc


@admin.register(SearchDoc)
class SearchDocAdmin(ReadOnlyAdmin[SearchDoc]):
    """Rows behind lists and searches. Verbs update them; rebuilding repairs them."""

    list_display = ("title", "kind", "version", "lifecycle", "is_listed", "is_prerelease", "downloads", "published_at")
    list_filter = ("kind", "lifecycle", "is_listed", "is_prerelease", in_namespace())
    list_select_related = ("namespace", "release__namespace")
    date_hierarchy = "published_at"
    ordering = ("-pk",)
    indexed_orders = ("published_at",)
    search_fields = ("name",)
    search_help_text = "An address (acme/vpc/aws, acme/cloud) or its beginning."
    fields = (
        ("namespace", "name", "kind"),
        "description",
        ("version", "default_release"),
        ("lifecycle", "is_listed", "is_prerelease"),
        ("downloads", "published_at"),
    )
    readonly_fields = ("default_release",)
    acts = {
        "rebuild": Act(
            "Rebuild selected search documents",
            "releases.rebuild_searchdoc",
            each(lambda doc, _actor: rebuilding.rebuild(doc), "Rebuilt"),
            button="Rebuild",
        )
    }
    csv_columns = (
        "namespace__name",
        "name",
        "kind",
        "version",
        "lifecycle",
        "is_listed",
        "is_prerelease",
        "downloads",
        "published_at",
        "description",
    )

    def search_condition(self, word: str) -> Q:
        if by_address := address_condition(word, "namespace__name", "name"):
            return by_address
        return Q(namespace__name=word) | Q(name__begins=word)

    title = Column("module or provider", str, order="namespace__name")
    default_release = Column("release", lambda doc: row_link(doc.release))
