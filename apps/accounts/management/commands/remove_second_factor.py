"""`manage.py remove_second_factor NAME`: for somebody who lost the app and the recovery codes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.access.gate import NOBODY
from apps.accounts.identity import second_factor
from apps.accounts.people import accounts
from apps.lib.errors import RegistryError


class Command(BaseCommand):
    help = "Turn off somebody's second factor. Make sure that it is they who ask."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, **options: Any) -> None:
        try:
            user = accounts.user_named(options["name"])
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}") from None
        if not second_factor.is_on(user):
            raise CommandError(f"{user} has no second factor.")
        second_factor.remove(user=user, actor=NOBODY)
        self.stderr.write(f"{user} signs in without a second factor now.")
