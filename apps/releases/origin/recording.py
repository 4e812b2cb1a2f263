"""Record where a release comes from, when its number is reserved: afterwards the token is gone."""

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.trusted import attempts
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.rows import TokenExchange
from apps.releases.models import Release
from apps.releases.origin.rows import Origin, Way


def record(release: Release, viewer: Viewer, way: Way) -> Origin:
    """In the transaction that reserves."""
    origin = Origin(release=release, way=way, token_label=viewer.token.label if viewer.token else "")
    exchange = _exchange_of(viewer)
    if exchange is not None:
        rule = exchange.publisher
        origin.publisher, origin.vendor, origin.issuer = rule, rule.kind, rule.issuer
        origin.claims = exchange.claims
        origin.facts = attempts.origin_of(VENDORS[rule.kind], exchange.claims)
    origin.save()
    return origin


def _exchange_of(viewer: Viewer) -> TokenExchange | None:
    """Only machines have tokens that were exchanged."""
    if viewer.token is None or viewer.user is None or not viewer.user.is_service:
        return None
    return TokenExchange.objects.select_related("publisher").filter(token=viewer.token_id).first()
