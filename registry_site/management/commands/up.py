"""`manage.py up`: prepare, start and stop everything on one machine (D20)."""

import signal
import socket
import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import InterfaceError, OperationalError, connections

from apps.accounts.access import epoch
from apps.jobs import heartbeats
from apps.jobs.models import WORKING, Job
from apps.lib.errors import RegistryError
from apps.modules import publishing
from registry_site import env, healthcheck, logs
from registry_site.server import serving
from registry_site.startup import bootstrap, die_with_parent, first_run, restoring, schema, shared_keys, startup_message
from registry_site.startup.certificates import Served
from registry_site.startup.command_line import first_line
from registry_site.startup.supervisor import FORKS, Child, Supervisor

READY_SECONDS = 60
PUBLISH_SECONDS = 60
SPARE_SECONDS = 2  # a stop takes less than ten seconds even if a client reads its download slowly


class Command(BaseCommand):
    help = "Prepare and run everything on this machine: web server, worker and clock."
    requires_system_checks: list[str] = []  # they need the secret key, which the first run makes

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--parent", type=int, metavar="PID", help="Stop when the process with this id ends.")

    def handle(self, *, parent: int | None, **_: Any) -> None:
        logs.log_crashes()
        supervisor = Supervisor(children(), stop_seconds=settings.STOP_NOTICE + settings.DRAIN_TIME + SPARE_SECONDS)
        if parent is not None:
            # SIGTERM, so that running work can finish if only `make` was killed.
            die_with_parent.arm(parent, with_signal=signal.SIGTERM)
        try:
            bootstrap.data_folder(settings.DATA_DIR)
            with bootstrap.only_one(settings.DATA_DIR):
                self.run(supervisor)
        except (bootstrap.CannotStartError, ImproperlyConfigured) as refusal:
            raise CommandError(str(refusal)) from refusal

    def run(self, supervisor: Supervisor) -> None:
        bootstrap.port_is_free(settings.LISTEN_HOST, settings.LISTEN_PORT)
        bootstrap.secret_key(settings.DATA_DIR)
        self.check(display_num_errors=False)
        files = serving.tls_files()
        if files is None:
            startup_message.write_client_configuration(settings.PUBLIC_URL, settings.DATA_DIR)
        with bootstrap.one_host_at_a_time():
            self.say("Preparing the database")
            restoring.require_none()
            schema.bring_up_to_date()
            epoch.check_at_start()
            if problem := shared_keys.compare_secret_key():
                self.say(problem)
            password = first_run.create_admin(env.text("LARDER_ADMIN_PASSWORD"))
            schema.prepare()
        readiness = Readiness(files)
        self.say("Collecting static files")
        bootstrap.static_files()
        self.say(f"Starting {', '.join(child.name for child in children())}")
        if FORKS:
            bootstrap.load_application()
        try:
            try:
                self.show_life(supervisor, readiness, password)
            except (OperationalError, InterfaceError) as error:
                # The children wait for a database that is away, and so does this process.
                self.keep_password(password)
                self.say(f"Larder runs, but its database did not answer: {first_line(error)}")
                connections.close_all()
            supervisor.run()
        finally:
            supervisor.stop()
        self.say("Larder has stopped.")

    def show_life(self, supervisor: Supervisor, readiness: "Readiness", password: str | None) -> None:
        """Wait until it answers, publish the demo if nothing is published, and print the next steps.

        The message comes after every line that a start logs, so that it stays on the screen.
        """
        if not supervisor.wait(readiness.is_up, seconds=READY_SECONDS) and not supervisor.stopping.is_set():
            self.keep_password(password)
            raise bootstrap.CannotStartError(f"The web server did not answer within {READY_SECONDS} s: see the log.")
        if supervisor.wait(readiness.is_ready, seconds=READY_SECONDS):
            self.publish_demo(supervisor)
        elif not supervisor.stopping.is_set():
            self.say(f"Larder answers, but some parts do not yet: {readiness.missing}")
        if supervisor.stopping.is_set():
            self.keep_password(password)
            return
        self.say(
            startup_message.text(
                public_url=settings.PUBLIC_URL,
                data_dir=settings.DATA_DIR,
                files=readiness.files,
                password=password,
                # Container engines name a container's host after its id, which `docker cp` takes.
                container=socket.gethostname() if settings.IN_CONTAINER else "",
                has_demo=first_run.demo_is_there(),
            )
        )
        connections.close_all()

    def publish_demo(self, supervisor: Supervisor) -> None:
        if not first_run.demo_is_due():
            return
        self.say("Publishing the demo module")
        try:
            release = first_run.publish_demo()
        except RegistryError as refusal:
            self.say(f"The demo module was not published: {refusal}")
            return

        # The job ends after the last line that the worker logs about the release.
        job = Job.objects.filter(target=release.pk, kind=publishing.JOB, state__in=WORKING)
        if supervisor.wait(lambda: not job.exists(), seconds=PUBLISH_SECONDS):
            release.refresh_from_db()
            self.say(f"{release}: {release.state}")
        connections.close_all()

    def keep_password(self, password: str | None) -> None:
        """The account is there and its password would be lost: say it, however the start went."""
        if password:
            self.say(f"Sign in as {first_run.ADMIN} with the password {password}")

    def say(self, line: str) -> None:
        self.stdout.write(line)
        sys.stdout.flush()


class Readiness:
    """Asks the two health pages. Make one before the start: a worker that reported earlier does not count."""

    def __init__(self, files: Served | None) -> None:
        self.files = files
        self.missing = ""
        self.last_report = heartbeats.newest()

    def ask(self, path: str) -> healthcheck.Answer:
        listen = (settings.LISTEN_HOST, settings.LISTEN_PORT)
        return healthcheck.ask(path, listen=listen, public_host=settings.PUBLIC_HOST, files=self.files)

    def is_up(self) -> bool:
        return self.ask("/healthz").status == 200  # noqa: PLR2004

    def is_ready(self) -> bool:
        answer = self.ask("/readyz")
        self.missing = "; ".join(f"{part}: {state}" for part, state in answer.parts.items() if state != "ok")
        if answer.status != 200 or self.missing:  # noqa: PLR2004
            return False
        # Ready for a publication as well, which needs a worker.
        if heartbeats.newest() == self.last_report:
            self.missing = "worker: none has reported since the start"
        return not self.missing


def children() -> list[Child]:
    return [Child("web"), Child("worker", ("--beat",))]
