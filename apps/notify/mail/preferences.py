"""The mail preferences of a person: topics, one mail a day, their address, what they watch."""

from collections.abc import Iterable
from typing import Any

from django.core import signing
from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.accounts.people import same_person
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Conflict, NotFound
from apps.notify.mail import letters, mailing
from apps.notify.models import Letter, LetterState, Preference, Topic, Watch
from apps.releases.models import Release

CONFIRM_SALT = "larder.mail-address"
CONFIRM_SECONDS = 24 * 3600
MAX_WATCHES = 500


def preference_of(user: User) -> Preference:
    return Preference.objects.filter(user=user).first() or Preference(user=user, topics_off=[])


@transaction.atomic
def choose(*, user: User, topics: Iterable[str], is_digest: bool) -> None:
    """`topics` are those that the person wants."""
    off = sorted(set(Topic.values) - set(topics))
    Preference.objects.update_or_create(user=user, defaults={"topics_off": off, "is_digest": is_digest})
    _record(user, topics_off=off, digest=is_digest)


@transaction.atomic
def unsubscribe(token: str) -> tuple[User, str]:
    """Switch off the topic of a link, or all of them. Safe to repeat. Raises NotFound."""
    user, topic = unsubscribing(token)
    row = preference_of(user)
    off = sorted({*row.topics_off, *([topic] if topic else Topic.values)})
    if off != row.topics_off:
        Preference.objects.update_or_create(user=user, defaults={"topics_off": off})
        _record(user, topics_off=off, by="link")
    return user, topic


def unsubscribing(token: str) -> tuple[User, str]:
    """Return the person and the topic of a link; the topic is empty for all. Raises NotFound."""
    try:
        number, topic = signing.loads(token, salt=mailing.SALT)
    except (signing.BadSignature, ValueError, TypeError):
        number, topic = 0, ""
    user = User.objects.filter(pk=number, is_active=True).first()
    if user is None:
        raise NotFound("This link is not valid.", hint="Sign in, and choose your mails on your account page.")
    return user, topic


@transaction.atomic
def ask_for_address(*, user: User, address: str) -> None:
    """Send a link to the address, which becomes the person's once they open it; until then it is kept as unconfirmed.

    An empty one is removed at once.
    """
    Preference.objects.update_or_create(user=user, defaults={"unconfirmed_address": address})
    if not address:
        same_person.remember_address(user)
        User.objects.filter(pk=user.pk).update(email="")
        _record(user, address="removed")
        return
    token = signing.dumps([user.pk, address], salt=CONFIRM_SALT)
    letters.confirm(user=user, address=address, token=token)
    _record(user, address="asked for")


def address_of(*, user: User, token: str) -> str:
    """Return the address that a link confirms. Raises NotFound, also for links of others."""
    try:
        number, address = signing.loads(token, salt=CONFIRM_SALT, max_age=CONFIRM_SECONDS)
    except (signing.BadSignature, ValueError, TypeError):
        number, address = 0, ""
    if number != user.pk:
        raise NotFound("This link is no longer valid.", hint="Enter the address again on your account page.")
    return str(address)


@transaction.atomic
def confirm_address(*, user: User, token: str) -> str:
    """Raises NotFound."""
    address = address_of(user=user, token=token)
    _take(user, address)
    _record(user, address="confirmed")
    return address


@transaction.atomic
def take_invited(*, user: User, address: str) -> None:
    """Set the address of a new person whose invitation was mailed there (`invited.address_of`)."""
    _take(user, address)
    _record(user, address="confirmed by invitation")


def missed_by(user: User) -> QuerySet[Letter]:
    """Return the letters that could not be sent for lack of an address, the newest first."""
    missed = Letter.objects.filter(user=user, state=LetterState.MISSED).select_related("namespace")
    return missed.order_by("-created_at", "-pk")


def _take(user: User, address: str) -> None:
    same_person.remember_address(user)
    User.objects.filter(pk=user.pk).update(email=address)
    Preference.objects.filter(user=user).update(unconfirmed_address="")


def watchable(viewer: Viewer, address: str) -> tuple[Namespace, str]:
    """Return the namespace and the name in it of `acme`, `acme/vpc/aws` or `acme/dns`. Raises what the gate raises."""
    first, _, name = address.partition("/")
    namespace = gate.namespace_for(viewer, first)
    if name and ("\0" in name or not Release.objects.published().filter(namespace=namespace, name=name).exists()):
        raise NotFound(f"There is no {name[:130]} in {namespace}.", hint="Check the spelling.")
    return namespace, name


def watches_of(user: User) -> QuerySet[Watch]:
    """Return the addresses that the person watches and may see."""
    seen = gate.visible_namespaces(Viewer(user))
    rows = Watch.objects.filter(user=user, namespace__in=seen).select_related("namespace")
    return rows.order_by("namespace__canonical", "name", "pk")


def is_watched(user: User, namespace: Namespace, name: str) -> bool:
    return Watch.objects.filter(user=user, namespace=namespace, name=name).exists()


@transaction.atomic
def watch(*, user: User, namespace: Namespace, name: str) -> None:
    """Safe to repeat. Raises Conflict."""
    if Watch.objects.filter(user=user).count() >= MAX_WATCHES:
        raise Conflict(f"You already watch {MAX_WATCHES} items, the maximum.", hint="Watch a whole namespace instead.")
    row, created = Watch.objects.get_or_create(user=user, namespace=namespace, name=name)
    if created:
        record(Kind.WATCH_STARTED, actor_id=user.pk, subject=f"user/{user.pk}", watched=str(row))


@transaction.atomic
def unwatch(*, user: User, namespace: Namespace, name: str) -> None:
    """Safe to repeat."""
    row = Watch.objects.filter(user=user, namespace=namespace, name=name).select_related("namespace").first()
    if row is not None:
        row.delete()
        record(Kind.WATCH_ENDED, actor_id=user.pk, subject=f"user/{user.pk}", watched=str(row))


def _record(user: User, **detail: Any) -> None:
    """The address itself is not recorded: rows of the audit outlive the person."""
    record(Kind.MAIL_CHANGED, actor_id=user.pk, subject=f"user/{user.pk}", **detail)
