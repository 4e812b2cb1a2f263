"""/account/activity and /namespaces/<ns>/activity: the audit, for people about themselves and for owners."""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.access import throttling
from apps.accounts.access.gate import namespace_for
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.accounts.models import ApiToken, Role
from apps.audit import reading
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import Invalid
from apps.portal.frame.forms import PlainField, sentence
from apps.portal.frame.namespace_tabs import frame_of
from apps.portal.frame.reauthentication import person_of

PAGE_SIZE = 50
DAY = {"type": "date"}


class FilterForm(forms.Form):
    """Its fields are those of `reading.Filter`, which validates them for the API as well."""

    kind = forms.ChoiceField(required=False, label="Event")
    person = PlainField(required=False, label="Person")
    since = forms.CharField(required=False, label="From", widget=forms.DateInput(DAY))
    until = forms.CharField(required=False, label="To", widget=forms.DateInput(DAY))

    def __init__(self, data: Any, sources: tuple[str, ...]) -> None:
        super().__init__(data, auto_id="filter-%s")
        kinds = [(kind.value, words_of(kind)) for kind in Kind if kind.startswith(sources)]
        field = self.fields["kind"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  # says the class
        field.choices = [("", "All"), *sorted(kinds, key=lambda kind: kind[1])]
        if len(sources) > 1:
            del self.fields["person"]


@never_cache
@require_safe
def own_activity(request: HttpRequest) -> HttpResponseBase:
    viewer = session_viewer(request)
    user = person_of(viewer)
    tokens = list(ApiToken.objects.filter(user=user).values_list("pk", flat=True))
    events = reading.of_person(user.pk, tokens=tokens)
    return _answer(
        request, events, FilterForm(request.GET, ("account:", "namespace:", "team:")), {"own": f"user/{user.pk}"}
    )


@never_cache
@require_safe
def namespace_activity(request: HttpRequest, namespace: str) -> HttpResponseBase:
    row = namespace_for(session_viewer(request), namespace, need=Role.OWNER)
    events = reading.of_namespace(row.canonical, since=row.created_at)
    return _answer(request, events, FilterForm(request.GET, ("namespace:",)), frame_of(row, Role.OWNER, "activity"))


def _answer(
    request: HttpRequest, events: reading.Events, form: FilterForm, context: dict[str, Any]
) -> HttpResponseBase:
    """A page of events, or with `?format=csv` or `jsonl` all that match, as a file."""
    template = f"portal/activity/{'section' if 'namespace' in context else 'page'}.html"
    context |= {
        "form": form,
        "events": [],
        "asked": urlencode({name: value for name in form.fields if (value := request.GET.get(name, ""))}),
    }
    try:
        events = reading.Filter.from_query(request.GET).of(events)
    except Invalid as refused:
        context["refusal"] = sentence(refused)
        return render(request, template, context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    if (form_of_file := request.GET.get("format", "")) in reading.CONTENT_TYPES:
        throttling.count(throttling.by_account("export", session_viewer(request).user_id, address_of(request)))
        name = f"larder-activity-{timezone.now():%Y-%m-%d}.{form_of_file}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingHttpResponse(
            reading.export(events, form_of_file), content_type=reading.CONTENT_TYPES[form_of_file], headers=headers
        )
    rows, context["before"] = reading.page(events, cursor=request.GET.get("before", ""), size=PAGE_SIZE)
    context["events"] = [(event, words_of(Kind(event.kind)), _details(event)) for event in rows]
    return render(request, template, context)


def words_of(kind: Kind) -> str:
    return str(kind.label).capitalize()


def _details(event: AuditEvent) -> list[tuple[str, str]]:
    """Whatever the event has to say besides its subject, without numbers of rows that mean nothing to a reader."""
    details = []
    for key, value in event.detail.items():
        if value in ("", None, [], {}) or key in ("release", "client", "looks_like"):
            continue
        parts = [f"{name} {one}" for name, one in value.items()] if isinstance(value, dict) else value
        details.append((key.replace("_", " "), ", ".join(map(str, parts)) if isinstance(parts, list) else str(value)))
    return details


urlpatterns = [
    path("account/activity", own_activity, name="own-activity"),
    path("namespaces/<str:namespace>/activity", namespace_activity, name="namespace-activity"),
]
