"""Upload tickets in this browser's session, so that a reload or a second tab shows the file form again (D2).

A ticket is for one upload of one reserved release and lapses within an hour; the session keeps the newest few.
"""

from django.http import HttpRequest

from apps.lib.errors import RegistryError
from apps.releases.models import Release
from apps.releases.publishing import reserving

MAX_TICKETS = 8
_KEY = "upload-tickets"


def remember(request: HttpRequest, release: Release, ticket: str) -> None:
    tickets = dict(request.session.get(_KEY, {}))
    tickets[str(release.public_id)] = ticket
    request.session[_KEY] = dict(list(tickets.items())[-MAX_TICKETS:])


def ticket_for(request: HttpRequest, release: Release) -> str:
    """The unused ticket of this browser for the release, or ""."""
    ticket = str(request.session.get(_KEY, {}).get(str(release.public_id), ""))
    if not ticket:
        return ""
    try:
        owner = reserving.release_of_ticket(ticket)
    except RegistryError:
        return ""
    return ticket if owner.pk == release.pk else ""
