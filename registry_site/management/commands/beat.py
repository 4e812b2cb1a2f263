from typing import Any

from registry_site.management.process import ProcessCommand
from registry_site.server import serving


class Command(ProcessCommand):
    help = "Start periodic work: leftover jobs, sweeping, heartbeats."

    def run(self, **_: Any) -> None:
        serving.beat()
