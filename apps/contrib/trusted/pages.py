"""/namespaces/<ns>/trusted-publishers for owners: whose CI may publish, the claims that pass, and recent attempts; and
/ci for publishers: files for their pipelines.
"""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import namespaces
from apps.accounts.access import gate
from apps.accounts.access.gate import namespace_for
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.trusted.declarations import Field, How, Vendor
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import Role, TrustedPublisher
from apps.contrib.trusted import ci_steps, publishers
from apps.lib.errors import Invalid
from apps.portal.frame import reauthentication
from apps.portal.frame.forms import PLAIN, PlainField, form_page, posted, refusals_on, sentence
from apps.portal.frame.namespace_tabs import frame_of
from apps.portal.frame.page_urls import page_of, see_other
from apps.releases.lifecycle.access_impact import of_machine
from apps.snippets import publish_script

# Attempts on one page.
PAGE_SIZE = 20
_TEMPLATES = "portal/namespace/trusted_publishers"
# What is filled in as the ref of a new rule.
TAGS = "refs/tags/v*"


class RuleForm(forms.Form):
    """The fields of the vendor's declaration."""

    draft: publishers.Draft  # of a valid form only

    def __init__(self, vendor: Vendor, data: QueryDict | None = None, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        self.vendor = vendor
        for one in vendor.fields:
            self.fields[one.name] = _field(one)
        if not vendor.fields:
            self.fields["claims"] = forms.CharField(
                label="Required claims",
                widget=forms.Textarea(PLAIN | {"rows": 5, "class": "mono"}),
                help_text="One per line, name = value, each compared exactly. Numbers, true and false have that type; "
                "put a number that is text in quotes.",
            )
        self.fields["issuer"] = PlainField(
            required=not vendor.issuer,
            max_length=200,
            label="Issuer",
            inputmode="url",
            help_text="Only for GitHub Enterprise, self-managed GitLab or another server that an operator has allowed."
            if vendor.issuer
            else "An operator has to allow it.",
        )
        self.fields["only_name"] = PlainField(
            required=False,
            max_length=130,
            label="Limit to one module or provider",
            help_text="A module such as vpc/aws or a provider such as dns, which may not exist yet. Everything in the "
            "namespace if left empty.",
        )

    def clean_claims(self) -> dict[str, Any]:
        found = {}
        for line in filter(str.strip, str(self.cleaned_data["claims"]).splitlines()):
            name, equals, value = (part.strip() for part in line.partition("="))
            if not equals or not name or name in found:
                raise forms.ValidationError(f"“{line[:80]}”: write one claim per line, as name = value.")
            found[name] = _json_or_text(value)
        return found

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                self.draft = publishers.draft(kind=self.vendor.kind, **cleaned)
            except Invalid as refusal:
                self.add_error(None, sentence(refusal))
        return cleaned


def _field(one: Field) -> forms.Field:
    if one.how is How.TRUE:
        return forms.BooleanField(required=False, label=one.label)
    help_text = f"{one.help} Such as {one.example}.".strip() if one.example else one.help
    if one.pins and not one.help:
        help_text = f"{help_text} If left empty, the first exchange pins it.".strip()
    return PlainField(
        required=one.is_required,
        # Tags are what is published, and a rule without a ref lets every branch publish.
        initial=TAGS if one.how is How.REF else None,
        max_length=publishers.LONGEST_TEXT,
        label=one.label,
        help_text=help_text,
    )


def _json_or_text(value: str) -> Any:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, str | int) else value


@never_cache
@require_safe
def publisher_list(request: HttpRequest, namespace: str) -> HttpResponse:
    row = namespace_for(session_viewer(request), namespace, need=Role.OWNER)
    page = page_of(publishers.recent_exchanges(row), request, size=PAGE_SIZE)
    context = {
        **frame_of(row, Role.OWNER, "trusted"),
        "rules": [_described(rule) for rule in publishers.of(row)],
        "page": page,
        "attempts": [(attempt, _shown(attempt.claims)) for attempt in page.object_list],
    }
    return render(request, f"{_TEMPLATES}/list.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def publisher_add(request: HttpRequest, namespace: str) -> HttpResponse:
    """Two steps: the claims that would pass are shown, then a second POST (`step=save`) saves the rule."""
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    vendor = VENDORS.get(request.GET.get("kind", ""), next(iter(VENDORS.values())))
    form, step = RuleForm(vendor, posted(request)), request.POST.get("step")
    context: dict[str, Any] = {"namespace": row, "vendor": vendor, "kinds": list(VENDORS.values())}
    if form.is_valid():
        if step == "change":
            given = dict.fromkeys(form.fields, "") | request.POST.dict()  # what was emptied stays so
            return form_page(request, f"{_TEMPLATES}/add.html", RuleForm(vendor, initial=given), **context)
        if step != "save":
            preview = {
                "draft": form.draft,
                "claims": _shown(form.draft.claims),
                "refused": publishers.refusals_of(vendor),
                "warnings": publishers.warnings_of(vendor, form.draft.fields),
            }
            return render(request, f"{_TEMPLATES}/review.html", context | preview | {"form": form})
        reauthentication.require(request, f"Add a trusted publisher to {row}")
        with refusals_on(form):
            rule = publishers.create(namespace=row, actor=viewer, kind=vendor.kind, **form.cleaned_data)
            messages.success(request, f"Trusted publisher added. Its releases name {rule.user}.")
            return see_other("trusted-publishers", row.name)
    return form_page(request, f"{_TEMPLATES}/add.html", form, **context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def publisher_delete(request: HttpRequest, namespace: str, publisher_id: int) -> HttpResponse:
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    rule = publishers.publisher_of(row, publisher_id)
    if request.method != "POST":
        context = {"namespace": row, **_described(rule), "effects": of_machine(rule.user)}
        return render(request, f"{_TEMPLATES}/delete.html", context)
    publishers.end(publisher=rule, actor=viewer)
    messages.success(request, f"Trusted publisher {rule.user} deleted. Its tokens have ended.")
    return see_other("trusted-publishers", row.name)


@require_POST
def publisher_only(request: HttpRequest, namespace: str) -> HttpResponse:
    """Set whether only trusted publishers publish; `on` says what the button showed."""
    viewer = session_viewer(request)
    row = namespace_for(viewer, namespace, need=Role.OWNER)
    required = request.POST.get("on") == "1"
    who = "only trusted publishers" if required else "everyone with the role publisher"
    reauthentication.require(request, f"Let {who} publish in {row}")
    namespaces.require_trusted_publishers(namespace=row, required=required, actor=viewer)
    messages.success(request, f"From now on {who} can publish in {row}.")
    return see_other("trusted-publishers", row.name)


@require_safe
def namespace_ci(request: HttpRequest, namespace: str) -> HttpResponse:
    row, role = gate.namespace_and_role(session_viewer(request), namespace, need=Role.PUBLISHER)
    context = frame_of(row, role, "ci") | {"may_manage": role == Role.OWNER}
    context |= {"steps": ci_steps.of_namespace(row.name), "script": publish_script.newest()}
    return render(request, "portal/namespaces/ci.html", context)


def _shown(claims: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the claims as text, in JSON where they are not: 7 and "7" are two values."""
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in claims.items()]


def _described(rule: TrustedPublisher) -> dict[str, Any]:
    vendor = publishers.vendor_of(rule)
    return {
        "rule": rule,
        "vendor": vendor,
        "claims": _shown(publishers.claims_of(rule)),
        "warnings": publishers.warnings_of(vendor, rule.fields),
        "step": ci_steps.of_rule(rule),
    }


_RULES = "namespaces/<str:namespace>/trusted-publishers"

urlpatterns = [
    path("namespaces/<str:namespace>/ci", namespace_ci, name="namespace-ci"),
    path(_RULES, publisher_list, name="trusted-publishers"),
    path(f"{_RULES}/add", publisher_add, name="trusted-publisher-add"),
    path(f"{_RULES}/only", publisher_only, name="trusted-publishers-only"),
    path(f"{_RULES}/<int:publisher_id>/delete", publisher_delete, name="trusted-publisher-delete"),
]
