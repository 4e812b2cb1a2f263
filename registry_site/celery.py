"""The Celery app and the beat schedule. Celery is the doorbell; the job rows are the list of work (D4)."""

from pathlib import Path
from typing import Any

import celery
import structlog
from celery import Celery, signals
from django.conf import settings
from kombu.transport import TRANSPORT_ALIASES

from apps.jobs import database_availability, queues
from apps.room import rooms
from registry_site.env import use_settings

use_settings()

log = structlog.get_logger("larder.jobs")


# LARDER_BROKER_URL says filesystem://, but kombu's own transport of that name loses messages.
TRANSPORT_ALIASES["folder"] = "registry_site.backends.folder_broker:Transport"
TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "registry_site.backends.redis_broker:Transport"


def broker_settings(broker_url: str, data_dir: Path, *, is_signing_alone: bool) -> dict[str, Any]:
    """Return the broker's address and transport options.

    The folder is polled ten times a second (measured: 40 ms median from ring to start). On Redis the timeouts keep a
    hung server from blocking a request for ever, and the restore options return an unacknowledged ring after its
    visibility timeout instead of ten scans later. A worker that only signs uses no key whose name does not begin with
    `sign`, so that a Redis user for it need have no others (deploy/redis/broker.acl).
    """
    if broker_url.startswith("filesystem"):
        folder = {"folder": str(data_dir / "queue" / "messages"), "polling_interval": 0.1}
        return {"broker_url": "folder://", "broker_transport_options": folder}
    options: dict[str, Any] = {
        "visibility_timeout": 900,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "socket_keepalive": True,
        "health_check_interval": 30,
    }
    if is_signing_alone:
        names = ("unacked", "unacked_index", "unacked_mutex")
        options |= {f"{name}_key": f"sign_{name}" for name in names}
    return {"broker_url": broker_url, "broker_transport_options": options}


class Task(celery.Task):  # type: ignore[type-arg]  # its parameters are of the stubs alone
    """Logs a database outage in one line without a traceback; the next round does the work."""

    throws = database_availability.AWAY

    def on_failure(self, exc: BaseException, *_: Any) -> None:
        if isinstance(exc, database_availability.AWAY):
            database_availability.count(exc)
            log.warning("database_away", task=self.name, error=type(exc).__name__)


app = Celery("larder", task_cls=Task)
# Otherwise only the importing thread has it as current_app, and others would ring at amqp://localhost.
app.set_default()
app.conf.update(
    broker_settings(settings.BROKER_URL, settings.DATA_DIR, is_signing_alone=settings.WORKER_QUEUES == ["sign"]),
    task_default_queue="check",
    task_routes=lambda name, *_, **__: {"queue": queues.queue_of(name)},
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    # The job row decides whether a ring still matters, so acknowledging late loses nothing.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    # It would let everybody who can write to the broker stop workers, or give the signing worker other queues.
    worker_enable_remote_control=False,
    worker_max_tasks_per_child=100,
    worker_soft_shutdown_timeout=8,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # A Redis whose memory is full refuses each command: a worker waits for it as for one that is away.
    broker_channel_error_retry=True,
    task_soft_time_limit=240,
    task_time_limit=300,
    timezone="UTC",
    beat_schedule_filename=str(settings.DATA_DIR / "beat-schedule"),
    beat_scheduler="registry_site.backends.beat_schedule:Scheduler",
)
# When it is asked for: who imports this module may set Django up later.
app.add_defaults(
    lambda: {"beat_schedule": {name: dict(task) for room in rooms() for name, task in room.periodic_tasks.items()}}
)
app.autodiscover_tasks()


@signals.setup_logging.connect
def configure_logging(**_: Any) -> None:
    """Do nothing: a receiver here keeps Celery from configuring logging, which settings.py has done."""


@signals.worker_init.connect
def prepare_signing(**_: Any) -> None:
    """Let a worker that signs read the key-encryption key, and remove gpg homes of killed workers."""
    # Imported here: models need a configured Django.
    from apps.signing import gnupg_home, vault
    from registry_site.startup import shared_keys

    # Workers without the key verify signatures too.
    gnupg_home.sweep()
    if not vault.is_for_this_host():
        return
    vault.unlock()
    shared_keys.compare_kek()
