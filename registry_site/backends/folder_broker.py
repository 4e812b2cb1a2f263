"""A kombu transport whose queue is a folder: the broker on one machine.

kombu's own filesystem transport (5.7.0, kombu issue 1551) writes a message under its final name. A reader of a half
written one raises, which ends Celery's worker. Here a message appears whole or not at all, and no file in the folder
can stop a reader: the job row is the truth, and the reaper rings again.

There are no exchanges: a routing key names its queue. kombu stores exchanges in files that break in the same way, for
fan-out messages that Larder never sends.
"""

import contextlib
import errno
import os
import stat
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Iterable
from pathlib import Path
from queue import Empty
from typing import Any

import structlog
from kombu.transport import virtual
from kombu.utils.json import dumps, loads

from registry_site.backends.activity import of_this_worker

# A ring is 1 KB. Anything larger is foreign, and must not fill the memory of a worker.
MAX_MESSAGE_BYTES = 1024 * 1024
# Longer than any write: older files were left by a killed writer.
LEFTOVER_SECONDS = 3600.0
# Celery waits two seconds and checks for signals only in between; Ctrl-C should be faster.
MAX_DRAIN_SECONDS = 0.3

log = structlog.get_logger("larder.broker")


class Channel(virtual.Channel):
    """Puts messages into the folder and takes them out, oldest first."""

    def __init__(self, connection: Any, **options: Any) -> None:
        super().__init__(connection, **options)
        # Names from the last listing: thousands of messages cost one listing, not one each.
        self._listed: dict[str, deque[str]] = {}
        self._stuck: dict[str, set[str]] = defaultdict(set)  # by queue

    @property
    def folder(self) -> Path:
        return folder_of(self.connection.client)

    def _lookup(self, _exchange: str, routing_key: str, _default: str | None = None) -> list[str]:
        return [routing_key]

    def _put(self, queue: str, message: dict[str, Any], **_: Any) -> None:
        name = f"{time.time_ns():020}_{uuid.uuid4()}.{queue}.msg"
        data = dumps(message).encode()
        try:
            self._write(name, data)
        except FileNotFoundError:
            make_folder(self.folder)  # somebody removed it
            self._write(name, data)

    def _write(self, name: str, data: bytes) -> None:
        # Readers skip it until it is whole: the part after its first dot is not the name of their queue.
        unfinished = self.folder / f".{name}"
        try:
            unfinished.write_bytes(data)
            unfinished.rename(self.folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:  # noqa: ARG002  # kombu's signature
        listed = self._listed.get(queue)
        if not listed:
            listed = self._listed[queue] = deque(sorted(self._names(queue)))
            self._stuck[queue].intersection_update(listed)
        while listed:
            name = listed.popleft()
            if name not in self._stuck[queue] and (message := self._take(queue, name)) is not None:
                of_this_worker.taken += 1
                return message
        raise Empty

    def _take(self, queue: str, name: str) -> dict[str, Any] | None:
        """Return the message if this reader removed its file, else None."""
        path = self.folder / name
        message = None
        reason = ""
        try:
            message = self._message_in(_read(path))
        except FileNotFoundError:
            return None  # another reader was faster
        except OSError as error:
            if error.errno in {errno.EMFILE, errno.ENFILE}:
                raise  # too many open files: not this file's fault
            reason = type(error).__name__
        except Exception as error:  # noqa: BLE001  # no content of a file may end the worker
            reason = type(error).__name__
        try:
            path.unlink()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._stuck[queue].add(name)
            log.error("queue_file_stuck", file=name, reason=reason, error=type(error).__name__)  # noqa: TRY400
            return None
        if reason:
            log.error("queue_file_removed", file=name, reason=reason)
        return message

    def _message_in(self, data: bytes) -> dict[str, Any]:
        """Return the payload. Raises unless it is a complete task message: others may end Celery's worker."""
        payload: dict[str, Any] = loads(data)
        message = self.Message(payload, channel=self)
        texts = [message.headers[name] for name in ("id", "task")]
        texts += [message.delivery_info[name] for name in ("exchange", "routing_key")]
        arguments, named, embedded = loads(message.body or "")
        shapes = [(arguments, list), (named, dict), (embedded, dict), *((text, str) for text in texts)]
        if message.content_type != "application/json" or not all(isinstance(*shape) for shape in shapes):
            raise ValueError("not a task message")
        return payload

    def _names(self, queue: str) -> list[str]:
        ending = f"{queue}.msg"
        with os.scandir(self.folder) as entries:
            return [entry.name for entry in entries if entry.name.partition(".")[2] == ending]

    def _size(self, queue: str) -> int:
        try:
            return len(self._names(queue))
        except FileNotFoundError:
            return 0  # the first message makes the folder

    def queues_with_work(self, _queues: Iterable[str]) -> set[str]:
        """Ask for the watchdog whether the folder can be used. What lies there and is never taken may be no work."""
        self.connection.establish_connection()
        return set()

    def _purge(self, queue: str) -> int:
        names = self._names(queue)
        for name in names:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()
        return len(names)


class Transport(virtual.Transport):
    Channel = Channel
    default_port = 0
    driver_type = "folder"
    driver_name = "folder"
    # A full disk or a missing folder counts as a broker outage: Celery reconnects instead of ending.
    connection_errors = (*virtual.Transport.connection_errors, OSError)

    def establish_connection(self) -> Any:
        """Raises OSError if the folder cannot be used."""
        folder = folder_of(self.client)
        make_folder(folder)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(f"The queue folder {folder} cannot be read and written")
        oldest = time.time() - LEFTOVER_SECONDS
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.name.startswith(".") and entry.stat(follow_symlinks=False).st_mtime < oldest:
                        Path(entry.path).unlink()
        return super().establish_connection()

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        of_this_worker.listens += 1
        super().drain_events(connection, timeout=min(timeout or MAX_DRAIN_SECONDS, MAX_DRAIN_SECONDS))

    def driver_version(self) -> str:
        return "1"


def folder_of(client: Any) -> Path:
    return Path(client.transport_options["folder"])


def make_folder(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # applies the mode to the last folder only
    folder.mkdir(exist_ok=True, mode=0o700)


def _read(path: Path) -> bytes:
    """Read a regular file only: a pipe could block for ever, and a link may lead anywhere."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a file")
        data = file.read(MAX_MESSAGE_BYTES + 1)
    if len(data) > MAX_MESSAGE_BYTES:
        raise ValueError("too large")
    return data
