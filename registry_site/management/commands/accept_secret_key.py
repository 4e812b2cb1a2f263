from typing import Any

from django.core.management.base import BaseCommand

from apps.signing import fingerprints


class Command(BaseCommand):
    help = "Record this host's secret key as the shared one, after it was lost or replaced on purpose."

    def handle(self, **_: Any) -> None:
        fingerprints.accept_secret_key()
        self.stdout.write("Recorded. Hosts with another secret key warn when they start.")
