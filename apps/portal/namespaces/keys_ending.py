"""/namespaces/<ns>/keys/<fingerprint>/retire and /revoke: with a reason, and the effect on signed versions."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.accounts.access.gate import namespace_for
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Role
from apps.lib.errors import Conflict, Invalid
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import sentence
from apps.providers.signatures.keys import key_of, signed_by
from apps.signing import keys

SHOWN = 20
DONE = {
    "retire": "The key {} is retired: it signs nothing new, but what it signed stays valid.",
    "revoke": "The key {} is revoked: nothing it signed is trusted.",
}


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=keys.MAX_REASON_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One or two sentences, shown beside the key to everyone who reads the namespace.",
    )

    def clean_reason(self) -> str:
        """One line, as `signing.keys` requires: a text field may have several."""
        return " ".join(str(self.cleaned_data["reason"]).split())


View = Callable[..., HttpResponse]


def _ending(act: str, verb: Callable[..., Any], *, confirmed: bool) -> View:
    @never_cache
    @require_http_methods(["GET", "HEAD", "POST"])
    def view(request: HttpRequest, namespace: str, fingerprint: str) -> HttpResponse:
        viewer = session_viewer(request)
        row = namespace_for(viewer, namespace, need=Role.OWNER)
        key = key_of(row, fingerprint)
        is_post, status = request.method == "POST", HTTPStatus.OK
        form = ReasonForm(request.POST if is_post else None)
        if is_post:
            status = HTTPStatus.UNPROCESSABLE_ENTITY
            if form.is_valid():
                if confirmed:
                    reauthentication.require(request, f"Revoke the key {key.key_id} of {row}")
                try:
                    verb(key=key, actor=viewer, **form.cleaned_data)
                except (Conflict, Invalid) as refusal:
                    form.add_error(None, sentence(refusal))
                    status = HTTPStatus.CONFLICT if isinstance(refusal, Conflict) else status
                else:
                    messages.success(request, DONE[act].format(key.key_id))
                    where = reverse("portal:key", args=[row.name, key.fingerprint])
                    return HttpResponseRedirect(where, status=HTTPStatus.SEE_OTHER)
        versions = signed_by(key)
        context = {"namespace": row, "key": key, "form": form, "versions": versions[:SHOWN], "count": versions.count()}
        return render(request, f"portal/keys/{act}.html", context, status=status)

    return view


_KEY = "namespaces/<str:namespace>/keys/<str:fingerprint>"

urlpatterns = [
    path(f"{_KEY}/retire", _ending("retire", keys.retire, confirmed=False), name="key-retire"),
    path(f"{_KEY}/revoke", _ending("revoke", keys.revoke, confirmed=True), name="key-revoke"),
]
