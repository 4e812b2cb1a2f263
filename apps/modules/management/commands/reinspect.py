from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.modules import reinspection
from apps.modules.models import ModuleVersion


class Command(BaseCommand):
    help = "Queue a new inspection of versions inspected by an older Larder; with --all, of every version."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--all", action="store_true", help="also versions inspected by the current rules")

    def handle(self, *_: Any, **options: Any) -> None:
        versions = ModuleVersion.objects.all() if options["all"] else reinspection.outdated()
        queued = reinspection.request(versions, actor_id=None)
        self.stdout.write(f"{queued} queued; the jobs are on the admin's list.")
