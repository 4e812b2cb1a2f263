"""Fills in what a room asks for without knowing who answers: what the installed rooms contribute (apps/room.py)."""

import sys
from operator import attrgetter
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.core.signals import got_request_exception
from django.http import HttpRequest

from apps import room
from apps.accounts import creations, namespace_deletion
from apps.accounts.access import connections
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sealing
from apps.accounts.models import ApiToken, User
from apps.artifacts import gc
from apps.blobs import references
from apps.http.errors import log_exception
from apps.jobs import queue, queues, targets, turns
from apps.jobs.models import Job
from apps.notify.attention import table
from apps.oci import attaching
from apps.releases.catalogue import indexing, marks
from apps.releases.lifecycle import impact, purging
from apps.releases.publishing import approving, pipeline, quotas
from registry_site.startup import first_run


def connect() -> None:
    """Called once, when all apps are loaded."""
    # Defects of pages. The machine edges answer exceptions themselves, and log them.
    got_request_exception.connect(_log_defect, dispatch_uid="larder-defects")
    # The first password, shown at each start, is no longer needed.
    user_logged_in.connect(first_run.forget_password, dispatch_uid="larder-first-password")
    for one in room.rooms():
        one.connect()
    room.all_of("counters")  # they register themselves
    references.checks = room.all_of("blob_references")
    namespace_deletion.contents_checks = room.all_of("namespace_contents")
    namespace_deletion.endings = room.all_of("namespace_endings")
    creations.sources = room.all_of("created_by_tokens")
    connections.sources = tuple(sorted(room.all_of("connections"), key=attrgetter("place")))
    connections.secrets = room.all_of("known_secrets")
    table.of_rooms = room.all_of("attention")
    gc.reference_checks = room.all_of("manifest_references")
    purging.droppers = room.all_of("purges")
    impact.contributors = room.all_of("consequences")
    quotas.kept_elsewhere = room.all_of("stored_bytes")
    pipeline.afterwards = room.all_of("after_publication")
    approving.conditions = room.all_of("publication_conditions")
    marks.sources = room.all_of("release_marks")
    attaching.of_rooms = room.all_of("attachment_readers")
    indexing.room_facets = room.all_of("search_facets")
    indexing.refreshers = dict(room.by_key("search_refreshers"))
    turns.refills = dict(room.by_key("job_refills"))
    queues.of_rooms = tuple((queue, names) for one in room.rooms("queues") for queue, names in one.queues.items())
    queues.is_needed = tuple(room.by_key("queue_needs"))
    queue.asked_again = _tell_of_retry
    targets.sources = {kind: source for part in room.all_of("job_targets") for kind, source in part.items()}


def sealed_columns() -> list[sealing.Column]:
    """Return whatever is encrypted under the secret key."""
    found = room.all_of("sealed_columns")
    return [column for one in found for column in (one if isinstance(one, tuple) else (one,))]


def _tell_of_retry(job: Job, actor_id: int | None, token_id: int | None) -> None:
    """Tell the rooms of a job that a publisher has retried, and so takes part in what comes of it: the admin and the
    API do not tell why it failed before, so that it is as good as a publish.
    """
    user, token = User.objects.filter(pk=actor_id or 0).first(), ApiToken.objects.filter(pk=token_id or 0).first()
    row = targets.attach([job])[0].row
    for retried in room.all_of("retries"):
        retried(job.kind, row, Viewer(user, token))


def _log_defect(sender: object, request: HttpRequest, **_: Any) -> None:  # noqa: ARG001  # the signal names it
    """The page of a 500 names the request id by which an operator finds the line."""
    log_exception(sys.exc_info()[1], request)
