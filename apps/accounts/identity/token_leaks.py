"""Reports of secret scanners: whoever has a token may end it. To know the token is the proof that it leaked."""

from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone

from apps.accounts.access.gate import NOBODY
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.text.redaction import redact

MAX_URL_LENGTH = 300


def report(found: Mapping[str, str]) -> set[str]:
    """Revoke those texts that are tokens, by {text: where it was found}; return them. One query for all others.

    Tokens that ended before are tokens too: their owner learns that they leaked.
    """
    digests = {tokens.digest_of(text): text for text in found if tokens.is_well_formed(text)}
    rows = list(ApiToken.objects.filter(digest__in=digests).order_by("pk")) if digests else []
    for token in rows:
        _revoke(token, found[digests[token.digest]])
    return {digests[token.digest] for token in rows}


@transaction.atomic
def _revoke(token: ApiToken, url: str) -> None:
    """The first report counts."""
    url = redact(url)[:MAX_URL_LENGTH]
    if not ApiToken.objects.filter(pk=token.pk, leaked_at=None).update(leaked_at=timezone.now(), leaked_url=url):
        return
    tokens.revoke(token=token, actor=NOBODY)
    record(Kind.TOKEN_LEAKED, actor_id=None, subject=f"token/{token.pk}", user=token.user_id, url=url)
