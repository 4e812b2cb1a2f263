from typing import Any

from registry_site import preparation, serving
from registry_site.management.process import ProcessCommand


class Command(ProcessCommand):
    help = "Serve the pages, the API and the registry protocols."

    def run(self, **_: Any) -> None:
        preparation.static_files()
        preparation.older_database()
        serving.web()
