"""Messages of owners to the people who use a module or provider: an event, which each channel of notices sends (D4)."""

from collections.abc import Collection
from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.access.people_only import people_only
from apps.accounts.models import Namespace, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import Invalid, TooManyAttempts
from apps.releases.models import Fetch, Release

DAY = timedelta(days=1)
RECENT = timedelta(days=90)
MOST_IN_A_DAY = 3
MAX_PEOPLE = 5_000
MAX_CHARACTERS = 1_000


def downloaders(releases: QuerySet[Release]) -> set[int]:
    """The accounts that downloaded one of them lately."""
    since = timezone.now().date() - RECENT
    return set(Fetch.objects.filter(release__in=releases, last_on__gte=since).values_list("user", flat=True))


def readers_of_mail(accounts: Collection[int], *, but: int | None) -> QuerySet[User]:
    """The people behind these accounts: for a service account the managers of its team."""
    managing = Q(memberships__is_manager=True, memberships__team__service_accounts__in=accounts)
    people = User.objects.filter(Q(pk__in=accounts) | managing, is_active=True, is_service=False)
    return people.exclude(pk=but or 0).distinct().order_by("username")


@people_only("notify users")
@transaction.atomic
def notify_users(
    *,
    actor: Viewer,
    namespace: Namespace,
    subject: str,
    people: Collection[int],
    receivers: int,
    message: str,
    without_address: Collection[int] = (),
) -> None:
    """Record the message. `subject` is an address, or an address with a version. Raises Invalid and TooManyAttempts.

    The caller asks the gate for an owner. `people` are those whom mail reaches, and `receivers` counts the others.
    Those without an address see at home that they missed it.
    """
    if not people and not receivers:
        raise Invalid("Neither mail nor a webhook reaches the users of these versions.", hint="Choose other versions.")
    address = subject.partition(" ")[0]
    today = AuditEvent.objects.filter(
        Q(subject=address) | Q(subject__startswith=f"{address} "),
        kind=Kind.USAGE_NOTIFIED,
        namespace=namespace.canonical,
        at__gt=timezone.now() - DAY,
    )
    if today.count() >= MOST_IN_A_DAY:
        raise TooManyAttempts(
            f"The users of {address} already got {MOST_IN_A_DAY} messages within a day, the maximum.",
            hint="Try again tomorrow.",
            wait=DAY.total_seconds(),
        )
    actor.record(
        Kind.USAGE_NOTIFIED,
        subject=subject,
        message=message[:MAX_CHARACTERS],
        people=sorted(people)[:MAX_PEOPLE],
        without_address=sorted(without_address)[:MAX_PEOPLE],
    )
