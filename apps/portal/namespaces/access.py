"""/namespaces/<ns>/access: a reader requests publish access, and sees whom they ask."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_http_methods

from apps.accounts.access import contacts, gate
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role
from apps.accounts.people import access_requests
from apps.lib.errors import Conflict
from apps.portal.frame.forms import form_page, posted, refusals_on
from apps.portal.frame.page_urls import see_other


class AccessForm(forms.Form):
    reason = forms.CharField(
        max_length=access_requests.LONGEST_REASON,
        required=False,
        label="What do you want to publish?",
        widget=forms.Textarea({"rows": 3}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def namespace_access(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row, role = gate.namespace_and_role(viewer, namespace)
    if role.covers(Role.PUBLISHER):
        raise Conflict(f"You can publish in {row} already.", hint="Open its page to do so.")
    form = AccessForm(posted(request))
    if form.is_valid():
        with refusals_on(form, "reason"):
            access_requests.request(namespace=row, actor=viewer, reason=form.cleaned_data["reason"])
            messages.success(request, f"Your request was sent to the owners of {row}.")
            return see_other("namespace", row.name)
    context = {"namespace": row, "owners": contacts.owners_of(row), "sends_mail": settings.SMTP is not None}
    return form_page(request, "portal/namespaces/access.html", form, **context)


urlpatterns = [path("namespaces/<str:namespace>/access", namespace_access, name="namespace-access")]
