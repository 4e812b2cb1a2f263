"""`manage.py invite`: print a one-time link to create an account, alone on stdout."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.urls import reverse

from apps.accounts.access.gate import NOBODY
from apps.accounts.management.base import RegistryCommand
from apps.accounts.models import Namespace, Role
from apps.accounts.people import invitations

ROLES = {role.label.lower(): role for role in Role}


class Command(RegistryCommand):
    help = "Print a one-time link to create an account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--note", default="", help="The person it is for.")
        parser.add_argument("--namespace", metavar="NS", help="Also give a role in this namespace.")
        parser.add_argument("--role", choices=sorted(ROLES), help="The role; needs --namespace.")

    def handle(self, **options: Any) -> None:
        name = options["namespace"]
        namespace = Namespace.objects.filter(name=name).first() if name else None
        if name and namespace is None:
            known = ", ".join(Namespace.objects.alphabetical().values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no namespace {name!r}. There are: {known}.")
        role = ROLES[options["role"]] if options["role"] else None
        invitation, secret = invitations.invite(actor=NOBODY, note=options["note"], namespace=namespace, role=role)
        self.stderr.write(f"Works once, until {invitation.expires_at:%Y-%m-%d %H:%M} UTC:")
        # The page belongs to a room above, of which only the URL name is known here.
        self.stdout.write(settings.PUBLIC_URL + reverse("portal:invitation", args=[secret]))
