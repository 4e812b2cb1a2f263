"""`manage.py restored`: the operator's decision after the database was restored from a backup."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.accounts.access import epoch
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken


class Command(BaseCommand):
    help = "After restoring a database: suspend restored access, then accept or revoke the API tokens."

    def add_arguments(self, parser: ArgumentParser) -> None:
        way = parser.add_mutually_exclusive_group()
        way.add_argument(
            "--suspend",
            action="store_true",
            help="End all sessions and open invitations, and suspend all tokens. Needed if storage was restored too, "
            "which Larder cannot detect.",
        )
        way.add_argument("--accept-tokens", action="store_true", help="Make all suspended tokens valid again.")
        way.add_argument("--revoke-tokens", action="store_true", help="Revoke all suspended tokens.")

    def handle(self, *, suspend: bool, accept_tokens: bool, revoke_tokens: bool, **_: Any) -> None:
        if suspend:
            counts = epoch.suspend(found_by="an operator")
            self.stdout.write("Ended or suspended: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
        elif accept_tokens:
            self.stdout.write(f"{tokens.accept_suspended()} tokens are valid again.")
        elif revoke_tokens:
            self.stdout.write(f"{tokens.revoke_suspended()} tokens are revoked.")
        suspended = ApiToken.objects.filter(suspended_at__isnull=False, revoked_at=None).count()
        self.stdout.write(f"{suspended} tokens are suspended." if suspended else "No token is suspended.")
