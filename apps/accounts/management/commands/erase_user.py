"""`manage.py erase_user NAME [--hand-to USER]`: erase a person who has left."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from apps.accounts import erasure
from apps.accounts.access.gate import NOBODY
from apps.accounts.management.base import RegistryCommand
from apps.accounts.models import User
from apps.accounts.people import accounts


class Command(RegistryCommand):
    help = "Erase a person: their name, addresses, tokens, sessions and roles. Their releases stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--hand-to",
            metavar="USER",
            help="The person who takes over the namespaces and teams that only they own or manage.",
        )
        parser.add_argument("--yes", action="store_true", help="Skip the confirmation.")

    def handle(self, **options: Any) -> None:
        user = _user(options["name"])
        hand_to = _user(options["hand_to"]) if options["hand_to"] else None
        behind = accounts.left_behind(user)
        if behind and hand_to is None:
            raise CommandError(f"{user} is {behind}. Name a successor with --hand-to USER, or add other owners first.")
        name = user.username
        if not options["yes"]:
            self.stderr.write(
                f"This erases {name}: the name, addresses, tokens, sessions and roles. It cannot be undone."
            )
            if behind:
                self.stderr.write(f"{name} is {behind}: {hand_to} takes over.")
            if input(f"Type {name} to continue: ").strip() != name:
                raise CommandError("Nothing was changed.")
        erasure.erase(user=user, actor=NOBODY, hand_to=hand_to)
        self.stderr.write(
            f"{name} is erased and is now called {user.username}. Texts by other people (descriptions, notes, README "
            "files, logs, backups) were not searched."
        )


def _user(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user {name!r}. The admin lists all users.")
    return user
