from django.http import HttpRequest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User


def actor_of(request: HttpRequest) -> Viewer:
    assert isinstance(request.user, User)  # noqa: S101  # the admin lets nobody in who is not signed in
    return Viewer(request.user)
