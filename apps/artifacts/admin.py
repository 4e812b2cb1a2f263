"""Operators' pages of what was pushed over OCI: looked at, never edited; uploads are ended, garbage is collected."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from apps.accounts.admin.actors import each
from apps.accounts.admin.filters import by_person, in_namespace
from apps.admin_base import Act, Column, ReadOnlyAdmin, badge, count_of, is_set, link, one_of, row_link
from apps.artifacts import gc, uploads
from apps.artifacts.models import COLLECTED, Collection, Manifest, Repository, RepositoryBlob, Tag, UploadSession
from apps.lib.addresses import canonical

# A request of an operator's browser; the hourly run takes longer.
MAX_COLLECTING = timedelta(seconds=20)
MAX_SHOWN_BYTES = 64 * 1024
IN_REPOSITORY = in_namespace("repository__namespace")

AttachedFilter = one_of(
    "attached to another manifest",
    "attached",
    {
        "1": ("Yes", lambda manifests: manifests.exclude(subject="")),
        "0": ("No", lambda manifests: manifests.filter(subject="")),
    },
)


def in_repository(word: str, prefix: str = "repository__") -> Q:
    """`acme`, `acme/vpc` and `acme/vpc/aws` find what is there."""
    namespace, slash, rest = word.lower().partition("/")
    by_namespace = Q(**{f"{prefix}namespace__canonical": canonical(namespace)})
    if slash:
        return by_namespace & Q(**{f"{prefix}path__begins": rest})
    return by_namespace | Q(**{f"{prefix}path__begins": word.lower()})


def collect(admin: Any, request: HttpRequest, _queryset: QuerySet[Repository]) -> None:
    figures = gc.collect(most=MAX_COLLECTING)
    rest = "" if figures.is_complete else " More remain: the next run continues."
    admin.message_user(request, f"Removed {figures.sentence}.{rest}", messages.SUCCESS)


@admin.register(Repository)
class RepositoryAdmin(ReadOnlyAdmin[Repository]):
    names = ("OCI repository", "OCI repositories")
    list_display = ("title", "manifests", "tags", "blobs", "created_by", "created_at")
    list_filter = ("namespace__visibility", in_namespace(), by_person("created_by__username", "first pusher"))
    list_select_related = ("namespace", "created_by")
    search_help_text = "A namespace, an address (acme/vpc/aws), or the start of either."
    fields = ("title", ("manifests", "tags", "blobs"), ("created_by", "created_at"))
    acts = {"collect": Act("Collect garbage now, in all repositories", "oci.delete_manifest", collect)}
    csv_columns = ("namespace__name", "path", "created_by__username", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Repository]:
        here = {"repository": OuterRef("pk")}
        return (
            super()
            .get_queryset(request)
            .annotate(
                manifest_count=count_of(Manifest.objects.filter(**here), "repository"),
                tag_count=count_of(Tag.objects.filter(**here), "repository"),
                blob_count=count_of(RepositoryBlob.objects.filter(**here), "repository"),
            )
        )

    def search_condition(self, word: str) -> Q:
        return in_repository(word, "")

    title = Column("repository", str, order="path")
    manifests = Column(
        "manifests",
        lambda repository: _counted(repository, Manifest, repository.manifest_count),
        order="manifest_count",
    )
    tags = Column("tags", lambda repository: _counted(repository, Tag, repository.tag_count), order="tag_count")
    blobs = Column("blobs", "blob_count", order="blob_count")


@admin.register(Manifest)
class ManifestAdmin(ReadOnlyAdmin[Manifest]):
    names = ("OCI manifest", "OCI manifests")
    list_display = ("title", "repository", "kind", "size", "tag_count", "pushed_by", "pushed_at")
    list_filter = (IN_REPOSITORY, by_person("pushed_by__username", "pusher"), AttachedFilter)
    list_select_related = ("repository__namespace", "pushed_by")
    date_hierarchy = "pushed_at"
    search_help_text = "A repository, an artifact type, or the beginning of a digest: its own, or its subject's."
    fields = (
        ("digest", "repository_page"),
        ("media_type", "artifact_type", "size"),
        "subject",
        ("pushed_by", "pushed_at", "seen_at"),
        "document",
    )
    csv_columns = (
        "repository__namespace__name",
        "repository__path",
        "digest",
        "media_type",
        "artifact_type",
        "subject",
        "size",
        "pushed_by__username",
        "pushed_at",
        "seen_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Manifest]:
        tags = count_of(Tag.objects.filter(manifest=OuterRef("pk")), "manifest")
        return super().get_queryset(request).defer("raw", "annotations").annotate(tags_found=tags)

    def search_condition(self, word: str) -> Q:
        digest = word.lower() if ":" in word else f"sha256:{word.lower()}"
        by_digest = Q(digest__begins=digest) | Q(subject__begins=digest)
        return by_digest | Q(artifact_type=word) | in_repository(word)

    title = Column("digest", lambda manifest: _short(manifest.digest), order="digest")
    kind = Column("type", lambda manifest: manifest.artifact_type or manifest.media_type, order="artifact_type")
    tag_count = Column("tags", "tags_found", order="tags_found")
    repository_page = Column("repository", lambda manifest: row_link(manifest.repository))

    @admin.display(description="document")
    def document(self, manifest: Manifest) -> str:
        shown = bytes(manifest.raw)[:MAX_SHOWN_BYTES].decode("utf-8", "replace")
        more = " …" if manifest.size > MAX_SHOWN_BYTES else ""
        return format_html('<pre tabindex="0" role="region" aria-label="Document">{}{}</pre>', shown, more)


@admin.register(Tag)
class TagAdmin(ReadOnlyAdmin[Tag]):
    names = ("OCI tag", "OCI tags")
    list_display = ("name", "repository", "leads_to", "moved_by", "moved_at")
    list_filter = (IN_REPOSITORY, by_person("moved_by__username", "mover"))
    list_select_related = ("repository__namespace", "manifest", "moved_by")
    date_hierarchy = "moved_at"
    search_help_text = "A repository, or the beginning of a tag. The tags of releases have no rows."
    fields = (("name", "repository_page"), "leads_to", ("moved_by", "moved_at"))
    csv_columns = (
        "repository__namespace__name",
        "repository__path",
        "name",
        "manifest__digest",
        "moved_by__username",
        "moved_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tag]:
        return super().get_queryset(request).defer("manifest__raw", "manifest__annotations")

    def search_condition(self, word: str) -> Q:
        return Q(name__begins=word) | in_repository(word)

    leads_to = Column(
        "manifest",
        lambda tag: link(reverse("admin:oci_manifest_change", args=[tag.manifest_id]), _short(tag.manifest.digest)),
    )
    repository_page = Column("repository", lambda tag: row_link(tag.repository))


@admin.register(UploadSession)
class UploadSessionAdmin(ReadOnlyAdmin[UploadSession]):
    names = ("OCI upload", "OCI uploads")
    list_display = ("title", "repository", "user", "size", "standing", "created_at", "expires_at")
    list_filter = (is_set("bytes coming in", "coming", "lease", ("Receiving", "Idle")), IN_REPOSITORY, by_person())
    list_select_related = ("repository__namespace", "user")
    ordering = ("-created_at", "-pk")
    search_help_text = "A repository, or the exact name of a person."
    fields = ("id", "repository_page", ("user", "token"), ("size", "standing"), ("created_at", "expires_at"))
    acts = {
        "end": Act(
            "Cancel selected uploads",
            "oci.delete_uploadsession",
            each(lambda session, actor: uploads.end(session, actor=actor), "Ended"),
            button="Cancel this upload",
        )
    }
    csv_columns = (
        "id",
        "repository__namespace__name",
        "repository__path",
        "user__username",
        "size",
        "created_at",
        "expires_at",
    )

    def search_condition(self, word: str) -> Q:
        return Q(user__username=word) | in_repository(word)

    title = Column("upload", lambda session: str(session.pk)[:8], order="id")

    @admin.display(description="state", ordering="expires_at")
    def standing(self, session: UploadSession) -> str:
        now = timezone.now()
        if session.expires_at < now:
            return badge("lapsed")
        is_coming = session.lease_until is not None and session.lease_until > now
        return badge("coming" if is_coming else "waiting")

    repository_page = Column("repository", lambda session: row_link(session.repository))


@admin.register(Collection)
class CollectionAdmin(ReadOnlyAdmin[Collection]):
    list_display = ("begun_at", "is_complete", "seconds", *reversed(COLLECTED))  # what was freed comes first
    list_filter = ("is_complete",)
    date_hierarchy = "begun_at"
    ordering = ("-begun_at", "-pk")
    fields = (("begun_at", "seconds", "is_complete"), *COLLECTED)
    csv_columns = ("begun_at", "seconds", "is_complete", *COLLECTED)


def _counted(repository: Repository, model: type[Manifest] | type[Tag], count: int) -> str:
    name = model._meta.model_name  # noqa: SLF001  # Django's public name for it
    return link(reverse(f"admin:oci_{name}_changelist", query={"q": str(repository)}), count)


def _short(digest: str) -> str:
    algorithm, _, digits = digest.partition(":")
    return format_html('<code title="{}">{}:{}</code>', digest, algorithm, digits[:12])
