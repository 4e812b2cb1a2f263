"""The card of consequences above the button of an act, and the tombstone after it: who is hit, and who of them Larder
notifies in the same step. For templates/portal/effects and templates/portal/lifecycle/tombstone.html.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role, User
from apps.accounts.people import accounts
from apps.modules.dependents.impact import of_releases
from apps.notify.mail.reach import Reach, reach_of
from apps.notify.models import Topic
from apps.portal.frame.forms import ReasonField
from apps.releases.lifecycle import messages, tombstones
from apps.releases.lifecycle.actions import RESTORE
from apps.releases.lifecycle.impact import Act, Consequences
from apps.releases.lifecycle.verbs import MAX_REASON_CHARACTERS
from apps.releases.models import Release, State

MAX_NAMED = 50


class NotifyForm(forms.Form):
    """The switch. `card_of` says whom it is about; a card that reaches no one lacks it."""

    notify = forms.BooleanField(required=False, initial=True)


class RestoreForm(forms.Form):
    reason = ReasonField(MAX_REASON_CHARACTERS, "Owners and publishers get it by mail. Recorded in the audit log.")


@dataclass(frozen=True, slots=True)
class Named:
    """People as an owner may read of them: some by name, the others as a number."""

    count: int
    names: list[str]

    @property
    def others(self) -> int:
        return self.count - len(self.names)


def card_of(
    viewer: Viewer, found: Consequences, namespace: Namespace, topic: Topic = Topic.WITHDRAWN
) -> dict[str, Any]:
    """Return the context of templates/portal/effects/card.html."""
    return {"effects": found, **named_in(viewer, reach_in(viewer, found, namespace, topic))}


def reach_in(viewer: Viewer, found: Consequences, namespace: Namespace, topic: Topic = Topic.WITHDRAWN) -> Reach:
    if not found.people:
        return Reach()
    return reach_of(messages.readers_of_mail(found.people, but=viewer.user_id), topic=topic, namespace=namespace)


def people_of(
    viewer: Viewer, form: Mapping[str, Any], found: Consequences, namespace: Namespace, topic: Topic = Topic.WITHDRAWN
) -> list[int]:
    """Return those whom mail reaches, if the form asks to notify them. `form` has its cleaned data."""
    if not form.get("notify"):
        return []
    return [one.pk for one in reach_in(viewer, found, namespace, topic).reached]


def and_told(people: list[int]) -> str:
    """The end of the message after an act."""
    count = len(people)
    return f" Larder notifies {count:,} {'person' if count == 1 else 'people'}." if count else ""


def named_in(viewer: Viewer, reach: Reach) -> dict[str, Any]:
    """Return those who are `reached`, and who are `missed` by the reason, with the names that the viewer reads."""
    known = set(accounts.known_to(viewer))
    sees_all = viewer.user is not None and viewer.user.is_staff

    def named(people: list[User]) -> Named:
        shown = [one.shown_name for one in people if sees_all or one.username in known]
        return Named(len(people), shown[:MAX_NAMED])

    reasons = [
        ("This registry sends no mail", reach.without_server),
        ("No mail address", reach.without_address),
        ("Turned such mails off", reach.unwilling),
        ("Cannot see the namespace", reach.outside),
    ]
    return {
        "reached": named(reach.reached),
        "missed": [(reason, named(people)) for reason, people in reasons if people],
    }


def _may_restore(viewer: Viewer) -> bool:
    return viewer.user is not None and operators.is_operator(viewer) and viewer.user.has_perm(RESTORE)


def tombstone_of(viewer: Viewer, release: Release, role: Role) -> dict[str, Any]:
    """Return the context of templates/portal/lifecycle/tombstone.html: who is hit, and how many were notified."""
    return {
        "effects": of_releases(viewer, [release], Act.QUARANTINE, role=role),
        "notified": tombstones.notified_of(release),
        "restoring": RestoreForm(auto_id="restore_%s"),
        "can_restore_it": release.state == State.PUBLISHED and _may_restore(viewer),
    }
