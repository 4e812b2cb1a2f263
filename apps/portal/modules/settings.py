"""/modules/<ns>/<name>/<system>/settings and the same for providers: description, repository and notice."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_http_methods

from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Role
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid
from apps.modules.catalogue import entries as module_describing
from apps.modules.catalogue.reading import module_and_role
from apps.portal.frame.page_urls import url_of
from apps.portal.publish.form import sentence
from apps.providers import catalogue as provider_describing
from apps.providers.reading import provider_and_role
from apps.releases.catalogue.describing import MAX_CHARACTERS, checked_url


class DescriptionForm(forms.Form):
    description = forms.CharField(
        max_length=MAX_CHARACTERS,
        required=False,
        help_text="One line, shown in lists and found by search. Empty: the first words of the README.",
    )
    source_url = forms.CharField(
        max_length=MAX_CHARACTERS,
        required=False,
        label="Repository",
        help_text="Its code: https://git.example.com/team/code. Update bots look there for the changelog.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def clean_source_url(self) -> str:
        try:
            return checked_url(self.cleaned_data["source_url"])
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None


class ProviderForm(DescriptionForm):
    description = forms.CharField(
        max_length=MAX_CHARACTERS, required=False, help_text="One line, shown in lists and found by search."
    )
    notice = forms.CharField(
        max_length=provider_describing.MAX_NOTICE_CHARACTERS,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Clients show it as a warning at every init, for all versions. Empty for none.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
def module_settings(request: HttpRequest, namespace: str, name: str, system: str) -> HttpResponse:
    def describe(module: Any, **fields: Any) -> None:
        module_describing.describe(module=module, **fields)

    return _settings(request, ModuleAddress(namespace, name, system), module_and_role, describe, DescriptionForm)


@require_http_methods(["GET", "HEAD", "POST"])
def provider_settings(request: HttpRequest, namespace: str, type: str) -> HttpResponse:  # noqa: A002  # the field's word
    def describe(provider: Any, **fields: Any) -> None:
        provider_describing.describe(provider=provider, **fields)

    return _settings(request, ProviderAddress(namespace, type), provider_and_role, describe, ProviderForm)


def _settings(
    request: HttpRequest,
    address: Any,
    lookup: Callable[..., Any],
    describe: Callable[..., None],
    form_class: type[forms.Form],
) -> HttpResponse:
    viewer = session_viewer(request)
    row, _ = lookup(viewer, address, need=Role.PUBLISHER)
    status = 200
    if request.method == "POST":
        form, status = form_class(request.POST), 422
        if form.is_valid():
            try:
                describe(row, actor=viewer, **form.cleaned_data)
            except Invalid as refusal:
                form.add_error("description", sentence(refusal))
            else:
                messages.success(request, f"Description of {address} saved.")
                return HttpResponseRedirect(url_of(address), status=303)
    else:
        form = form_class(initial={field: getattr(row, field) for field in form_class.base_fields})
    return render(request, "portal/settings.html", {"address": address, "form": form}, status=status)


urlpatterns = [
    path("modules/<str:namespace>/<str:name>/<str:system>/settings", module_settings, name="module-settings"),
    path("providers/<str:namespace>/<str:type>/settings", provider_settings, name="provider-settings"),
]
