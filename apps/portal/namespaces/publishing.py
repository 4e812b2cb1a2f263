"""/namespaces/<ns>/rules for owners: what a release must pass."""

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_http_methods

from apps.accounts import namespaces
from apps.accounts.access.gate import namespace_for
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import BreakingChanges, Role
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import form_page, posted, refusals_on
from apps.portal.frame.namespace_tabs import frame_of
from apps.portal.frame.page_urls import see_other

# What an owner confirms before it asks for less.
APPROVAL = ("requires_approval", "approval_needs_second_factor", "approval_needs_two_people")


class RulesForm(forms.Form):
    breaking_changes = forms.ChoiceField(
        choices=BreakingChanges.choices,
        label="Breaking changes without a major version",
        widget=forms.RadioSelect,
    )
    cooldown_hours = forms.IntegerField(
        min_value=0,
        max_value=namespaces.LONGEST_COOLDOWN_HOURS,
        required=False,
        label="Cool-down of new releases (hours)",
        help_text="Hours before clients see a new release. 0 shows it immediately. A change applies to later releases.",
    )
    requires_approval = forms.BooleanField(
        required=False,
        label="Require approval of each release",
        help_text="A publisher or owner who took no part in it approves it before it is published.",
    )
    approval_needs_second_factor = forms.BooleanField(
        required=False,
        label="Ask for a second factor at each approval",
        help_text="Service accounts have none, so they cannot approve then.",
    )
    approval_needs_two_people = forms.BooleanField(
        required=False,
        label="Two people approve releases from Git or CI",
        help_text="If approval is required. Of releases that a person publishes, one other person approves.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_rules(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    form = RulesForm(posted(request), initial={name: getattr(row, name) for name in RulesForm.base_fields})
    if form.is_valid():
        approval = {name: form.cleaned_data.pop(name) for name in APPROVAL}
        if any(getattr(row, name) and not wanted for name, wanted in approval.items()):
            reauthentication.require(request, f"Ask for less at the approval of releases in {row}")
        with refusals_on(form, "requires_approval"), transaction.atomic():
            namespaces.change(namespace=row, actor=viewer, **form.cleaned_data)
            namespaces.require_approval(namespace=row, actor=viewer, **approval)
        if not form.errors:
            messages.success(request, f"The release rules of {row} are saved.")
            return see_other("namespace-rules", row.name)
    return form_page(request, "portal/namespaces/rules.html", form, **frame_of(row, Role.OWNER, "rules"))


urlpatterns = [
    path("namespaces/<str:namespace>/rules", namespace_rules, name="namespace-rules"),
]
