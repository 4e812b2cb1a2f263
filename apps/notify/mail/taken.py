"""The letters about what was taken away or given back: versions by operators, keys by owners, rules of a mirror.

Owners and publishers of the namespace read why. Those whom the actor notified read what to take instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.models import Namespace, Role, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.notify.models import Topic, Watch
from apps.notify.notices import Notice
from apps.releases.lifecycle.impact import DAYS, fallback_of
from apps.releases.models import Fetch

OPERATE_UPSTREAM = "upstream.operate_upstream"
EVENTS = {
    *("release.quarantined", "release.restored", "release.purged"),
    *("key.retired", "key.revoked"),
    "upstream.policy-changed",
}


class Written(NamedTuple):
    people: QuerySet[User]
    topic: Topic
    lines: Iterable[str]
    url: str


def letters_of(notice: Notice) -> Iterator[Written]:
    """A person who is among several gets the first of these."""
    about = [notice.sentence, *([f"Reason: {notice.reason}"] if notice.reason else [])]
    if fingerprint := notice.more.get("fingerprint"):
        about.append(f"Fingerprint: {fingerprint}")
    if notice.event == "upstream.policy-changed":
        people = User.objects.with_perm(OPERATE_UPSTREAM).filter(is_staff=True)
        yield Written(people, Topic.UPSTREAMS, [*about, *_policy(notice)], notice.url)
        return
    if notice.event == "release.restored" and notice.more.get("before") != "quarantined":
        yield Written(users_of_version(notice), Topic.WITHDRAWN, about, notice.url)
        return
    if notice.event == "release.quarantined":
        about.append("Clients cannot list or fetch it. Fix the cause, and publish another version.")
        about.append("If it is a false alarm, ask an operator to restore it.")
    topic = Topic.KEYS if notice.event.startswith("key.") else Topic.TAKEN
    yield Written(publishers_of(notice.namespace), topic, about, notice.url)
    told = _notified_of_quarantine(notice) if notice.event == "release.restored" else notice.people
    if told:
        yield Written(User.objects.filter(pk__in=told), Topic.WITHDRAWN, *_for_users(notice, about))


def watchers(notice: Notice) -> QuerySet[User]:
    watching = Watch.objects.filter(namespace=notice.namespace, name__in=["", notice.address.partition("/")[2]])
    return User.objects.filter(pk__in=watching.values("user"))


def users_of_version(notice: Notice) -> QuerySet[User]:
    """People who watch it, downloaded it lately, or are notified by the person who acts."""
    found = Q(pk__in=watchers(notice).values("pk")) | Q(pk__in=notice.people)
    if notice.release is not None:
        since = timezone.now().date() - timedelta(days=DAYS)
        found |= Q(pk__in=Fetch.objects.filter(release=notice.release, last_on__gte=since).values("user"))
    return User.objects.filter(found)


def publishers_of(namespace: Namespace | None, *, least: Role = Role.PUBLISHER) -> QuerySet[User]:
    """People who have at least that role in it, themselves or by a team."""
    own = Q(grants__namespace=namespace, grants__role__gte=least)
    by_team = Q(memberships__team__grants__namespace=namespace, memberships__team__grants__role__gte=least)
    return User.objects.filter(own | by_team)


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


def _policy(notice: Notice) -> Iterator[str]:
    """The rules that a change of policy added and removed."""
    before, after = notice.more.get("before") or {}, notice.more.get("after") or {}
    if before.get("cooldown_days") != after.get("cooldown_days"):
        yield f"Cool-down: {before.get('cooldown_days', 0)} days before, {after.get('cooldown_days', 0)} days now."
    old, new = ([_rule(one) for one in policy.get("rules", ())] for policy in (before, after))
    yield from (f"Removed: {rule}" for rule in old if rule not in new)
    yield from (f"Added: {rule}" for rule in new if rule not in old)
    if sorted(old) == sorted(new) and old != new:
        yield "The rules have another order."


def _rule(fields: Mapping[str, Any]) -> str:
    words = [fields["effect"], fields["pattern"], fields.get("versions"), " ".join(fields.get("platforms") or ())]
    days = f"after {fields['days']} days" if fields.get("days") else ""
    return " ".join(filter(None, [*words, days, f"({fields['reason']})" if fields.get("reason") else ""]))
