"""The three processes: web, worker and beat. `manage.py up` starts the same ones as children."""

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import warnings
from functools import partial
from importlib import import_module
from threading import Event, Thread
from typing import Any

import structlog
from celery import signals
from celery.beat import Service
from celery.worker import state as celery_state
from celery.worker.consumer import consumer as celery_consumer
from django.conf import settings
from django.db import connection
from granian.constants import Interfaces, SSLProtocols
from granian.http import HTTP1Settings, HTTP2Settings
from granian.log import LogLevels
from granian.server import Server

from apps.jobs import database_availability, heartbeats
from apps.jobs.claims import worker_name
from apps.lib.process import metrics
from apps.lib.process.periodic import Periodic
from registry_site import env, healthcheck
from registry_site.backends.activity import of_this_worker
from registry_site.backends.beat_schedule import InWorker
from registry_site.backends.database import give_up_connections
from registry_site.celery import app
from registry_site.monitoring import page, sharing
from registry_site.server import probes
from registry_site.server.pulse import Pulse
from registry_site.server.watchdog import EVERY as LOOK_EVERY
from registry_site.server.watchdog import MAX_LOOKS_ASLEEP, Broker, Watchdog
from registry_site.startup import certificates, die_with_parent
from registry_site.startup.supervisor import FORKS

# The largest head of a request (granian's own limits: 400 KB over HTTP/1.1, 16 MiB over HTTP/2).
HEAD_BYTES = 64 * 1024
# What an HTTP/2 connection may send before anybody reads it.
WINDOW_BYTES = 2 * 1024 * 1024
ENDED_UNASKED = 1
# Workers and their checks give way to readers: a third of the weight of a web process where processors are short.
WORKER_NICENESS = 5
# For the last tasks of a worker that its watchdog ends: as its unit gives it (TimeoutStopSec).
ASLEEP_END_SECONDS = 30.0
PID_FILE = healthcheck.WEB_PID
stop_asked = Event()

log = structlog.get_logger("larder.serving")


def tls_files() -> certificates.Served | None:
    return certificates.served(
        settings.TLS,
        data_dir=settings.DATA_DIR,
        listen_host=settings.LISTEN_HOST,
        public_url=settings.PUBLIC_URL,
        system_bundle=env.text("SSL_CERT_FILE"),
    )


class WebServer(Server):  # type: ignore[misc,valid-type]  # a variable: it has another class without the GIL
    def shutdown(self, exit_code: int = 0) -> None:
        """Announce the stop on /readyz for STOP_NOTICE, then let granian drain the running requests."""
        for process in self.wrks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.inner.pid, signal.SIGUSR1)
        time.sleep(settings.STOP_NOTICE)
        super().shutdown(exit_code)


def web() -> None:
    """Serve HTTP until SIGTERM or SIGINT."""
    files = tls_files()
    with contextlib.suppress(OSError):  # a full or read-only disk: serve without `manage.py drain`
        probes.DRAINING.unlink(missing_ok=True)
        (settings.DATA_DIR / PID_FILE).write_text(str(os.getpid()))
    # Its workers are forks, which must not share database connections.
    give_up_connections()
    if FORKS:
        # Python 3.14 has another default, for which granian would have each process load the application itself.
        multiprocessing.set_start_method("fork", force=True)
    server = WebServer(
        "registry_site.server.asgi:application",
        address=settings.LISTEN_HOST,
        port=settings.LISTEN_PORT,
        interface=Interfaces.ASGINL,
        workers=settings.WEB_PROCESSES,
        websockets=False,
        workers_kill_timeout=settings.DRAIN_TIME,
        http1_settings=HTTP1Settings(header_read_timeout=settings.CLIENT_TIMEOUT * 1000, max_buffer_size=HEAD_BYTES),
        # A client that does not answer a ping is gone, or still sends the head of a request.
        http2_settings=HTTP2Settings(
            keep_alive_interval=settings.CLIENT_TIMEOUT * 1000,
            keep_alive_timeout=10,
            max_concurrent_streams=100,
            max_headers_size=HEAD_BYTES,
            max_send_buffer_size=2 * HEAD_BYTES,
            # granian's 1 MiB keeps curl waiting half of the time.
            initial_connection_window_size=WINDOW_BYTES,
            initial_stream_window_size=WINDOW_BYTES,
        ),
        respawn_failed_workers=True,
        # Only errors: at start it warns about every thread count above twice the cores, which suits CPU-bound
        # applications; ours wait for the disk and the database.
        log_level=LogLevels.debug if settings.LOG_LEVEL == "DEBUG" else LogLevels.error,
        log_dictconfig={"formatters": {}, "handlers": {}, "loggers": {"_granian": {"propagate": True}}},
        ssl_cert=files.certificate if files else None,
        ssl_key=files.key if files else None,
        ssl_protocol_min=SSLProtocols.tls12,
    )
    server.serve()
    if not server.interrupt_signal:
        sys.exit(ENDED_UNASKED)


def worker(*, with_beat: bool) -> None:
    """Work until SIGTERM, then finish running jobs.

    Exits with 0 only after a signal; Celery would also do so after an "Unrecoverable error".
    """
    os.nice(WORKER_NICENESS)
    # The processes of a prefork pool end with the worker.
    worker_pid = os.getpid()
    signals.worker_process_init.connect(lambda **_: die_with_parent.arm(worker_pid), weak=False)
    signals.worker_shutting_down.connect(lambda **_: stop_asked.set(), weak=False)
    _watchdog()
    signals.worker_process_init.connect(lambda **_: sharing.start(), weak=False)
    sharing.start()
    if settings.TRACES:
        import_module("registry_site.monitoring.tracing").start()
    if settings.METRICS_LISTEN:
        page.serve(*settings.METRICS_LISTEN)
    _note_each_round(Pulse("worker"))
    clock = Clock()
    if with_beat:
        signals.worker_ready.connect(lambda **_: clock.start(), weak=False)
    # Celery warns against root because of dangerous messages; ours are JSON with one number.
    warnings.filterwarnings("ignore", message="(?s).*superuser privileges")
    pool = ["--pool", settings.WORKER_POOL, "--concurrency", str(settings.WORKER_CONCURRENCY)]
    # Workers need not talk to each other: the database has the list of work.
    alone = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    _celery("worker", *pool, *alone, "--queues", ",".join(settings.WORKER_QUEUES))
    clock.stop()
    if not stop_asked.is_set():
        sys.exit(ENDED_UNASKED)


def beat() -> None:
    """Ring for regular work. One process of all hosts rings: others wait until it is silent."""
    _celery("beat")


def _watchdog() -> None:
    """Start to look whether this worker takes what there is; while it does, it reports to the database."""
    broker = Broker(app, settings.WORKER_QUEUES)
    found = Watchdog(
        broker.waiting, slots=settings.WORKER_CONCURRENCY, busy=_busy_slots, end=_end_asleep, stopping=stop_asked
    )
    reports = Periodic(
        "heartbeat", partial(_report_if_well, found), every=settings.REAPER_INTERVAL, rest=_close_connection
    )

    def begin(**_: Any) -> None:
        _report()  # at once: the first look comes some seconds later
        give_up_connections()
        found.ready.set()
        reports.start()

    signals.worker_ready.connect(begin, weak=False)
    found.start()


def _busy_slots() -> int:
    """Return how many tasks run, or were taken and will."""
    return max(len(celery_state.active_requests), len(celery_state.reserved_requests))


def _report() -> None:
    database_availability.try_once(partial(heartbeats.beat, worker_name()))


def _close_connection() -> None:
    """Close the one of this thread, not of the one that asks for the thread."""
    connection.close()


def _report_if_well(watchdog: Watchdog) -> None:
    if watchdog.is_well():
        _report()


def _end_asleep(reason: str) -> None:
    """End this worker: in order if its loop still listens, so that threads give their jobs back."""
    log.critical("worker_asleep", reason=reason, seconds=MAX_LOOKS_ASLEEP * LOOK_EVERY.total_seconds())
    metrics.watchdog_ends.labels(reason).inc()
    sharing.shared.total()
    celery_state.should_stop = ENDED_UNASKED  # type: ignore[assignment]  # the stubs know only its first value
    time.sleep(ASLEEP_END_SECONDS)
    os._exit(ENDED_UNASKED)


class Clock(Thread):
    """Celery's beat in a thread of a worker. If it ends, so does the worker: nothing would ring for lost jobs."""

    def __init__(self) -> None:
        super().__init__(name="clock", daemon=True)
        # An interval of a second, because a stop waits for it.
        self.service = Service(app, max_interval=1, scheduler_cls=InWorker)  # type: ignore[arg-type]  # the stubs want their own Task

    def run(self) -> None:
        try:
            self.service.start()
        finally:
            if not stop_asked.is_set():
                log.error("clock_ended")
                celery_state.should_stop = ENDED_UNASKED  # type: ignore[assignment]  # the stubs know only its first value

    def stop(self) -> None:
        """Wait until it has written when it last rang."""
        self.service.stop()
        if self.is_alive():
            self.join(2)


def _note_each_round(pulse: Pulse) -> None:
    """Celery asks whether to stop in each round of its loop, and each second while it waits for a broker."""
    stop_if_asked = celery_state.maybe_shutdown

    def note_and_stop_if_asked() -> None:
        pulse.note()
        of_this_worker.rounds += 1
        stop_if_asked()

    celery_consumer.maybe_shutdown = celery_state.maybe_shutdown = note_and_stop_if_asked  # type: ignore[attr-defined]  # the stubs lack the first


def _celery(*arguments: str) -> None:
    app.start(["--quiet", *arguments, "--loglevel", settings.LOG_LEVEL])
