"""`manage.py set_password NAME`: set a new password and print it once, alone on stdout."""

import secrets

from apps.accounts.access.gate import NOBODY
from apps.accounts.management.base import PersonCommand
from apps.accounts.models import User
from apps.accounts.people import accounts

PASSWORD_BYTES = 15


class Command(PersonCommand):
    help = "Print a new password for an account and end its sessions. Its API tokens stay valid."

    def act(self, user: User) -> None:
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        accounts.set_password(user=user, actor=NOBODY, password=password)
        self.stderr.write(f"New password of {user}, who can change it on the account page after signing in:")
        self.stdout.write(password)
