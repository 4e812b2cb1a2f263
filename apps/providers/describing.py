"""A provider's own description, for lists, and its notice, for everyone who runs init."""

from django.db import transaction

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.providers import catalogue
from apps.providers.models import Provider
from apps.releases.catalogue.describing import checked_line, checked_url, save_changes

MAX_NOTICE_CHARACTERS = 500
SHORTER = "Describe the provider in one line; its documentation has the details."
BRIEFER = "Terminals show it at every init: write the one thing that users must know, and link to the rest."


@transaction.atomic
def describe(
    *,
    provider: Provider,
    actor: Viewer,
    description: str | None = None,
    source_url: str | None = None,
    notice: str | None = None,
) -> None:
    """Change the given fields; None leaves a field unchanged. Raises Invalid. Clients show the notice at every init."""
    fields = {
        "description": None if description is None else checked_line("description", description, hint=SHORTER),
        "source_url": None if source_url is None else checked_url(source_url),
        "notice": None if notice is None else checked_line("notice", notice, most=MAX_NOTICE_CHARACTERS, hint=BRIEFER),
    }
    row = Provider.objects.select_for_update(no_key=True).get(pk=provider.pk)
    changes = save_changes(row, fields)
    if not changes:
        return
    provider.description, provider.source_url, provider.notice = row.description, row.source_url, row.notice
    catalogue.refresh(row)
    record(
        Kind.PROVIDER_DESCRIBED,
        actor_id=actor.user_id,
        token_id=actor.token_id,
        subject=str(provider.address),
        changes=changes,
    )
