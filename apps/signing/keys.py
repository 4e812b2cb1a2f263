"""Verbs on the signing keys of a namespace; keys are never deleted (D11). The caller asks the gate: owners only."""

from collections.abc import Collection, Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import connections, gate, slots
from apps.accounts.access.gate import Viewer
from apps.accounts.creations import Source
from apps.accounts.models import Namespace, Role
from apps.audit.kinds import Kind
from apps.jobs import queue
from apps.lib.errors import Conflict, Invalid
from apps.signing.armor import ParsedKey, parse
from apps.signing.models import Custody, SigningKey, SigningKeyQuerySet, State

JOB = "make-signing-key"
# The keys that a worker can generate, by gpg's names.
ALGORITHMS = ("ed25519", "rsa4096")
# Pages warn so many days before a key expires, the last time loudest.
WARN_DAYS = (60, 30, 7)
EXPIRY_WARNING = timedelta(days=max(WARN_DAYS))
MAX_SOURCE_CHARACTERS, MAX_URL_CHARACTERS, MAX_REASON_CHARACTERS = 100, 300, 500
# People whom one audit row names.
MAX_NOTIFIED = 5_000


class AlreadyRegistered(Conflict):
    def __init__(self, known: SigningKey) -> None:
        self.known = known
        super().__init__(
            f"The key {known.fingerprint} is already registered in {known.namespace}; it is {known.state}.",
            hint="There is nothing to do." if known.state == State.ACTIVE else "Create and register another key.",
        )


def due() -> SigningKeyQuerySet:
    """Return active keys of all namespaces that have expired or will within EXPIRY_WARNING."""
    return SigningKey.objects.filter(state=State.ACTIVE, expires_at__lte=timezone.now() + EXPIRY_WARNING)


def read(armor: str, *, actor: Viewer, known: str = "") -> ParsedKey:
    """Read the key like `armor.parse`, in a request: a crafted key keeps gpg busy for all its time. Raises
    TooManyAttempts too.
    """
    with slots.slot_of(actor):
        return parse(armor, known=known)


def register_or_renew(
    *, namespace: Namespace, armor: str, actor: Viewer, source: str = "", source_url: str = ""
) -> tuple[SigningKey, bool]:
    """Add a publisher's public key, or renew it; return it, and whether it is new.

    Raises Invalid (KeyRefused, with a Reason) and Conflict.
    """
    _check_source(source, source_url)
    said = {"source": source.strip(), "source_url": source_url.strip()}
    parsed = read(armor, actor=actor)  # gpg runs before the transaction
    try:
        with transaction.atomic():
            key = _add(namespace, parsed, Custody.PUBLISHER, actor, **said)
            _record(Kind.KEY_REGISTERED, key, actor, source=key.source)
    except AlreadyRegistered as taken:
        if taken.known.custody != Custody.PUBLISHER:
            raise
        told = {name: text for name, text in said.items() if text}
        renew(taken.known, read(armor, actor=actor, known=taken.known.armor), actor, **told)
        return taken.known, False
    return key, True


@transaction.atomic
def renew(key: SigningKey, parsed: ParsedKey, actor: Viewer, **said: str) -> None:
    """Store a newer version of a key; `parsed` is merged with the stored one.

    Raises AlreadyRegistered if nothing is newer, or the key is not active here.
    """
    changes = {name: getattr(parsed, name) for name in ("armor", "algorithm", "uid", "expires_at")} | said
    same = SigningKey.objects.filter(pk=key.pk, state=State.ACTIVE, armor=key.armor)
    if parsed.armor == key.armor or not same.update(**changes):
        key.refresh_from_db()
        raise AlreadyRegistered(key)
    before = _when(key.expires_at)
    for field, value in changes.items():
        setattr(key, field, value)
    _record(Kind.KEY_RENEWED, key, actor, expired_at=before, expires_at=_when(key.expires_at))


def add_private(*, namespace: Namespace, parsed: ParsedKey, actor: Viewer) -> SigningKey:
    """Add a key whose private half the caller stores in the same transaction. Raises Conflict."""
    key = _add(namespace, parsed, Custody.REGISTRY, actor)
    _record(Kind.KEY_REGISTERED, key, actor, source="imported by a command")
    return key


@transaction.atomic
def request(*, namespace: Namespace, algorithm: str, actor: Viewer) -> SigningKey:
    """Ask a worker for a key in the registry's custody; the row is pending until then. Raises Invalid and Conflict.

    A row that the workers gave up on is used again.
    """
    if algorithm not in ALGORITHMS:
        raise Invalid(f"There is no key algorithm {algorithm[:20]!r}.", hint=f"Use {' or '.join(ALGORITHMS)}.")
    changes = {"algorithm": algorithm, "added_by": actor.user, "created_by_token": actor.token, "reason": ""}
    key = namespace.signing_keys.filter(state=State.PENDING).order_by("pk").first()
    if key is None:
        key = SigningKey.objects.create(namespace=namespace, custody=Custody.REGISTRY, state=State.PENDING, **changes)
    if not queue.enqueue_once(JOB, target=key.pk, created_by_id=actor.user_id):
        raise Conflict(f"A key of {namespace} is already being generated.", hint="Wait for it.")
    SigningKey.objects.filter(pk=key.pk).update(**changes)
    key.refresh_from_db()
    _record(Kind.KEY_REQUESTED, key, actor)
    return key


@transaction.atomic
def retire(*, key: SigningKey, actor: Viewer, reason: str, people: Collection[int] = ()) -> None:
    """Stop signing with the key; its signatures stay valid. `people`: the accounts that the actor notifies in the same
    step. Raises Invalid and Conflict.
    """
    _end(key, actor, reason, to=State.RETIRED, before=[State.ACTIVE])
    _record(Kind.KEY_RETIRED, key, actor, reason=key.reason, **_notified(people))


@transaction.atomic
def revoke(*, key: SigningKey, actor: Viewer, reason: str, people: Collection[int] = ()) -> None:
    """Stop trusting the key and all its signatures. `people` as above. Raises Invalid and Conflict."""
    _end(key, actor, reason, to=State.REVOKED, before=[State.ACTIVE, State.RETIRED])
    _record(Kind.KEY_REVOKED, key, actor, reason=key.reason, **_notified(people))


def _notified(people: Collection[int]) -> dict[str, Any]:
    return {"people": sorted(people)[:MAX_NOTIFIED]} if people else {}


def signing_key_of(namespace: Namespace) -> SigningKey | None:
    """Return the key that signs new releases: the newest in the registry's custody."""
    usable = namespace_keys(namespace).usable(timezone.now()).filter(custody=Custody.REGISTRY)
    return usable.filter(private_key__isnull=False).newest_first().first()


def vouching_keys_of(namespace: Namespace) -> list[SigningKey]:
    """Return the publishers' keys that may vouch for new releases."""
    return list(namespace_keys(namespace).usable(timezone.now()).filter(custody=Custody.PUBLISHER).newest_first())


def publisher_keys_of(namespace: Namespace) -> list[SigningKey]:
    """Return all publishers' keys, ended ones too: `verify` says why one does not count."""
    return list(namespace_keys(namespace).filter(custody=Custody.PUBLISHER).newest_first())


def namespace_keys(namespace: Namespace) -> SigningKeyQuerySet:
    return SigningKey.objects.filter(namespace=namespace)


def _retire_with_token(key: SigningKey, actor: Viewer) -> None:
    """Retired, not revoked: releases that were signed meanwhile may be the owners' own, and must stay installable.

    Owners who find that one is not theirs revoke the retired key as well.
    """
    gate.namespace_for(actor, key.namespace.name, need=Role.OWNER)
    retire(key=key, actor=actor, reason="The API token that added it was revoked.")


CREATED_BY_TOKENS = Source(
    "signing key",
    lambda: SigningKey.objects.filter(
        state__in=[State.PENDING, State.ACTIVE], namespace__deleted_at=None
    ).select_related("namespace"),
    lambda key: f"{key} of {key.namespace}",
    _retire_with_token,
    at="added_at",
)


def known_to_their_publishers(namespace: Namespace) -> Iterator[connections.Secret]:
    """Yield the keys whose private half a person has."""
    rows = namespace_keys(namespace).filter(state=State.ACTIVE, custody=Custody.PUBLISHER, added_by__isnull=False)
    for key in rows.select_related("added_by").order_by("pk"):
        assert key.added_by is not None  # noqa: S101  # the filter says so
        path = reverse("portal:key", args=[namespace.name, key.fingerprint])
        yield connections.Secret("signing key", key.key_id, key.added_by, path)


def _when(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z") if moment else None


def _add(namespace: Namespace, parsed: ParsedKey, custody: Custody, actor: Viewer, **more: str) -> SigningKey:
    # No check before the insert: the unique constraint decides between two at once.
    try:
        with transaction.atomic():
            return SigningKey.objects.create(
                namespace=namespace,
                custody=custody,
                state=State.ACTIVE,
                added_by=actor.user,
                created_by_token=actor.token,
                **asdict(parsed),
                **more,
            )
    except IntegrityError:
        known = SigningKey.objects.select_related("namespace").get(namespace=namespace, fingerprint=parsed.fingerprint)
        raise AlreadyRegistered(known) from None


def _end(key: SigningKey, actor: Viewer, reason: str, *, to: State, before: list[State]) -> None:
    reason = reason.strip()
    if not reason or len(reason) > MAX_REASON_CHARACTERS or not reason.isprintable():
        raise Invalid(
            f"The reason must be one line of 1 to {MAX_REASON_CHARACTERS} characters.",
            hint="Write one or two sentences for the users of the key's releases.",
        )
    changes = {"state": to, "ended_at": timezone.now(), "ended_by": actor.user, "reason": reason}
    if not SigningKey.objects.filter(pk=key.pk, state__in=before).update(**changes):
        key.refresh_from_db(fields=["state"])
        raise Conflict(f"The key {key} is {key.state}: only one that is {' or '.join(before)} can become {to}.")
    for field, value in changes.items():
        setattr(key, field, value)


def _check_source(source: str, source_url: str) -> None:
    if len(source) > MAX_SOURCE_CHARACTERS or not source.isprintable():
        raise Invalid(
            f"The source must be one line of at most {MAX_SOURCE_CHARACTERS} characters.",
            hint="Name the person or organisation.",
        )
    if source_url and (
        len(source_url) > MAX_URL_CHARACTERS
        or not source_url.isprintable()
        or urlsplit(source_url).scheme not in ("http", "https")
        or not urlsplit(source_url).netloc
    ):
        raise Invalid(
            f"The address of the source must be http:// or https://, with at most {MAX_URL_CHARACTERS} characters.",
            hint="Give the address of a page about the source, or leave it out.",
        )


def _record(kind: Kind, key: SigningKey, actor: Viewer, **detail: Any) -> None:
    actor.record(
        kind,
        subject=str(key.namespace),
        key=key.pk,
        fingerprint=key.fingerprint,
        algorithm=key.algorithm,
        **detail,
    )
