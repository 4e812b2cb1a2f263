from typing import Any

from registry_site import serving
from registry_site.management.process import ProcessCommand


class Command(ProcessCommand):
    help = "Ring for the regular work: leftover jobs, sweeping, heartbeats."

    def run(self, **_: Any) -> None:
        serving.beat()
