"""`manage.py set_password NAME`: set a new password and print it once, alone on stdout."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.access.gate import NOBODY
from apps.accounts.people import accounts
from apps.lib.errors import RegistryError

PASSWORD_BYTES = 15


class Command(BaseCommand):
    help = "Print a new password for an account and end its sessions. Its API tokens stay valid."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, **options: Any) -> None:
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        try:
            user = accounts.user_named(options["name"])
            accounts.set_password(user=user, actor=NOBODY, password=password)
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}") from None
        self.stderr.write(f"New password of {user}, who can change it on the account page after signing in:")
        self.stdout.write(password)
