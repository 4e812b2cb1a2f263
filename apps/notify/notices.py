"""An event of the audit as readers get it: who did what to what, why, and where to look."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.urls import reverse

from apps.accounts.models import Namespace, User
from apps.accounts.people.access_requests import answer_path
from apps.audit.models import AuditEvent
from apps.notify.events import EVENTS, NAMES
from apps.releases.models import Release

# Details of events that owners may hear; all others stay in the audit.
_TOLD = (
    "reason",
    "replacement",
    "digest",
    "reasons",
    "questions",
    "unusual",
    "until",
    "role",
    "before",
    "after",
    "fingerprint",
    "changes",
    "team",
    "message",
    "connections",
    "not_listed",
    "secrets",
)
_BREAKING_NAMED = 5
OF_CONNECTIONS = ("connections.suspended", "connections.left-behind")


@dataclass(frozen=True, slots=True)
class Notice:
    """`kind` is module, provider or empty. `by` is a user name, empty for Larder. `url` is a page of Larder."""

    event: str
    at: datetime
    namespace: Namespace | None
    subject: str
    kind: str = ""
    address: str = ""
    version: str = ""
    by: str = ""
    url: str = ""
    more: dict[str, Any] = field(default_factory=dict)
    release: Release | None = None
    event_id: int | None = None
    actor_id: int | None = None
    grantee: tuple[int, str] = (0, "")  # the number of a person, or the name of a team
    people: tuple[int, ...] = ()  # to whom an owner writes
    host: str = ""  # of a webhook; the rest of its URL may be a secret
    said: str = ""  # the sentence of one that is of no event

    @property
    def sentence(self) -> str:
        if self.said:
            return f"{self.said}."
        if (said := EVENTS[self.event].sentence or _SENTENCES.get(self.event)) is not None:
            return f"{said(self)}."
        by = f" by {self.by}" if self.by and not EVENTS[self.event].is_of_larder else ""
        return f"{self.subject} {EVENTS[self.event].done}{by}."

    @property
    def reason(self) -> str:
        return str(self.more.get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.more.get("message", ""))

    @property
    def breaking(self) -> str:
        """The breaking changes in a new version of a module, by the version guard: one sentence, empty if there are
        none.
        """
        if self.event != "release.published" or self.release is None:
            return ""
        found: dict[str, Any] = self.release.notes.get("guard") or {}
        if not found.get("breaking"):
            return ""
        changed = [f"{one['kind']} {one['name']}" for one in found["changes"] if one["severity"] == "breaking"]
        named = changed[:_BREAKING_NAMED]
        more = found["breaking"] - len(named)
        return f"Breaks users of {found['against']}: {', '.join(named)}{f' and {more} more' if more else ''}."


def role_sentence(notice: Notice, who: str, is_now: str = "is now") -> str:
    """Return who got or lost which role, and by whom, in words for `who`: a name, or "you"."""
    role = str(notice.more.get("role") or "member")
    named = f"{'an' if role[0] in 'aeiou' else 'a'} {role} of {notice.subject}"
    if notice.event == "role.withdrawn":
        no_longer = is_now.replace("now", "no longer")
        return f"{notice.by} removed {who} as {named}" if notice.by else f"{who} {no_longer} {named}"
    return f"{notice.by} made {who} {named}" if notice.by else f"{who} {is_now} {named}"


def _role(notice: Notice) -> str:
    team = notice.more.get("team")
    return role_sentence(notice, f"the team {team}" if team else str(notice.more.get("user") or "a person"))


def _connections(notice: Notice) -> str:
    count = len(notice.more.get("connections", ())) + int(notice.more.get("not_listed", 0))
    if not count:
        return f"A former owner of {notice.subject} knows its secrets"
    noun = "connection" if count == 1 else "connections"
    if notice.event == "connections.left-behind":
        return f"A former owner left {count:,} {noun} in {notice.subject}"
    is_, it = ("is", "it") if count == 1 else ("are", "them")
    return f"{count:,} {noun} of {notice.subject} {is_} suspended until an owner confirms {it}"


def _by_first(notice: Notice) -> str:
    return f"{notice.by or 'Larder'} {EVENTS[notice.event].done} of {notice.subject}"


# Of events whose sentence does not begin with their subject.
_SENTENCES: dict[str, Callable[[Notice], str]] = {
    "access.requested": lambda one: f"{one.by or 'Someone'} requests publish access to {one.subject}",
    **dict.fromkeys(("key.retired", "key.revoked"), _by_first),
    "usage.notified": lambda one: f"{one.by or 'An owner'} wrote to the users of {one.subject}",
    "role.granted": _role,
    "role.withdrawn": _role,
    "connections.suspended": _connections,
    "connections.left-behind": _connections,
}


def approval_switched(notice: Notice) -> bool | None:
    """Return whether releases need approval from now on, by the notice; None if that did not change."""
    changes = notice.more.get("changes") if notice.event == "namespace.changed" else None
    found = changes.get("requires_approval") if isinstance(changes, dict) else None
    return None if found is None else bool(found[1])


def notices_of(events: Iterable[AuditEvent]) -> list[Notice]:
    """Return the notices of events whose namespace still exists, in three queries for any number."""
    found = list(events)
    namespaces = {row.canonical: row for row in Namespace.objects.filter(canonical__in={e.namespace for e in found})}
    releases = Release.objects.in_bulk({_number(event, "release") for event in found})
    people = User.objects.in_bulk(
        {event.actor_id or 0 for event in found} | {_number(event, "user") for event in found}
    )
    notices = []
    for event in found:
        namespace, name = namespaces.get(event.namespace), NAMES.get(event.kind, "")
        # The room of that event may be left out since.
        if not name or (namespace is None and not EVENTS[name].is_site_wide):
            continue
        declared = EVENTS[name]
        actor = people.get(event.actor_id) if event.actor_id else None
        more = {word: event.detail[word] for word in (*_TOLD, *declared.told) if event.detail.get(word)}
        if (user := people.get(_number(event, "user"))) is not None:
            more["user"] = user.shown_name
        release = releases.get(_number(event, "release"))
        address, _, version = event.subject.partition(" ")
        if declared.page is not None:
            path = declared.page(event, namespace.name if namespace else "")
        elif name == "access.requested" and namespace is not None and actor is not None:
            path = answer_path(namespace, actor)
        else:
            path = _path(name, namespace, address, version, release)
        is_release = name.startswith(("release.", "usage.")) or (declared.names_release and bool(version))
        notices.append(
            Notice(
                event=name,
                at=event.at,
                namespace=namespace,
                subject=event.subject,
                kind=("module" if address.count("/") > 1 else "provider") if is_release else "",
                address=address if is_release else "",
                version=version if is_release else "",
                by=actor.shown_name if actor else "",
                url=settings.PUBLIC_URL + path,
                more=more,
                release=release,
                event_id=event.pk,
                actor_id=event.actor_id,
                grantee=(_number(event, "user"), str(event.detail.get("team") or "")),
                people=(*event.detail.get("people", ()), *event.detail.get("without_address", ())),
                host=str(event.detail.get("host") or ""),
            )
        )
    return notices


def _number(event: AuditEvent, name: str) -> int:
    value = event.detail.get(name)
    return value if isinstance(value, int) else 0


def _path(name: str, namespace: Namespace | None, address: str, version: str, release: Release | None) -> str:
    if EVENTS[name].is_of_upload and release is not None:
        return reverse("portal:release", args=[release.public_id])
    if name.startswith(("release.", "usage.")):
        parts = address.split("/")
        kind = "module" if len(parts) > 2 else "provider"  # noqa: PLR2004  # namespace/type has two
        page = f"portal:{kind}-version" if version else f"portal:{kind}"
        if name == "release.purged":  # it has no page; the list says what became of it
            page, version = f"portal:{kind}-versions", ""
        return reverse(page, args=[*parts, *version.split()])
    assert namespace is not None  # noqa: S101  # what is site-wide declares its page
    if name in OF_CONNECTIONS:
        return reverse("portal:namespace-connections", args=[namespace.name])
    return reverse("portal:keys" if name.startswith("key.") else "portal:namespace", args=[namespace.name])
