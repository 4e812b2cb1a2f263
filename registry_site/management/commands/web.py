from typing import Any

from apps.accounts import epoch
from registry_site import preparation, serving
from registry_site.management.process import ProcessCommand


class Command(ProcessCommand):
    help = "Serve the pages, the API and the registry protocols."

    def run(self, **_: Any) -> None:
        preparation.static_files()
        epoch.check_at_start()
        serving.web()
