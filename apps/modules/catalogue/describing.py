"""A module's own description: one line, and the URL of its repository."""

from django.db import transaction

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.modules.catalogue import entries
from apps.modules.models import Module
from apps.releases.catalogue.describing import checked_line, checked_url, save_changes

__all__ = ["checked_url", "describe"]

SHORTER = "Describe the module in one line; the README has the details."


@transaction.atomic
def describe(*, module: Module, actor: Viewer, description: str | None = None, source_url: str | None = None) -> None:
    """Change the given fields; None leaves a field unchanged. Raises Invalid.

    If the description is empty, pages show the first words of the README. Update bots follow the URL to the changelog.
    """
    fields = {
        "description": None if description is None else checked_line("description", description, hint=SHORTER),
        "source_url": None if source_url is None else checked_url(source_url),
    }
    row = Module.objects.select_for_update(no_key=True).get(pk=module.pk)
    changes = save_changes(row, fields)
    if not changes:
        return
    module.description, module.source_url = row.description, row.source_url
    entries.refresh(row)
    record(
        Kind.MODULE_DESCRIBED,
        actor_id=actor.user_id,
        token_id=actor.token_id,
        subject=str(module.address),
        changes=changes,
    )
