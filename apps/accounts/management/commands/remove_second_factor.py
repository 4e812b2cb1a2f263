"""`manage.py remove_second_factor NAME`: for a person who lost the app and the recovery codes."""

from django.core.management.base import CommandError

from apps.accounts.access.gate import NOBODY
from apps.accounts.identity import second_factor
from apps.accounts.management.base import PersonCommand
from apps.accounts.models import User


class Command(PersonCommand):
    help = "Turn off a person's second factor. Verify first that the request comes from them."

    def act(self, user: User) -> None:
        if not second_factor.is_on(user):
            raise CommandError(f"{user} has no second factor.")
        second_factor.remove(user=user, actor=NOBODY)
        self.stderr.write(f"{user} now signs in without a second factor.")
