"""The base of the long-running commands."""

from typing import Any

from django.core.checks import Tags
from django.core.checks.registry import registry
from django.core.management.base import BaseCommand, CommandError, CommandParser

from registry_site import logs
from registry_site.backends.database import give_up_connections
from registry_site.startup import bootstrap, die_with_parent, schema, shared_keys


class ProcessCommand(BaseCommand):
    """A process that ends with its parent if it is started with --parent."""

    answers_requests = True
    # `up` has prepared everything and run the checks; without it, `handle` does.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--parent", type=int, metavar="PID", help="Stop when the process with this id ends.")

    def handle(self, *, parent: int | None, **options: Any) -> None:
        logs.log_crashes()
        if parent is None:
            try:
                bootstrap.require_secret_key()
                schema.require()
                shared_keys.compare_secret_key()
                give_up_connections()  # what this process starts must not share them
            except bootstrap.CannotStartError as refusal:
                raise CommandError(str(refusal)) from refusal
            if not self.answers_requests:
                # They would load each page and form, which costs a worker a tenth of its memory. Celery checks again.
                known = registry.registered_checks
                registry.registered_checks = {check for check in known if Tags.urls not in check.tags}
            self.check(display_num_errors=False)
        else:
            die_with_parent.arm(parent)
        self.run(**options)

    def run(self, **options: Any) -> None:
        raise NotImplementedError
