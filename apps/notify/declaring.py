"""The declaration of an event, by which programs and people are told of a kind of the audit."""

from collections.abc import Callable
from typing import Any, NamedTuple

from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent


class Event(NamedTuple):
    """`label` is as a form offers it, `done` for a sentence such as "acme/vpc/aws 1.2.0 was published by alice.".

    Where the sentence does not begin with the subject, `sentence` makes it of a `notices.Notice`; `subject` that of a
    mail. `told` are details of the audit that owners may hear, beside those of `notices`. `page` returns the path of
    what happened, for an event and the name of its namespace: that of the release or namespace where there is none.

    `is_of_larder`: no person did it. `is_of_upload`: its page is that of the upload, not of the version.
    `names_release`: where its subject has a version, it is about a release. `is_site_wide`: it happens without a
    namespace of ours, and is told to staff and site-wide webhooks. `place`: where it stands in lists.
    """

    kind: Kind
    label: str
    done: str = ""
    place: int = 0
    sentence: Callable[[Any], str] | None = None
    subject: Callable[[Any], str] | None = None
    page: Callable[[AuditEvent, str], str] | None = None
    told: tuple[str, ...] = ()
    is_of_larder: bool = False
    is_of_upload: bool = False
    names_release: bool = False
    is_site_wide: bool = False
