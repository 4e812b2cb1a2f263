"""Shared code of this room's commands."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.models import User
from apps.accounts.people import accounts
from apps.lib.errors import RegistryError


class RegistryCommand(BaseCommand):
    """Shows a refusal with its hint instead of a traceback."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}") from None


class PersonCommand(RegistryCommand):
    """`manage.py … NAME`, about one active person."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, **options: Any) -> None:
        self.act(accounts.user_named(options["name"]))

    def act(self, user: User) -> None:
        raise NotImplementedError
