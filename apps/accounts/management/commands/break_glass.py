"""`manage.py break_glass NAME`: print a link that signs an operator in once, alone on stdout."""

from django.conf import settings
from django.urls import reverse

from apps.accounts.identity import break_glass
from apps.accounts.management.base import PersonCommand
from apps.accounts.models import User


class Command(PersonCommand):
    help = "Print a link that signs an operator in once, without a password and without the identity provider."

    def act(self, user: User) -> None:
        secret = break_glass.issue(user)
        self.stderr.write(
            f"Works once, for {break_glass.LIFETIME.seconds // 60} minutes. Its use is recorded in the audit log:"
        )
        # The page belongs to a room above, of which only the URL name is known here.
        self.stdout.write(settings.PUBLIC_URL + reverse("portal:break-glass", args=[secret]))
