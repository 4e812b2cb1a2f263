from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.modules import reinspection
from apps.modules.models import ModuleVersion


class Command(BaseCommand):
    help = "Inspect again versions that an older Larder inspected; with --all, every version."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--all", action="store_true", help="also versions inspected with the current rules")

    def handle(self, *_: Any, **options: Any) -> None:
        versions = ModuleVersion.objects.all() if options["all"] else reinspection.outdated()
        queued = reinspection.request(versions, actor_id=None)
        self.stdout.write(f"{queued} queued; see the jobs in Operate.")
