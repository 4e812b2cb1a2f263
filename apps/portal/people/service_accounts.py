"""/teams/<team>/service-accounts: machines of a team and their tokens, for its managers."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import ApiToken, Scope, Team, User
from apps.accounts.people import service_accounts
from apps.lib.errors import Conflict, Invalid
from apps.portal.frame import one_time_secret, reauthentication
from apps.portal.frame.forms import PLAIN, sentence
from apps.portal.people.tokens import TokenForm, lifetime_of, revocation, revoke, token_rows
from apps.portal.snippets.client_setup import ways_to_use


class NewAccountForm(forms.Form):
    name = forms.CharField(
        max_length=service_accounts.MAX_NAME_LENGTH,
        help_text="What it does: ci, nightly-build. Others see it as team.name[bot].",
        widget=forms.TextInput(PLAIN),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def service_account_new(request: HttpRequest, team: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = gate.team_for(viewer, team, manage=True)
    form, status = NewAccountForm(request.POST if request.method == "POST" else None), 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            reauthentication.require(request, f"Create the service account {form.cleaned_data['name']} of {row}")
            try:
                account = service_accounts.create(team=row, name=form.cleaned_data["name"], actor=viewer)
            except (Conflict, Invalid) as refusal:
                form.add_error("name", sentence(refusal))
                status = 409 if isinstance(refusal, Conflict) else 422
            else:
                messages.success(request, f"{account} created. Create its first token.")
                return _redirect(row, account)
    return render(request, "portal/service_accounts/new.html", {"team": row, "form": form}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def service_account(request: HttpRequest, team: str, account_id: int) -> HttpResponse:
    """Its tokens; a POST creates one."""
    viewer, row, account = _asked(request, team, account_id)
    theirs = Viewer(account)  # what it may be limited to is what it sees
    if request.method != "POST":
        return _page(request, row, account, TokenForm(theirs), status=200)
    form, status = TokenForm(theirs, request.POST), 422
    if form.is_valid():
        try:
            return _issue(request, viewer, row, account, form)
        except (Conflict, Invalid) as refusal:
            form.add_error(None, sentence(refusal))
            status = 409 if isinstance(refusal, Conflict) else 422
    return _page(request, row, account, form, status=status)


@sensitive_variables("secret")
def _issue(request: HttpRequest, viewer: Viewer, team: Team, account: User, form: TokenForm) -> HttpResponse:
    fields = form.cleaned_data
    reauthentication.require(request, f"Create the token {fields['label']} of {account}")
    token, secret = tokens.issue(
        user=account,
        label=fields["label"],
        scope=fields["scope"],
        namespaces=fields["namespaces"],
        only_name=fields["only_name"],
        lifetime=lifetime_of(fields),
        actor=viewer,
    )
    page = reverse("portal:service-token-created", args=[team.name, account.pk, token.pk])
    return one_time_secret.redirect_to(request, page, secret)


@sensitive_variables("secret")
@require_safe
def token_created(request: HttpRequest, team: str, account_id: int, service_token_id: int) -> HttpResponse:
    """Show a new token once."""
    _, row, account = _asked(request, team, account_id)
    context: dict[str, Any] = {"token": tokens.token_of(account, service_token_id), "team": row, "account": account}
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
    return _redirect(row, account)


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
        reauthentication.require(request, f"Allow {account} tokens of scope manage")
    service_accounts.allow_manage(account=account, allowed=allowed, actor=viewer)
    can = "may have" if allowed else "may no longer have"
    messages.success(request, f"{account} {can} tokens of scope manage.")
    return _redirect(row, account)


@require_http_methods(["GET", "HEAD", "POST"])
def service_account_delete(request: HttpRequest, team: str, account_id: int) -> HttpResponse:
    viewer, row, account = _asked(request, team, account_id)
    if request.method != "POST":
        return render(request, "portal/service_accounts/delete.html", {"team": row, "account": account})
    reauthentication.require(request, f"Delete the service account {account}")
    service_accounts.delete(account=account, actor=viewer)
    messages.success(request, f"{account} deleted.")
    return HttpResponseRedirect(reverse("portal:team", args=[row.name]), status=HTTPStatus.SEE_OTHER)


def _asked(request: HttpRequest, team: str, account_id: int) -> tuple[Viewer, Team, User]:
    viewer = session_viewer(request)
    row = gate.team_for(viewer, team, manage=True)
    return viewer, row, service_accounts.account_of(row, account_id)


def _page(request: HttpRequest, team: Team, account: User, form: TokenForm, *, status: int) -> HttpResponse:
    context = {"team": team, "account": account, "form": form, "most": tokens.SERVICE_TOKENS, **token_rows(account)}
    return render(request, "portal/service_accounts/page.html", context, status=status)


def _redirect(team: Team, account: User) -> HttpResponseRedirect:
    url = reverse("portal:service-account", args=[team.name, account.pk])
    return HttpResponseRedirect(url, status=HTTPStatus.SEE_OTHER)


_ONE = "teams/<str:team>/service-accounts/<int:account_id>"
urlpatterns = [
    path("teams/<str:team>/service-accounts/new", service_account_new, name="service-account-new"),
    path(_ONE, service_account, name="service-account"),
    path(f"{_ONE}/manage", service_account_manage, name="service-account-manage"),
    path(f"{_ONE}/delete", service_account_delete, name="service-account-delete"),
    path(f"{_ONE}/tokens/<int:service_token_id>/created", token_created, name="service-token-created"),
    path(f"{_ONE}/tokens/<int:service_token_id>/revoke", token_revoke, name="service-token-revoke"),
]
