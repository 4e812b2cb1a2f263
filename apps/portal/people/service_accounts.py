"""/teams/<team>/service-accounts: machines of a team and their tokens, for its managers."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access import connections, gate
from apps.accounts.access.gate import Viewer, namespaces_with_role
from apps.accounts.identity import tokens
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import ApiToken, Role, Scope, Team, User
from apps.accounts.people import service_accounts
from apps.portal.frame import one_time_secret, reauthentication
from apps.portal.frame.forms import PlainField, form_page, posted, refusals_on
from apps.portal.frame.page_urls import see_other
from apps.portal.people.tokens import TokenForm, first_use_of, issue, revocation, revoke, token_rows
from apps.releases.lifecycle.token_impact import of_account
from apps.snippets.client_setup import ways_to_use

OWNED = 5


class NewAccountForm(forms.Form):
    name = PlainField(
        max_length=service_accounts.MAX_NAME_LENGTH,
        help_text="Its purpose, for example ci or nightly-build. Others see team.name[bot].",
    )


@require_http_methods(["GET", "HEAD", "POST"])
def service_account_new(request: HttpRequest, team: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = gate.team_for(viewer, team, manage=True)
    form = NewAccountForm(posted(request))
    if form.is_valid():
        reauthentication.require(request, f"Create the service account {form.cleaned_data['name']} of {row}")
        with refusals_on(form, "name"):
            account = service_accounts.create(team=row, name=form.cleaned_data["name"], actor=viewer)
            messages.success(request, f"{account} created. Create its first token.")
            return see_other("service-account", row.name, account.pk)
    return form_page(request, "portal/service_accounts/new.html", form, team=row)


@require_http_methods(["GET", "HEAD", "POST"])
def service_account(request: HttpRequest, team: str, account_id: int) -> HttpResponse:
    """Its tokens; a POST creates one."""
    viewer, row, account = _asked(request, team, account_id)
    form = TokenForm(Viewer(account), posted(request))  # what it may be limited to is what it sees

    def page_of(token: ApiToken) -> str:
        return reverse("portal:service-token-created", args=[row.name, account.pk, token.pk])

    if form.is_valid():
        with refusals_on(form):
            return issue(request, form, account, page_of)
    context = {
        "team": row,
        "account": account,
        "most": tokens.SERVICE_TOKENS,
        "has_roles": row.grants.exists(),
        **token_rows(account),
    }
    if not context["has_roles"]:  # where its manager can give the team one
        context["owned"] = namespaces_with_role(viewer, Role.OWNER).alphabetical()[:OWNED]
    return form_page(request, "portal/service_accounts/page.html", form, **context)


@sensitive_variables("secret")
@require_safe
def token_created(request: HttpRequest, team: str, account_id: int, service_token_id: int) -> HttpResponse:
    """Show a new token once."""
    _, row, account = _asked(request, team, account_id)
    token = tokens.token_of(account, service_token_id)
    first = first_use_of(token, request.path)
    if (unchanged := first.unchanged_for(request)) is not None:
        return unchanged
    context: dict[str, Any] = {"token": token, "team": row, "account": account, "first": first}
    secret = one_time_secret.reveal(request)
    if secret:
        context |= ways_to_use(secret, settings.PUBLIC_HOST)
    return one_time_secret.clear(request, render(request, "portal/service_accounts/reveal.html", context))


@require_http_methods(["GET", "HEAD", "POST"])
def token_revoke(request: HttpRequest, team: str, account_id: int, service_token_id: int) -> HttpResponse:
    viewer, row, account = _asked(request, team, account_id)
    token = tokens.token_of(account, service_token_id)
    if request.method != "POST":
        context = {"team": row, "account": account, **revocation(token)}
        return render(request, "portal/service_accounts/revoke.html", context)
    revoke(request, viewer, token)
    return see_other("service-account", row.name, account.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def service_account_manage(request: HttpRequest, team: str, account_id: int) -> HttpResponse:
    """Allow it tokens of scope manage, or no longer."""
    viewer, row, account = _asked(request, team, account_id)
    if request.method != "POST":
        manage = ApiToken.objects.filter(user=account, scope=Scope.MANAGE).usable(timezone.now()).order_by("pk")
        context = {"team": row, "account": account, "manage_tokens": manage}
        return render(request, "portal/service_accounts/manage.html", context)
    allowed = "allow" in request.POST
    if allowed:
        reauthentication.require(request, f"Allow {account} tokens of scope manage", fresh=True)
    service_accounts.allow_manage(account=account, allowed=allowed, actor=viewer)
    can = "may have" if allowed else "may no longer have"
    messages.success(request, f"{account} {can} tokens of scope manage.")
    return see_other("service-account", row.name, account.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def service_account_delete(request: HttpRequest, team: str, account_id: int) -> HttpResponse:
    viewer, row, account = _asked(request, team, account_id)
    if request.method != "POST":
        context = {"team": row, "account": account, "effects": of_account(account)}
        return render(request, "portal/service_accounts/delete.html", context)
    reauthentication.require(request, f"Delete the service account {account}")
    left = service_accounts.delete(account=account, actor=viewer)
    messages.success(request, f"{account} deleted. {connections.sentence_of(left)}".rstrip())
    return see_other("team", row.name)


def _asked(request: HttpRequest, team: str, account_id: int) -> tuple[Viewer, Team, User]:
    viewer = session_viewer(request)
    row = gate.team_for(viewer, team, manage=True)
    return viewer, row, service_accounts.account_of(row, account_id)


_ONE = "teams/<str:team>/service-accounts/<int:account_id>"
urlpatterns = [
    path("teams/<str:team>/service-accounts/new", service_account_new, name="service-account-new"),
    path(_ONE, service_account, name="service-account"),
    path(f"{_ONE}/manage", service_account_manage, name="service-account-manage"),
    path(f"{_ONE}/delete", service_account_delete, name="service-account-delete"),
    path(f"{_ONE}/tokens/<int:service_token_id>/created", token_created, name="service-token-created"),
    path(f"{_ONE}/tokens/<int:service_token_id>/revoke", token_revoke, name="service-token-revoke"),
]
