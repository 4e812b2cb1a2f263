"""`manage.py end_sessions NAME`: sign a person out in every browser."""

from apps.accounts.access.gate import NOBODY
from apps.accounts.identity import sessions
from apps.accounts.management.base import PersonCommand
from apps.accounts.models import User


class Command(PersonCommand):
    help = "Sign a person out in every browser. Their password and their API tokens stay valid."

    def act(self, user: User) -> None:
        count = sessions.end_for(user=user, actor=NOBODY)
        self.stdout.write(f"{user} is signed out of {count} session{'' if count == 1 else 's'}.")
