"""/mirror/<host>/policy: the rules for versions of another registry, what a change would hide or show, and exceptions.

Without a script: each button sends the whole form, and the page shows it again with one more rule, or the preview.
"""

from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import Effect, Upstream, UpstreamVersion
from apps.contrib.mirror.policy import advisories, consequences, policy_exceptions, rulebook
from apps.contrib.mirror.policy.policy_exceptions import ModuleVersion
from apps.contrib.mirror.records import modules
from apps.lib.errors import Invalid, NotFound
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PlainField, posted, refusals_on, sentence
from apps.portal.frame.page_urls import see_other

SHOWN_EXCEPTIONS = 50
SUGGESTED_DAYS = 30


class RuleForm(forms.Form):
    pattern = PlainField(
        max_length=130,
        label="Providers",
        help_text="<code>hashicorp/*</code>, <code>*/random</code>, <code>hashicorp/random</code> or <code>*</code>",
    )
    effect = forms.ChoiceField(choices=Effect.choices, label="Effect")
    days = forms.IntegerField(
        min_value=0,
        max_value=3650,
        required=False,
        label="Days",
        help_text="Minimum age of a version, for effects with a cool-down.",
    )
    versions = PlainField(
        max_length=200,
        required=False,
        label="Versions",
        help_text="A range such as <code>&gt;= 5.0, &lt; 6.0</code>; empty for all.",
    )
    platforms = PlainField(
        max_length=400,
        required=False,
        label="Platforms",
        help_text="For example <code>linux_amd64 darwin_arm64</code>; empty for all.",
    )
    advisories_only = forms.BooleanField(required=False, label="Only versions that an advisory names")
    reason = forms.CharField(max_length=300, required=False, label="Reason", help_text="Shown to clients.")

    def has_changed(self) -> bool:
        """An added rule in which nothing was typed is none: a browser always sends an effect."""
        return bool(set(self.changed_data) - {"effect", "ORDER"})

    def fields_of_rule(self) -> dict[str, Any]:
        return {
            **{
                name: self.cleaned_data[name] for name in ("pattern", "effect", "versions", "advisories_only", "reason")
            },
            "days": self.cleaned_data["days"] or 0,
            "platforms": self.cleaned_data["platforms"].replace(",", " ").split(),
        }


class PolicyForm(forms.Form):
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    cooldown_days = forms.IntegerField(
        min_value=0,
        max_value=3650,
        label="Default cool-down (days)",
        help_text="For versions that no rule matches. 0 shows them immediately.",
    )


class ExceptionForm(forms.Form):
    address = PlainField(
        max_length=200,
        label="Provider or module",
        help_text="For example <code>hashicorp/random</code> or <code>terraform-aws-modules/vpc/aws</code>.",
    )
    version = PlainField(max_length=128, label="Version")
    reason = forms.CharField(max_length=300, label="Reason", help_text="Recorded in the audit log.")
    days = forms.IntegerField(
        min_value=1, max_value=366, label="Expires in (days)", help_text="After that, the rules apply again."
    )


Rules = forms.formset_factory(
    RuleForm, extra=0, can_delete=True, can_order=True, max_num=rulebook.MAX_RULES, absolute_max=rulebook.MAX_RULES
)


@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: HttpRequest, host: str) -> HttpResponse:
    viewer = session_viewer(request)
    upstream = rulebook.place(viewer, host, changes=request.method == "POST")
    data = posted(request)
    if data is not None and "more" in data:
        return _page(request, viewer, upstream, forms=_forms(upstream, _with_one_more(data)))
    form, rules = _forms(upstream, data)
    if not (form.is_bound and form.is_valid() and rules.is_valid()):
        return _page(request, viewer, upstream, forms=(form, rules), is_refused=form.is_bound)
    wanted = {
        "rules": [one.fields_of_rule() for one in rules.ordered_forms],
        "cooldown_days": form.cleaned_data["cooldown_days"],
    }
    run = effects = None
    if "save" in request.POST:
        reauthentication.require(request, f"Change the policy of {upstream}")
    with refusals_on(form):
        if "save" in request.POST:
            rulebook.change(upstream, actor=viewer, seen=form.cleaned_data["seen"], **wanted)
            messages.success(request, "Policy saved. It applies from the next request.")
            return see_other("upstream-policy", upstream.host)
        run = rulebook.dry_run(upstream, now=timezone.now(), **wanted)
        effects = consequences.of_policy(upstream, run)
    return _page(request, viewer, upstream, forms=(form, rules), run=run, effects=effects, is_refused=run is None)


@require_POST
def allow(request: HttpRequest, host: str) -> HttpResponse:
    viewer = session_viewer(request)
    upstream = rulebook.place(viewer, host, changes=True)
    form = ExceptionForm(request.POST, prefix="allow")
    if form.is_valid():
        wanted = form.cleaned_data
        reauthentication.require(request, f"Let {wanted['address']} {wanted['version']} through")
        try:
            version = _version_of(upstream, wanted["address"], wanted["version"])
            until = timezone.now() + timedelta(days=wanted["days"])
            policy_exceptions.allow(version, reason=wanted["reason"], expires_at=until, actor=viewer)
        except (Invalid, NotFound) as refusal:
            form.add_error(None, sentence(refusal))
        else:
            is_module = isinstance(version, ModuleVersion)
            effect = "is published when its repository is synced next" if is_module else "is visible now"
            messages.success(request, f"{version} {effect}.")
            return see_other("upstream-policy", upstream.host)
    return _page(request, viewer, upstream, forms=_forms(upstream, None), allow=form, is_refused=True)


@require_POST
def withdraw(request: HttpRequest, host: str, exception_id: int) -> HttpResponse:
    viewer = session_viewer(request)
    upstream = rulebook.place(viewer, host, changes=True)
    row = policy_exceptions.in_force(upstream, exception_id)
    reauthentication.require(request, f"Revoke the exception for {row.about}")
    policy_exceptions.withdraw(row, actor=viewer)
    messages.success(request, f"The rules decide about {row.about} again.")
    return see_other("upstream-policy", upstream.host)


def _version_of(upstream: Upstream, address: str, version: str) -> UpstreamVersion | ModuleVersion:
    """Raises NotFound and Invalid."""
    if address.count("/") > 1:
        return modules.known_version(upstream, module=address, version=version)
    namespace, _, type_ = address.partition("/")
    return policy_exceptions.version_of(upstream, namespace=namespace, type=type_, version=version)


def _forms(upstream: Upstream, data: QueryDict | None) -> tuple[PolicyForm, Any]:
    """Return the forms with what is saved, or what was typed."""
    initial = [
        {**rulebook.as_fields(rule), "platforms": " ".join(rule.platforms), "days": rule.days or None}
        for rule in rulebook.rules_of(upstream)
    ]
    known = {"seen": rulebook.mark_of(upstream), "cooldown_days": upstream.cooldown_days}
    return PolicyForm(data, initial=known), Rules(data, initial=initial, prefix="rules")


def _with_one_more(data: QueryDict) -> QueryDict:
    count = data.get("rules-TOTAL_FORMS", "")
    if not (count.isascii() and count.isdecimal()) or int(count) >= rulebook.MAX_RULES:
        return data
    longer = data.copy()
    longer["rules-TOTAL_FORMS"] = str(int(count) + 1)
    longer[f"rules-{count}-ORDER"] = str(int(count) + 1)
    return longer


def _page(
    request: HttpRequest,
    viewer: Viewer,
    upstream: Upstream,
    *,
    forms: tuple[PolicyForm, Any],
    is_refused: bool = False,
    **context: Any,
) -> HttpResponse:
    form, rules = forms
    errors = [error.code for found in form.errors.as_data().values() for error in found] if form.is_bound else []
    refused = HTTPStatus.CONFLICT if "conflict" in errors else HTTPStatus.UNPROCESSABLE_ENTITY
    index, now = advisories.index(), timezone.now()
    rows = policy_exceptions.of(upstream)[:SHOWN_EXCEPTIONS]
    # A link from a version that is held back names it.
    named = {name: request.GET.get(name, "")[:200] for name in ("address", "version")}
    context = {
        "upstream": upstream,
        "may_change": viewer.user is not None and viewer.user.has_perm(upstreams.OPERATE),
        "form": form,
        "rules": rules,
        "saved": rulebook.rules_of(upstream),
        "exceptions": [(row, row.withdrawn_at is None and row.expires_at > now) for row in rows],
        "allow": ExceptionForm(initial={"days": SUGGESTED_DAYS, **named}, prefix="allow"),
        "advisory_files": index.files,
        "advisory_problems": index.problems,
        **context,
    }
    return render(request, "portal/upstream/policy.html", context, status=refused if is_refused else HTTPStatus.OK)


_POLICY = "mirror/<str:host>/policy"
urlpatterns = [
    path(_POLICY, policy, name="upstream-policy"),
    path(f"{_POLICY}/exceptions", allow, name="upstream-exception-add"),
    path(f"{_POLICY}/exceptions/<int:exception_id>/withdraw", withdraw, name="upstream-exception-withdraw"),
]
