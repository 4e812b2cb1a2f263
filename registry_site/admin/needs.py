"""The lines of the overview about all that needs an operator: the worst first, each with what can be done about it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timesince

from apps.accounts.models import Namespace, Team, User
from apps.admin_base import LarderAdmin, bounded_count, bounded_counts, size
from apps.blobs import store
from apps.blobs.models import Blob
from apps.jobs import heartbeats, targets
from apps.jobs.models import Job
from apps.jobs.models import State as JobState
from apps.releases.models import Release
from apps.releases.models import State as ReleaseState
from apps.room import rooms
from apps.signing import keys
from apps.signing.models import SigningKey
from registry_site.admin import setup
from registry_site.server import probes

# A job that waits longer has no worker, or too few.
LONG_WAIT = timedelta(minutes=5)
# A worker ends a job after minutes: one that is still at work has no worker, or fails again and again.
LONG_WORK = timedelta(hours=1)
LOW_BYTES = 1_000_000_000
# Of each kind; the list behind it has the rest.
SHOWN = 3
ERROR_SHOWN = 160

Tone = Literal["bad", "warn"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the overview. `acts` are its buttons; `link` is a button that leads to a page."""

    tone: Tone
    title: str
    text: str
    url: str
    acts: str = ""
    link: str = ""
    repeat: dict[str, str] | None = None  # the form that does it with all rows of a kind


@dataclass(frozen=True, slots=True)
class Need:
    """Rows that an operator must look at. `text` says why, and `link` what its page is opened for."""

    plural: str
    model: type[Model]
    rows: Callable[[], QuerySet[Any]]
    query: str
    text: Callable[[Any], str]
    title: str = "{}"  # with the name of the row
    link: str = "Open"
    tone: Tone = "bad"
    named: Callable[[Iterable[Any]], Iterable[Any]] = lambda rows: rows
    repeat: tuple[str, str] = ("", "")  # an act for all of them, and its words


def _problems() -> QuerySet[Blob]:
    return Blob.objects.exclude(problem="")


def _quarantined() -> QuerySet[Release]:
    return Release.objects.filter(state=ReleaseState.PUBLISHED, quarantined_at__isnull=False)


def _about_quarantine(release: Release) -> str:
    by = f", by {release.quarantined_by}" if release.quarantined_by else ""
    return f"Since {release.quarantined_at:%d %b %H:%M} UTC{by}: {release.quarantine_reason}"


def _about_failure(job: Job) -> str:
    error = job.error.strip().rpartition("\n")[2][:ERROR_SHOWN]
    times = f"{job.attempts} attempt{'' if job.attempts == 1 else 's'}"
    return f"After {times}{f': {error}' if error else ''}"


def _about_key(key: SigningKey) -> str:
    assert key.expires_at is not None  # noqa: S101  # `keys.due` has asked
    if key.expires_at <= timezone.now():
        return f"It expired {timesince(key.expires_at, depth=1)} ago. Providers signed with it warn or fail."
    return f"In {timesince(timezone.now(), key.expires_at, depth=1)}. Its namespace is {key.namespace}."


def _of_rooms() -> tuple[Need, ...]:
    return tuple(
        Need(title, one.get_model(model), one.resolved(rows), query, one.resolved(text))
        for one in rooms()
        for title, (model, rows, query, text) in one.alarm_tiles.items()
    )


NEEDS: tuple[Need, ...] = (
    Need(
        "blobs missing or damaged",
        Blob,
        _problems,
        "?problem=any",
        lambda blob: f"{size(blob.size)}, checked {timesince(blob.checked_at, depth=1)} ago" if blob.checked_at else "",
        "{0} is {0.problem}",
    ),
    *_of_rooms(),
    Need(
        "releases in quarantine",
        Release,
        _quarantined,
        f"?quarantined=1&state__exact={ReleaseState.PUBLISHED}",
        _about_quarantine,
        "{} is in quarantine",
    ),
    Need(
        "failed jobs",
        Job,
        lambda: Job.objects.filter(state=JobState.FAILED),
        f"?state__exact={JobState.FAILED}",
        _about_failure,
        "{} failed",
        named=targets.attach,
        repeat=("retry", "Retry all"),
    ),
    Need(
        "failed releases",
        Release,
        lambda: Release.objects.filter(state=ReleaseState.FAILED),
        f"?state__exact={ReleaseState.FAILED}",
        lambda release: f"Published by {release.created_by or 'a former user'}.",
        "{} failed",
    ),
    Need(
        "keys expired or expiring",
        SigningKey,
        lambda: keys.due().select_related("namespace"),
        "?expiry=due",
        _about_key,
        "The key {} expires",
        tone="warn",
    ),
    Need(
        "namespaces without an active owner",
        Namespace,
        Namespace.objects.without_active_owner,
        "?leaderless=yes",
        lambda _: "Only staff can give roles there and answer for its releases.",
        "Namespace {} has no active owner",
        "Add an owner",
        "warn",
    ),
    Need(
        "teams without an active manager",
        Team,
        Team.objects.without_active_manager,
        "?leaderless=yes",
        lambda _: "Only staff can decide who belongs to it.",
        "Team {} has no active manager",
        "Add a manager",
        "warn",
    ),
)


def lines(request: HttpRequest) -> list[Line]:
    """Return all that the viewer may see, in order. One query counts, and each kind that there is has its own."""
    seen = [need for need in NEEDS if _may_view(request, need.model)]
    counts = bounded_counts(*(need.rows() for need in seen))
    found = [line for need, count in zip(seen, counts, strict=True) if count for line in _of_kind(request, need, count)]
    return sorted([*_states(request), *found, *_setup(request)], key=lambda line: line.tone)  # stable: bad, then warn


def _of_kind(request: HttpRequest, need: Need, count: int) -> Iterator[Line]:
    listed: LarderAdmin[Any] = admin.site.get_model_admin(need.model)  # type: ignore[assignment]  # ours have no other
    related = listed.list_select_related if isinstance(listed.list_select_related, tuple) else ()
    rows = list(need.named(need.rows().select_related(*related).order_by(*listed.ordering)[:SHOWN]))
    drawn = listed.buttons_of(request, rows)
    for row, acts in zip(rows, drawn, strict=True):
        url = reverse(f"{listed.name}_change", args=[row.pk])
        yield Line(need.tone, need.title.format(row), need.text(row), url, acts, "" if "<button" in acts else need.link)
    if count > len(rows):
        act, words = need.repeat
        may_repeat = act in listed.get_actions(request)
        form = {"act": act, "words": f"{words} {count}", "key": rows[0].pk} if may_repeat else None
        url = reverse(f"{listed.name}_changelist") + need.query
        yield Line(need.tone, f"{count} {need.plural}", f"{SHOWN} of them are above.", url, "", "See all", form)


# --- The service as a whole -------------------------------------------------------------------------------------------


def _states(request: HttpRequest) -> Iterator[Line]:
    if _may_view(request, Job):
        yield from _work()
    if _may_view(request, Release):
        yield from _storage()


def _work() -> Iterator[Line]:
    if bounded_count(heartbeats.since(probes.HEARTBEAT_MAX_AGE)) == 0:
        text = "Releases, mail and scans wait until one is started."
        yield Line("bad", "No worker is running", text, reverse("status"), link="See the status")
    now = timezone.now()
    since = Job.objects.awaited().waiting_since()
    if since is not None and now - since > LONG_WAIT:
        title = f"A job has waited for {timesince(since, now, depth=1)}"
        text = "No worker takes it, or there are too few."
        yield Line("bad", title, text, _oldest_first(JobState.QUEUED), link="See the waiting jobs")
    oldest = Job.objects.filter(state=JobState.RUNNING).order_by("created_at", "pk").first()
    if oldest is not None and now - oldest.created_at > LONG_WORK:
        title = f"A job has run for {timesince(oldest.created_at, now, depth=1)}"
        text = "It fails again and again, or its worker has stopped."
        yield Line("bad", title, text, _oldest_first(JobState.RUNNING), link="See the running jobs")


def _oldest_first(state: JobState) -> str:
    # The admin sorts by the position of a column; position 0 is the checkbox of the actions.
    jobs = admin.site.get_model_admin(Job)
    age = 1 + list(jobs.list_display).index("age")
    return f"{reverse('admin:jobs_job_changelist')}?state__exact={state}&o={age}"


def _storage() -> Iterator[Line]:
    url = reverse("admin:storage")
    if probes.checks.states()["storage"] != "ok":
        yield Line("bad", "Storage does not answer", "Nothing can be published or downloaded.", url, link="See storage")
        return
    free = store.free_bytes()
    if free is not None and free < LOW_BYTES:
        text = "Publishing stops when it is full."
        yield Line("bad", f"Storage has only {size(free)} left", text, url, link="See what takes space")


def _setup(request: HttpRequest) -> Iterator[Line]:
    if not _may_view(request, User):
        return
    steps = setup.steps()
    missing = [step["title"] for step in steps if not step["is_done"]]
    if missing:
        title = f"Setup: {len(steps) - len(missing)} of {len(steps)} steps are done"
        yield Line("warn", title, f"To do: {', '.join(missing)}", reverse("admin:setup"), link="Continue the setup")


def _may_view(request: HttpRequest, model: type[Model]) -> bool:
    return admin.site.get_model_admin(model).has_view_permission(request)
