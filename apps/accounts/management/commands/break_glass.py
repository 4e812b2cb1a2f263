"""`manage.py break_glass NAME`: print a link that signs an operator in once, alone on stdout."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from apps.accounts.identity import break_glass
from apps.accounts.people import accounts
from apps.lib.errors import RegistryError


class Command(BaseCommand):
    help = "Print a link that signs an operator in once, without a password and without the identity provider."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, **options: Any) -> None:
        try:
            secret = break_glass.issue(accounts.user_named(options["name"]))
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}") from None
        self.stderr.write(f"Works once, for {break_glass.LIFETIME.seconds // 60} minutes. It is recorded in the audit:")
        # The page belongs to a room above, of which only the URL name is known here.
        self.stdout.write(settings.PUBLIC_URL + reverse("portal:break-glass", args=[secret]))
