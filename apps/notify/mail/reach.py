"""Whom a mail reaches, and why it misses the others: asked before something is sent, so that a page can say it."""

from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import QuerySet

from apps.accounts.access import gate
from apps.accounts.models import Namespace, User
from apps.notify.models import Preference, Topic


@dataclass(frozen=True, slots=True)
class Reach:
    """Active people, each in one of the lists: who gets a letter, and who does not, by the reason."""

    reached: list[User] = field(default_factory=list)
    without_server: list[User] = field(default_factory=list)  # letters are only printed, see mailing.py
    without_address: list[User] = field(default_factory=list)
    unwilling: list[User] = field(default_factory=list)  # they turned the topic off
    outside: list[User] = field(default_factory=list)  # they cannot see the namespace


def turned_off(people: QuerySet[User], topic: Topic) -> set[int]:
    """The numbers of those who want no mail of this topic."""
    return {row.user_id for row in Preference.objects.filter(user__in=people.values("pk")) if topic in row.topics_off}


def reach_of(people: QuerySet[User], *, topic: Topic, namespace: Namespace) -> Reach:
    """`letters.to` and `mailing` decide by the same: a letter written now, and sent now, goes to those reached."""
    found = Reach()
    off = turned_off(people, topic)
    inside = set(gate.readers_among(people, namespace).values_list("pk", flat=True))
    for user in people.filter(is_active=True, is_service=False):
        if settings.SMTP is None:
            found.without_server.append(user)
        elif user.pk not in inside:
            found.outside.append(user)
        elif user.pk in off:
            found.unwilling.append(user)
        else:
            (found.reached if user.email else found.without_address).append(user)
    return found
