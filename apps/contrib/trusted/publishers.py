"""The rules: whose CI may publish in a namespace, or one address of it. The caller asks the gate for the role of owner.

Each rule has a machine of its own, which has the role publisher in that namespace and nothing else. Releases name it,
and so do audit rows; only an exchange makes tokens for it.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from apps.accounts import creations
from apps.accounts.access import connections, machines
from apps.accounts.access.gate import NOBODY, Viewer, namespace_for
from apps.accounts.access.people_only import people_only
from apps.accounts.identity import tokens
from apps.accounts.identity.trusted.declarations import Field, How, Vendor
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import ApiToken, Namespace, Role, TokenExchange, TrustedPublisher
from apps.audit.kinds import Kind
from apps.contrib.trusted import matching
from apps.contrib.trusted.issuers import issuer_of
from apps.lib.errors import Conflict, Invalid, existing
from apps.releases.catalogue import reading

# A rule for an address that does not exist yet, as long as nobody uses it.
UNUSED_LIFETIME = timedelta(days=30)
MAX_RULES = 100
MAX_CLAIMS = 20
LONGEST_TEXT = 200
# Checked for every token anyway; and `sub`, whose format is the issuer's to change.
NO_RULE = frozenset({"sub", "iss", "aud", "exp", "nbf", "iat", "jti"})
_IN_URL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule that was checked, and is not saved."""

    vendor: Vendor
    issuer: str
    fields: dict[str, Any]
    only_name: str

    @property
    def claims(self) -> dict[str, Any]:
        return matching.expected(self.vendor, self.issuer, self.fields, {})

    @property
    def digest(self) -> str:
        decides = [self.vendor.kind, self.issuer, self.fields, self.only_name.lower()]
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def draft(*, kind: str, only_name: str = "", issuer: str = "", **given: Any) -> Draft:
    """Check a rule, for its preview. Raises Invalid."""
    vendor = VENDORS.get(kind)
    if vendor is None:
        raise Invalid(f"There is no kind {kind[:80]!r}.", hint=f"Kinds are {', '.join(VENDORS)}.")
    named = {name: value for name, value in given.items() if value not in (None, "", False)}
    fields = _fields(vendor, named) if vendor.fields else _exact_claims(named)
    tokens.check_only_name(only_name)
    return Draft(vendor, issuer_of(vendor, issuer.strip(), fields), fields, only_name)


@people_only("add trusted publishers")
def create(*, namespace: Namespace, actor: Viewer, **given: Any) -> TrustedPublisher:
    """Add the rule. Raises Invalid and Conflict."""
    checked = draft(**given)
    try:
        return _create(namespace, checked, actor)
    except IntegrityError:
        raise Conflict(
            f"{namespace} has the same trusted publisher already.", hint="See the list of trusted publishers."
        ) from None


@transaction.atomic
def _create(namespace: Namespace, checked: Draft, actor: Viewer) -> TrustedPublisher:
    row = connections.lock_as_owner(namespace, actor)
    if row is None:
        raise Conflict(f"The namespace {namespace} was deleted.", hint="Create it again first.")
    if of(row).count() >= MAX_RULES:
        raise Conflict(f"{row} has {MAX_RULES} trusted publishers, the maximum.", hint="Delete one first.")
    machine = machines.make(row, actor)
    is_new = bool(checked.only_name) and not reading.is_named(row, checked.only_name)
    rule = TrustedPublisher.objects.create(
        namespace=row,
        user=machine,
        kind=checked.vendor.kind,
        issuer=checked.issuer,
        only_name=checked.only_name,
        fields=checked.fields,
        digest=checked.digest,
        created_by=actor.user,
        created_by_token=actor.token,
        expires_at=timezone.now() + UNUSED_LIFETIME if is_new else None,
    )
    machines.name(machine, row, f"{rule.kind}-{rule.pk}")
    actor.record(
        Kind.TRUSTED_PUBLISHER_ADDED,
        subject=subject_of(rule),
        publisher=rule.pk,
        user=machine.pk,
        vendor=rule.kind,
        issuer=rule.issuer,
        only_name=rule.only_name,
        fields=rule.fields,
    )
    return rule


@transaction.atomic
def end(*, publisher: TrustedPublisher, actor: Viewer) -> None:
    """Delete the rule for its owners: its tokens end at once, its row and machine stay. Safe to repeat."""
    row = TrustedPublisher.objects.select_for_update().get(pk=publisher.pk)
    if row.ended_at is not None:
        return
    row.ended_at = publisher.ended_at = timezone.now()
    row.save(update_fields=["ended_at"])
    _revoke_tokens(row, actor)
    machines.end(row.user_id)
    actor.record(Kind.TRUSTED_PUBLISHER_DELETED, subject=subject_of(row), publisher=row.pk, user=row.user_id)


def _revoke_tokens(rule: TrustedPublisher, actor: Viewer) -> None:
    for token in ApiToken.objects.usable(timezone.now()).filter(user=rule.user_id).order_by("pk"):
        tokens.revoke(token=token, actor=actor)


def _stop(rule: TrustedPublisher, actor: Viewer) -> None:
    """Its runs end at once. The row is locked by its change, so that no exchange makes another token meanwhile."""
    _revoke_tokens(rule, actor)
    machines.suspend(rule.user_id)


def _name(rule: TrustedPublisher) -> str:
    """Return a name that an owner recognises: the vendor, the repository, and the account that its releases name."""
    vendor, fields = vendor_of(rule), fields_of(rule)
    whose = next((str(fields[one.name]) for one in vendor.fields if one.identifies and one.name in fields), rule.issuer)
    return f"{vendor.label} {whose} as {rule.user.username}"


CONNECTIONS = connections.Source(
    kind="trusted-publisher",
    noun="trusted publisher",
    rows=lambda: TrustedPublisher.objects.filter(ended_at=None, namespace__deleted_at=None).select_related("user"),
    name=_name,
    path=lambda rule: reverse("portal:trusted-publishers", args=[rule.namespace.name]),
    stop=_stop,
    resume=lambda rule, actor: machines.resume(rule.user_id, rule.namespace, actor),
    place=1,
    machine="trusted_publisher",
)


def _end_as(publisher: TrustedPublisher, actor: Viewer) -> None:
    namespace_for(actor, publisher.namespace.name, need=Role.OWNER)
    end(publisher=publisher, actor=actor)


CREATED_BY_TOKENS = creations.Source(
    "trusted publisher",
    lambda: TrustedPublisher.objects.filter(ended_at=None).select_related("namespace", "user"),
    lambda publisher: f"{publisher.user} of {publisher.namespace}",
    _end_as,
)


def end_all(*, namespace: Namespace, actor: Viewer) -> None:
    """For a namespace that is deleted: created again, it has none."""
    for rule in TrustedPublisher.objects.filter(namespace=namespace, ended_at=None).order_by("pk"):
        end(publisher=rule, actor=actor)


def end_unused() -> int:
    """End the rules that have expired unused; return how many."""
    expired = list(TrustedPublisher.objects.filter(ended_at=None, expires_at__lte=timezone.now()).order_by("pk"))
    for rule in expired:
        end(publisher=rule, actor=NOBODY)
    return len(expired)


def of(namespace: Namespace) -> QuerySet[TrustedPublisher]:
    """Return the rules of the namespace that have not ended, in the order in which they were added."""
    return rules().filter(namespace=namespace).select_related("namespace", "user", "created_by")


def rules() -> QuerySet[TrustedPublisher]:
    """Return all rules that have not ended, in the order in which they were added."""
    return TrustedPublisher.objects.filter(ended_at=None).order_by("pk")


def publisher_of(namespace: Namespace, number: int) -> TrustedPublisher:
    """Raises NotFound."""
    found = of(namespace).filter(pk=number).first()
    return existing(found, f"{namespace} has no such trusted publisher.", hint="See the list of trusted publishers.")


def recent_exchanges(namespace: Namespace, *, number: int | None = None) -> QuerySet[TokenExchange]:
    """Return the attempts at the rules of the namespace, the newest first; those of one rule with its `number`."""
    which = Q() if number is None else Q(publisher=number)
    rows = TokenExchange.objects.filter(which, publisher__namespace=namespace)
    return rows.select_related("publisher__namespace").order_by("-at", "-pk")


def vendor_of(rule: TrustedPublisher) -> Vendor:
    return VENDORS[rule.kind]


def fields_of(rule: TrustedPublisher) -> dict[str, Any]:
    """Return what the rule names, with the pinned ids."""
    return {**rule.fields, **rule.pinned}


def claims_of(rule: TrustedPublisher) -> dict[str, Any]:
    """Return the claims that would pass."""
    return matching.expected(vendor_of(rule), rule.issuer, rule.fields, rule.pinned)


def refusals_of(vendor: Vendor) -> list[str]:
    """Return what the vendor's rules refuse whatever they name, in words."""
    return [refusal.sentence for refusal in vendor.refusals]


def warnings_of(vendor: Vendor, fields: Mapping[str, Any]) -> list[str]:
    """Say what is weak about a rule, for its owner."""
    found = [vendor.weaker] if vendor.weaker else []
    if vendor.protects and not any(fields.get(name) for name in vendor.protects):
        labels = [one.label.lower() for one in vendor.fields if one.name in vendor.protects]
        found.append(f"Anyone who can push a branch can publish. To prevent that, set one of: {', '.join(labels)}.")
    return found


def subject_of(rule: TrustedPublisher) -> str:
    return f"{rule.namespace.name}/{rule.only_name}" if rule.only_name else rule.namespace.name


def _fields(vendor: Vendor, given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(given.keys() - set(vendor.field_names))
    if unknown:
        raise Invalid(
            f"A rule of the kind {vendor.kind} has no {unknown[0][:80]}.",
            hint=f"It has: {', '.join(vendor.field_names)}.",
        )
    found = {one.name: _value(vendor, one, given[one.name]) for one in vendor.fields if one.name in given}
    missing = next((one for one in vendor.fields if one.is_required and not found.get(one.name)), None)
    if missing is not None:
        raise Invalid(f"{missing.name}: a rule for {vendor.label} needs it.", hint=missing.help)
    if vendor.one_of and not any(found.get(name) for name in vendor.one_of):
        raise Invalid(
            f"A rule for {vendor.label} needs {' or '.join(vendor.one_of)}: its tokens do not tell a pull request.",
            hint="Use a ref or environment that only reviewed code reaches.",
        )
    return found


def _value(vendor: Vendor, one: Field, given: Any) -> Any:
    if one.how is How.TRUE:
        if given is not True:
            raise Invalid(f"{one.name} is {given!a:.40}, expected true or false.", hint="Leave it out for false.")
        return True
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise Invalid(f"{one.name}: found {type(given).__name__}, expected text.", hint="Write it as the vendor does.")
    text = str(given).strip().removeprefix(one.strips)
    if not 0 < len(text) <= LONGEST_TEXT or not text.isprintable():
        raise Invalid(f"{one.name}: expected 1 to {LONGEST_TEXT} characters that can be printed.")
    if "*" in (text[:-1] if one.how is How.REF else text) or text == "*":
        hint = "Only a ref may end in *." if one.how is not How.REF else "Write * only at the end, as in refs/tags/v*."
        raise Invalid(f"{one.name} is {text!r}, expected it in full.", hint=hint)
    if one.how is How.FILE and "@" in text:
        raise Invalid(f"{one.name} is {text!r}, expected a file without @ and ref.", hint="Use `ref` for the ref.")
    if one.pattern and not re.fullmatch(one.pattern, text):
        raise Invalid(
            f"{one.name} is {text!r}, expected it with its owner, as {vendor.label} writes it.",
            hint=f"Such as {one.example}.",
        )
    if f"{{{one.name}}}" in vendor.issuer and not _IN_URL.fullmatch(text):
        raise Invalid(f"{one.name} is {text!r}, expected letters, digits, dots and dashes: it is a part of the issuer.")
    return text


def _exact_claims(given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(given.keys() - {"claims"})
    claims = given.get("claims")
    if unknown:
        raise Invalid(f"A rule of the kind oidc has no {unknown[0][:80]}.", hint="It has issuer, claims and only_name.")
    if not isinstance(claims, Mapping) or not 0 < len(claims) <= MAX_CLAIMS:
        raise Invalid(
            f"claims: expected an object with 1 to {MAX_CLAIMS} claims and their exact values.",
            hint="Name the repository by its id, the workflow and the environment.",
        )
    for name, value in claims.items():
        if name in NO_RULE:
            raise Invalid(
                f"claims: {name} is not for a rule.",
                hint="Larder checks it for every token."
                if name != "sub"
                else "Its format can change: use the claims that it is made of.",
            )
        if not isinstance(value, str | int) or not 0 < len(str(value)) <= LONGEST_TEXT or len(name) > LONGEST_TEXT:
            raise Invalid(
                f"claims: the value of {name[:80]} is not usable.",
                hint=f"Write its exact value: text of 1 to {LONGEST_TEXT} characters, a whole number, true or false.",
            )
    return {"claims": dict(claims)}
