"""The letters about what was taken away or given back: versions by operators, keys by owners.

Owners and publishers of the namespace read why. Those whom the actor notified read what to take instead.
"""

from collections.abc import Iterator

from django.db.models import QuerySet

from apps.accounts.access import gate
from apps.accounts.models import Role, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.notify.attention import readers
from apps.notify.attention.matter import Written
from apps.notify.models import Topic
from apps.notify.notices import Notice
from apps.releases.lifecycle.impact import fallback_of

VERSIONS = ("release.quarantined", "release.restored", "release.purged")
KEYS = ("key.retired", "key.revoked")


def letters_of(notice: Notice) -> Iterator[Written]:
    """A person who is among several gets the first of these."""
    about = [notice.sentence, *([f"Reason: {notice.reason}"] if notice.reason else [])]
    if fingerprint := notice.more.get("fingerprint"):
        about.append(f"Fingerprint: {fingerprint}")
    if notice.event == "release.restored" and notice.more.get("before") != "quarantined":
        for people, _ in readers.users_of_version(notice):
            yield Written(people, about, notice.url, Topic.WITHDRAWN)
        return
    if notice.event == "release.quarantined":
        about.append("Clients cannot list or fetch it. Fix the cause, and publish another version.")
        about.append("If it is a false alarm, ask an operator to restore it.")
    yield Written(_publishers(notice), about, notice.url)
    told = _notified_of_quarantine(notice) if notice.event == "release.restored" else notice.people
    if told:
        yield Written(User.objects.filter(pk__in=told), *_for_users(notice, about), Topic.WITHDRAWN)


def _publishers(notice: Notice) -> QuerySet[User]:
    return gate.people_with(Role.PUBLISHER, [notice.namespace.name] if notice.namespace else [])


def _for_users(notice: Notice, about: list[str]) -> tuple[list[str], str]:
    """Why a version is quarantined, only the namespace reads: the reason may name what no one should look for."""
    url, release = notice.url, notice.release
    if notice.event == "release.restored":
        return [notice.sentence, "Clients can list and fetch it again."], url
    if notice.event == "release.quarantined":
        about = [notice.sentence, "Clients cannot list or fetch it."]
        url = f"{url.rpartition('/')[0]}/versions"  # its own page does not exist for them
    if release is not None:
        instead = fallback_of(release)
        about = [*about, f"Use instead: {instead}" if instead else "No other version is available."]
    return about, url


def _notified_of_quarantine(notice: Notice) -> tuple[int, ...]:
    """Those who read that it was quarantined read that it no longer is."""
    events = AuditEvent.objects.filter(kind=Kind.RELEASE_QUARANTINED, subject=notice.subject)
    last = events.filter(pk__lt=notice.event_id).order_by("-at", "-pk").first()
    return tuple(last.detail.get("people", ())) if last else ()
