"""The consequences of revoking tokens: the clients that used them lately, and what they created."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from django.utils import timezone

from apps.accounts import creations
from apps.accounts.models import ApiToken, User
from apps.releases.lifecycle.impact import DAYS, Consequences, Effect, Hit, Hitting, Words, consequences_of

WORDS = {
    Effect.FAILS: Words("is refused from now on", "are refused from now on", "{} that are refused from now on"),
    Effect.KEEPS: Words("stays", "stay", "{} that the token created, and that stay"),
}


def of_tokens(tokens: Iterable[ApiToken], *, ends_creations: bool = False) -> Consequences:
    """Count no client of a token that has ended already. `ends_creations`: what they created ends with them."""
    hits = [hit for token in tokens for hit in _hit_by(token, ends_creations=ends_creations)]
    return consequences_of(hits, words=WORDS)


def of_account(user: User) -> Consequences:
    """Those of revoking all its tokens that still work."""
    return of_tokens(ApiToken.objects.usable(timezone.now()).filter(user=user).select_related("user").order_by("pk"))


def _hit_by(token: ApiToken, *, ends_creations: bool) -> Iterator[Hit]:
    at = token.last_used_at
    if token.is_usable and at is not None and at > timezone.now() - timedelta(days=DAYS):
        client = token.last_used_by or "A client"
        yield Hit(Hitting.CLIENT, client, Effect.FAILS, by=token.user.username, note=token.last_used_from or "", at=at)
    effect = Effect.FAILS if ends_creations else Effect.KEEPS
    for one in creations.creations_of(token):
        yield Hit(Hitting.CREATION, one.name, effect, note=one.kind, at=one.at)
