"""The setup checklist: what a registry needs beside running, whether it is there, and what to do."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timesince

from apps.accounts.access import staff_roles
from apps.accounts.models import GroupMapping, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.signing import fingerprints
from registry_site.startup import checks

# A backup that is older no longer counts.
BACKUP_AGE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Step:
    """`look` returns whether it is done and what was found; `how` says what to do if not; `topic` is of the help."""

    name: str
    title: str
    look: Callable[[], tuple[bool, str]]
    how: str | Callable[[], str]
    topic: str
    page: Callable[[], tuple[str, str]] | None = None  # where it is done: name and address

    def shown(self) -> dict[str, Any]:
        is_done, found = self.look()
        page = self.page() if self.page else None
        shown = {"name": self.name, "title": self.title, "is_done": is_done, "found": found}
        return shown | {
            "how": "" if is_done else self.how() if callable(self.how) else self.how,
            "topic": self.topic,
            "page": page,
            "url": f"{reverse('admin:setup')}#{self.name}",
        }


def _mail() -> tuple[bool, str]:
    if settings.SMTP is None:
        return False, "There is no mail server: mails are printed to the output of the worker."
    return True, f"Mails are sent from {settings.MAIL_FROM}."


def _backup() -> tuple[bool, str]:
    newest = AuditEvent.objects.filter(kind=Kind.BACKUP_WRITTEN).order_by("-at", "-pk").first()
    if newest is None:
        return False, "manage.py backup has not run yet."
    return timezone.now() - newest.at < BACKUP_AGE, f"The last backup was written {timesince(newest.at, depth=1)} ago."


def _tls() -> tuple[bool, str]:
    if not settings.PUBLIC_URL.startswith("https:"):
        return False, f"Passwords and tokens are sent unencrypted: {settings.PUBLIC_URL}."
    if settings.TLS == "auto":
        return False, "Larder's own certificate authority signs the certificate, and each client must trust it."
    return True, "A proxy terminates TLS." if settings.TLS == "off" else "You provide the certificate."


def _single_sign_on() -> tuple[bool, str]:
    configured = settings.IDENTITY_PROVIDERS
    if not configured:
        return False, "Accounts are local: deactivate each account when its owner leaves."
    mapped = set(GroupMapping.objects.order_by("issuer").values_list("issuer", flat=True).distinct())
    closed = [one.name for one in configured if one.new_accounts == "groups" and one.issuer not in mapped]
    if closed:
        return False, f"No group of {' or '.join(closed)} is mapped: new people cannot sign in with it."
    found = f"People sign in with {', '.join(one.name for one in configured)}."
    passwords = " Passwords still work: turn them off with LARDER_LOCAL_SIGN_IN."
    return True, found + (passwords if settings.LOCAL_SIGN_IN == "on" else "")


def _next_for_sign_on() -> str:
    if settings.IDENTITY_PROVIDERS:
        return "Add a sign-on group for each team or staff role that people of the provider get."
    return "Set LARDER_SIGN_ON_FILE, and restart. Then map groups to teams."


def _key_encryption_key() -> tuple[bool, str]:
    for warning in checks.keys_are_apart_from_what_they_protect(None):
        return False, str(warning.msg)
    place = fingerprints.kek_place()
    if place is None:
        return False, "No worker has reported a key yet. It is created with the first signing key."
    return True, "It is in a separate file." if place.name == "file" else f"It is in {place.name}."


def _second_operator() -> tuple[bool, str]:
    role = Q(is_superuser=True) | Q(groups__name=staff_roles.OPERATOR)
    people = User.objects.filter(role, is_active=True, is_staff=True, is_service=False).distinct()
    if len(people.order_by("pk").values_list("pk")[:2]) > 1:
        return True, "At least two people can operate this registry."
    return False, "Only one person can operate this registry. If they lose access, there is no one to help them."


STEPS = (
    Step(
        "mail",
        "Mail",
        _mail,
        "Set LARDER_SMTP_URL, and perhaps LARDER_MAIL_FROM, and restart. People then get mail about releases, "
        "invitations, and expiring tokens and keys.",
        "mail-server",
    ),
    Step(
        "backup",
        "Backup",
        _backup,
        "Run manage.py backup every night, with LARDER_BACKUP_URL on another machine. Back up the keys once, apart "
        "from it, with --keys FILE. If you back up by other means, test a restore.",
        "backup",
    ),
    Step(
        "tls",
        "TLS",
        _tls,
        "Set LARDER_TLS to the files of a certificate for the host of LARDER_PUBLIC_URL; or terminate TLS in a proxy, "
        "with LARDER_TLS=off and LARDER_TRUSTED_PROXIES.",
        "address",
    ),
    Step(
        "single-sign-on",
        "Single sign-on",
        _single_sign_on,
        _next_for_sign_on,
        "sign-on",
        lambda: ("Sign-on groups", reverse("admin:accounts_groupmapping_changelist")),
    ),
    Step(
        "key-encryption-key",
        "Key-encryption key",
        _key_encryption_key,
        "Stop Larder, move the file out of the data folder, and set LARDER_SIGNING_KEK_FILE to its path; or keep the "
        "key in AWS KMS or Vault with LARDER_SIGNING_KEK_URL.",
        "keys-of-larder",
    ),
    Step(
        "second-operator",
        "Second operator",
        _second_operator,
        "Invite a colleague. Once they have joined, a superuser opens their account and gives them staff status and "
        "the role Operator.",
        "operators",
        lambda: ("Invitations", reverse("admin:accounts_invitation_changelist")),
    ),
)


def steps() -> list[dict[str, Any]]:
    return [step.shown() for step in STEPS]
