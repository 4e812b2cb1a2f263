"""/releases/<uuid>: the state of a release. The page may be closed and reopened: it shows the database's state."""

import hashlib
import json
import uuid
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.access import gate
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Conflict, Invalid
from apps.modules import answers, publishing
from apps.modules.comparing.changes import SENTENCES
from apps.portal.frame.forms import sentence
from apps.portal.frame.page_urls import see_other
from apps.portal.frame.sections import sections_of
from apps.portal.publish import approval_facts, provider_release
from apps.portal.publish.answer_form import AnswerForm
from apps.portal.publish.frame import limits_of_modules, ticket_for
from apps.portal.versions.effects import tombstone_of
from apps.providers import publishing as drafting
from apps.providers.drafting.drafts import draft_facts
from apps.releases.catalogue import reading
from apps.releases.catalogue.comparing import SEPARATOR
from apps.releases.catalogue.progress import progress_of
from apps.releases.models import Kind, Release, State
from apps.releases.publishing import approving
from apps.snippets import module_snippets

STEPS = {"received": "Received", "checked": "Checked", "approved": "Approved", "published": "Published"}
# Refusals after which the publisher may have meant one of the archive's folders.
OFFERS_FOLDERS = {"no_module_file", "no_such_folder"}


@never_cache
@require_safe
def release_page(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    release = reading.release_for(session_viewer(request), public_id)
    return page(request, release)


@login_not_required
@never_cache
@require_safe
def release_status(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """The fragment that the page polls. 204 if nothing has changed, so that nothing flickers or is read out again."""
    viewer = session_viewer(request)
    if not viewer.is_identified:
        # The session ended while the page was open: a reload leads through sign-in back to the page.
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers={"HX-Refresh": "true"})
    context = _context(request, reading.release_for(viewer, public_id))
    if request.GET.get("seen") == context["mark"]:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return render(request, "portal/release/status.html", context)


@never_cache
@require_POST
def release_cancel(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    viewer = session_viewer(request)
    release = reading.release_for(viewer, public_id)
    end = drafting.cancel if release.kind == Kind.PROVIDER else publishing.cancel
    try:
        end(release=release, viewer=viewer)
    except Conflict as refusal:
        return page(request, release, refusal=sentence(refusal), status=HTTPStatus.CONFLICT)
    return see_other("release", public_id)


@never_cache
@require_POST
def release_answer(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    viewer = session_viewer(request)
    release = reading.release_for(viewer, public_id)
    if "publish-as" in request.POST:
        try:
            return see_other("release", answers.publish_as_breaking(release=release, viewer=viewer).public_id)
        except Conflict as refusal:
            return page(request, release, refusal=sentence(refusal), status=HTTPStatus.CONFLICT)
    form = AnswerForm(release, request.POST)
    if not form.is_valid():
        return page(request, release, answer=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    folder = form.cleaned_data.get("folder", "")
    try:
        said = {"confirm": form.confirmed, "reason": form.reason, "folder": folder, "more": form.more}
        answers.answer(release=release, viewer=viewer, **said)
    except Conflict as refusal:
        return page(request, release, refusal=sentence(refusal), answer=form, status=HTTPStatus.CONFLICT)
    except Invalid as refusal:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return page(request, release, refusal=sentence(refusal), answer=form, status=status)
    return see_other("release", public_id)


def page(
    request: HttpRequest,
    release: Release,
    *,
    refusal: str = "",
    answer: AnswerForm | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    context = {**_context(request, release), "refusal": refusal}
    if answer is not None:
        context["answer"] = answer  # with its input
    return render(request, "portal/release/page.html", context, status=status)


def _context(request: HttpRequest, release: Release) -> dict[str, Any]:
    is_provider = release.kind == Kind.PROVIDER
    document = progress_of(release) | (draft_facts(release) if is_provider else {})
    ticket = "" if is_provider or release.state != State.RECEIVING else ticket_for(request, release)
    # Changes whenever the fragment would look different.
    row: list[Any] = [release.state, release.held_until, release.notes, release.lifecycle_at, release.quarantined_at]
    files = [(file.name, file.digest) for file in document.get("files", [])]
    sections = sections_of("release", session_viewer(request), release)
    of_rooms = [str(one.found) for one in sections]
    seen = json.dumps(
        [row, release.uploaded_digest, files, document, bool(ticket), of_rooms], sort_keys=True, default=str
    )
    common = {
        "sections": sections,
        "release": release,
        "document": document,
        "mark": hashlib.sha256(seen.encode()).hexdigest()[:16],
        "ticket": ticket,
        "holder": _taken_by(release) if document["reasons"] else None,
        "waits_for_people": release.state in (State.HELD, State.AWAITING_APPROVAL),
        "is_reserved": release.state == State.RECEIVING and bool(release.ticket_digest),
    }
    if release.quarantined_at is not None or release.state == State.PURGED:
        viewer = session_viewer(request)
        role = gate.role_on(viewer, release.namespace, only_name=release.name) or Role.READER
        common |= tombstone_of(viewer, release, role)
    if release.state == State.AWAITING_APPROVAL and approving.awaits_person(release):
        common |= approval_facts.context_of(session_viewer(request), release, document["approval"])
    if is_provider:
        texts = provider_release.step_texts(release, document)
        steps = [_step(step, *texts[str(step["name"])]) for step in document["steps"]]
        if release.state == State.RECEIVING:
            steps[0]["state"] = "waiting"  # for its publisher, not for a worker
        return {**common, "steps": steps, **provider_release.context_of(session_viewer(request), release)}
    return {**common, **_module_context(release, document)}


def _module_context(release: Release, document: dict[str, Any]) -> dict[str, Any]:
    name, _, system = release.name.partition("/")
    address = ModuleAddress(release.namespace.name, name, system)
    again = urlencode({"namespace": address.namespace, "name": name, "system": system, "version": release.version})
    where = [address.namespace, name, system, release.version]
    # Files that the inspection could not parse. Empty in quarantine, where nothing of the archive is shown.
    is_shown = release.state == State.PUBLISHED and release.quarantined_at is None
    units = release.module_version.inspection.get("units", []) if is_shown else []
    unit = module_snippets.unit_to_call(release.module_version) if is_shown else {}
    return {
        "steps": [_step(step, STEPS[str(step["name"])]) for step in document["steps"]],
        "again": again,
        "again_url": f"{reverse('portal:publish')}?{again}",
        "page_url": reverse("portal:module-version", args=where),
        "list_url": reverse("portal:modules"),
        "address": address,
        "usage": module_snippets.block_of_unit(address, release.version, unit),
        "warnings": [warning for unit in units for warning in unit.get("warnings", [])],
        "files_path": reverse("portal:module-files", args=where),
        "limits": limits_of_modules(),
        "answer": AnswerForm(release),
        "breaking_number": answers.breaking_number(release),
        "guard": guard_of(release),
        "siblings": _siblings(release),
        "offers_folders": any(reason.code in OFFERS_FOLDERS for reason in document["reasons"]),
    }


def guard_of(release: Release) -> dict[str, Any] | None:
    """Return what the release breaks of which version, for portal/release/guard.html; None if there is nothing to
    say.
    """
    note: dict[str, Any] | None = release.notes.get("guard")
    if not note or not (note["breaking"] or note["risky"]) or release.quarantined_at is not None:
        return None
    changes = [(one, SENTENCES[one["rule"]]) for one in note["changes"]]
    more = note["breaking"] + note["risky"] - len(changes)
    # The page with all changes, once the version is published.
    name, _, system = release.name.partition("/")
    where = [release.namespace.name, name, system, f"{note['against']}{SEPARATOR}{release.version}"]
    page = reverse("portal:module-compare", args=where) if release.state == State.PUBLISHED else ""
    return note | {"changes": changes, "more": more, "page": page}


def _taken_by(release: Release) -> Release | None:
    """The later release that took the version number after this one freed it."""
    same = {"kind": release.kind, "namespace": release.namespace, "name": release.name, "sort_key": release.sort_key}
    return Release.objects.live().filter(**same).first()


def _siblings(release: Release) -> list[Release]:
    """The other releases from the same upload."""
    if not release.notes.get("folders"):
        return []
    same = Release.objects.filter(namespace=release.namespace, staging_key=release.staging_key).exclude(pk=release.pk)
    return list(same.select_related("namespace").order_by("name", "pk"))


def _step(step: dict[str, Any], label: str, text: str = "") -> dict[str, Any]:
    return {**step, "label": label, "text": text}


urlpatterns = [
    path("releases/<uuid:public_id>", release_page, name="release"),
    path("releases/<uuid:public_id>/status", release_status, name="release-status"),
    path("releases/<uuid:public_id>/answer", release_answer, name="release-answer"),
    path("releases/<uuid:public_id>/cancel", release_cancel, name="release-cancel"),
]
