from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from apps.accounts.access import epoch
from registry_site.management.process import ProcessCommand
from registry_site.server import serving


class Command(ProcessCommand):
    help = "Check and publish uploads."
    answers_requests = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--beat", action="store_true", help="Also run the scheduler; of several, one rings.")

    def run(self, **options: Any) -> None:
        if "check" in settings.WORKER_QUEUES:  # others may be without storage, and a signing role cannot read who may
            epoch.check_at_start()
        serving.worker(with_beat=options["beat"])
