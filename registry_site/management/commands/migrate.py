from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command

from apps.accounts.access import staff_roles
from registry_site import env
from registry_site.startup import bootstrap, first_run, restoring, schema


class Command(schema.Migrate):
    """Like Django's, under the lock of `manage.py up`.

    Also creates the table of the cache, the staff roles and, if its password is given, the account `admin`.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        bootstrap.data_folder(settings.DATA_DIR)
        with bootstrap.one_host_at_a_time():
            if not options["fake"]:
                self.begin()
            bootstrap.until_tables_are_free(partial(super().handle, *args, **options))
            if not (options["plan"] or options["check_unapplied"]):
                call_command("createcachetable", verbosity=0)
                if not options["app_label"]:  # otherwise tables may be missing
                    staff_roles.bring_up_to_date()
                    with refusals():
                        schema.ask_rooms()
                    if password := env.text("LARDER_ADMIN_PASSWORD"):
                        first_run.create_admin(password)
                    with refusals():
                        schema.prepare()

    def begin(self) -> None:
        with refusals():
            restoring.require_none()
            super().begin()


@contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except bootstrap.CannotStartError as refusal:
        raise CommandError(str(refusal)) from refusal
