"""The events of repositories and tags."""

from collections.abc import Callable
from typing import Any

from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.notify.declaring import Event

_PLACE = 4
_TOLD = ("known", "found", "tag", "tags", "code")


def _page(event: AuditEvent, namespace: str) -> str:
    return f"/namespaces/{namespace}/git/{event.detail.get('repository', 0)}"


def _tag(kind: Kind, label: str, done: str) -> Event:
    def said(notice: Any) -> str:
        if notice.more.get("tags"):
            return f"Git tags of {notice.subject} {done.replace('was ', 'were ')}"
        return f"Git tag {notice.more.get('tag', '')} of {notice.subject} {done}".replace("  ", " ")

    return _event(kind, label, said)


def _event(kind: Kind, label: str, sentence: Callable[[Any], str]) -> Event:
    return Event(kind, label, place=_PLACE, sentence=sentence, page=_page, told=_TOLD, names_release=True)


EVENTS = {
    "tag.refused": _tag(Kind.GIT_REFUSALS_NOTIFIED, "A Git tag was refused, and became no release", "was refused"),
    "tag.moved": _tag(Kind.GIT_TAG_MOVED, "The Git tag of a release moved", "moved"),
    "tag.deleted": _tag(Kind.GIT_TAG_DELETED, "The Git tag of a release was deleted", "was deleted"),
    "repository.failing": _event(
        Kind.GIT_REPOSITORY_FAILING,
        "A Git repository could not be read for an hour",
        lambda one: f"A Git repository of {one.subject} can't be read",
    ),
    "repository.host-keys-changed": _event(
        Kind.GIT_HOST_KEYS_CHANGED,
        "The server of a Git repository shows other host keys",
        lambda one: f"The host keys of a Git server of {one.subject} changed",
    ),
}
