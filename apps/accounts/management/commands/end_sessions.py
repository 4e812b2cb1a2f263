"""`manage.py end_sessions NAME`: sign a person out in every browser."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.access.gate import NOBODY
from apps.accounts.identity import sessions
from apps.accounts.people import accounts
from apps.lib.errors import RegistryError


class Command(BaseCommand):
    help = "Sign a person out in every browser. Their password and their API tokens stay valid."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, **options: Any) -> None:
        try:
            user = accounts.user_named(options["name"])
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}") from None
        count = sessions.end_for(user=user, actor=NOBODY)
        self.stdout.write(f"{user} was signed in {count} time{'' if count == 1 else 's'} and is signed out now.")
