"""/modules/<ns>/<name>/<system>/settings: what a module's publishers say of it beyond its versions."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods

from apps.accounts import access
from apps.accounts.authentication import session_viewer
from apps.accounts.models import Role
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Invalid
from apps.modules import describing
from apps.modules.reading import module_for
from apps.portal.publish_form import sentence


class DescriptionForm(forms.Form):
    description = forms.CharField(
        max_length=describing.LONGEST,
        required=False,
        help_text="One line, shown in lists and found by search. Empty: the first words of the README.",
    )
    source_url = forms.CharField(
        max_length=describing.LONGEST,
        required=False,
        label="Repository",
        help_text="Where its code is: https://git.example.com/team/module. Update bots look for the changelog there.",
    )

    def clean_source_url(self) -> str:
        try:
            return describing.checked_url(self.cleaned_data["source_url"])
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None


@require_http_methods(["GET", "HEAD", "POST"])
def module_settings(request: HttpRequest, namespace: str, name: str, system: str) -> HttpResponse:
    viewer, address = session_viewer(request), ModuleAddress(namespace, name, system)
    access.namespace_for(viewer, namespace, need=Role.PUBLISHER, only_name=address.path_name)
    module = module_for(viewer, address)
    status = 200
    if request.method == "POST":
        form, status = DescriptionForm(request.POST), 422
        if form.is_valid():
            try:
                describing.describe(module=module, actor=viewer, **form.cleaned_data)
            except Invalid as refusal:
                form.add_error("description", sentence(refusal))
            else:
                messages.success(request, f"What lists say of {address} is changed.")
                url = reverse("portal:module", args=[namespace, name, system])
                return HttpResponseRedirect(url, status=303)
    else:
        form = DescriptionForm(initial={"description": module.description, "source_url": module.source_url})
        form.fields["source_url"].widget.attrs |= {"inputmode": "url", "autocapitalize": "none", "spellcheck": "false"}
    return render(request, "portal/module/settings.html", {"address": address, "form": form}, status=status)


urlpatterns = [
    path("modules/<str:namespace>/<str:name>/<str:system>/settings", module_settings, name="module-settings"),
]
