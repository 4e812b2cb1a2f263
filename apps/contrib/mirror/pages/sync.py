"""/mirror/sync for staff: fetch packages in advance, first the plan, then the packages, once or on a schedule."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.contrib.mirror.ahead import sync_requests, syncing
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import RunState, Schedule, SyncRun
from apps.contrib.mirror.pages.lock import AREA, CLIENTS, COMMON, PlatformsField
from apps.lib.errors import NotFound, existing
from apps.lib.hcl import texts
from apps.portal.frame.forms import PLAIN, form_page, posted, refusals_on
from apps.portal.frame.page_urls import page_of, see_other

PAGE_SIZE = 100
RUNS = 20


class SyncForm(forms.Form):
    patterns = forms.CharField(
        required=False,
        max_length=20_000,
        widget=forms.Textarea(AREA | {"rows": "4"}),
        help_text="One per line. <code>registry.opentofu.org/hashicorp/random</code> fetches the newest release, "
        "<code>hashicorp/*@&gt;=3.0</code> those versions of all providers that Larder knows.",
    )
    lock = forms.CharField(
        label="Lock file", required=False, strip=False, max_length=texts.MAX_BYTES, widget=forms.Textarea(AREA)
    )
    required_providers = forms.CharField(
        required=False, strip=False, max_length=texts.MAX_BYTES, widget=forms.Textarea(AREA)
    )
    platforms = forms.MultipleChoiceField(
        choices=[(platform, platform) for platform in COMMON],
        required=False,
        initial=["linux_amd64"],
        widget=forms.CheckboxSelectMultiple,
    )
    more = PlatformsField(label="More platforms", required=False, max_length=500, widget=forms.TextInput(PLAIN))
    client = forms.ChoiceField(label="Client", choices=CLIENTS, required=False)
    pin = forms.BooleanField(required=False, label="Never delete these packages")
    every = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=syncing.MAX_HOURS,
        label="Repeat every … hours",
        help_text="Starts immediately, without a preview.",
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sync(request: HttpRequest) -> HttpResponse:
    viewer = _operator(request)
    form = SyncForm(posted(request))
    if form.is_valid():
        fields = form.cleaned_data
        with refusals_on(form):
            asked = sync_requests.read(
                patterns=fields["patterns"].splitlines(),
                lock=fields["lock"],
                required_providers=fields["required_providers"],
                platforms=[*fields["platforms"], *fields["more"]],
                client=fields["client"],
                is_pinned=fields["pin"],
            )
            if fields["every"]:
                syncing.repeat(asked, every_hours=fields["every"], viewer=viewer)
                syncing.start_due(now=timezone.now())
                messages.success(request, "Sync scheduled.")
                return see_other("sync")
            return see_other("sync-run", syncing.start(asked, viewer=viewer).pk)
    rows = SyncRun.objects.defer("plan").select_related("created_by").order_by("-pk")[:RUNS]
    schedules = [(row, sync_requests.Request.from_json(row.request)) for row in Schedule.objects.order_by("pk")]
    runs = [(row, sync_requests.Request.from_json(row.request)) for row in rows]
    return form_page(request, "portal/upstream/sync.html", form, runs=runs, schedules=schedules)


@never_cache
@require_safe
def sync_run(request: HttpRequest, sync_id: int) -> HttpResponse:
    _operator(request)
    run = _run(sync_id)
    missing = [entry for entry in run.plan if not entry["is_stored"]]
    context: dict[str, Any] = {
        "run": run,
        "asked": sync_requests.Request.from_json(run.request),
        "is_working": run.state in syncing.WORKING,
        "is_planned": run.state == RunState.PLANNED,
        "seconds_left": syncing.seconds_left(run, now=timezone.now()),
        "page": page_of(run.plan, request, size=PAGE_SIZE),
        "missing": len(missing),
        "version_count": len({(entry["provider"], entry["version"]) for entry in run.plan}),
        "unknown": sum(entry["size"] is None for entry in missing),
    }
    return render(request, "portal/upstream/sync_run.html", context)


@require_POST
def sync_confirm(request: HttpRequest, sync_id: int) -> HttpResponse:
    viewer = _operator(request)
    syncing.confirm(_run(sync_id), viewer=viewer)
    return see_other("sync-run", sync_id)


@require_POST
def sync_cancel(request: HttpRequest, sync_id: int) -> HttpResponse:
    viewer = _operator(request)
    syncing.cancel(_run(sync_id), viewer=viewer)
    messages.success(request, "Sync cancelled. Packages that it fetched remain.")
    return see_other("sync-run", sync_id)


@require_POST
def schedule_end(request: HttpRequest, schedule_id: int) -> HttpResponse:
    viewer = _operator(request)
    schedule = Schedule.objects.filter(pk=schedule_id).first()
    if schedule is None:
        raise NotFound("There is no such schedule.")
    syncing.end_schedule(schedule, viewer=viewer)
    messages.success(request, "Schedule ended.")
    return see_other("sync")


def _operator(request: HttpRequest) -> Viewer:
    """Raises what the gate raises."""
    viewer = session_viewer(request)
    operators.require_everywhere(viewer, upstreams.OPERATE)
    return viewer


def _run(number: int) -> SyncRun:
    run = SyncRun.objects.select_related("created_by").filter(pk=number).first()
    return existing(run, f"There is no sync {number}.", hint="Old ones are deleted after 90 days.")


urlpatterns = [
    path("mirror/sync", sync, name="sync"),
    path("mirror/sync/<int:sync_id>", sync_run, name="sync-run"),
    path("mirror/sync/<int:sync_id>/confirm", sync_confirm, name="sync-confirm"),
    path("mirror/sync/<int:sync_id>/cancel", sync_cancel, name="sync-cancel"),
    path("mirror/sync/schedules/<int:schedule_id>/end", schedule_end, name="sync-schedule-end"),
]
