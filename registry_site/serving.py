"""The three processes of a Larder: web, worker and beat. `manage.py up` starts the very same ones as children."""

import os
import warnings
from typing import Any

from celery import signals
from django.conf import settings
from django.db import connections
from granian.constants import Interfaces, SSLProtocols
from granian.log import LogLevels
from granian.server import Server

from apps.jobs import heartbeats
from apps.jobs.claims import worker_name
from registry_site import certificates, die_with_parent, env
from registry_site.celery import app

# With `up`'s own limit this keeps a stop under ten seconds even where a client reads its download slowly.
WEB_DRAIN_SECONDS = 6
DRAIN_TURN = 0.3


def tls_files() -> certificates.Served | None:
    return certificates.served(
        settings.TLS,
        data_dir=settings.DATA_DIR,
        listen_host=settings.LISTEN_HOST,
        public_url=settings.PUBLIC_URL,
        system_bundle=env.text("SSL_CERT_FILE"),
    )


def broker_is_a_folder() -> bool:
    """Such a broker serves one host and one worker, so that worker may keep the clock as well."""
    return bool(settings.BROKER_URL.startswith("filesystem"))


def web() -> None:
    """Serve HTTP until SIGTERM or SIGINT; granian drains the requests that run then."""
    files = tls_files()
    # Its workers are forks of this process: they must not share its database connections.
    connections.close_all()
    server = Server(
        "registry_site.asgi:application",
        address=settings.LISTEN_HOST,
        port=settings.LISTEN_PORT,
        interface=Interfaces.ASGINL,
        workers=settings.WEB_PROCESSES,
        websockets=False,
        workers_kill_timeout=WEB_DRAIN_SECONDS,
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


def worker(*, with_beat: bool) -> None:
    """Do the work that is rung for until SIGTERM; then finish what runs, take nothing new."""
    _end_children_with(os.getpid())
    signals.worker_ready.connect(_report, weak=False)
    # Celery's advice against root is about what messages may carry; ours are JSON with one number.
    warnings.filterwarnings("ignore", message="(?s).*superuser privileges")
    pool = ["--pool", settings.WORKER_POOL, "--concurrency", str(settings.WORKER_CONCURRENCY)]
    beat_too = ["--beat"] if with_beat else []
    # These talk to other workers, which have nothing to say: the database holds the work.
    alone = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    app.worker_main(["--quiet", "worker", *pool, *beat_too, *alone, *_log_level()])


def beat() -> None:
    """Ring for the regular work; one of these for all hosts, and two of them do no harm."""
    app.start(["--quiet", "beat", *_log_level()])


def _report(sender: Any, **_: Any) -> None:
    """Say at once that a worker is there: the clock's first heartbeat comes ten seconds later."""
    if broker_is_a_folder():
        _look_for_signals_often(sender.connection)
    heartbeats.beat(worker_name())
    connections.close_all()


def _look_for_signals_often(broker: Any) -> None:
    """Celery looks every two seconds whether it should stop, where the broker is polled; Ctrl-C deserves less."""
    drain = broker.drain_events
    broker.drain_events = lambda timeout=None: drain(timeout=min(timeout or DRAIN_TURN, DRAIN_TURN))


def _log_level() -> list[str]:
    return ["--loglevel", settings.LOG_LEVEL]


def _end_children_with(worker_pid: int) -> None:
    """Beat (with --beat) and the processes of a prefork pool are children of the worker, grandchildren of `up`."""

    def arm(**_: Any) -> None:
        die_with_parent.arm(worker_pid)

    signals.beat_embedded_init.connect(arm, weak=False)
    signals.worker_process_init.connect(arm, weak=False)
