"""What a module's publishers say of it beyond its versions: one line, and where its repository is."""

from urllib.parse import urlsplit

from django.db import transaction

from apps.accounts.access import Viewer
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import Invalid
from apps.modules import catalogue
from apps.modules.models import Module

LONGEST = 300


@transaction.atomic
def describe(*, module: Module, actor: Viewer, description: str | None = None, source_url: str | None = None) -> None:
    """Change what is given; None leaves it. Raises Invalid.

    An empty description gives way to the first words of the README. Update bots follow the URL to the changelog.
    """
    row = Module.objects.select_for_update(no_key=True).get(pk=module.pk)
    wanted: dict[str, str] = {}
    if description is not None:
        wanted["description"] = _one_line(description)
    if source_url is not None:
        wanted["source_url"] = checked_url(source_url)
    changes = {field: [getattr(row, field), value] for field, value in wanted.items() if value != getattr(row, field)}
    if not changes:
        return
    for field in changes:
        setattr(row, field, wanted[field])
        setattr(module, field, wanted[field])
    Module.objects.filter(pk=row.pk).update(**{field: wanted[field] for field in changes})
    catalogue.refresh(row)
    record(
        Kind.MODULE_DESCRIBED,
        actor_id=actor.user_id,
        token_id=actor.token_id,
        subject=str(module.address),
        changes=changes,
    )


def checked_url(text: str) -> str:
    """The URL of a repository as browsers open it, or nothing. Raises Invalid: it becomes a link on pages."""
    url = text.strip()
    if not url:
        return ""
    if len(url) > LONGEST:
        raise Invalid(f"The source URL has {len(url)} characters, expected at most {LONGEST}.")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # an odd port raises here
    except ValueError as error:
        raise Invalid(f"The source URL cannot be read: {error}", mend=_EXAMPLE) from None
    if parts.scheme not in ("http", "https") or not host:
        raise Invalid(
            f"The source URL is {url[:80]!r}, expected one that begins with https:// or http://", mend=_EXAMPLE
        )
    if not url.isprintable() or " " in url:
        raise Invalid("The source URL holds a space or a control character.", mend=_EXAMPLE)
    if parts.username or parts.password:
        raise Invalid("The source URL holds a user name or a password, and everybody can read it.", mend=_EXAMPLE)
    return url


_EXAMPLE = "Use the address that opens the repository in a browser: https://git.example.com/team/module"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    if not line.isprintable():
        raise Invalid("The description holds a control character.", mend="Write one line of plain text.")
    if len(line) > LONGEST:
        raise Invalid(
            f"The description has {len(line)} characters, expected at most {LONGEST}.",
            mend="Say in one line what the module is for; the README says the rest.",
        )
    return line
