from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from apps.accounts import namespace_deletion, namespaces
from apps.accounts.admin.actors import actor_of, each
from apps.accounts.admin.filters import by_person, in_namespace
from apps.accounts.models import Grant, Namespace, Role, Team, User
from apps.accounts.people import service_accounts
from apps.admin_base import Act, Column, LarderAdmin, LarderInline, count_of, link, one_of, words
from apps.admin_base.filters import Filter
from apps.lib.addresses import canonical, check_namespace
from apps.lib.errors import Invalid


class NamespaceForm(forms.ModelForm[Namespace]):
    """Shows at the field what `namespaces.create` would refuse."""

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        try:
            check_namespace(name, reserved=settings.RESERVED_NAMES)
        except Invalid as refusal:
            raise forms.ValidationError(f"{refusal} {refusal.hint}") from None
        return name


def refuse_machine(user: User | None) -> None:
    """Raises ValidationError for a service account."""
    try:
        service_accounts.refuse_direct_role(user)
    except Invalid as refusal:
        raise forms.ValidationError(f"{refusal} {refusal.hint}") from None


class GrantForm(forms.ModelForm[Grant]):
    """The person or team of a grant never changes; another one gets another grant."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            for name in {"user", "team"} & self.fields.keys():
                self.fields[name].disabled = True

    def clean_user(self) -> User | None:
        user: User | None = self.cleaned_data["user"]
        if not self.instance.pk:
            refuse_machine(user)
        return user

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.instance.pk and bool(cleaned.get("user")) == bool(cleaned.get("team")):
            raise forms.ValidationError("Choose a person or a team.")
        return cleaned


class GrantInline(LarderInline):
    model = Grant
    form = GrantForm
    fields = ("user", "team", "role", "given_by", "given_at")
    readonly_fields = ("given_by", "given_at")
    autocomplete_fields = ("user", "team")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Grant]:
        rows = super().get_queryset(request).select_related("user", "team", "given_by", "namespace")
        return rows.order_by("user__username", "team__name", "pk")


def leaderless(leader: str, left: Callable[[], QuerySet[Any]]) -> Filter:
    """Namespaces or teams whose people have all left, so that only staff can decide."""
    options = {"yes": ("None", lambda rows: rows.filter(pk__in=left().values("pk")))}
    return one_of(f"active {leader}", "leaderless", options)


@admin.register(Namespace)
class NamespaceAdmin(LarderAdmin[Namespace]):
    form = NamespaceForm
    list_display = (
        "name",
        "visible_to",
        "description",
        "grantees",
        "quota_bytes",
        "quota_versions",
        "created_at",
        "page",
    )
    list_filter = ("visibility", "breaking_changes", leaderless("owner", Namespace.objects.without_active_owner))
    list_select_related = ("created_by",)
    ordering = ("name",)
    search_help_text = "The start of a name."
    inlines = (GrantInline,)
    acts = {
        "delete_empty": Act(
            "Delete selected namespaces if empty",
            namespace_deletion.PERMISSION,
            each(lambda row, actor: namespace_deletion.delete(namespace=row, actor=actor), "Deleted"),
        )
    }
    csv_columns = (
        "name",
        "visibility",
        "description",
        "quota_bytes",
        "quota_versions",
        "created_by__username",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Namespace]:
        held = Grant.objects.filter(namespace=OuterRef("pk"))
        return super().get_queryset(request).annotate(grantee_count=count_of(held, "namespace"))

    def get_fields(self, _request: HttpRequest, obj: Namespace | None = None) -> Any:
        known = ("name", "visibility", "description", "breaking_changes")
        return (*known, "quota_bytes", "quota_versions", "usage", "created_by", "created_at") if obj else known

    def search_condition(self, word: str) -> Q:
        return Q(canonical__begins=canonical(word))

    def view_on_site(self, namespace: Namespace) -> str:
        return reverse("portal:namespace", args=[namespace.name])

    def get_readonly_fields(self, _request: HttpRequest, obj: Namespace | None = None) -> tuple[str, ...]:
        return ("name", "usage", "created_by", "created_at") if obj else ()

    def get_inlines(self, _request: HttpRequest, obj: Namespace | None) -> Any:
        return self.inlines if obj else ()  # the creator becomes the first owner

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False  # the action `delete_empty` does it through the verb

    def save_model(self, request: HttpRequest, obj: Namespace, _form: Any, change: bool) -> None:  # noqa: FBT001
        actor = actor_of(request)
        if change:
            wanted = {name: getattr(obj, name) for name in ("visibility", "description", "breaking_changes")}
            namespaces.change(namespace=obj, actor=actor, **wanted)
            quotas = {"quota_bytes": obj.quota_bytes, "quota_versions": obj.quota_versions}
            namespaces.set_quotas(namespace=obj, actor=actor, **quotas)
            return
        wanted = {name: getattr(obj, name) for name in ("visibility", "description", "breaking_changes")}
        created = namespaces.create(name=obj.name, actor=actor, **wanted)
        obj.pk = created.pk

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:  # noqa: ARG002, FBT001  # Django names them
        actor = actor_of(request)
        given = formset.save(commit=False)
        for grant in given:  # before the withdrawals, so that a namespace can change owners in one step
            namespaces.grant(namespace=grant.namespace, grantee=grant.grantee, role=Role(grant.role), actor=actor)
        for grant in formset.deleted_objects:
            namespaces.withdraw(grant=grant, actor=actor)

    visible_to = Column("visibility", "visibility", order="visibility")
    grantees = Column("people and teams", "grantee_count", order="grantee_count")
    usage = Column(
        "storage",
        lambda namespace: link(reverse("portal:namespace-usage", args=[namespace.name]), "See its storage and quota"),
    )


@admin.register(Grant)
class GrantAdmin(LarderAdmin[Grant]):
    names = ("role", "roles")
    form = GrantForm
    list_display = ("namespace", "user", "team", "role", "given_by", "given_at")
    list_display_links = ("namespace", "user", "team")
    list_filter = (
        "role",
        in_namespace(),
        by_person(),
        words("team", "team", "team__name", lambda: Team.objects.order_by("name").values_list("name", flat=True)),
    )
    list_select_related = ("namespace", "user", "team", "given_by")
    date_hierarchy = "given_at"
    search_help_text = "The start of a namespace, of a user name or of a team."
    fields = ("namespace", "user", "team", "role", "given_by", "given_at")
    autocomplete_fields = ("namespace", "user", "team")
    csv_columns = ("namespace__name", "user__username", "team__name", "role", "given_by__username", "given_at")

    def search_condition(self, word: str) -> Q:
        by_name = Q(user__username__begins=word) | Q(team__name__begins=word)
        return by_name | Q(namespace__name__begins=word)

    def get_readonly_fields(self, _request: HttpRequest, obj: Grant | None = None) -> tuple[str, ...]:
        return ("given_by", "given_at", "namespace", "user", "team") if obj else ("given_by", "given_at")

    def save_model(self, request: HttpRequest, obj: Grant, _form: Any, _change: bool) -> None:  # noqa: FBT001
        given = namespaces.grant(
            namespace=obj.namespace, grantee=obj.grantee, role=Role(obj.role), actor=actor_of(request)
        )
        obj.pk = given.pk

    def delete_model(self, request: HttpRequest, obj: Grant) -> None:
        namespaces.withdraw(grant=obj, actor=actor_of(request))
