"""Admin pages of statements and attestations. Both are written once, so there is nothing to change."""

import json

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from apps.accounts.admin.filters import in_namespace
from apps.admin_base import Column, ReadOnlyAdmin, digest_prefix, row_link, short
from apps.admin_base.base import address_condition
from apps.lib.formats import dsse
from apps.provenance.models import Attestation, Statement


@admin.register(Statement)
class StatementAdmin(ReadOnlyAdmin[Statement]):
    list_display = ("title", "release_page", "key_page", "sha256", "size", "made_at")
    list_filter = (in_namespace("release__namespace"), "made_at")
    list_select_related = ("release__namespace", "key")
    indexed_orders = ()
    search_help_text = "An address (acme/vpc/aws), its beginning, a namespace, or the beginning of a digest."
    fields = (("release_page", "key_page"), ("digest", "size", "made_at"), "payload")
    csv_columns = (
        "release__namespace__name",
        "release__name",
        "release__version",
        "key__key_id",
        "digest",
        "size",
        "made_at",
    )

    def search_condition(self, word: str) -> Q:
        by_address = address_condition(word, "release__namespace__name", "release__name")
        return by_address or Q(release__namespace__name=word) | Q(digest__begins=digest_prefix(word))

    title = Column("statement", str)
    release_page = Column("release", lambda row: row_link(row.release))
    key_page = Column("key", lambda row: row_link(row.key))
    sha256 = Column("sha256", lambda row: short(row.digest), order="digest")

    @admin.display(description="what it says")
    def payload(self, row: Statement) -> str:
        said = json.loads(dsse.parse(bytes(row.envelope)).payload)
        return format_html("<pre>{}</pre>", json.dumps(said, indent=2, ensure_ascii=False))


@admin.register(Attestation)
class AttestationAdmin(ReadOnlyAdmin[Attestation]):
    list_display = ("title", "release_page", "form", "size", "is_pushed", "added_by", "added_at")
    list_filter = (in_namespace("release__namespace"), "form", "is_pushed")
    list_select_related = ("release__namespace", "added_by")
    date_hierarchy = "added_at"
    search_help_text = "An address (acme/vpc/aws), its beginning, a namespace, or the beginning of a digest."
    fields = (
        ("release_page", "form", "predicate_type"),
        ("digest", "size", "manifest_digest"),
        "names_signer",
        ("added_by", "added_at", "is_pushed"),
    )
    csv_columns = (
        "release__namespace__name",
        "release__name",
        "release__version",
        "form",
        "predicate_type",
        "signed_by",
        "digest",
        "size",
        "is_pushed",
        "added_by__username",
        "added_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attestation]:
        return super().get_queryset(request).defer("content")

    def search_condition(self, word: str) -> Q:
        by_address = address_condition(word, "release__namespace__name", "release__name")
        return by_address or Q(release__namespace__name=word) | Q(digest__begins=digest_prefix(word))

    title = Column("attestation", lambda row: short(row.digest), order="digest")
    release_page = Column("release", lambda row: row_link(row.release))
    names_signer = Column("names (not verified by Larder)", "signed_by")
