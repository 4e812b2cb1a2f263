from typing import Any

from apps.accounts.access import epoch
from registry_site.management.process import ProcessCommand
from registry_site.server import serving
from registry_site.startup import bootstrap
from registry_site.startup.supervisor import FORKS


class Command(ProcessCommand):
    help = "Serve the pages, the API and the registry protocols."

    def run(self, **_: Any) -> None:
        bootstrap.static_files()
        epoch.check_at_start()
        if FORKS:
            bootstrap.load_application()
        serving.web()
