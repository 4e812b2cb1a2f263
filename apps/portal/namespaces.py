"""/namespaces/new, and an owner's pages of a namespace: its members and its settings."""

from collections.abc import Mapping

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods

from apps.accounts import namespaces
from apps.accounts.access import Viewer, namespace_for
from apps.accounts.authentication import session_viewer
from apps.accounts.models import Grant, Namespace, Role, User, Visibility
from apps.lib.errors import Conflict, Invalid, NotFound, RoleRequired
from apps.portal.publish_form import sentence

SEE_OTHER = 303


class SettingsForm(forms.Form):
    visibility = forms.ChoiceField(choices=Visibility.choices, initial=Visibility.PRIVATE, widget=forms.RadioSelect)
    description = forms.CharField(max_length=200, required=False, help_text="One line, shown in lists.")


class NamespaceForm(SettingsForm):
    name = forms.CharField(
        max_length=63, help_text="Lower-case letters and digits, with single - between them: acme, data-platform."
    )
    field_order = ("name", "visibility", "description")

    def __init__(self, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data)
        self.fields["name"].widget.attrs |= {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


class MemberForm(forms.Form):
    username = forms.CharField(max_length=150, label="User name")
    role = forms.TypedChoiceField(choices=Role.choices, initial=Role.READER, coerce=lambda value: Role(int(value)))
    user: User

    def __init__(self, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data)
        self.fields["username"].widget.attrs |= {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        user = User.objects.filter(username=name.strip().lower(), is_active=True).first()
        if user is None:
            raise forms.ValidationError(f"There is no user {name}: check the spelling, or invite them.")
        self.user = user
        return user.username


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_new(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    if refused := namespaces.creation_refused(viewer):
        raise RoleRequired(refused, mend="Ask an operator to create it for you.")
    form = NamespaceForm(request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                namespace = namespaces.create(**form.cleaned_data, actor=viewer)
            except Conflict as refusal:
                form.add_error("name", sentence(refusal))
                status = 409
            except Invalid as refusal:
                form.add_error("name", sentence(refusal))
            else:
                messages.success(request, f"The namespace {namespace} is yours. Publish a first module into it.")
                return _to("portal:namespace", namespace)
    return render(request, "portal/namespaces/new.html", {"form": form}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_change(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    if request.method != "POST":
        form = SettingsForm(initial={"visibility": row.visibility, "description": row.description})
        return render(request, "portal/namespaces/change.html", {"namespace": row, "form": form})
    form = SettingsForm(request.POST)
    if not form.is_valid():
        return render(request, "portal/namespaces/change.html", {"namespace": row, "form": form}, status=422)
    namespaces.change(namespace=row, actor=viewer, **form.cleaned_data)
    messages.success(request, f"{row} is {row.visibility} now.")
    return _to("portal:namespace-change", row)


@require_http_methods(["GET", "HEAD", "POST"])
def members(request: HttpRequest, namespace: str) -> HttpResponse:
    """The list; a POST gives somebody a role, or another one."""
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    if request.method != "POST":
        return _members_page(request, viewer, row, MemberForm(), status=200)
    form = MemberForm(request.POST)
    status = 422
    if form.is_valid():
        try:
            grant = namespaces.grant(namespace=row, holder=form.user, role=form.cleaned_data["role"], actor=viewer)
        except Conflict as refusal:
            form.add_error("role", sentence(refusal))
            status = 409
        else:
            messages.success(request, f"{form.user} is {grant.get_role_display().lower()} of {row} now.")
            return _to("portal:namespace-members", row)
    return _members_page(request, viewer, row, form, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def member_withdraw(request: HttpRequest, namespace: str, grant_id: int) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    grant = Grant.objects.select_related("user").filter(namespace=row, pk=grant_id).first()
    if grant is None:
        raise NotFound(f"There is no such member of {row}.", mend="The members page has the list.")
    context = {"namespace": row, "grant": grant}
    if request.method != "POST":
        return render(request, "portal/namespaces/withdraw.html", context)
    try:
        namespaces.withdraw(grant=grant, actor=viewer)
    except Conflict as refusal:
        return render(request, "portal/namespaces/withdraw.html", {**context, "refusal": refusal}, status=409)
    messages.success(request, f"{grant.user} has no role in {row} any more.")
    # Who withdraws their own role may not open the members page again.
    return _to("portal:home" if grant.user_id == viewer.user_id else "portal:namespace-members", row)


def _members_page(
    request: HttpRequest, viewer: Viewer, namespace: Namespace, form: MemberForm, *, status: int
) -> HttpResponse:
    grants = Grant.objects.filter(namespace=namespace).select_related("user").order_by("-role", "user__username", "pk")
    context = {"namespace": namespace, "grants": grants, "form": form, "roles": Role.choices, "viewer": viewer}
    return render(request, "portal/namespaces/members.html", context, status=status)


def _to(name: str, namespace: Namespace) -> HttpResponseRedirect:
    url = reverse(name) if name == "portal:home" else reverse(name, args=[namespace.name])
    return HttpResponseRedirect(url, status=SEE_OTHER)


urlpatterns = [
    path("namespaces/new", namespace_new, name="namespace-new"),
    path("namespaces/<str:namespace>/change", namespace_change, name="namespace-change"),
    path("namespaces/<str:namespace>/members", members, name="namespace-members"),
    path("namespaces/<str:namespace>/members/<int:grant_id>/withdraw", member_withdraw, name="namespace-withdraw"),
]
