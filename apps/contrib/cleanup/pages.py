"""/namespaces/<ns>/cleanup: the rule that deprecates or yanks old versions, and what it would do; for owners."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Namespace, Role
from apps.contrib.cleanup import applying, planning, rules
from apps.contrib.cleanup.planning import PlannedVersion
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import Conflict
from apps.modules import publishing
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import form_page, posted, refusals_on, sentence
from apps.portal.frame.namespace_tabs import frame_of
from apps.portal.frame.page_urls import Address, page_of, see_other, url_of
from apps.releases.cleanup_rules import MAX_DAYS, MAX_KEPT, CleanupAction
from apps.releases.models import Kind, Release

PAGE_SIZE = 50
# Offered to namespaces without a rule.
SUGGESTED_DAYS = 90
SHOWN = {"going": "Would go", "staying": "Would stay", "all": "All"}


class RuleForm(forms.Form):
    prerelease_days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        label="Pre-releases older than (days)",
        help_text="Leave empty to exclude pre-releases.",
    )
    stable_days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        label="Other versions older than (days)",
        help_text="Leave empty to exclude them.",
    )
    fetched_days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        label="Keep versions downloaded in the last (days)",
        help_text="Any download counts.",
    )
    keep_newest = forms.IntegerField(
        min_value=1,
        max_value=MAX_KEPT,
        label="Keep the newest (versions of each module and provider)",
        help_text="The default version is always kept.",
    )
    action = forms.ChoiceField(
        choices=CleanupAction.choices, widget=forms.RadioSelect, label="Action", help_text="Both can be undone."
    )
    enabled = forms.BooleanField(
        required=False,
        label="Apply this rule every hour",
        help_text="Starts one day after its last change. You can apply it at any time.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
def cleanup(request: HttpRequest, namespace: str) -> HttpResponse:
    viewer = session_viewer(request)
    row = rules.authorised_namespace(viewer, namespace)
    rule = rules.rule_of(row)
    initial = {name: getattr(rule, name) for name in rules.FIELDS}
    form = RuleForm(posted(request), initial=initial if rule.pk else initial | {"prerelease_days": SUGGESTED_DAYS})
    if form.is_valid():
        reauthentication.require(request, f"Change the cleanup rule of {row}")
        with refusals_on(form):
            rules.change(namespace=row, actor=viewer, **form.cleaned_data)
            messages.success(request, "Rule saved. Nothing has changed yet; see the preview below.")
            return see_other("namespace-cleanup", row.name)
    plan = planning.plan(rule)
    going = plan.going
    shown = request.GET.get("show", "")
    shown = shown if shown in SHOWN else "going" if going else "all"
    versions = {"going": going, "staying": [one for one in plan.versions if not one.goes], "all": list(plan.versions)}
    page = page_of(versions[shown], request, size=PAGE_SIZE)
    acts_from = rule.acts_from
    context: dict[str, Any] = {
        **frame_of(row, Role.OWNER, "cleanup"),
        "rule": rule,
        "plan": plan,
        "going_count": len(going),
        "by_hand": applying.BY_HAND,
        "page": page,
        "rows": [_row(row, planned) for planned in page.object_list],
        "tabs": [(name, label, len(versions[name])) for name, label in SHOWN.items()],
        "shown": shown,
        "settles": acts_from if acts_from and acts_from > timezone.now() else None,
    }
    return form_page(request, "portal/namespaces/cleanup.html", form, **context)


def _row(namespace: Namespace, planned: PlannedVersion) -> dict[str, Any]:
    address: Address = ProviderAddress(namespace.name, planned.row.name)
    if planned.row.kind == Kind.MODULE:
        address = publishing.address_of(Release(namespace=namespace, name=planned.row.name))
    return {"planned": planned, "address": address, "url": url_of(address, "version", planned.row.version)}


@require_POST
def cleanup_apply(request: HttpRequest, namespace: str) -> HttpResponse:
    """Apply what the page has shown: `plan` is its digest."""
    viewer = session_viewer(request)
    row = rules.authorised_namespace(viewer, namespace)
    rule = rules.rule_of(row)
    reauthentication.require(request, f"Apply the cleanup rule of {row}")
    try:
        outcome = applying.apply_by_hand(rule=rule, actor=viewer, seen=request.POST.get("plan", ""))
    except Conflict as refusal:
        messages.error(request, sentence(refusal))
    else:
        done = "yanked" if rule.action == CleanupAction.YANK else "deprecated"
        count = len(outcome.done)
        left = f" {outcome.left} more remain: apply it again." if outcome.left else ""
        messages.success(request, f"{count} version{'' if count == 1 else 's'} {done}.{left}")
    return see_other("namespace-cleanup", row.name)


urlpatterns = [
    path("namespaces/<str:namespace>/cleanup", cleanup, name="namespace-cleanup"),
    path("namespaces/<str:namespace>/cleanup/apply", cleanup_apply, name="namespace-cleanup-apply"),
]
