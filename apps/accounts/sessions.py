"""Browser sessions of one person, ended at once."""

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session

from apps.accounts.models import User


def end_all(user: User) -> int:
    """Sign the person out everywhere; answers in how many browsers they were.

    A session knows its person only inside its signed data, so each is opened: some twenty microseconds apiece.
    """
    theirs = [
        session.pk
        for session in Session.objects.order_by("pk").iterator()
        if session.get_decoded().get(SESSION_KEY) == str(user.pk)
    ]
    Session.objects.filter(pk__in=theirs).delete()
    return len(theirs)
