"""Webhooks of forges: whose they are, whether they are genuine and new. A push lists the repository's tags at once."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from secrets import token_bytes, token_urlsafe
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from apps.accounts.access import connections, throttling
from apps.accounts.access.throttling import Limit
from apps.accounts.identity import sealing
from apps.contrib.git import forges, pushing, signatures, syncing
from apps.contrib.git.forges import Vendor
from apps.contrib.git.models import Delivery, Forge, GitRepository
from apps.contrib.git.remote import remotes
from apps.contrib.git.signatures import Sent
from apps.lib.errors import Conflict, CredentialsRequired, Invalid, NotFound

MAX_BODY_BYTES = 1024 * 1024
MAX_ID_CHARACTERS = 43
# For so long the same webhook is a replay. After that it would only have the tags listed once more.
REMEMBERED = timedelta(days=30)
PATH = "/api/v1/git-hooks/"
# Only the repository with this `hook_id` opens it.
SEALED = sealing.Column(GitRepository, "sealed_hook_secret", "git-hook", bound_to="hook_id")
_SECRET_BYTES = 32

log = structlog.get_logger("larder.sources")


@dataclass(frozen=True, slots=True)
class Received:
    """`event` as the forge calls it; `is_listing`: the repository's tags are being listed because of it."""

    repository: GitRepository
    event: str
    is_listing: bool


def new_id() -> str:
    return token_urlsafe(32)


def new_secret() -> str:
    return signatures.PREFIX + base64.b64encode(token_bytes(_SECRET_BYTES)).decode()


def seal(secret: str, hook_id: str) -> str:
    return sealing.seal(secret, SEALED.purpose_of(hook_id))


def url_of(repository: GitRepository) -> str:
    """Return the URL to which the forge sends them."""
    return f"{settings.PUBLIC_URL}{PATH}{repository.hook_id}"


@sensitive_variables("secret")
def receive(*, hook_id: str, headers: Mapping[str, str], body: bytes, address: str = "") -> Received:
    """Raises NotFound, CredentialsRequired (unsigned, or a wrong signature), Conflict (a replay, or its repository is
    suspended), TooManyAttempts, and Invalid (another repository, or no JSON).
    """
    sent = Sent({name.lower(): value for name, value in headers.items()}, body)
    repository = _repository_of(hook_id, address)
    secret = sealing.unseal(repository.sealed_hook_secret, SEALED.purpose_of(repository.hook_id))
    forge = _signer(Forge(repository.forge), sent, secret)
    if forge is None:
        # Refusals alone, and of one hook and one network: forges call for all of their customers from a few addresses,
        # and a stranger may have one call here with a wrong secret.
        throttling.count(Limit("tokens", f"git hook {hook_id} {throttling.by_address('', address).subject}"))
        raise _not_genuine(repository, sent)
    if repository.suspended_at is not None:
        log.warning("git_hook_refused", repository=repository.pk, reason="suspended")
        connections.refuse_suspended(repository, "This repository")
    vendor = forges.VENDORS[forge]
    read = _read(repository, sent) if forge != Forge.GIT else {}  # whose hooks send what they like
    if forge != Forge.GIT:
        _refuse_others(repository, vendor, read)
    event = vendor.event(sent, read)[:60]
    # Nothing of a draft is listed by itself.
    is_listing = vendor.is_push(event, read) and repository.started_at is not None
    with transaction.atomic():
        _refuse_replay(repository, vendor.delivery(sent, read)[:200], body)
        GitRepository.objects.filter(pk=repository.pk).update(hooked_at=timezone.now())
        pushing.record(repository, forge, event, read, now=timezone.now())
        if is_listing:
            syncing.listen(repository)
    log.info("git_hook_received", repository=repository.pk, event_of_forge=event, is_listing=is_listing)
    return Received(repository, event, is_listing)


def prune() -> int:
    """Forget deliveries that are older than REMEMBERED, and who pushed, and return how many rows."""
    return pushing.prune(timezone.now()) + Delivery.objects.filter(at__lt=timezone.now() - REMEMBERED).delete()[0]


def _repository_of(hook_id: str, address: str) -> GitRepository:
    found = None
    if 0 < len(hook_id) <= MAX_ID_CHARACTERS:
        repositories = GitRepository.objects.filter(ended_at=None, namespace__deleted_at=None)
        repositories = repositories.exclude(forge__in=forges.WITHOUT_WEBHOOKS)
        found = repositories.select_related("namespace").filter(hook_id=hook_id).first()
    if found is None:
        throttling.count(throttling.by_address("tokens", address))
        log.warning("git_hook_refused", reason="unknown_hook")
        raise NotFound(
            "No connected repository has this webhook URL.",
            hint="Copy the URL from the repository's page in Larder, or delete the webhook in the forge.",
        )
    return found


def _signer(forge: Forge, sent: Sent, secret: str) -> Forge | None:
    """Return the forge whose way of signing the webhook follows; None if it is not genuine. What a company calls
    git.acme.example may be any of those that can be installed.
    """
    if not secret:  # with an empty one anybody can sign
        return None
    return next((one for one in _likely(forge) if forges.VENDORS[one].is_genuine(sent, secret)), None)


def _likely(forge: Forge) -> list[Forge]:
    return [Forge.GITEA, Forge.GITHUB, Forge.GITLAB, Forge.GIT] if forge == Forge.GIT else [forge]


def _not_genuine(repository: GitRepository, sent: Sent) -> CredentialsRequired:
    forge = Forge(repository.forge)
    vendor, name = forges.VENDORS[forge], forge.label
    possible = [header for one in _likely(forge) for header in forges.VENDORS[one].signed_by.split(" or ")]
    found = [header for header in possible if sent.header(header.partition(":")[0])]
    is_signed = bool(found)
    log.warning("git_hook_refused", repository=repository.pk, reason="wrong_signature" if is_signed else "unsigned")
    if not is_signed:
        return CredentialsRequired(
            f"The webhook is not signed: found no header {vendor.signed_by}, as {name} sends it with a secret.",
            hint="Enter the secret from the repository's page in Larder in the webhook's settings.",
        )
    return CredentialsRequired(
        f"The signature of the webhook is wrong: {found[0]} was not made with this repository's secret.",
        hint="Renew the secret on the repository's page in Larder, and enter the new one in the webhook's settings.",
    )


def _read(repository: GitRepository, sent: Sent) -> dict[str, Any]:
    kind = sent.header("Content-Type").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        raise _refused(
            repository,
            "not_json",
            "The webhook sends a form, expected JSON.",
            "Choose the content type application/json in the webhook's settings.",
        )
    try:
        found = json.loads(sent.body.decode())
    except (ValueError, RecursionError) as error:
        what = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else "is not JSON"
        raise _refused(
            repository, "not_json", f"The body of the webhook {what}.", "Send the body as the forge does."
        ) from None
    if not isinstance(found, dict):
        raise _refused(
            repository,
            "not_json",
            f"The body of the webhook is a JSON {type(found).__name__}, expected an object.",
            "Send the body as the forge does.",
        )
    return found


def _refuse_others(repository: GitRepository, vendor: Vendor, read: dict[str, Any]) -> None:
    """A webhook of an organisation sends all of its repositories."""
    remote = remotes.parse(repository.url)
    names = [name for name in vendor.names(read) if isinstance(name, str) and name]
    if forges.is_named(remote, names):
        return
    found = f"{names[0][:200]!r}" if names else "no repository"
    raise _refused(
        repository,
        "foreign_repository",
        f"The webhook is of {found}, expected {remote.name}, which this URL belongs to.",
        "If the repository was renamed, connect it by its new URL; else delete this webhook in the forge.",
    )


def _refuse_replay(repository: GitRepository, number: str, body: bytes) -> None:
    """By the number of the delivery, which most signatures do not cover, and by the body, which they do.

    An empty body, which a plain Git server's hook may send, is nothing to tell a replay by.
    """
    now = timezone.now()
    texts = ([b"number " + number.encode()] if number else []) + ([b"body " + body] if body else [])
    rows = [Delivery(repository=repository, digest=hashlib.sha256(text).hexdigest(), at=now) for text in texts]
    try:
        with transaction.atomic():
            Delivery.objects.bulk_create(rows)
    except IntegrityError:
        log.warning("git_hook_refused", repository=repository.pk, reason="replayed")
        raise Conflict(
            "This webhook was received before.", hint="Nothing needs to be done: the tags are listed at each poll."
        ) from None


def _refused(repository: GitRepository, reason: str, text: str, hint: str) -> Invalid:
    log.warning("git_hook_refused", repository=repository.pk, reason=reason)
    return Invalid(text, hint=hint)
