from django.http import HttpRequest

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.identity import sessions
from apps.accounts.models import User


def session_viewer(request: HttpRequest) -> Viewer:
    """Return the viewer of a page, by session."""
    return (
        Viewer(user=request.user, session=sessions.digest_of_request(request))
        if isinstance(request.user, User)
        else NOBODY
    )
