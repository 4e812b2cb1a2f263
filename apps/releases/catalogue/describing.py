"""Descriptions of a module or provider across its versions: lines of plain text and the URL of its repository."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Model

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind as Event
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import Invalid

MAX_CHARACTERS = 300
_EXAMPLE = "Use the address that opens the repository in a browser: https://git.example.com/team/code"


@transaction.atomic
def save_changes(
    parent: Model,
    wanted: Mapping[str, str | None],
    *,
    actor: Viewer,
    kind: Event,
    address: ModuleAddress | ProviderAddress,
    refresh: Callable[[Any], None],
) -> None:
    """Save changed fields of a module or provider (None leaves one as it is), with its search entry and audit row."""
    rows = type(parent)._default_manager  # noqa: SLF001  # Django's public name for it
    row = rows.select_for_update(no_key=True).get(pk=parent.pk)
    given = {field: value for field, value in wanted.items() if value is not None}
    changes = {field: [getattr(row, field), value] for field, value in given.items() if value != getattr(row, field)}
    if not changes:
        return
    rows.filter(pk=row.pk).update(**{field: given[field] for field in changes})
    for field, value in given.items():
        setattr(row, field, value)
    for field in wanted:
        setattr(parent, field, getattr(row, field))
    refresh(row)
    actor.record(kind, subject=str(address), changes=changes)


def checked_url(text: str) -> str:
    """Return the URL of a repository, which becomes a link on pages, or the empty string. Raises Invalid."""
    url = text.strip()
    if not url:
        return ""
    if len(url) > MAX_CHARACTERS:
        raise Invalid(f"The source URL has {len(url)} characters, expected at most {MAX_CHARACTERS}.")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # an odd port raises here
    except ValueError as error:
        raise Invalid(f"The source URL cannot be read: {error}", hint=_EXAMPLE) from None
    if parts.scheme not in ("http", "https") or not host:
        raise Invalid(
            f"The source URL is {url[:80]!r}, expected one that begins with https:// or http://", hint=_EXAMPLE
        )
    if not url.isprintable() or " " in url:
        raise Invalid("The source URL contains a space or a control character.", hint=_EXAMPLE)
    if parts.username or parts.password:
        raise Invalid("The source URL contains a user name or a password, and everyone can read it.", hint=_EXAMPLE)
    return url


def checked_line(what: str, text: str, *, most: int = MAX_CHARACTERS, hint: str) -> str:
    """Return the text as one line of plain text. Raises Invalid."""
    line = " ".join(text.split())
    if not line.isprintable():
        raise Invalid(f"The {what} contains a control character.", hint="Write one line of plain text.")
    if len(line) > most:
        raise Invalid(f"The {what} has {len(line)} characters, expected at most {most}.", hint=hint)
    return line
