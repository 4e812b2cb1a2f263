"""/account/mail: a person's mail, and what they watch; links in mails; /watch/<address>."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import throttling
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.accounts.models import User
from apps.lib.errors import Conflict
from apps.notify.mail import letters, mailing, preferences
from apps.notify.models import Letter, Topic
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import form_page, posted, sentence
from apps.portal.frame.page_urls import see_other
from apps.portal.frame.reauthentication import person_of

# The newest letters that a person missed.
MISSED = 20


class TopicsForm(forms.Form):
    topics = forms.MultipleChoiceField(
        choices=Topic.choices, required=False, widget=forms.CheckboxSelectMultiple, label="Notify me about"
    )
    digest = forms.BooleanField(
        required=False, label="One mail a day", help_text="Around 07:00 UTC, instead of one mail for each event."
    )


class AddressForm(forms.Form):
    address = forms.EmailField(
        required=False,
        label="Address",
        widget=forms.EmailInput({"autocomplete": "email"}),
        help_text="Larder sends a confirmation link there. Leave empty to get no mail.",
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def mail(request: HttpRequest) -> HttpResponse:
    user = person_of(session_viewer(request))
    form = _topics_form(user, posted(request))
    if form.is_valid():
        preferences.choose(user=user, topics=form.cleaned_data["topics"], is_digest=form.cleaned_data["digest"])
        messages.success(request, "Saved.")
        return see_other("mail")
    address = AddressForm(initial={"address": user.email or preferences.preference_of(user).unconfirmed_address})
    return form_page(request, "portal/mail/page.html", form, **_mail_context(user, topics=form, address=address))


@require_POST
def mail_address(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    user, form = person_of(viewer), AddressForm(request.POST)
    if not form.is_valid():
        context = _mail_context(user, topics=_topics_form(user), address=form)
        return form_page(request, "portal/mail/page.html", form, **context)
    throttling.count(throttling.by_account("invitations", viewer.user_id, address_of(request)))
    reauthentication.require(request, "Change the address for your mail", fresh=True)
    address = form.cleaned_data["address"]
    preferences.ask_for_address(user=user, address=address)
    said = f"A confirmation link was sent to {address}." if address else "You will no longer get mail."
    messages.success(request, said)
    return see_other("mail")


def _topics_form(user: User, data: QueryDict | None = None) -> TopicsForm:
    row = preferences.preference_of(user)
    wanted = [topic for topic in Topic.values if topic not in row.topics_off]
    return TopicsForm(data, initial={"topics": wanted, "digest": row.is_digest})


def _mail_context(user: User, *, topics: TopicsForm, address: AddressForm) -> dict[str, Any]:
    watches = list(preferences.watches_of(user))
    return {
        "topics_form": topics,
        "address_form": address,
        "address": user.email,
        "unconfirmed": preferences.preference_of(user).unconfirmed_address,
        "sends_mail": settings.SMTP is not None,
        "watches": watches,
        "missed": [_missed(letter) for letter in preferences.missed_by(user)[:MISSED] if mailing.may_read(letter)],
    }


def _missed(letter: Letter) -> dict[str, Any]:
    return {"subject": letter.subject, "at": letter.created_at, "url": letters.url_of(letter)}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def mail_confirm(request: HttpRequest, address_token: str) -> HttpResponse:
    """A button, because programs that check mails open links."""
    user = person_of(session_viewer(request))
    if request.method != "POST":
        address = preferences.address_of(user=user, token=address_token)
        return render(request, "portal/mail/confirm.html", {"address": address})
    address = preferences.confirm_address(user=user, token=address_token)
    messages.success(request, f"Larder now sends your mail to {address}.")
    return see_other("mail")


@csrf_exempt
@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def mail_unsubscribe(request: HttpRequest, mail_token: str) -> HttpResponse:
    """The link in each mail; mail programs send the POST themselves (RFC 8058), and the link is the permission."""
    if request.method == "POST":
        _, topic = preferences.unsubscribe(mail_token)
    else:
        _, topic = preferences.unsubscribing(mail_token)
    words = Topic(topic).label if topic else ""
    context = {"topic": words, "is_done": request.method == "POST"}
    return render(request, "portal/mail/unsubscribe.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def watch(request: HttpRequest, address: str) -> HttpResponse:
    """Show whether the person watches the address, and the button for it. `on` says what the button showed."""
    viewer = session_viewer(request)
    user = person_of(viewer)
    namespace, name = preferences.watchable(viewer, address)
    if request.method != "POST":
        context = {"address": address, "namespace": namespace, "name": name, "has_address": bool(user.email)}
        context["is_watched"] = preferences.is_watched(user, namespace, name)
        return render(request, "portal/mail/watch.html", context)
    if request.POST.get("on") == "1":
        try:
            preferences.watch(user=user, namespace=namespace, name=name)
        except Conflict as refusal:
            messages.error(request, sentence(refusal))
    else:
        preferences.unwatch(user=user, namespace=namespace, name=name)
    return see_other("watch", address)


urlpatterns = [
    path("account/mail", mail, name="mail"),
    path("account/mail/address", mail_address, name="mail-address"),
    path("mail/confirm/<str:address_token>", mail_confirm, name="mail-confirm"),
    path("mail/unsubscribe/<str:mail_token>", mail_unsubscribe, name="mail-unsubscribe"),
    path("watch/<path:address>", watch, name="watch"),
]
