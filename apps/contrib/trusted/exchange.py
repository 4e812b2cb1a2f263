"""Exchange an id token of a CI run for an API token of 15 minutes that publishes what a rule says, and nothing else.

Nothing is asked of an issuer that no rule names. A claim counts, and is shown to an owner, only after the signature was
checked. The database is not kept in a transaction while keys are read.

Two rules that fit: they may say different things, so the sender names the address (`address`), and is refused without.
If both allow the same, the one that names more counts, then the older one.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.access import connections
from apps.accounts.identity import tokens
from apps.accounts.identity.trusted import kept_claims
from apps.accounts.models import ApiToken, Namespace, TokenExchange, TrustedPublisher, UsedIdToken
from apps.contrib.trusted import attempts, matching, publishers, reading
from apps.contrib.trusted.issuers import Issuer, is_allowed
from apps.contrib.trusted.matching import Mismatch
from apps.contrib.trusted.reading import Read
from apps.contrib.trusted.refusals import ExchangeRefused, shown
from apps.lib.addresses import canonical
from apps.lib.errors import Conflict, Invalid, NotFound, RegistryError, TooLarge, TooManyAttempts, Unavailable

TOKEN_LIFETIME = timedelta(minutes=15)
# A used token is remembered longer than it is accepted.
MEMORY = timedelta(minutes=10)
MAX_SENTENCES = 3


class SeveralRules(Conflict):
    """More than one rule fits, and they allow different things."""


@dataclass(frozen=True, slots=True)
class Candidate:
    rule: TrustedPublisher
    wrong: list[Mismatch]
    is_near: bool


def exchange(
    text: str, *, address: str = "", count_refusal: Callable[[], None] = lambda: None
) -> tuple[ApiToken, str, TokenExchange]:
    """Return the API token, its secret, and the record of the exchange.

    Raises Invalid, TooLarge, ExchangeRefused, SeveralRules, NotFound and Unavailable; all of them are recorded. Before
    it records one, it calls `count_refusal`, whose TooManyAttempts takes the place of the refusal and its record: a
    stranger's bad tokens neither stop the good ones from the same address nor fill the audit.
    """
    # It imports PyJWT and cryptography.
    from apps.contrib.trusted import verifying

    try:
        token = reading.read(text)
    except (Invalid, TooLarge) as refused:
        count_refusal()
        attempts.refused(claims={}, claim="token", message=str(refused), is_verified=False, near=())
        raise
    try:
        if not _is_named(token.issuer):
            raise ExchangeRefused("iss", f"no trusted publisher names the issuer {shown(token.claims.get('iss'))}.")
        verifying.check_signature(token, Issuer(token.issuer))
    except Unavailable as away:
        # The run may be a good one: it must learn that trying again helps. Only its record is limited.
        with suppress(TooManyAttempts):
            count_refusal()
            _record_unverified(token, "keys", away)
        raise
    except ExchangeRefused as refused:
        count_refusal()
        _record_unverified(token, refused.claim, refused)
        raise
    # Those that have ended say why nothing fits.
    rows = TrustedPublisher.objects.filter(issuer=token.issuer).select_related("namespace", "user").order_by("pk")
    now, rules = timezone.now(), [rule for rule in rows if _counts(rule)]
    try:
        verifying.check_times(token.claims, now=now)
        candidates = [_candidate(rule, token, now) for rule in rules]
        rule, only_name = _chosen(candidates, token, address, now)
        used = verifying.use_once(token, publishers.vendor_of(rule))
        return _mint(rule, only_name, token, used, now)
    except RegistryError as refused:
        count_refusal()
        attempts.refused(
            claims=token.claims,
            claim=getattr(refused, "claim", "address"),
            message=str(refused),
            is_verified=True,
            near=[rule for rule in rules if _is_near(rule, token)],
        )
        raise


def _record_unverified(token: Read, claim: str, why: Exception) -> None:
    attempts.refused(claims=token.claims, claim=claim, message=str(why), is_verified=False, near=())


def _is_named(issuer: str) -> bool:
    """Return whether any rule names it. The first that does is enough: before the signature, all of them cost too much
    of what any stranger may ask for.
    """
    if not issuer or len(issuer) > 200 or "\0" in issuer:  # noqa: PLR2004  # the column's width
        return False
    rows = TrustedPublisher.objects.filter(issuer=issuer).order_by("pk")
    return any(_counts(rule) for rule in rows[:1]) or any(_counts(rule) for rule in rows[1:])


def _counts(rule: TrustedPublisher) -> bool:
    return is_allowed(publishers.vendor_of(rule), rule.issuer, rule.fields)


def _is_near(rule: TrustedPublisher, token: Read) -> bool:
    return matching.is_near(publishers.vendor_of(rule), publishers.fields_of(rule), token.claims)


def _candidate(rule: TrustedPublisher, token: Read, now: datetime) -> Candidate:
    return Candidate(rule, _wrong(rule, token, now), _is_near(rule, token))


def _wrong(rule: TrustedPublisher, token: Read, now: datetime) -> list[Mismatch]:
    vendor, fields = publishers.vendor_of(rule), publishers.fields_of(rule)
    return list(matching.mismatches(vendor, rule.issuer, fields, token.claims, now=now))


def _over(rule: TrustedPublisher, now: datetime) -> str:
    """Say why the rule no longer counts; empty if it does."""
    if rule.namespace.deleted_at is not None:
        return f"the namespace {rule.namespace} of its trusted publisher was deleted"
    if rule.ended_at is not None:
        return f"its trusted publisher in {rule.namespace} was deleted"
    if rule.expires_at is not None and rule.expires_at <= now:
        return (
            f"its trusted publisher in {rule.namespace} expired on {rule.expires_at:%Y-%m-%d}, "
            f"after {publishers.UNUSED_LIFETIME.days} days without use"
        )
    if rule.suspended_at is not None:
        return (
            f"its trusted publisher in {rule.namespace} is suspended since {rule.suspended_at:%Y-%m-%d} until an owner "
            f"confirms it: {rule.suspended_reason.rstrip('.')}"
        )
    return ""


def _chosen(candidates: Iterable[Candidate], token: Read, address: str, now: datetime) -> tuple[TrustedPublisher, str]:
    """Return the rule that fits, and the name that its token is limited to."""
    found = list(candidates)
    fitting = [one.rule for one in found if not one.wrong and not _over(one.rule, now)]
    if not fitting:
        raise _why_none(found, token, now)
    name = ""
    if address:
        space, _, name = address.partition("/")
        fitting = _at(fitting, space, name)
        if not fitting:
            raise NotFound(
                f"No trusted publisher lets this run publish {shown(address)}.", hint="Check the spelling of address."
            )
    rights = {(rule.namespace_id, canonical(rule.only_name)): rule for rule in fitting}
    if len(rights) > 1:
        named = ", ".join(sorted(publishers.subject_of(rule) for rule in rights.values()))
        raise SeveralRules(
            f"This run fits {len(rights)} trusted publishers: {named}.",
            hint="Send address as well, such as namespace/name/system, to say which one.",
        )
    rule = min(fitting, key=lambda one: (-len(one.fields), one.pk))
    return rule, rule.only_name or name


def _at(rules: list[TrustedPublisher], space: str, name: str) -> list[TrustedPublisher]:
    """Return the rules for the address: those for it alone, else those for all of its namespace."""
    if name:
        tokens.check_only_name(name)
    there = [rule for rule in rules if rule.namespace.canonical == canonical(space)]
    if not name:
        return there
    alone = [rule for rule in there if canonical(rule.only_name) == canonical(name)]
    return alone or [rule for rule in there if not rule.only_name]


def _why_none(candidates: list[Candidate], token: Read, now: datetime) -> ExchangeRefused:
    """The rule that comes closest says what is wrong. A token that is meant for none learns nothing of any."""
    near = [one for one in candidates if one.is_near]
    counting = [one for one in near if not _over(one.rule, now)]
    if counting:
        closest = min(counting, key=lambda one: len(one.wrong))
        claim = closest.wrong[0].claim
        others = [f"{one.claim}: {one.sentence}" for one in closest.wrong[1:MAX_SENTENCES] if one.claim != claim]
        hint = "The trusted publishers page of the namespace shows the claims that pass."
        return ExchangeRefused(claim, " Also ".join([closest.wrong[0].sentence, *others]), hint=hint)
    claim = _subject_claim(candidates, token)
    if near:
        last = near[-1].rule
        hint = connections.hint_for(last) if last.suspended_at is not None else "An owner can add one again."
        return ExchangeRefused(claim, f"{_over(last, now)}.", hint=hint)
    return ExchangeRefused(
        claim,
        f"no trusted publisher names {shown(token.claims.get(claim))}.",
        hint="An owner of the namespace adds one on its page of trusted publishers.",
    )


def _subject_claim(candidates: list[Candidate], token: Read) -> str:
    """The claim that names the repository, by the first kind of rule whose claim is there."""
    for one in candidates:
        vendor = publishers.vendor_of(one.rule)
        names = [field.claim for field in vendor.fields if field.identifies and field.claim]
        names = names or list(one.rule.fields.get("claims", {}))
        if found := next((name for name in names if name in token.claims), None):
            return found
    vendor = publishers.vendor_of(candidates[0].rule)
    return next((field.claim for field in vendor.fields if field.identifies and field.claim), "iss")


@transaction.atomic
def _mint(
    rule: TrustedPublisher, only_name: str, token: Read, used: tuple[str, float], now: datetime
) -> tuple[ApiToken, str, TokenExchange]:
    """Under the lock of the rule: it may have ended, or another exchange may have pinned other ids meanwhile."""
    row = TrustedPublisher.objects.select_for_update().get(pk=rule.pk)
    row.namespace, row.user = Namespace.including_deleted.get(pk=row.namespace_id), rule.user
    vendor = publishers.vendor_of(row)
    if over := _over(row, now):
        raise ExchangeRefused("iss", f"{over}.")
    if wrong := _wrong(row, token, now):
        raise ExchangeRefused(wrong[0].claim, wrong[0].sentence)
    _claim_once(used)
    if pins := matching.pins_in(vendor, publishers.fields_of(row), token.claims):
        row.pinned, row.pinned_at = {**row.pinned, **pins}, now
    row.last_used_at, row.expires_at = now, None
    row.save(update_fields=["pinned", "pinned_at", "last_used_at", "expires_at"])
    said: dict[str, Any] = kept_claims.origin_of(publishers.vendor_of(row), token.claims)
    words = [row.kind, said.get("repository", ""), f"run {said['run']}" if said.get("run") else ""]
    made, secret = tokens.issue_to_run(
        user=row.user,
        label=" ".join(filter(None, words))[:80],
        namespace=row.namespace,
        only_name=only_name,
        lifetime=TOKEN_LIFETIME,
    )
    record = attempts.accepted(rule=row, vendor=vendor, token=made, claims=token.claims)
    return made, secret, record


def _claim_once(used: tuple[str, float]) -> None:
    """No check before the insert: the unique constraint decides between two at once."""
    digest, expires = used
    until = datetime.fromtimestamp(expires, tz=timezone.get_default_timezone()) + MEMORY
    try:
        with transaction.atomic():
            UsedIdToken.objects.create(digest=digest, expires_at=until)
    except IntegrityError:
        raise ExchangeRefused(
            "jti", "this id token was exchanged before.", hint="Ask for a new id token for each exchange."
        ) from None
