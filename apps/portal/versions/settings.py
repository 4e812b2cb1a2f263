"""/modules/<ns>/<name>/<system>/settings and the same for providers: description, repository and notice."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_http_methods

from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role
from apps.lib.errors import Invalid
from apps.portal.frame.forms import form_page, posted, refusals_on, sentence
from apps.portal.frame.page_urls import url_of
from apps.portal.versions.pages import VersionPages
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


@require_http_methods(["GET", "HEAD", "POST"])
def version_settings(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    viewer, address = session_viewer(request), pages.address_type(**names)
    row, _ = pages.parent_and_role(viewer, address, need=Role.PUBLISHER)
    form_class = pages.settings_form
    form = form_class(posted(request), initial={field: getattr(row, field) for field in form_class.base_fields})
    if form.is_valid():
        with refusals_on(form, "description"):
            pages.describe(row, actor=viewer, **form.cleaned_data)
            messages.success(request, f"Description of {address} saved.")
            return HttpResponseRedirect(url_of(address), status=303)
    return form_page(request, "portal/settings.html", form, address=address)
