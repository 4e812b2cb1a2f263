"""/namespaces/<ns>/keys: its signing keys, each key's page, adding and ending them."""

import hashlib
import json
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer, namespace_for
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Namespace, Role
from apps.lib.errors import CredentialsRequired, Invalid
from apps.modules.dependents.impact import of_releases
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PLAIN, PlainField, ReasonField, form_page, posted, refusals_on, sentence
from apps.portal.frame.namespace_tabs import frame_of
from apps.portal.frame.page_urls import page_of, see_other
from apps.portal.versions import effects
from apps.portal.versions.effects import NotifyForm
from apps.providers.signatures.keys import key_of, keys_of, signed_by
from apps.releases.lifecycle.impact import Act
from apps.signing import keys
from apps.signing.armor import ParsedKey
from apps.signing.expiring import expiring, expiry_of
from apps.signing.keys import signing_key_of
from apps.signing.models import State

PAGE = 50
# Versions that a key signed, on the page that ends it.
SHOWN = 20
# Those whose users are looked up.
MAX_WEIGHED = 500
DONE = {
    "retire": "The key {} is retired: it can't sign new versions; its signatures stay valid.",
    "revoke": "The key {} is revoked: its signatures are no longer trusted.",
}


class KeyForm(forms.Form):
    """`parsed` is the parsed armor, of a valid form only."""

    armor = forms.CharField(
        label="Public key",
        widget=forms.Textarea(PLAIN | {"rows": 12, "class": "mono"}),
        help_text="The complete block, starting with -----BEGIN PGP PUBLIC KEY BLOCK-----.",
    )
    source = forms.CharField(
        max_length=keys.MAX_SOURCE_CHARACTERS,
        required=False,
        label="Owner of the key",
        help_text="A readable name, such as Network team.",
    )
    source_url = PlainField(
        max_length=keys.MAX_URL_CHARACTERS,
        required=False,
        label="Link to the owner's statement",
        help_text="A page that shows its fingerprint.",
        inputmode="url",
    )
    parsed: ParsedKey

    def __init__(self, viewer: Viewer, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.viewer = viewer

    def clean_armor(self) -> str:
        text: str = self.cleaned_data["armor"]
        try:
            self.parsed = keys.read(text, actor=self.viewer)
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None
        return text


class AlgorithmForm(forms.Form):
    algorithm = forms.ChoiceField(
        choices=[
            ("ed25519", "Ed25519: small and fast. For all versions of OpenTofu, and Terraform 1.0 or later."),
            ("rsa4096", "RSA with 4096 bits: for policies or old tools that require RSA."),
        ],
        initial="ed25519",
        widget=forms.RadioSelect,
    )


class EndForm(NotifyForm):
    reason = ReasonField(
        keys.MAX_REASON_CHARACTERS, "One or two sentences, shown beside the key to everyone who reads the namespace."
    )

    def clean_reason(self) -> str:
        """One line, as `signing.keys` requires: a text field may have several."""
        return " ".join(str(self.cleaned_data["reason"]).split())


@login_not_required
@never_cache
@require_safe
def key_list(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row, role = gate.namespace_and_role(viewer, namespace)
    frame = frame_of(row, role if viewer.is_identified else None, "keys")
    return render(request, "portal/keys/list.html", {**frame, **_listed(row, role), "expiring": expiring(row)})


@login_not_required
@never_cache
@require_safe
def key_list_status(request: HttpRequest, namespace: str) -> HttpResponse:
    """The table, which the page polls while a worker generates a key. 204 if nothing has changed."""
    viewer = session_viewer(request)
    try:
        context = _listed(*gate.namespace_and_role(viewer, namespace))
    except CredentialsRequired:
        # The session ended while the page was open: a reload leads through sign-in back to the page.
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers={"HX-Refresh": "true"})
    if request.GET.get("seen") == context["mark"]:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return render(request, "portal/keys/status.html", context)


@login_not_required
@require_safe
def key_page(request: HttpRequest, namespace: str, fingerprint: str) -> HttpResponse:
    """The key and the versions that it signed."""
    viewer = session_viewer(request)
    row, role = gate.namespace_and_role(viewer, namespace)
    key = key_of(row, fingerprint)
    context: dict[str, Any] = {"namespace": row, "key": key, "may_manage": role == Role.OWNER}
    context["page"] = page_of(signed_by(key), request, size=PAGE)
    context["sign_again"] = context["may_manage"] and (key.state in (State.RETIRED, State.REVOKED) or key.is_expired)
    context["expiry"] = expiry_of(key, timezone.now())
    return render(request, "portal/keys/page.html", context)


def _listed(namespace: Namespace, role: Role) -> dict[str, Any]:
    keys = list(keys_of(namespace))
    seen = json.dumps([[key.pk, key.state, key.reason, key.release_count] for key in keys])
    return {
        "namespace": namespace,
        "keys": keys,
        "signer": signing_key_of(namespace),
        # A worker records here why it gave up.
        "is_waiting": any(key.state == State.PENDING and not key.reason for key in keys),
        "mark": hashlib.sha256(seen.encode()).hexdigest()[:16],
        "may_manage": role == Role.OWNER,
        "may_publish": role.covers(Role.PUBLISHER),
    }


@sensitive_post_parameters("armor")  # somebody may paste a private key
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def key_add(request: HttpRequest, namespace: str) -> HttpResponse:
    """Two steps: parse and show the pasted key, then save it by a second POST (`step=save`)."""
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    form, step = KeyForm(viewer, posted(request)), request.POST.get("step")
    if form.is_valid():
        if step == "change":
            return form_page(request, "portal/keys/add.html", KeyForm(viewer, initial=form.cleaned_data), namespace=row)
        if step != "save":
            return render(request, "portal/keys/review.html", {"namespace": row, "form": form, "parsed": form.parsed})
        reauthentication.require(request, f"Register the key {form.parsed.key_id} in {row}", fresh=True)
        with refusals_on(form):
            key, is_new = keys.register_or_renew(namespace=row, actor=viewer, **form.cleaned_data)
            done = "registered: it can sign new versions" if is_new else "updated to the newer version"
            messages.success(request, f"The key {key.key_id} is {done}.")
            return see_other("key", row.name, key.fingerprint)
    elif "PRIVATE KEY" in request.POST.get("armor", ""):  # it must not go back into the page
        form.data = request.POST.copy()
        form.data["armor"] = ""
    return form_page(request, "portal/keys/add.html", form, namespace=row)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def key_create(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    form = AlgorithmForm(posted(request))
    if form.is_valid():
        reauthentication.require(request, f"Generate a signing key for {row}", fresh=True)
        with refusals_on(form):
            keys.request(namespace=row, actor=viewer, **form.cleaned_data)
            return see_other("keys", row.name)
    return form_page(request, "portal/keys/create.html", form, namespace=row)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def key_end(request: HttpRequest, namespace: str, fingerprint: str, *, act: str) -> HttpResponse:
    """Retire or revoke it, with a reason. The page shows the effect on signed versions."""
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    key, form = key_of(row, fingerprint), EndForm(posted(request))
    versions = signed_by(key)
    releases = [one.release for one in versions.select_related("release__namespace")[:MAX_WEIGHED]]
    found = of_releases(viewer, releases, Act.REVOKE_KEY if act == "revoke" else Act.RETIRE_KEY, role=Role.OWNER)
    if form.is_valid():
        if act == "revoke":
            reauthentication.require(request, f"Revoke the key {key.key_id} of {row}", fresh=True)
        verb = keys.revoke if act == "revoke" else keys.retire
        people = effects.people_of(viewer, form.cleaned_data, found, row)
        with refusals_on(form):
            verb(key=key, actor=viewer, reason=form.cleaned_data["reason"], people=people)
            messages.success(request, f"{DONE[act].format(key.key_id)}{effects.and_told(people)}")
            return see_other("key", row.name, key.fingerprint)
    context = {"namespace": row, "key": key, "act": act, "versions": versions[:SHOWN], "count": versions.count()}
    context |= effects.card_of(viewer, found, row)
    return form_page(request, "portal/keys/end.html", form, **context)


_KEYS = "namespaces/<str:namespace>/keys"

urlpatterns = [
    path(_KEYS, key_list, name="keys"),
    path(f"{_KEYS}/status", key_list_status, name="keys-status"),
    path(f"{_KEYS}/add", key_add, name="key-add"),
    path(f"{_KEYS}/create", key_create, name="key-create"),
    path(f"{_KEYS}/<str:fingerprint>", key_page, name="key"),  # after the words
    path(f"{_KEYS}/<str:fingerprint>/retire", key_end, {"act": "retire"}, name="key-retire"),
    path(f"{_KEYS}/<str:fingerprint>/revoke", key_end, {"act": "revoke"}, name="key-revoke"),
]
