"""/mirror/alarms: what was refused and waits for staff, with what was known and what was found side by side; and what
staff decide about keys and about namespaces without one.
"""

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import Alarm, AlarmState, Allows
from apps.contrib.mirror.pages.upstreams import require
from apps.contrib.mirror.records import alarms, trust
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PlainField, form_page, posted, refusals_on
from apps.portal.frame.page_urls import page_of, see_other
from apps.portal.templatetags.numbers import in_fours

PAGE = 30
MAX_REASON = 300
# Names of what alarms compare, for people. Others are shown as they are.
LABELS = {
    "digest": "sha256",
    "fingerprint": "Key",
    "is_accepted_by_clients": "Clients accept it",
    "is_signed": "In the signed sums",
    "listed": "Versions in the list",
    "more": "Further versions",
    "problem": "Problem",
    "vanished": "No longer listed",
}
ACCEPTING = {
    "key_changed": "Trust the new key for this provider from now on, in addition to the pinned keys.",
    "bytes_changed": "Trust the new bytes: the stored ones are deleted, and lock files with the old hashes fail.",
    "no_key": "Allow unsigned providers of this namespace.",
    "signature_bad": "Allow signatures with SHA-1 or in text mode for this namespace.",
    "list_shrank": "These versions are removed: clients no longer get them, stored or not.",
}

DISMISSING = {"list_shrank": "clients still get those of these versions that are stored."}


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON,
        help_text="It stays in the audit log.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )


class DecisionForm(ReasonForm):
    """`decision` is the button that was pressed; pages without JavaScript send it as well."""

    decision = forms.ChoiceField(choices=[("accept", "Accept"), ("dismiss", "Dismiss")], widget=forms.HiddenInput)


class KeyForm(ReasonForm):
    decision = forms.ChoiceField(choices=[("trust", "Trust"), ("refuse", "Refuse")], widget=forms.HiddenInput)


class UnsignedForm(ReasonForm):
    namespace = PlainField(max_length=64, help_text="The first part of the address: acme in acme/dns.")
    allows = forms.ChoiceField(
        choices=Allows.choices, label="Allowed", required=False, help_text="Clients accept both."
    )
    field_order = ("namespace", "allows", "reason")

    def clean_allows(self) -> str:
        return self.cleaned_data["allows"] or Allows.NO_KEY.value


def sides_of(alarm: Alarm) -> list[tuple[str, str, str]]:
    """(name, known, found) for each thing that the alarm compares."""
    names = dict.fromkeys([*alarm.known, *alarm.found])
    return [(LABELS.get(name, name), _text(alarm.known.get(name)), _text(alarm.found.get(name))) for name in names]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    text = "" if value is None else str(value)
    return in_fours(text) if re.fullmatch(r"[0-9A-F]{40}", text) else text


def _viewer(request: HttpRequest, permission: str = upstreams.OPERATE) -> Viewer:
    viewer = session_viewer(request)
    require(viewer, permission)
    return viewer


@never_cache
@require_safe
def alarm_list(request: HttpRequest) -> HttpResponse:
    _viewer(request, upstreams.VIEW)
    state = request.GET.get("state", "")
    page = page_of(alarms.alarms_of(state=state), request, size=PAGE)
    context = {"page": page, "alarms": page.object_list, "state": state, "states": AlarmState.choices}
    return render(request, "portal/upstream/alarms.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def alarm(request: HttpRequest, alarm_id: int) -> HttpResponse:
    """Both sides, and for those who may the decision."""
    viewer = _viewer(request, upstreams.OPERATE if request.method == "POST" else upstreams.VIEW)
    row = alarms.alarm_of(alarm_id)
    form = DecisionForm(posted(request))
    if form.is_valid():
        is_accepted = form.cleaned_data["decision"] == "accept"
        reauthentication.require(request, f"{'Accept' if is_accepted else 'Dismiss'} the alarm about {row.subject}")
        decide = alarms.accept if is_accepted else alarms.dismiss
        with refusals_on(form, "reason"):
            decide(row, actor=viewer, reason=form.cleaned_data["reason"])
            messages.success(request, f"The alarm is {'accepted' if is_accepted else 'dismissed'}.")
            return see_other("mirror-alarm", row.pk)
    context = {
        "alarm": row,
        "sides": sides_of(row),
        "may_accept": alarms.may_accept(row),
        "accepting": ACCEPTING.get(row.kind, ""),
        "dismissing": DISMISSING.get(row.kind, "what Larder knew stays, and what was found stays refused."),
        "may_change": viewer.user is not None and viewer.user.has_perm(upstreams.OPERATE),
    }
    return form_page(request, "portal/upstream/alarm.html", form, **context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def key(request: HttpRequest, host: str, pin_id: int) -> HttpResponse:
    """A key of a registry: trust or refuse it."""
    viewer = _viewer(request, upstreams.OPERATE if request.method == "POST" else upstreams.VIEW)
    row = trust.pin_of(upstreams.upstream_for(viewer, host), pin_id)
    form = KeyForm(posted(request))
    if form.is_valid():
        is_trusted = form.cleaned_data["decision"] == "trust"
        reauthentication.require(request, f"{'Trust' if is_trusted else 'Refuse'} the key {row.fingerprint}")
        with refusals_on(form, "reason"):
            trust.decide_key(row, actor=viewer, is_trusted=is_trusted, reason=form.cleaned_data["reason"])
            messages.success(request, f"The key is {'trusted' if is_trusted else 'refused'}.")
            return see_other("mirror-upstream", row.upstream.host)
    may_change = viewer.user is not None and viewer.user.has_perm(upstreams.OPERATE)
    return form_page(request, "portal/upstream/key.html", form, pin=row, upstream=row.upstream, may_change=may_change)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsigned_allow(request: HttpRequest, host: str) -> HttpResponse:
    """Allow a namespace for which the registry names no key, or whose signatures are weak."""
    viewer = _viewer(request)
    row = upstreams.upstream_for(viewer, host)
    given = {"namespace": request.GET.get("namespace", "")[:64], "allows": request.GET.get("allows", "")}
    form = UnsignedForm(posted(request), initial=given)
    if form.is_valid():
        namespace, allows = form.cleaned_data["namespace"], Allows(form.cleaned_data["allows"])
        reauthentication.require(request, f"{allows.label} of {row.host}/{namespace[:64]}")
        with refusals_on(form, "namespace"):
            namespace = upstreams.checked_namespace(namespace)
            trust.allow_unsigned(row, namespace, actor=viewer, reason=form.cleaned_data["reason"], allows=allows)
            messages.success(request, f"Allowed for {row.host}/{namespace}: {allows.label}.")
            return see_other("mirror-upstream", row.host)
    return form_page(request, "portal/upstream/unsigned.html", form, upstream=row)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsigned_withdraw(request: HttpRequest, host: str, mirrored_namespace: str) -> HttpResponse:
    viewer = _viewer(request)
    row = upstreams.upstream_for(viewer, host)
    found = trust.allowance_of(row, mirrored_namespace, request.GET.get("allows") or Allows.NO_KEY)
    form = ReasonForm(posted(request))
    if form.is_valid():
        with refusals_on(form, "reason"):
            trust.withdraw_unsigned(
                row, found.namespace, actor=viewer, reason=form.cleaned_data["reason"], allows=found.allows
            )
            messages.success(request, f"Refused again for {found}: {found.get_allows_display()}.")
            return see_other("mirror-upstream", row.host)
    return form_page(request, "portal/upstream/unsigned.html", form, upstream=row, allowance=found)


_ONE = "mirror/upstreams/<str:host>"
urlpatterns = [
    path("mirror/alarms", alarm_list, name="mirror-alarms"),
    path("mirror/alarms/<int:alarm_id>", alarm, name="mirror-alarm"),
    path(f"{_ONE}/keys/<int:pin_id>", key, name="mirror-key"),
    path(f"{_ONE}/unsigned", unsigned_allow, name="mirror-unsigned"),
    path(f"{_ONE}/unsigned/<str:mirrored_namespace>", unsigned_withdraw, name="mirror-unsigned-withdraw"),
]
