"""Record each attempt to exchange an id token: in the audit, and for the owners of the rules that it came close to."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.db import transaction

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity.trusted import actors
from apps.accounts.identity.trusted.declarations import Vendor
from apps.accounts.identity.trusted.publishers import subject_of
from apps.accounts.models import ApiToken, TokenExchange, TrustedPublisher
from apps.audit.kinds import Kind

MAX_CLAIMS = 40
MAX_ITEMS = 10
LONGEST_NAME = 80
LONGEST_VALUE = 200
LONGEST_MESSAGE = 500
# Rules that one attempt is shown at.
MAX_NEAR = 10


def bounded(claims: Mapping[str, Any], *, first: Collection[str] = ()) -> dict[str, Any]:
    """Return claims that a database can store, whatever a stranger wrote: few, short, and flat; `first` among them."""
    ordered = sorted(claims.items(), key=lambda item: item[0] not in first)
    return {_text(name)[:LONGEST_NAME]: _bounded(value) for name, value in ordered[:MAX_CLAIMS]}


def _bounded(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, list):
        return [_bounded(one) if not isinstance(one, list) else _text(repr(one)) for one in value[:MAX_ITEMS]]
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    return _text(value if isinstance(value, str) else repr(value))


def _text(value: str) -> str:
    return value[:LONGEST_VALUE].replace("\0", "").encode(errors="replace").decode()


def origin_of(vendor: Vendor, claims: Mapping[str, Any]) -> dict[str, str]:
    """Return where a run comes from by the same names for each vendor, such as repository, commit, workflow and run."""
    found = {name: claims.get(claim) for name, claim in vendor.origin.items()}
    return {name: _text(str(value)) for name, value in found.items() if isinstance(value, str | int) and value != ""}


@transaction.atomic
def refused(
    *, claims: Mapping[str, Any], claim: str, message: str, is_verified: bool, near: Iterable[TrustedPublisher]
) -> None:
    """`near` are rules that it was meant for; of tokens without a valid signature there are none."""
    said = bounded(claims)
    detail = {"claim": claim, "message": _text(message)[:LONGEST_VALUE], "verified": is_verified, "claims": said}
    rules = list(near)[:MAX_NEAR]
    for rule in rules:
        TokenExchange.objects.create(
            publisher=rule, claims=said, refused=_text(claim)[:60], message=message[:LONGEST_MESSAGE]
        )
        NOBODY.record(Kind.TRUSTED_EXCHANGE_REFUSED, subject=subject_of(rule), publisher=rule.pk, **detail)
    if not rules:
        NOBODY.record(Kind.ID_TOKEN_REFUSED, subject="id-token", **detail)


def accepted(*, rule: TrustedPublisher, vendor: Vendor, token: ApiToken, claims: Mapping[str, Any]) -> TokenExchange:
    """In the transaction that makes the token. Releases copy the claims."""
    said = bounded(claims, first=vendor.claims)
    who = sorted(actors.marks_of(vendor, rule.issuer, claims))
    row = TokenExchange.objects.create(publisher=rule, claims=said, token=token, actor=who)
    Viewer(rule.user, token).record(
        Kind.TRUSTED_EXCHANGED,
        subject=subject_of(rule),
        publisher=rule.pk,
        vendor=rule.kind,
        issuer=rule.issuer,
        origin=origin_of(vendor, claims),
        claims=said,
    )
    return row
