"""`manage.py token --user NAME --scope publish`: create an API token and print it once, alone on stdout."""

from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError

from apps.accounts.access.gate import NOBODY
from apps.accounts.identity import tokens
from apps.accounts.management.base import RegistryCommand
from apps.accounts.models import Namespace, Scope, User


class Command(RegistryCommand):
    help = "Print a new API token for a person. It is shown only once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, metavar="NAME")
        several: dict[str, Any] = {"action": "append", "nargs": "+", "default": [], "metavar": "WORD"}
        parser.add_argument("--scope", required=True, **several, help=f"{', '.join(Scope.values)}; the widest applies.")
        parser.add_argument("--namespace", **several, help="Limit it to these namespaces.")
        parser.add_argument("--name", default="", metavar="vpc/aws", help="Publish only this name.")
        parser.add_argument("--days", type=int, help="Days until it expires: token_days of LARDER_LIFETIMES.")
        parser.add_argument("--label", default="created by manage.py token")

    def handle(self, **options: Any) -> None:
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            known = User.objects.filter(is_active=True).order_by("username").values_list("username", flat=True)
            raise CommandError(f"There is no active user {options['user']!r}. There are: {_listed(known)}.")
        scopes = _words(options["scope"])
        if not scopes:
            raise CommandError(f"--scope is empty. Scopes are: {', '.join(Scope.values)}.")
        if unknown := [word for word in scopes if word not in Scope.values]:
            raise CommandError(f"There is no scope {unknown[0]!r}. Scopes are: {', '.join(Scope.values)}.")
        names = _words(options["namespace"])
        namespaces = {namespace.name: namespace for namespace in Namespace.objects.filter(name__in=names)}
        if missing := [name for name in names if name not in namespaces]:
            existing = Namespace.objects.alphabetical().values_list("name", flat=True)
            raise CommandError(f"There is no namespace {missing[0]!r}. There are: {_listed(existing)}.")
        days = options["days"]
        token, secret = tokens.issue(
            user=user,
            label=options["label"],
            scope=Scope.widest(scopes),
            namespaces=namespaces.values(),
            only_name=options["name"],
            lifetime=None if days is None else timedelta(days=days),
            actor=NOBODY,
        )
        self.stderr.write(f"A {token.scope} token of {token.user}, until {token.expires_at:%Y-%m-%d %H:%M} UTC:")
        self.stdout.write(secret)


def _words(given: Iterable[Iterable[str]]) -> list[str]:
    """Flatten `--scope read,publish --scope manage publish` to one list without repeats."""
    words = (word for group in given for text in group for word in text.replace(",", " ").split())
    return list(dict.fromkeys(words))


def _listed(names: Iterable[str], most: int = 20) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more
