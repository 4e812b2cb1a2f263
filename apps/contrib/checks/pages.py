"""The tab *Checks* of a version, the page of required checks of a namespace, and sections of pages of others."""

import uuid
from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role
from apps.contrib.checks import excerpts, holding, policy, sending, wording
from apps.contrib.checks.models import TONES, Mode, Policy, Report
from apps.contrib.checks.policy import MAX_REQUIREMENTS, PATTERN, Requirement
from apps.contrib.checks.reading.shape import CRITICAL, FAILED, SEVERITIES, STATES
from apps.lib.errors import Conflict, Invalid
from apps.portal.frame import namespace_tabs
from apps.portal.frame.forms import form_page, posted, refusals_on, sentence
from apps.portal.frame.page_urls import page_of, see_other
from apps.portal.versions.pages import Opened
from apps.releases.catalogue import reading
from apps.releases.catalogue.comparing import Comparison
from apps.releases.catalogue.marks import Mark
from apps.releases.models import Release, State

PAGE_SIZE = 25
COMPARED = 50


def checks_tab(request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    release: Release = opened.shown.release
    reports = policy.judge(release, Report.objects.about(release).listed())
    missing = policy.missing(release, reports)
    hold = holding.hold_of(release) if missing else None
    context |= {
        "reports": reports,
        "missing": missing,
        "waived": hold if hold is not None and hold.waived_at is not None else None,
        "may_send": opened.role is not None and opened.role.covers(Role.PUBLISHER),
        "send": wording.command_of(release, missing),
    }
    asked = request.GET.get("check", "")
    # Without a question the worst is open.
    if shown := min(reports, key=lambda one: (one.check_name != asked, -STATES.index(one.state)), default=None):
        context |= _details(request, opened, shown)


def _details(request: HttpRequest, opened: Opened, report: Report) -> dict[str, Any]:
    history = sending.history_of(opened.shown.release, report.check_name)
    findings = sorted(report.details["findings"], key=lambda one: SEVERITIES.index(one["severity"]))
    runs = sorted(report.details["runs"], key=lambda one: one["state"] != FAILED)
    page = page_of(findings or runs, request, size=PAGE_SIZE)
    return {
        "report": report,
        "page": page,
        "counts": [(TONES[name], name, report.counts[name]) for name in SEVERITIES if report.counts.get(name)],
        "items": excerpts.beside(opened.shown, list(page.object_list), (one["file"] for one in findings or runs)),
        "history": history[1:],
    }


def count_of_checks(opened: Opened, mark: Mark | None) -> int | None:
    """The number of newest reports; None if there are none and the namespace requires some, as the tab says then."""
    if mark is not None:
        return mark.count
    required = Policy.objects.filter(namespace=opened.shown.release.namespace_id).exclude(requirements=[])
    return None if required.exists() else 0


# --- Sections of other pages ----------------------------------------------------------------------------------------


def waiting_section(viewer: Viewer, release: Release) -> dict[str, Any] | None:
    """On the page of a release that waits: what is missing, and for owners the way to waive it."""
    hold = holding.hold_of(release) if release.state == State.AWAITING_APPROVAL else None
    if hold is None or hold.waived_at is not None:
        return None
    role = gate.role_on(viewer, release.namespace, only_name=release.name)
    may_waive = role is not None and role.covers(Role.OWNER)
    return {"hold": hold, "release": release, "may_waive": may_waive, "send": wording.command_of(release, hold.missing)}


def comparison_section(_viewer: Viewer, found: Comparison) -> dict[str, Any] | None:
    """On the page that compares two versions: of each check the findings that are new and gone."""
    sides = (Report.objects.filter(release=one.pk).newest() for one in (found.before, found.after))
    old, now = ({row.check_name: row for row in rows.order_by("check_name")} for rows in sides)
    compared = []
    for name in sorted(old.keys() & now.keys()):
        new, gone, unchanged = sending.difference(old[name], now[name])
        row: dict[str, Any] = {"name": name, "before": old[name].line, "after": now[name].line}
        if new or gone or unchanged:
            more = max(0, len(new) - COMPARED) + max(0, len(gone) - COMPARED)
            row |= {"new": new[:COMPARED], "gone": gone[:COMPARED], "more": more, "unchanged": unchanged}
        compared.append(row)
    only = [now[name] for name in sorted(now.keys() - old.keys())]
    lost = sorted(old.keys() - now.keys())
    return {"compared": compared, "only": only, "lost": lost} if old or now else None


@never_cache
@require_POST
def waive(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    viewer = session_viewer(request)
    release = reading.release_for(viewer, public_id)
    said = {"digest": request.POST.get("digest", ""), "reason": request.POST.get("reason", "")}
    try:
        holding.waive(release=release, actor=viewer, **said)
    except (Conflict, Invalid) as refusal:
        messages.error(request, sentence(refusal))
    else:
        messages.success(request, f"{release} continues without the checks that it lacks.")
    return see_other("release", release.public_id)


# --- The policy of a namespace --------------------------------------------------------------------------------------


_FROM = [(one, one.capitalize() + ("" if one == CRITICAL else " or higher")) for one in SEVERITIES]


class PolicyForm(forms.Form):
    mode = forms.ChoiceField(
        choices=[
            (Mode.WARN, "Publish it, and mark the version"),
            (Mode.HOLD, "Hold it until the reports arrive, or an owner says why not"),
        ],
        widget=forms.RadioSelect,
        label="If a release lacks a required check",
        help_text="Published versions never change by a report; they show what they lack.",
    )
    mail_at = forms.ChoiceField(
        choices=[("", "Never"), *_FROM],
        required=False,
        label="Mail owners about new findings in published versions",
        help_text="From this severity on, each finding once.",
    )


class RequirementForm(forms.Form):
    name = forms.RegexField(
        PATTERN, max_length=64, required=False, label="Check", help_text="Name; * is any text. Empty: no requirement."
    )
    passed = forms.BooleanField(required=False, initial=True, label="It passed")
    no_finding_at = forms.ChoiceField(choices=[("", "Any finding"), *_FROM], required=False, label="No finding that is")
    max_age_days = forms.IntegerField(min_value=1, max_value=3650, required=False, label="At most this many days old")
    verified_origin = forms.BooleanField(required=False, label="Sent by a run of the release's verified origin")


Requirements = forms.formset_factory(RequirementForm, extra=1, max_num=MAX_REQUIREMENTS, validate_max=True)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def namespace_checks(request: HttpRequest, namespace: str) -> HttpResponse:
    """The required checks of a namespace: owners change it, publishers read it."""
    viewer = session_viewer(request)
    need = Role.OWNER if request.method == "POST" else Role.PUBLISHER
    row, role = gate.namespace_and_role(viewer, namespace, need=need)
    found = policy.of(row) or Policy(namespace=row)
    required = policy.requirements_of(found)
    form = PolicyForm(posted(request), initial={"mode": found.mode, "mail_at": found.mail_at})
    entries = Requirements(posted(request), initial=[asdict(one) for one in required], prefix="required")
    if request.method == "POST" and form.is_valid() and entries.is_valid():
        wanted = [Requirement(**one) for one in entries.cleaned_data if one.get("name")]
        with refusals_on(form):
            policy.change(namespace=row, actor=viewer, requirements=wanted, **form.cleaned_data)
            messages.success(request, "Saved. It is for releases from now on, and those that wait.")
            return see_other("namespace-checks", row.name)
    context = namespace_tabs.frame_of(row, role, "checks") | {"entries": entries, "required": required}
    context |= {"may_manage": role.covers(Role.OWNER), "policy": found}
    return form_page(request, "portal/checks/policy.html", form, **context)


urlpatterns = [
    path("namespaces/<str:namespace>/checks", namespace_checks, name="namespace-checks"),
    path("releases/<uuid:public_id>/waive-checks", waive, name="release-waive-checks"),
]
