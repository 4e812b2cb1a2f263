"""/invitations: one-time links for new people, created by staff and owners; and the page that a link opens."""

from collections.abc import Mapping
from typing import cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.password_validation import password_validators_help_text_html, validate_password
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access import throttling
from apps.accounts.access.gate import operates
from apps.accounts.identity import sessions
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.accounts.models import Namespace, NamespaceQuerySet, Role, User
from apps.accounts.people import invitations
from apps.lib.errors import Invalid, NotFound
from apps.notify.mail import invited, letters, preferences
from apps.portal.frame import one_time_secret, reauthentication
from apps.portal.frame.forms import form_page, posted, refusals_on, sentence
from apps.portal.frame.page_urls import see_other


class InvitationForm(forms.Form):
    """Staff may invite without a role; owners invite into a namespace of theirs."""

    note = forms.CharField(max_length=120, label="For whom", help_text="Shown only in your list, not to them.")
    email = forms.EmailField(
        required=False,
        label="Email",
        help_text="Larder sends the link there and also shows it to you. Their form has the address filled in.",
    )
    namespace = forms.ModelChoiceField(
        queryset=Namespace.objects.none(), to_field_name="name", empty_label="No namespace: only an account"
    )
    role = forms.TypedChoiceField(choices=Role.choices, initial=Role.READER, coerce=lambda value: Role(int(value)))

    def __init__(self, owned: NamespaceQuerySet, *, staff: bool, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data)
        namespace = cast("forms.ModelChoiceField[Namespace]", self.fields["namespace"])
        namespace.queryset = owned.alphabetical()
        namespace.required = not staff


class AccountForm(forms.Form):
    """The invited person's choices. `people.invitations` decides; checks here attach errors to fields."""

    username = forms.CharField(max_length=63, label="User name", help_text="Letters a to z, digits, and . _ - inside.")
    password = forms.CharField(widget=forms.PasswordInput, help_text=password_validators_help_text_html)
    again = forms.CharField(widget=forms.PasswordInput, label="Password again")
    email = forms.EmailField(
        required=False, label="Email (optional)", widget=forms.EmailInput({"autocomplete": "email"})
    )

    def __init__(self, data: Mapping[str, str] | None = None, *, address: str = "", is_proven: bool = False) -> None:
        """`address` is what the inviter entered. It is a choice, because people pass such links on."""
        super().__init__(data, initial={"email": address})
        if settings.SMTP is None:
            text = "This registry sends no mail yet. You can confirm the address once it does."
        elif is_proven:
            text = "For mail from Larder. To use a different address, confirm it with the link that Larder sends there."
        else:
            text = "For mail from Larder, after you open the link sent there."
        self.fields["email"].help_text = text
        self.fields["username"].widget.attrs |= {
            "autocomplete": "username",
            "autocapitalize": "none",
            "spellcheck": "false",
        }
        self.fields["password"].widget.attrs["autocomplete"] = "new-password"
        self.fields["again"].widget.attrs["autocomplete"] = "new-password"

    def clean_username(self) -> str:
        try:
            return invitations.check_username(self.cleaned_data["username"])
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password, User(username=self.cleaned_data.get("username", "")))
        return password

    def clean_again(self) -> str:
        again: str = self.cleaned_data["again"]
        if "password" in self.cleaned_data and again != self.cleaned_data["password"]:
            raise forms.ValidationError("The passwords do not match.")
        return again


@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def invitation_list(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    form = InvitationForm(invitations.inviting(viewer), staff=operates(viewer), data=posted(request))
    if not form.is_valid():
        rows = invitations.managed(viewer)[:200]
        return form_page(request, "portal/invitations/list.html", form, invitations=rows, now=timezone.now())
    throttling.count(throttling.by_account("invitations", viewer.user_id, address_of(request)))
    chosen = form.cleaned_data
    role = chosen["role"] if chosen["namespace"] else None
    reauthentication.require(request, f"Create the invitation for {chosen['note']}", fresh=True)
    row, secret = invitations.invite(actor=viewer, note=chosen["note"], namespace=chosen["namespace"], role=role)
    if address := chosen["email"]:
        link = settings.PUBLIC_URL + reverse("portal:invitation", args=[secret])
        letters.invite(invitation=row, address=address, link=link)
        secret += f"{invited.SEPARATOR}{invited.suggestion_of(row, address)}"
    return one_time_secret.redirect_to(request, reverse("portal:invitation-created", args=[row.pk]), secret)


@sensitive_variables("secret", "link")
@require_safe
def invitation_created(request: HttpRequest, invitation_id: int) -> HttpResponse:
    """Show a new link once."""
    row = invitations.managed_one(session_viewer(request), invitation_id)
    secret = one_time_secret.reveal(request)
    link = settings.PUBLIC_URL + reverse("portal:invitation", args=[secret]) if secret else ""
    response = render(request, "portal/invitations/reveal.html", {"invitation": row, "link": link})
    return one_time_secret.clear(request, response)


@require_http_methods(["GET", "HEAD", "POST"])
def invitation_revoke(request: HttpRequest, invitation_id: int) -> HttpResponse:
    viewer = session_viewer(request)
    row = invitations.managed_one(viewer, invitation_id)
    if request.method != "POST":
        return render(request, "portal/invitations/revoke.html", {"invitation": row})
    invitations.revoke(invitation=row, actor=viewer)
    messages.success(request, f"Invitation for {row} revoked.")
    return see_other("invitations")


@login_not_required
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """Opened without signing in: the secret is the permission. Behind it, a mailed link has proof of the address, and
    the link that the inviter copied has the address alone.
    """
    secret, _, signed = secret.partition(invited.SEPARATOR)
    try:
        row = invitations.invitation_for_secret(secret)
    except NotFound:
        throttling.count(throttling.by_address("invitations", address_of(request)))
        raise
    proven = invited.address_of(row, signed)
    address = proven or invited.suggested_address(row, signed)
    # The page tells people who are signed in that the link is for somebody new.
    data = None if session_viewer(request).is_identified else posted(request)
    form = AccountForm(data, address=address, is_proven=bool(proven))
    if form.is_valid():
        with refusals_on(form, "username"):
            user = invitations.accept(
                invitation=row, username=form.cleaned_data["username"], password=form.cleaned_data["password"]
            )
            if (wanted := form.cleaned_data["email"]) and wanted == proven:
                preferences.take_invited(user=user, address=proven)
            elif wanted:
                preferences.ask_for_address(user=user, address=wanted)
            login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
            # Whoever has just chosen a password need not repeat it.
            sessions.confirm(request, at=timezone.now().timestamp())
            messages.success(request, f"Welcome, {user}. You are signed in.")
            return see_other("namespace", row.namespace.name) if row.namespace else see_other("home")
    response = form_page(request, "portal/invitations/accept.html", form, invitation=row)
    response.headers["Cache-Control"] = "no-store"
    return response


urlpatterns = [
    path("invitations", invitation_list, name="invitations"),
    path("invitations/<int:invitation_id>/created", invitation_created, name="invitation-created"),
    path("invitations/<int:invitation_id>/revoke", invitation_revoke, name="invitation-revoke"),
    path("invitations/<str:secret>", invitation, name="invitation"),
]
