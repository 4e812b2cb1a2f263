"""Record each attempt to exchange an id token: in the audit, and for the owners of the rules that it came close to."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity.trusted import kept_claims
from apps.accounts.identity.trusted.declarations import Vendor
from apps.accounts.models import ApiToken, TokenExchange, TrustedPublisher
from apps.audit.kinds import Kind
from apps.contrib.trusted import actors
from apps.contrib.trusted.publishers import subject_of

LONGEST_MESSAGE = 500
# Rules that one attempt is shown at.
MAX_NEAR = 10


@transaction.atomic
def refused(
    *, claims: Mapping[str, Any], claim: str, message: str, is_verified: bool, near: Iterable[TrustedPublisher]
) -> None:
    """`near` are rules that it was meant for; of tokens without a valid signature there are none."""
    said = kept_claims.bounded(claims)
    detail = {"claim": claim, "message": kept_claims.text(message), "verified": is_verified, "claims": said}
    rules = list(near)[:MAX_NEAR]
    for rule in rules:
        TokenExchange.objects.create(
            publisher=rule, claims=said, refused=kept_claims.text(claim)[:60], message=message[:LONGEST_MESSAGE]
        )
        NOBODY.record(Kind.TRUSTED_EXCHANGE_REFUSED, subject=subject_of(rule), publisher=rule.pk, **detail)
    if not rules:
        NOBODY.record(Kind.ID_TOKEN_REFUSED, subject="id-token", **detail)


def accepted(*, rule: TrustedPublisher, vendor: Vendor, token: ApiToken, claims: Mapping[str, Any]) -> TokenExchange:
    """In the transaction that makes the token. Releases copy the claims."""
    said = kept_claims.bounded(claims, first=vendor.claims)
    who = sorted(actors.marks_of(vendor, rule.issuer, claims))
    row = TokenExchange.objects.create(publisher=rule, claims=said, token=token, actor=who)
    Viewer(rule.user, token).record(
        Kind.TRUSTED_EXCHANGED,
        subject=subject_of(rule),
        publisher=rule.pk,
        vendor=rule.kind,
        issuer=rule.issuer,
        origin=kept_claims.origin_of(vendor, claims),
        claims=said,
    )
    return row
