"""/namespaces/<ns>/members and /transfer: the roles of people and teams, for owners."""

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_http_methods

from apps.accounts import namespaces
from apps.accounts.access import connections, gate
from apps.accounts.access.connections import Connected
from apps.accounts.access.gate import Viewer, namespace_for
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Grant, Namespace, Role, Team, User
from apps.accounts.people import access_requests, accounts, invitations, teams
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PERSON, PlainField, form_page, posted, refusals_on, sentence
from apps.portal.frame.namespace_tabs import frame_of
from apps.portal.frame.page_urls import see_other
from apps.releases.lifecycle.access_impact import of_grant


class RoleForm(forms.Form):
    role = forms.TypedChoiceField(choices=Role.choices, initial=Role.READER, coerce=lambda value: Role(int(value)))
    grantee: User | Team
    prefix_of_ids = "give"

    def __init__(self, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data, auto_id=f"{self.prefix_of_ids}-%s")  # the page has two of these forms


class MemberForm(RoleForm):
    username = forms.CharField(max_length=150, label="User name", widget=forms.TextInput(PERSON))
    field_order = ("username", "role")
    prefix_of_ids = "person"

    def clean_username(self) -> str:
        try:
            self.grantee = accounts.user_named(self.cleaned_data["username"])
        except NotFound as refusal:
            raise forms.ValidationError(sentence(refusal)) from None
        return self.grantee.username


class TeamForm(RoleForm):
    team = PlainField(max_length=63, label="Team")
    field_order = ("team", "role")
    prefix_of_ids = "team"

    def clean_team(self) -> str:
        try:
            self.grantee = teams.team_named(self.cleaned_data["team"].strip().lower())
        except NotFound as refusal:
            raise forms.ValidationError(sentence(refusal)) from None
        return self.grantee.name


class OwnerField(forms.ModelChoiceField[Grant]):
    def label_from_instance(self, obj: Grant) -> str:
        return f"the team {obj.grantee}" if obj.team else str(obj.grantee)


class TransferForm(forms.Form):
    kind = forms.ChoiceField(
        choices=[("user", "A person"), ("team", "A team")],
        initial="user",
        label="The new owner is",
        widget=forms.RadioSelect,
    )
    to = forms.CharField(max_length=150, label="Their user name, or the team's name", widget=forms.TextInput(PERSON))
    giver = OwnerField(
        queryset=Grant.objects.none(),
        required=False,
        label="Replaces",
        empty_label="Keep all owners",
        help_text="This owner loses the role.",
    )
    keep_publisher = forms.BooleanField(required=False, label="Keep them as publisher")
    confirm = PlainField(max_length=63)

    def __init__(self, namespace: Namespace, own: Grant | None, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data, initial={"giver": own})
        self.namespace = namespace
        owners = namespaces.grants_in(namespace).filter(role=Role.OWNER)
        cast("OwnerField", self.fields["giver"]).queryset = owners
        self.fields["confirm"].label = f"Type {namespace.name} to confirm"

    def clean_confirm(self) -> str:
        if self.cleaned_data["confirm"].strip() != self.namespace.name:
            raise forms.ValidationError(f"This does not match {self.namespace.name}. Nothing was changed.")
        return self.namespace.name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("to"):
            name = cleaned["to"].strip().lower()
            try:
                cleaned["to"] = teams.team_named(name) if cleaned.get("kind") == "team" else accounts.user_named(name)
            except NotFound as refusal:
                self.add_error("to", sentence(refusal))
        return cleaned


@require_http_methods(["GET", "HEAD", "POST"])
def members(request: HttpRequest, namespace: str) -> HttpResponse:
    """The list; a POST gives or changes a role."""
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    if asking := request.POST.get("decline", ""):
        access_requests.decline(namespace=row, username=asking, actor=viewer)
        messages.success(request, f"The request of {asking} is declined.")
        return _after(viewer, row)
    is_team = "team" in request.POST
    person, team = MemberForm(None if is_team else posted(request)), TeamForm(request.POST if is_team else None)
    if asking := request.GET.get("person", "")[:150]:  # the link in a request for access
        person.initial = {"username": asking, "role": Role.PUBLISHER}
    form: RoleForm = team if is_team else person
    if form.is_valid():
        role = form.cleaned_data["role"]
        reauthentication.require(request, f"Make {form.grantee} {role.label.lower()} of {row}", fresh=True)
        with refusals_on(form, "role"):
            left = _left_by_change(row, form.grantee, role)
            grant = namespaces.grant(namespace=row, grantee=form.grantee, role=role, actor=viewer)
            messages.success(
                request, f"{form.grantee} is {grant.get_role_display().lower()} of {row} now.{_said(left)}"
            )
            return _after(viewer, row, left=bool(left))
    context = {**frame_of(row, Role.OWNER, "people"), "roles": Role.choices, "viewer": viewer}
    context["grants"] = grants = list(namespaces.grants_in(row))
    context |= {
        "people_grants": [one for one in grants if one.user],
        "team_grants": [one for one in grants if one.team],
    }
    context["invited"] = invitations.open_into(row)
    context["people"] = accounts.known_to(viewer)
    connected = connections.of(row) if connections.has_any(row) else []
    context["left"] = [one for one in connected if one.is_left_behind or one.is_suspended]
    found = access_requests.open_requests(Namespace.objects.filter(pk=row.pk), access_requests.MOST_OPEN)
    context |= {"requests": found, "publisher": Role.PUBLISHER.value}
    return form_page(request, "portal/namespaces/members.html", form, person_form=person, team_form=team, **context)


@require_http_methods(["GET", "HEAD", "POST"])
def member_withdraw(request: HttpRequest, namespace: str, grant_id: int) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    grant = namespaces.grants_in(row).filter(pk=grant_id).first()
    if grant is None:
        raise NotFound(f"There is no such member of {row}.", hint="The tab People has the list.")
    left = connections.would_leave(grant)
    context = {"namespace": row, "grant": grant, "left": left, "effects": of_grant(viewer, grant)}
    if request.method != "POST":
        return render(request, "portal/namespaces/withdraw.html", context)
    reauthentication.require(request, f"Remove the role of {grant.grantee} in {row}", fresh=True)
    try:
        namespaces.withdraw(grant=grant, actor=viewer)
    except Conflict as refusal:
        return render(request, "portal/namespaces/withdraw.html", {**context, "refusal": refusal}, status=409)
    messages.success(request, f"{grant.grantee} no longer has a role in {row}.{_said(left)}")
    return _after(viewer, row, left=bool(left))


@require_http_methods(["GET", "HEAD", "POST"])
def transfer(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    own = namespaces.own_grant(row, viewer)
    form = TransferForm(row, own, posted(request))
    if form.is_valid():
        reauthentication.require(request, f"Hand {row} over to {form.cleaned_data['to']}", fresh=True)
        chosen = {name: form.cleaned_data[name] for name in ("to", "giver", "keep_publisher")}
        try:
            namespaces.transfer(namespace=row, actor=viewer, **chosen)
        except (Conflict, Invalid) as refusal:  # both say who cannot be an owner by now
            form.add_error("to", forms.ValidationError(sentence(refusal), code="conflict"))
        else:
            waiting = connections.waiting_in(row)
            more = f" {len(waiting)} of its connections are suspended until an owner confirms them." if waiting else ""
            messages.success(request, f"{row} belongs to {chosen['to']} now.{more}")
            return _after(viewer, row, left=bool(waiting))
    context = {**frame_of(row, Role.OWNER, "transfer"), "people": accounts.known_to(viewer)}
    context["found"] = connections.of(row)
    return form_page(request, "portal/namespaces/transfer.html", form, **context)


def _left_by_change(namespace: Namespace, grantee: User | Team, role: Role) -> list[Connected]:
    who = {"user": grantee} if isinstance(grantee, User) else {"team": grantee}
    before = namespaces.grants_in(namespace).filter(**who).select_related("namespace").first()
    return connections.would_leave(before) if before is not None and role != Role.OWNER else []


def _said(left: list[Connected]) -> str:
    return f" {len(left)} of the connections of the namespace are left behind, and still work." if left else ""


def _after(viewer: Viewer, namespace: Namespace, *, left: bool = False) -> HttpResponseRedirect:
    """Back to the list, or to what is left behind; home for owners who gave up their own role, or their team's."""
    owns = gate.role_on(viewer, namespace) == Role.OWNER
    page = "namespace-connections" if left else "namespace-members"
    return see_other(page, namespace.name) if owns else see_other("home")


urlpatterns = [
    path("namespaces/<str:namespace>/members", members, name="namespace-members"),
    path("namespaces/<str:namespace>/members/<int:grant_id>/withdraw", member_withdraw, name="namespace-withdraw"),
    path("namespaces/<str:namespace>/transfer", transfer, name="namespace-transfer"),
]
