from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import PermissionDenied
from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, Value, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters

from apps.accounts.access import connections, gate, staff_roles
from apps.accounts.admin.actors import actor_of, each
from apps.accounts.admin.filters import in_namespace
from apps.accounts.identity import sessions
from apps.accounts.models import Invitation, Role, User
from apps.accounts.people import accounts, invitations, service_accounts
from apps.admin_base import Act, Column, LarderAdmin, is_set, one_of
from apps.lib.errors import RegistryError

ROLE_HELP = (
    "Operator: all pages of Operate, owner in every namespace, everything that can be undone. Auditor: reads "
    "everything, Operate included, and changes nothing. Only superusers give roles."
)


class EntryPage(LarderAdmin[User]):
    """Adds the page `<id>/entry/`, linked from the account's page."""

    change_form_template = "admin/person.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.entry_view)
        return [path("<path:object_id>/entry/", view, name="accounts_user_entry"), *super().get_urls()]

    @method_decorator(sensitive_post_parameters("new_password1", "new_password2"))
    def entry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user = self.get_object(request, unquote(object_id))
        if user is None:
            raise Http404
        if not self.has_change_permission(request, user):
            raise PermissionDenied
        ends = "end_sessions" in request.POST
        form: SetPasswordForm[User] = SetPasswordForm(user, request.POST if request.POST and not ends else None)
        if ends:
            count = sessions.end_for(user=user, actor=actor_of(request))
            self.message_user(request, f"Sessions ended: {count}.", messages.SUCCESS)
            return HttpResponseRedirect(request.path)
        if form.is_valid():
            try:
                accounts.set_password(user=user, actor=actor_of(request), password=form.cleaned_data["new_password1"])
            except RegistryError as refusal:
                form.add_error(None, f"{refusal} {refusal.hint}")
            else:
                self.message_user(request, f"{user} has a new password and is signed out everywhere.", messages.SUCCESS)
                return HttpResponseRedirect(reverse("admin:accounts_user_change", args=[user.pk]))
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": f"Password and sessions: {user}",
            "opts": self.opts,
            "original": user,
            "form": form,
            "sessions": sessions.sessions_of(user),
        }
        return TemplateResponse(request, "admin/entry.html", context)


class PermissionsField(forms.ModelMultipleChoiceField[Permission]):
    def label_from_instance(self, permission: Permission) -> str:
        """Leave out the package and the table, which Django writes before each."""
        return str(permission.name)


class UserForm(forms.ModelForm[User]):
    class Meta:
        # Django's says what to type as a user name, and no one types it here.
        help_texts = {
            "username": "",
            "is_active": "Clear this when the person leaves. Accounts are not deleted.",
            "is_staff": "May open Operate. A role says what the person may do there.",
            "is_superuser": "Has all permissions.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("groups") and not cleaned.get("is_staff"):
            self.add_error("is_staff", "A role needs staff status: tick this too, or remove the role.")
        return cleaned


KindFilter = one_of(
    "kind",
    "kind",
    {
        "person": ("Person", lambda accounts: accounts.filter(is_service=False)),
        "service": ("Service account", lambda accounts: accounts.filter(is_service=True)),
    },
)

ManageFilter = one_of(
    "service accounts that may manage",
    "manage",
    {"1": ("Yes", lambda accounts: accounts.filter(may_manage=True))},
)

RoleFilter = one_of(
    "role",
    "role",
    {
        "superuser": ("Superuser", lambda people: people.filter(is_superuser=True)),
        staff_roles.OPERATOR: (staff_roles.OPERATOR, lambda people: people.filter(groups__name=staff_roles.OPERATOR)),
        staff_roles.AUDITOR: (staff_roles.AUDITOR, lambda people: people.filter(groups__name=staff_roles.AUDITOR)),
        "none": (
            "Staff without a role",
            lambda people: people.filter(is_staff=True, is_superuser=False, groups=None),
        ),
    },
)


# The lists that have rows of an account, by their models, each with the filter by person.
RELATED = ("ApiToken", "Grant", "Team", "Release", "AuditEvent")


@admin.register(User)
class UserAdmin(EntryPage):
    """Accounts are made by invitation and never deleted: releases keep their author."""

    names = ("account", "accounts")
    change_list_template = "admin/people.html"
    form = UserForm
    list_display = ("username", "role", "is_active", "is_staff", "date_joined", "last_login", "warning")
    list_filter = (KindFilter, "is_active", "is_staff", RoleFilter, ManageFilter)
    ordering = ("username",)
    search_help_text = "The start of a user name."
    csv_columns = ("username", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        groups = Group.objects.filter(user=OuterRef("pk")).order_by("name").values("name")[:1]
        superuser = When(is_superuser=True, then=Value("Superuser"))
        rows = super().get_queryset(request).annotate(shown_role=Case(superuser, default=Subquery(groups)))
        return service_accounts.with_warnings(rows)

    def search_condition(self, word: str) -> Q:
        return Q(username__begins=word)

    def get_readonly_fields(self, request: HttpRequest, _obj: User | None = None) -> tuple[str, ...]:
        always = ("username", "service_of", "date_joined", "last_login", "warning")
        rights = ("is_staff", "is_superuser", "role", "user_permissions")
        return always if request.user.is_superuser else (*always, *rights)

    def render_change_form(self, request: HttpRequest, context: Any, *rest: Any, **more: Any) -> HttpResponse:
        if (user := more.get("obj")) is not None:
            lists = {one["object_name"]: one for group in context["available_apps"] for one in group["models"]}
            query = urlencode({"person": user.username})
            shown = [lists[name] for name in RELATED if name in lists]
            context["related"] = [(one["name"], f"{one['admin_url']}?{query}") for one in shown]
        return super().render_change_form(request, context, *rest, **more)

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        known = ("date_joined", "last_login", "warning")
        if obj is not None and obj.is_service:  # it has the roles of its team alone
            return [(None, {"fields": ("username", "is_active", "service_of", *known)})]
        role = "groups" if request.user.is_superuser else "role"
        fields = ("username", "is_active", "is_staff", role, "is_superuser", *known)
        return [
            (None, {"fields": fields}),
            ("Single permissions", {"fields": ("user_permissions",), "classes": ("collapse",)}),
        ]

    def has_add_permission(self, _request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user_permissions":
            ours = staff_roles.permissions().order_by(
                "content_type__app_label", "content_type__model", "codename", "pk"
            )
            kwargs |= {"queryset": ours, "widget": forms.CheckboxSelectMultiple, "form_class": PermissionsField}
            kwargs |= {"label": "Permissions", "help_text": "In addition to the permissions of the role."}
        if db_field.name == "groups":
            roles = Group.objects.filter(name__in=staff_roles.ROLES).order_by("name")
            kwargs |= {
                "queryset": roles,
                "widget": forms.CheckboxSelectMultiple,
                "label": "Roles",
                "help_text": ROLE_HELP,
            }
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: User, form: Any, _change: bool) -> None:  # noqa: FBT001
        roles = form.cleaned_data.get("groups")
        if roles is not None:  # groups of another origin are not offered, and stay
            roles = [*roles, *obj.groups.exclude(name__in=staff_roles.ROLES)]
        left = accounts.change(
            user=obj,
            actor=actor_of(request),
            is_active=obj.is_active,
            is_staff=obj.is_staff,
            is_superuser=obj.is_superuser,
            permissions=form.cleaned_data.get("user_permissions"),
            roles=roles,
        )
        if left:
            self.message_user(request, connections.sentence_of(left), messages.WARNING)
        if not obj.is_active and (behind := accounts.left_behind(obj)):
            # Deactivation must take effect at once, so warn afterwards instead of asking before.
            self.message_user(request, f"Staff must take over: {obj} was {behind}.", messages.WARNING)

    def save_related(self, _request: HttpRequest, _form: Any, _formsets: Any, _change: bool) -> None:  # noqa: FBT001
        """Do nothing: the verb has saved the permissions."""

    warning = Column("warning", lambda user: user.warning or "-", order="warning")
    role = Column("role", lambda user: user.shown_role or "-", order="shown_role")


class InvitationForm(forms.ModelForm[Invitation]):
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if bool(cleaned.get("namespace")) != bool(cleaned.get("role")):
            raise forms.ValidationError("Choose a namespace and a role, or neither.")
        return cleaned


@admin.register(Invitation)
class InvitationAdmin(LarderAdmin[Invitation]):
    form = InvitationForm
    list_display = ("title", "state", "namespace", "role", "created_by", "created_at", "expires_at", "used_by")
    list_filter = (
        in_namespace(),
        one_of("state", "state", {"open": ("Open", lambda rows: rows.filter(invitations.is_open(timezone.now())))}),
        is_set("used", "used", "used_at"),
        is_set("revoked", "revoked", "revoked_at"),
    )
    list_select_related = ("namespace", "created_by", "used_by")
    search_help_text = "A part of the note."
    autocomplete_fields = ("namespace",)
    acts = {
        "revoke": Act(
            "Revoke selected invitations",
            "accounts.change_invitation",
            each(lambda invitation, actor: invitations.revoke(invitation=invitation, actor=actor), "Revoked"),
            button="Revoke",
            offered=lambda invitation: invitation.used_at is None and invitation.revoked_at is None,
        )
    }
    csv_columns = (
        "note",
        "namespace__name",
        "role",
        "created_by__username",
        "created_at",
        "expires_at",
        "used_by__username",
        "used_at",
        "revoked_at",
    )

    def search_condition(self, word: str) -> Q:
        return Q(note__icontains=word)

    def get_fields(self, _request: HttpRequest, obj: Invitation | None = None) -> Any:
        asked = ("note", "namespace", "role")
        return (*asked, "created_by", "created_at", "expires_at", "used_at", "used_by", "revoked_at") if obj else asked

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Invitation, _form: Any, _change: bool) -> None:  # noqa: FBT001
        role = Role(obj.role) if obj.role else None
        if obj.namespace is not None:  # the permission to invite does not include giving roles
            gate.namespace_for(actor_of(request), obj.namespace.name, need=Role.OWNER)
        made, secret = invitations.invite(actor=actor_of(request), note=obj.note, namespace=obj.namespace, role=role)
        obj.pk = made.pk
        link = settings.PUBLIC_URL + reverse("portal:invitation", args=[secret])
        self.message_user(request, f"The link, shown only once: {link}", messages.WARNING)

    title = Column("for", str, order="note")

    @admin.display(description="state")
    def state(self, invitation: Invitation) -> str:
        if invitation.used_at:
            return "used"
        if invitation.revoked_at:
            return "revoked"
        return "open" if invitation.expires_at > timezone.now() else "run out"
