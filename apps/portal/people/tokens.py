"""/tokens: a person's API tokens: list, creation, the one-time page of a new one, revocation."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts import creations
from apps.accounts.access.gate import Viewer, grants_of, visible_namespaces
from apps.accounts.identity import tokens
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import ApiToken, Namespace, Scope, Team, User
from apps.portal.frame import one_time_secret, reauthentication
from apps.portal.frame.first_use import ROW, FirstUse
from apps.portal.frame.forms import PLAIN, form_page, posted, refusals_on
from apps.portal.frame.page_urls import see_other
from apps.portal.frame.reauthentication import person_of
from apps.releases.lifecycle.token_impact import of_tokens
from apps.snippets.client_setup import ways_to_use

LEAK_SHOWN = timedelta(days=30)
MOST_BOXES = 20  # of more namespaces a list is easier to read


class TokenForm(forms.Form):
    label = forms.CharField(max_length=80, help_text="For example: my laptop.")
    scope = forms.ChoiceField(choices=Scope.choices, initial=Scope.READ, widget=forms.RadioSelect)
    namespaces = forms.ModelMultipleChoiceField(
        queryset=Namespace.objects.none(),
        to_field_name="name",
        required=False,
        help_text="Limit the token to these namespaces. Choose none to include all of yours.",
    )
    only_name = forms.CharField(
        max_length=130, required=False, label="Only this name", help_text="Publish only this, such as vpc/aws."
    )
    days = forms.IntegerField(
        min_value=1, max_value=tokens.LONGEST_LIFETIME.days, required=False, label="Days until it expires"
    )

    def __init__(self, viewer: Viewer, *args: object) -> None:
        """For the tokens of the viewer, who may be a service account."""
        super().__init__(*args)  # type: ignore[arg-type]  # only ever the POST data
        namespaces = cast("forms.ModelMultipleChoiceField[Namespace]", self.fields["namespaces"])
        namespaces.queryset = visible_namespaces(viewer).alphabetical()
        if viewer.user is not None and viewer.user.is_service:
            held = grants_of(viewer.user).values("namespace")
            namespaces.queryset = Namespace.objects.filter(pk__in=held).alphabetical()
            namespaces.help_text = "Limit the token to these namespaces. Choose none to include all of the team's."
            self.fields["label"].help_text = "For example: nightly build."
        offered = [(str(one), str(one)) for one in namespaces.queryset[: MOST_BOXES + 1]]
        if len(offered) <= MOST_BOXES:
            namespaces.widget = forms.CheckboxSelectMultiple(choices=offered)
        account = viewer.user
        assert account is not None  # noqa: S101  # the page is for people who are signed in
        usual, most = tokens.default_lifetime(account, Scope.READ), tokens.LONGEST_LIFETIME
        limits = f"At most {most.days} days. Leave empty for {usual.days}."
        if account.is_service and not account.may_manage:
            scopes = cast("forms.ChoiceField", self.fields["scope"])
            scopes.choices = [choice for choice in Scope.choices if choice[0] != Scope.MANAGE]
        else:
            usual, most = tokens.default_lifetime(account, Scope.MANAGE), settings.MANAGE_TOKEN_MAX_LIFETIME
            limits += f" With the scope manage, at most {most.days} days. Leave empty for {usual.days}."
        self.fields["days"].help_text = limits
        self.fields["only_name"].widget.attrs |= PLAIN


@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    user = person_of(viewer)
    form = TokenForm(viewer, posted(request))
    if form.is_valid():
        with refusals_on(form):
            return issue(request, form, user, lambda token: reverse("portal:token-created", args=[token.pk]))
    managed = Team.objects.filter(memberships__user=user, memberships__is_manager=True).order_by("name")
    return form_page(request, "portal/tokens/list.html", form, managed=managed, **token_rows(user))


@sensitive_variables("secret")
def issue(request: HttpRequest, form: TokenForm, user: User, page_of: Callable[[ApiToken], str]) -> HttpResponse:
    """Create the token of a person or a service account, and lead to the page that shows it once."""
    viewer, fields = session_viewer(request), form.cleaned_data
    whose = "" if user == viewer.user else f" of {user}"
    is_fresh = fields["scope"] == Scope.MANAGE
    reauthentication.require(request, f"Create the token {fields['label']}{whose}", fresh=is_fresh)
    token, secret = tokens.issue(
        user=user,
        label=fields["label"],
        scope=fields["scope"],
        namespaces=fields["namespaces"],
        only_name=fields["only_name"],
        lifetime=None if fields["days"] is None else timedelta(days=fields["days"]),
        actor=viewer,
    )
    return one_time_secret.redirect_to(request, page_of(token), secret)


@sensitive_variables("secret")
@require_safe
def token_created(request: HttpRequest, token_id: int) -> HttpResponse:
    """Show a new token once."""
    token = tokens.token_of(person_of(session_viewer(request)), token_id)
    first = first_use_of(token, request.path)
    if (unchanged := first.unchanged_for(request)) is not None:
        return unchanged
    secret = one_time_secret.reveal(request)
    shown = ways_to_use(secret, settings.PUBLIC_HOST) if secret else {}
    context = {"token": token, "first": first, **shown}
    return one_time_secret.clear(request, render(request, "portal/tokens/reveal.html", context))


def first_use_of(token: ApiToken, page: str) -> FirstUse:
    by = token.last_used_by or "A client"
    done = f"{by} used it" if token.last_used_at else ""
    waits = "Waiting for the first client that uses it, such as tofu init"
    return FirstUse(page, waits, done, token.last_used_at, part=ROW)  # the rest shows the secret, once


@require_http_methods(["GET", "HEAD", "POST"])
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    viewer = session_viewer(request)
    token = tokens.token_of(person_of(viewer), token_id)
    if request.method != "POST":
        return render(request, "portal/tokens/revoke.html", revocation(token))
    revoke(request, viewer, token)
    return see_other("tokens")


def revocation(token: ApiToken) -> dict[str, Any]:
    """The context of templates/portal/tokens/revoke.html."""
    created = creations.creations_of(token)
    return {"token": token, "creations": created, "effects": of_tokens([token])}


def revoke(request: HttpRequest, viewer: Viewer, token: ApiToken) -> None:
    """Revoke it, and what it created if the person pressed that button; tell them what happened."""
    # At once, whatever comes next: a leaked token must not wait while its owner looks for a password.
    if token.is_usable or token.suspended_at:
        tokens.revoke(token=token, actor=viewer)
        messages.success(request, f"Token {token.start}… ({token.label}) revoked.")
    if "end" not in request.POST:
        return
    reauthentication.require(request, f"Undo what the token {token.label} created")
    found = creations.revoke_with_creations(token=token, actor=viewer)
    if found.ended:
        messages.success(request, f"Ended: {', '.join(str(one) for one in found.ended)}.")
    for one, why in found.kept:
        messages.warning(request, f"Not ended: {one}. {why} {why.hint}")


def token_rows(user: User) -> dict[str, Any]:
    """The context of templates/portal/tokens/table.html."""
    earlier = tokens.by_earlier_rules().filter(pk=OuterRef("pk"))
    theirs = ApiToken.objects.filter(user=user).annotate(by_earlier_rules=Exists(earlier))
    rows: list[Any] = list(theirs.newest_first().prefetch_related("namespaces"))
    counts, since = creations.counts_of(rows), timezone.now() - LEAK_SHOWN
    for token in rows:
        token.creation_count = counts[token.pk]
    notices = {
        "has_leaked": any(token.leaked_at and token.leaked_at > since for token in rows),
        "has_earlier_rules": any(token.by_earlier_rules for token in rows),
        "max_manage_days": settings.MANAGE_TOKEN_MAX_LIFETIME.days,
    }
    return {"tokens": rows, "notices": notices}


urlpatterns = [
    path("tokens", token_list, name="tokens"),
    path("tokens/<int:token_id>/created", token_created, name="token-created"),
    path("tokens/<int:token_id>/revoke", token_revoke, name="token-revoke"),
]
