"""`manage.py database_roles --web ROLE --signing ROLE`: what each role may do in PostgreSQL."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, transaction

from registry_site.operations import database_roles


class Command(BaseCommand):
    help = (
        "Give two roles of PostgreSQL the privileges of Larder's processes. Run it as the owner of the tables, after "
        "each `manage.py migrate`. It is safe to repeat, and creates no role."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--web", required=True, metavar="ROLE", help="For web processes, workers that do not sign, and beat."
        )
        parser.add_argument("--signing", required=True, metavar="ROLE", help="For workers that only sign.")
        parser.add_argument("--sql", action="store_true", help="Print the statements and change nothing.")

    def handle(self, *, web: str, signing: str, sql: bool, **_: Any) -> None:
        if connection.vendor != "postgresql":
            raise CommandError("SQLite has no roles. Run this where LARDER_DATABASE_URL names a PostgreSQL database.")
        if web == signing:
            raise CommandError("Both roles have the same name: give the signing workers a separate role.")
        for role in (web, signing):
            if problem := database_roles.problem_with(role):
                raise CommandError(f"{problem} Create it: CREATE ROLE {role} LOGIN PASSWORD '…' NOSUPERUSER")
        statements = list(database_roles.statements(web=web, signing=signing))
        time_outs = [line for role in (web, signing) for line in database_roles.time_outs(role)]
        if sql:
            self.stdout.write("".join(f"{line};\n" for line in ["BEGIN", *statements, "COMMIT", *time_outs]), ending="")
            return
        with transaction.atomic(), connection.cursor() as cursor:
            for line in statements:
                cursor.execute(line)
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                for line in time_outs:
                    cursor.execute(line)
        except DatabaseError:  # the owner of the tables may not change other roles, unless it created them
            self.stderr.write("This role may not set time-outs for the others. As a superuser, run:")
            self.stderr.write("".join(f"  {line};\n" for line in time_outs), ending="")
        self.stdout.write(f"{web} and {signing} have the privileges of this version.")
