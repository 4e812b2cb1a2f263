"""/namespaces/<ns>/keys/add and /create: register a publisher's public key, or have Larder generate a key."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from apps.accounts.access.gate import Viewer, namespace_for
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Namespace, Role
from apps.lib.errors import Conflict, Invalid
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PLAIN, sentence
from apps.signing import keys
from apps.signing.armor import ParsedKey, parse


class KeyForm(forms.Form):
    """`parsed` is the parsed armor, of a valid form only."""

    armor = forms.CharField(
        label="Public key",
        widget=forms.Textarea(PLAIN | {"rows": 12, "class": "mono"}),
        help_text="The whole block, from -----BEGIN PGP PUBLIC KEY BLOCK----- on.",
    )
    source = forms.CharField(
        max_length=keys.MAX_SOURCE_CHARACTERS,
        required=False,
        label="Whose key it is",
        help_text="A readable name, such as Network team.",
    )
    source_url = forms.CharField(
        max_length=keys.MAX_URL_CHARACTERS,
        required=False,
        label="Where they say so",
        help_text="A page that shows its fingerprint.",
        widget=forms.TextInput(PLAIN | {"inputmode": "url"}),
    )
    parsed: ParsedKey

    def clean_armor(self) -> str:
        text: str = self.cleaned_data["armor"]
        try:
            self.parsed = parse(text)
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None
        return text


class AlgorithmForm(forms.Form):
    algorithm = forms.ChoiceField(
        choices=[
            ("ed25519", "Ed25519: small and fast. Every OpenTofu, and Terraform from 1.0 on, verifies it."),
            ("rsa4096", "RSA with 4096 bits: for a policy or an old tool that requires RSA."),
        ],
        initial="ed25519",
        widget=forms.RadioSelect,
    )


@sensitive_post_parameters("armor")  # somebody may paste a private key
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def key_add(request: HttpRequest, namespace: str) -> HttpResponse:
    """Two steps: parse and show the pasted key, then save it by a second POST (`step=save`)."""
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    if request.method != "POST":
        if not reauthentication.confirmed_recently(request):
            return reauthentication.ask(request)
        return _add_page(request, row, KeyForm())
    form, step = KeyForm(request.POST), request.POST.get("step")
    if not form.is_valid():
        return _add_page(request, row, _without_secret(form, request.POST), status=HTTPStatus.UNPROCESSABLE_ENTITY)
    if step == "save":
        return _save(request, viewer, row, form)
    if step == "change":
        return _add_page(request, row, KeyForm(initial=form.cleaned_data))
    return render(request, "portal/keys/review.html", {"namespace": row, "form": form, "parsed": form.parsed})


def _save(request: HttpRequest, viewer: Viewer, namespace: Namespace, form: KeyForm) -> HttpResponse:
    reauthentication.require(request, f"Register the key {form.parsed.key_id} in {namespace}")
    try:
        added = keys.register_or_renew(namespace=namespace, actor=viewer, **form.cleaned_data)
    except (Conflict, Invalid) as refusal:
        form.add_error(None, sentence(refusal))
        is_conflict = isinstance(refusal, Conflict)
        status = HTTPStatus.CONFLICT if is_conflict else HTTPStatus.UNPROCESSABLE_ENTITY
        return _add_page(request, namespace, form, status=status)
    done = "registered: it can sign new versions" if added.created else "updated to the newer version"
    messages.success(request, f"The key {added.key.key_id} is {done}.")
    return _redirect("portal:key", namespace.name, added.key.fingerprint)


def _add_page(
    request: HttpRequest, namespace: Namespace, form: KeyForm, *, status: int = HTTPStatus.OK
) -> HttpResponse:
    return render(request, "portal/keys/add.html", {"namespace": namespace, "form": form}, status=status)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def key_create(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    if request.method != "POST" and not reauthentication.confirmed_recently(request):
        return reauthentication.ask(request)
    form = AlgorithmForm(request.POST if request.method == "POST" else None)
    status = HTTPStatus.OK
    if request.method == "POST":
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        if form.is_valid():
            reauthentication.require(request, f"Generate a signing key for {row}")
            try:
                keys.request(namespace=row, actor=viewer, **form.cleaned_data)
            except (Conflict, Invalid) as refusal:
                form.add_error(None, sentence(refusal))
                status = HTTPStatus.CONFLICT if isinstance(refusal, Conflict) else status
            else:
                return _redirect("portal:keys", row.name)
    return render(request, "portal/keys/create.html", {"namespace": row, "form": form}, status=status)


def _without_secret(form: KeyForm, sent: QueryDict) -> KeyForm:
    """The form without a pasted private key, which must not go back into the page."""
    if "PRIVATE KEY" in sent.get("armor", ""):
        form.data = sent.copy()
        form.data["armor"] = ""
    return form


def _redirect(name: str, *where: Any) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse(name, args=where), status=HTTPStatus.SEE_OTHER)


urlpatterns = [
    path("namespaces/<str:namespace>/keys/add", key_add, name="key-add"),
    path("namespaces/<str:namespace>/keys/create", key_create, name="key-create"),
]
