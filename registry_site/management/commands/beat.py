from typing import Any

from registry_site.management.process import ProcessCommand
from registry_site.server import serving


class Command(ProcessCommand):
    help = "Run periodic work: unfinished jobs, cleanup, heartbeats."
    answers_requests = False

    def run(self, **_: Any) -> None:
        serving.beat()
