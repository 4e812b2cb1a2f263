"""Acts on published versions that need a reason: the page that asks for it, and the verb for each selected row."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from apps.accounts.access.gate import Viewer
from apps.accounts.admin.actors import actor_of
from apps.admin_base import LarderAdmin
from apps.admin_base.base import ACTION_ROWS
from apps.lib.errors import RegistryError
from apps.releases.lifecycle import impact
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.lifecycle.verbs import MAX_REASON_CHARACTERS, MAX_REPLACEMENT_CHARACTERS

# Who would be hit is looked up for so many of the selected rows; each costs a few queries.
ROWS_SHOWN = 20


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        help_text="One or two sentences, shown to everyone who sees the version.",
    )


class DeprecateForm(ReasonForm):
    replacement = forms.CharField(
        max_length=MAX_REPLACEMENT_CHARACTERS,
        required=False,
        label="What to use instead",
        widget=forms.TextInput(attrs={"size": 60}),
        help_text="A version (1.3.0), another address with or without a version, or a few words.",
    )


class PurgeForm(ReasonForm):
    confirm = forms.CharField(
        max_length=300,
        label="Type the address and the version",
        widget=forms.TextInput(attrs={"size": 60, "autocomplete": "off", "autocapitalize": "none"}),
    )


@dataclass(frozen=True, slots=True)
class Act:
    name: str
    title: str
    lead: str
    done: str
    form: type[ReasonForm] = ReasonForm
    hits_people: bool = False
    hits_bytes: bool = False
    one_only: bool = False


DEPRECATE = Act(
    "deprecate",
    "Deprecate",
    "A deprecated version stays listed and served, with a notice everywhere. No configuration breaks.",
    "Deprecated",
    DeprecateForm,
)
YANK = Act(
    "yank",
    "Yank",
    "A yanked version is no longer listed. Clients list before they download, so configurations that pin or lock it "
    "fail at the next init.",
    "Yanked",
    hits_people=True,
)
QUARANTINE = Act(
    "quarantine",
    "Put into quarantine",
    "It is no longer served, nor is any other version with the same bytes. You can restore it.",
    "In quarantine",
    hits_people=True,
    hits_bytes=True,
)
RESTORE = Act(
    "restore",
    "Restore",
    "Lifts the quarantine if there is one, otherwise the yank or deprecation.",
    "Restored",
)
PURGE = Act(
    "purge",
    "Purge",
    "This cannot be undone: its rows are deleted now, a worker deletes its bytes, and its number is never used again.",
    "Purged",
    PurgeForm,
    hits_people=True,
    hits_bytes=True,
    one_only=True,
)


class VersionPages(LarderAdmin[Any]):
    """An admin of rows that each have a `release`."""

    lifecycle: VersionActions[Any]


def carry_out(admin: VersionPages, request: HttpRequest, queryset: QuerySet[Any], act: Act) -> HttpResponse | None:
    """The page that asks; with its answer the verb for each row. None leads back to the list."""
    form = act.form(request.POST if "apply" in request.POST else None)
    rows = list(queryset.order_by("pk")[: ACTION_ROWS + 1])
    if act.one_only and len(rows) != 1:
        refusal = f"{act.title} needs exactly one version, but {len(rows)} are selected."
        admin.message_user(request, refusal, messages.ERROR)
        return None
    viewer = actor_of(request)
    if not form.is_valid():
        return _ask(admin, request, rows, act, form)

    def do(row: Any) -> None:
        verb, address = getattr(admin.lifecycle, act.name), admin.lifecycle.address_of(row.release)
        verb(viewer=viewer, address=address, version=row.release.version, **form.cleaned_data)

    if act.one_only:
        name = str(rows[0])
        try:
            do(rows[0])
        except RegistryError as refusal:  # what was typed stays on the page
            form.add_error(None, f"{refusal} {refusal.hint}")
            return _ask(admin, request, rows, act, form)
        admin.message_user(request, f"{act.done}: {name}.", messages.SUCCESS)
        return None
    admin.apply_verb(request, rows, do, done=act.done)
    return None


def first_of(admin: LarderAdmin[Any], request: HttpRequest, queryset: QuerySet[Any]) -> list[int]:
    """The keys of the rows that one request works on; says so where more are selected."""
    keys = list(queryset.order_by("pk").values_list("pk", flat=True)[: ACTION_ROWS + 1])
    if len(keys) > ACTION_ROWS:
        admin.message_user(request, f"Only the first {ACTION_ROWS} rows were worked on.", messages.WARNING)
    return keys[:ACTION_ROWS]


def _ask(admin: VersionPages, request: HttpRequest, rows: list[Any], act: Act, form: ReasonForm) -> HttpResponse:
    is_more = len(rows) > ACTION_ROWS
    rows = rows[:ACTION_ROWS]
    if act.one_only:
        form.fields["confirm"].help_text = f"Exactly: {rows[0].release}"
    viewer = actor_of(request)
    shown = [_shown(admin, row, act, viewer) for row in rows[:ROWS_SHOWN]]
    context: dict[str, Any] = {
        **admin.admin_site.each_context(request),
        "title": f"{act.title}: {rows[0].release}" if len(rows) == 1 else f"{act.title}: {len(rows)} versions",
        "opts": admin.opts,
        "act": act,
        "form": form,
        "chosen": [row.pk for row in rows],
        "checkbox": ACTION_CHECKBOX_NAME,
        "shown": shown,
        "tells_callers": any(row["callers"] is not None for row in shown),
        "unshown": max(0, len(rows) - ROWS_SHOWN),
        "most": ACTION_ROWS if is_more else 0,
        "days": impact.DAYS,
    }
    return TemplateResponse(request, "admin/act.html", context)


def _shown(admin: VersionPages, row: Any, act: Act, viewer: Viewer) -> dict[str, Any]:
    release = row.release
    return {
        "release": release,
        "url": reverse(f"admin:{admin.opts.app_label}_{admin.opts.model_name}_change", args=[row.pk]),
        "hit": impact.affected_by(release) if act.hits_people else None,
        "callers": admin.lifecycle.callers_of(viewer, release) if act.hits_people else None,
        "elsewhere": impact.same_bytes_elsewhere(release) if act.hits_bytes else [],
    }
