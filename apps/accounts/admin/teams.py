from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import OuterRef, Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from apps.accounts.access import connections
from apps.accounts.admin.actors import actor_of
from apps.accounts.admin.filters import by_person
from apps.accounts.admin.roles import leaderless, refuse_machine
from apps.accounts.models import Grant, GroupMapping, Membership, Team, User
from apps.accounts.people import group_roles, service_accounts, teams
from apps.admin_base import Column, LarderAdmin, LarderInline, count_of
from apps.lib.errors import Invalid


class TeamForm(forms.ModelForm[Team]):
    """Shows at the field what `teams.create` would refuse."""

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        try:
            teams.check_name(name)
        except Invalid as refusal:
            raise forms.ValidationError(f"{refusal} {refusal.hint}") from None
        return name


class MembershipForm(forms.ModelForm[Membership]):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.fields["user"].disabled = True

    def clean_user(self) -> User | None:
        user: User | None = self.cleaned_data["user"]
        if not self.instance.pk:
            refuse_machine(user)
        return user


class MembershipInline(LarderInline):
    model = Membership
    form = MembershipForm
    fk_name = "team"
    fields = ("user", "is_manager", "added_by", "added_at", "warning")
    readonly_fields = ("added_by", "added_at", "warning")
    autocomplete_fields = ("user",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        people = Prefetch("user", queryset=service_accounts.with_warnings(User.objects.all()))
        rows = super().get_queryset(request).select_related("team", "added_by").prefetch_related(people)
        return rows.order_by("-is_manager", "user__username", "pk")

    warning = Column("warning", lambda membership: membership.user.warning or "-")


class GrantInline(LarderInline):
    """Read-only here; roles are given and withdrawn on the page of the namespace."""

    model = Grant
    verbose_name_plural = "roles"
    fields = readonly_fields = ("namespace", "role", "given_by", "given_at")
    can_delete = False

    def has_add_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Grant]:
        rows = super().get_queryset(request).select_related("namespace", "team", "given_by")
        return rows.order_by("namespace__name", "pk")


@admin.register(Team)
class TeamAdmin(LarderAdmin[Team]):
    form = TeamForm
    list_display = ("name", "description", "people", "managers", "created_by", "created_at", "page")
    list_filter = (
        by_person("memberships__user__username", "member"),
        leaderless("manager", Team.objects.without_active_manager),
    )
    list_select_related = ("created_by",)
    ordering = ("name",)
    search_help_text = "The start of a name."
    fields = ("name", "description")
    inlines = (MembershipInline, GrantInline)
    csv_columns = ("name", "description", "created_by__username", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        active = Membership.objects.filter(team=OuterRef("pk"), user__is_active=True, user__is_service=False)
        counts = {
            "people_count": count_of(active, "team"),
            "manager_count": count_of(active.filter(is_manager=True), "team"),
        }
        return super().get_queryset(request).annotate(**counts)

    def search_condition(self, word: str) -> Q:
        return Q(name__begins=word)

    def view_on_site(self, team: Team) -> str:
        return reverse("portal:team", args=[team.name])

    def get_readonly_fields(self, _request: HttpRequest, obj: Team | None = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    def get_inlines(self, _request: HttpRequest, obj: Team | None) -> Any:
        return self.inlines if obj else ()  # the creator becomes the first manager

    def save_model(self, request: HttpRequest, obj: Team, _form: Any, change: bool) -> None:  # noqa: FBT001
        actor = actor_of(request)
        if change:
            teams.describe(team=obj, description=obj.description, actor=actor)
            return
        obj.pk = teams.create(name=obj.name, description=obj.description, actor=actor).pk

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:  # noqa: ARG002, FBT001  # Django names them
        actor = actor_of(request)
        for line in formset.save(commit=False):
            wanted = line.is_manager  # before `add`, which returns the stored row
            membership = teams.add(team=line.team, user=line.user, actor=actor) if line.pk is None else line
            teams.set_manager(membership=membership, is_manager=wanted, actor=actor)
        for membership in formset.deleted_objects:
            self._say(request, teams.remove(membership=membership, actor=actor))

    def delete_model(self, request: HttpRequest, obj: Team) -> None:
        self._say(request, teams.delete(team=obj, actor=actor_of(request)))

    def _say(self, request: HttpRequest, left: list[connections.Connected]) -> None:
        if left:
            self.message_user(request, connections.sentence_of(left), messages.WARNING)

    people = Column("active people", "people_count", order="people_count")
    managers = Column("active managers", "manager_count", order="manager_count")


class GroupMappingForm(forms.ModelForm[GroupMapping]):
    issuer = forms.ChoiceField(label="Identity provider")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "issuer" in self.fields:  # not on the page that only shows a row
            named = [(provider.issuer, f"{provider.name} ({provider.id})") for provider in settings.IDENTITY_PROVIDERS]
            self.fields["issuer"].choices = named  # type: ignore[attr-defined]  # of a ChoiceField

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if bool(cleaned.get("team")) == bool(cleaned.get("staff_role")):
            raise forms.ValidationError("Choose a team or a staff role.")
        return cleaned


@admin.register(GroupMapping)
class GroupMappingAdmin(LarderAdmin[GroupMapping]):
    """The roles that groups of identity providers give. Rows are added and deleted, never changed."""

    names = ("sign-on group", "sign-on groups")
    form = GroupMappingForm
    list_display = ("group", "issuer", "team", "staff_role", "created_by", "created_at")
    list_select_related = ("team", "created_by")
    ordering = ("issuer", "group", "pk")
    search_help_text = "The start of a group's name."
    fields = ("issuer", "group", "team", "staff_role")
    autocomplete_fields = ("team",)
    csv_columns = ("issuer", "group", "team__name", "staff_role", "created_by__username", "created_at")

    def search_condition(self, word: str) -> Q:
        return Q(group__startswith=word)

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(
            settings.IDENTITY_PROVIDERS and request.user.is_active and getattr(request.user, "is_superuser", False)
        )

    def has_delete_permission(self, request: HttpRequest, _obj: Any = None) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))

    def save_model(self, request: HttpRequest, obj: GroupMapping, _form: Any, _change: bool) -> None:  # noqa: FBT001
        group_roles.map_group(mapping=obj, actor=actor_of(request))

    def delete_model(self, request: HttpRequest, obj: GroupMapping) -> None:
        group_roles.unmap_group(mapping=obj, actor=actor_of(request))
