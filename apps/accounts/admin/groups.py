from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from apps.accounts.admin.actors import actor_of
from apps.accounts.identity.sign_on import providers
from apps.accounts.models import GroupMapping
from apps.accounts.people import group_roles
from apps.admin_base import LarderAdmin


class GroupMappingForm(forms.ModelForm[GroupMapping]):
    issuer = forms.ChoiceField(label="Identity provider")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "issuer" in self.fields:  # not on the page that only shows a row
            named = [(provider.issuer, f"{provider.name} ({provider.id})") for provider in providers.configured()]
            self.fields["issuer"].choices = named  # type: ignore[attr-defined]  # of a ChoiceField

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if bool(cleaned.get("team")) == bool(cleaned.get("staff_role")):
            raise forms.ValidationError("Choose a team or a staff role.")
        return cleaned


@admin.register(GroupMapping)
class GroupMappingAdmin(LarderAdmin[GroupMapping]):
    """What groups of identity providers give. Rows are added and deleted, never changed."""

    form = GroupMappingForm
    list_display = ("group", "issuer", "team", "staff_role", "created_by", "created_at")
    list_select_related = ("team", "created_by")
    date_hierarchy = "created_at"
    ordering = ("issuer", "group", "pk")
    search_fields = ("group",)
    search_help_text = "The beginning of a group's name."
    fields = ("issuer", "group", "team", "staff_role")
    autocomplete_fields = ("team",)
    csv_columns = ("issuer", "group", "team__name", "staff_role", "created_by__username", "created_at")

    def search_condition(self, word: str) -> Q:
        return Q(group__startswith=word)

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(providers.configured() and request.user.is_active and getattr(request.user, "is_superuser", False))

    def has_delete_permission(self, request: HttpRequest, _obj: Any = None) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))

    def save_model(self, request: HttpRequest, obj: GroupMapping, _form: Any, _change: bool) -> None:  # noqa: FBT001
        group_roles.map_group(mapping=obj, actor=actor_of(request))

    def delete_model(self, request: HttpRequest, obj: GroupMapping) -> None:
        group_roles.unmap_group(mapping=obj, actor=actor_of(request))
