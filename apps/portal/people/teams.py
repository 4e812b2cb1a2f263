"""/teams: groups of people with common roles. Visible to members, staff, and owners of namespaces that it has a role
in.
"""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import connections, contacts, gate
from apps.accounts.access.gate import Viewer
from apps.accounts.access.operators import creation_refused
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Membership, Team, User
from apps.accounts.people import accounts, service_accounts, teams
from apps.lib.errors import Conflict, NotFound, RoleRequired, existing
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PERSON, PlainField, form_page, posted, refusals_on, sentence
from apps.portal.frame.page_urls import page_of, see_other
from apps.releases.lifecycle.access_impact import of_membership, of_team

PAGE = 30


class TeamForm(forms.Form):
    description = forms.CharField(max_length=200, required=False, help_text="One line about the team.")


class NewTeamForm(TeamForm):
    name = PlainField(
        max_length=63, help_text="Lower-case letters and digits, with single - between them: platform, data-eng."
    )
    field_order = ("name", "description")


class PersonForm(forms.Form):
    username = forms.CharField(max_length=150, label="User name", widget=forms.TextInput(PERSON))
    user: User

    def clean_username(self) -> str:
        try:
            self.user = accounts.user_named(self.cleaned_data["username"])
        except NotFound as refusal:
            raise forms.ValidationError(sentence(refusal)) from None
        return self.user.username


@require_safe
def team_list(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    context = {"page": page_of(teams.listed(viewer).order_by("-is_mine", "name"), request, size=PAGE)}
    return render(request, "portal/teams/list.html", {**context, "may_create": not creation_refused(viewer, "a team")})


@require_http_methods(["GET", "HEAD", "POST"])
def team_new(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    if refused := creation_refused(viewer, "a team"):
        raise RoleRequired(refused, hint=contacts.ask_operator())
    form = NewTeamForm(posted(request))
    if form.is_valid():
        with refusals_on(form, "name"):
            team = teams.create(**form.cleaned_data, actor=viewer)
            messages.success(request, f"Team {team} created. Add its people.")
            return see_other("team", team.name)
    return form_page(request, "portal/teams/new.html", form)


@require_http_methods(["GET", "HEAD", "POST"])
def team(request: HttpRequest, team: str) -> HttpResponse:
    """Members and roles; a POST by a manager adds a member."""
    viewer = session_viewer(request)
    row = gate.team_for(viewer, team, manage=request.method == "POST")
    form = PersonForm(posted(request))
    if form.is_valid():
        reauthentication.require(request, f"Add {form.user} to the team {row}", fresh=True)
        teams.add(team=row, user=form.user, actor=viewer)
        messages.success(request, f"{form.user} now belongs to {row}.")
        return see_other("team", row.name)
    return _page(request, viewer, row, form, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def team_change(request: HttpRequest, team: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = gate.team_for(viewer, team, manage=True)
    form = TeamForm(posted(request), initial={"description": row.description})
    if not form.is_valid():
        return form_page(request, "portal/teams/change.html", form, team=row)
    teams.describe(team=row, description=form.cleaned_data["description"], actor=viewer)
    messages.success(request, f"Description of {row} saved.")
    return see_other("team", row.name)


@require_http_methods(["GET", "HEAD", "POST"])
def team_delete(request: HttpRequest, team: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = gate.team_for(viewer, team, manage=True)
    context = {"team": row, "effects": of_team(viewer, row)}
    if request.method != "POST":
        return render(request, "portal/teams/delete.html", context)
    reauthentication.require(request, f"Delete the team {row}", fresh=True)
    try:
        left = teams.delete(team=row, actor=viewer)
    except Conflict as refusal:
        return render(request, "portal/teams/delete.html", {**context, "refusal": refusal}, status=409)
    messages.success(request, f"Team {row} deleted. {connections.sentence_of(left)}".rstrip())
    return see_other("teams")


@require_POST
def member_manager(request: HttpRequest, team: str, membership_id: int) -> HttpResponse:
    """Make a member a manager (`manager=on`), or revoke it."""
    viewer = session_viewer(request)
    row = gate.team_for(viewer, team, manage=True)
    membership = _membership(row, membership_id)
    is_manager = request.POST.get("manager") == "on"
    act = "Make {} a manager of {}" if is_manager else "Make {} an ordinary member of {}"
    reauthentication.require(request, act.format(membership.user, row), fresh=True)
    try:
        teams.set_manager(membership=membership, is_manager=is_manager, actor=viewer)
    except Conflict as refusal:
        return _page(request, viewer, row, PersonForm(), refusal=refusal, status=409)
    messages.success(
        request, f"{membership.user} {'manages' if is_manager else 'is now an ordinary member of'} {row} now."
    )
    return see_other("team", row.name)


@require_http_methods(["GET", "HEAD", "POST"])
def member_remove(request: HttpRequest, team: str, membership_id: int) -> HttpResponse:
    """For managers; every member may remove themselves."""
    viewer = session_viewer(request)
    membership = _membership(gate.team_for(viewer, team), membership_id)
    leaves = membership.user_id == viewer.user_id
    row = gate.team_for(viewer, team, manage=not leaves)
    context = {"team": row, "membership": membership, "leaves": leaves}
    context["effects"] = of_membership(viewer, membership)
    if request.method != "POST":
        return render(request, "portal/teams/remove.html", context)
    if not leaves:
        reauthentication.require(request, f"Remove {membership.user} from the team {row}", fresh=True)
    try:
        left = teams.remove(membership=membership, actor=viewer)
    except Conflict as refusal:
        return render(request, "portal/teams/remove.html", {**context, "refusal": refusal}, status=409)
    done = f"{membership.user} is no longer in the team {row}."
    messages.success(request, f"{done} {connections.sentence_of(left)}".rstrip())
    if gate.visible_teams(viewer).filter(pk=row.pk).exists():
        return see_other("team", row.name)
    return see_other("teams")


def _page(
    request: HttpRequest, viewer: Viewer, team: Team, form: PersonForm, *, status: int, refusal: Conflict | None = None
) -> HttpResponse:
    may_manage = gate.may_manage(viewer, team)
    context = {
        "team": team,
        "members": teams.members_of(team),
        "service_accounts": service_accounts.accounts_of(team),
        "roles": teams.roles_of(team, seen_by=viewer),
        "may_manage": may_manage,
        "people": accounts.known_to(viewer) if may_manage else [],
        "form": form,
        "refusal": refusal,
        "viewer": viewer,
    }
    return render(request, "portal/teams/page.html", context, status=status)


def _membership(team: Team, membership_id: int) -> Membership:
    membership = teams.members_of(team).filter(pk=membership_id).first()
    return existing(membership, f"There is no such member of {team}.", hint="The team's page has the list.")


urlpatterns = [
    path("teams", team_list, name="teams"),
    path("teams/new", team_new, name="team-new"),
    path("teams/<str:team>", team, name="team"),
    path("teams/<str:team>/change", team_change, name="team-change"),
    path("teams/<str:team>/delete", team_delete, name="team-delete"),
    path("teams/<str:team>/members/<int:membership_id>/manager", member_manager, name="team-manager"),
    path("teams/<str:team>/members/<int:membership_id>/remove", member_remove, name="team-remove"),
]
