"""Add a job to the database's list and ring for it. The row is the truth; a lost ring costs seconds (D4)."""

from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import partial
from threading import Thread

import structlog
from celery import current_app
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.jobs import turns
from apps.jobs.models import WORKING, Job, State, lost_worker, taken_back
from apps.lib.errors import Conflict
from apps.lib.process import metrics

# The longest that a request waits for the broker; the reaper rings again.
RING_SECONDS = 2.0
REAP_BATCH_SIZE = 200
# Who has a job tried again may take part in what comes of it: called with the job, and the numbers of account and
# token. By registry_site/wiring.py.
asked_again: Callable[[Job, int | None, int | None], None] = lambda job, actor_id, token_id: None  # noqa: ARG005, E731

log = structlog.get_logger("larder.jobs")


def enqueue(
    kind: str, *, target: int, created_by_id: int | None, source: str | None = None, share: str | None = None
) -> Job:
    """Write the row in the caller's transaction and ring after its commit, unless its source has enough (`turns`).

    Without `source` or `share` it has those of the job that this thread works on. Raises IntegrityError if a job of
    this kind already works on the target.
    """
    request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))[:64]
    leading = turns.running.get() or turns.Running("", "")
    source = leading.source if source is None else source
    share = leading.share if share is None else share
    # What a job leads to takes its place.
    waits = source not in ("", leading.source) and turns.room(source) <= 0
    # rung_at from the start saves a write; if this process dies before it rings, the reaper does.
    job = Job.objects.create(
        kind=kind,
        target=target,
        created_by_id=created_by_id,
        request_id=request_id,
        source=source,
        share=share,
        turn=0 if waits else turns.next_turn(kind, source, share),
        rung_at=None if waits else Now(),
    )
    if not waits:
        job.refresh_from_db(fields=["rung_at"])
        transaction.on_commit(partial(ring, job), robust=True)
    return job


def enqueue_once(
    kind: str, *, target: int, created_by_id: int | None, source: str | None = None, share: str | None = None
) -> bool:
    """Enqueue like `enqueue`; return False, and write nothing, if a job of this kind already works on the target."""
    try:
        with transaction.atomic():  # of its own, so that the caller's survives
            enqueue(kind, target=target, created_by_id=created_by_id, source=source, share=share)
    except IntegrityError:
        return False
    return True


def go_on(source: str) -> int:
    """Ring for the next jobs of a source in bulk, as far as it has room; return how many. Several may run at once."""
    rung = 0
    following = Job.objects.claimable().behind().filter(source=source).order_by("pk")
    for job in following[: max(0, turns.room(source))]:
        turn = turns.next_turn(job.kind, source, job.share)
        if not Job.objects.behind().filter(pk=job.pk).update(rung_at=Now(), turn=turn):
            continue  # another process was faster
        if not ring(job):
            break
        rung += 1
    return rung


def ring(job: Job) -> bool:
    """Send the Celery task named like the job's kind; return whether the broker took it in time. Never raises."""
    sent: list[bool] = []

    def send() -> None:
        try:
            current_app.send_task(job.kind, kwargs={"job_id": job.pk}, ignore_result=True, retry=False)
        except Exception as error:  # noqa: BLE001  # kombu's transports raise errors of their own kinds
            log.warning("ring_failed", job_id=job.pk, kind=job.kind, error=type(error).__name__)
        else:
            sent.append(True)

    # A thread, because a hanging broker blocks its caller for several socket timeouts (measured: 6.2 s). If the ring
    # arrives after all, the job is rung for twice, which is harmless. With the caller's context: its log and its trace.
    bell = Thread(target=copy_context().run, args=(send,), name=f"ring-{job.pk}", daemon=True)
    bell.start()
    bell.join(RING_SECONDS)
    if not sent:
        log.warning("ring_lost", job_id=job.pk, kind=job.kind)
        Job.objects.filter(pk=job.pk).update(rung_at=None)
    return bool(sent)


def reap() -> int:
    """Ring again for jobs whose ring or worker was lost; return how many rings went out. Several may run at once."""
    rung = 0
    for job in Job.objects.to_ring().order_by("pk")[:REAP_BATCH_SIZE]:
        # Of two reapers that see the same job, the second finds no row: the first has recorded its ring and taken back
        # the lapsed lease. A worker that slept may still finish if nobody claims the job before.
        changes = {"state": State.QUEUED, "rung_at": Now(), "error": lost_worker(), **taken_back()}
        won = Job.objects.to_ring().filter(pk=job.pk).update(**changes)
        if not won:
            continue
        if job.lease_until is not None:
            metrics.lease_losses.labels("lapsed").inc()
            log.warning("lease_lapsed", job_id=job.pk, kind=job.kind, worker=job.worker, lapses=job.lapses + 1)
        if not ring(job):
            break  # the broker is away, and the next reaper comes soon
        rung += 1
    return rung + sum(go_on(source) for source in _sources_that_wait())


def ring_next(kind: str) -> None:
    """Ring once more for work in bulk of this kind's queue: a worker came for it that had no slot left."""
    waiting = Job.objects.claimable().rung().filter(kind__in=turns.kinds_beside(kind), state=State.QUEUED)
    job = waiting.exclude(source="").in_turn().first()
    if job is not None:
        ring(job)


def _sources_that_wait() -> Iterator[str]:
    """One query for each source, however many jobs wait."""
    waiting = Job.objects.behind().order_by("source").values_list("source", flat=True)
    source = ""
    while source := waiting.filter(source__gt=source).first() or "":
        yield source


@transaction.atomic
def retry(job: Job, actor_id: int | None, token_id: int | None = None) -> None:
    """Requeue a failed or cancelled job with all its attempts. Raises Conflict."""
    try:
        with transaction.atomic():
            won = Job.objects.filter(pk=job.pk, state__in=[State.FAILED, State.CANCELLED]).update(
                state=State.QUEUED,
                attempts=0,
                lapses=0,
                lease_until=None,
                not_before=None,
                finished_at=None,
                rung_at=Now(),
                source="",  # somebody waits for it now
                turn=turns.next_turn(job.kind, "", job.share),
            )
    except IntegrityError:
        raise Conflict(f"Another {job.kind} job is already working on #{job.target}.") from None
    if not won:
        raise Conflict(f"Only failed and cancelled jobs can be retried; {job} is neither.")
    asked_again(job, actor_id, token_id)
    record(Kind.JOB_RETRIED, actor_id=actor_id, token_id=token_id, subject=str(job), job=job.pk)
    job.refresh_from_db()
    transaction.on_commit(partial(ring, job), robust=True)


@transaction.atomic
def cancel(job: Job, actor_id: int | None, token_id: int | None = None) -> None:
    """Stop a job for good; a worker that runs it stops at its next guard. Raises Conflict."""
    won = Job.objects.filter(pk=job.pk, state__in=WORKING).update(
        state=State.CANCELLED, fence=F("fence") + 1, lease_until=None, not_before=None, finished_at=Now()
    )
    if not won:
        raise Conflict(f"Only queued and running jobs can be cancelled: {job} has ended.")
    record(Kind.JOB_CANCELLED, actor_id=actor_id, token_id=token_id, subject=str(job), job=job.pk)
    job.refresh_from_db()
