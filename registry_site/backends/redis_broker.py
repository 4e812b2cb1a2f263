"""kombu's transport for Redis, whose workers outlive a Redis that dies while they have rings.

kombu (5.7.0) asks a channel for a new connection although its own is closed: to give rings back when a lost connection
is closed a second time, and to acknowledge a ring whose task ended meanwhile. The transport no longer has an address,
and the AttributeError ended the worker. An error of the connection is what both expect.

Nor does kombu do anything about an acknowledgement that failed: the ring counts as unfinished from then on. Once each
slot had lost one, the worker asked for no more work, and with no command under way no socket told it of the loss: it
slept until it was restarted. Here a lost acknowledgement is a lost connection. The loop connects again, with all slots.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis
from redis.exceptions import ConnectionError as Lost

from registry_site.backends.activity import of_this_worker


class Poller(redis.MultiChannelPoller):
    """Asks Redis for work in each round of the loop, unless an acknowledgement was lost."""

    lost: BaseException | None = None
    _channels: "set[Channel]"

    def on_poll_start(self) -> None:
        lost, self.lost = self.lost, None
        # Celery's loop also asks the pollers of former connections, in each round and for good: they have no channel.
        if lost is not None and self._channels:
            # The loop ends with it, and the consumer begins again with a new connection, which has a new poller.
            raise Lost(f"An acknowledgement was lost ({type(lost).__name__}).") from lost
        super().on_poll_start()
        if any(channel.is_listening() for channel in self._channels):
            of_this_worker.listens += 1


class QoS(redis.QoS):
    def __init__(self, channel: "Channel", prefetch_count: int = 0) -> None:
        super().__init__(channel, prefetch_count)
        # A channel that is closed no longer knows it, and an acknowledgement may come after that.
        self._poller: Poller = channel.connection.cycle  # type: ignore[assignment]  # the stubs know only its base

    def ack(self, delivery_tag: str) -> None:
        with self._noticing_loss():
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:  # noqa: FBT001, FBT002  # kombu's signature
        with self._noticing_loss():
            super().reject(delivery_tag, requeue=requeue)

    @contextmanager
    def _noticing_loss(self) -> Iterator[None]:
        """Tell the loop, which runs in another thread, unless it has a new connection already."""
        try:
            yield
        except Exception as error:
            # Whatever it was: Redis may also refuse, for a disk that is full or as a replica.
            self._poller.lost = error
            raise


class Channel(redis.Channel):
    QoS = QoS

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002  # kombu's signature
        # A closed channel has no connection, and a closed connection no client.
        if getattr(self.connection, "client", None) is None:
            # Redis gives the rings back after the visibility timeout, and the reaper rings again before.
            raise Lost("The connection to Redis was lost and is closed.")
        return dict(super()._connparams(asynchronous=asynchronous))  # type: ignore[misc]  # the stubs lack it

    def is_listening(self) -> bool:
        """Return whether Redis owes this channel an answer to "give me work", by a socket that the loop reads."""
        return bool(getattr(vars(self).get("_in_poll"), "_sock", None) and self.qos.can_consume())

    def queues_with_work(self, queues: Iterable[str]) -> set[str]:
        """Ask for the watchdog. Raises if Redis is away or refuses to change anything, as the loop's requests need."""
        # No ring has this tag.
        self.qos._remove_from_indices("watchdog").execute()  # type: ignore[attr-defined]  # noqa: SLF001  # kombu's
        return {queue for queue in queues if self._size(queue)}

    def _brpop_read(self, **options: Any) -> Any:
        """Deliver a ring. Raises Empty if there was none."""
        found = super()._brpop_read(**options)  # type: ignore[misc]  # the stubs lack it
        of_this_worker.taken += 1
        return found


class Transport(redis.Transport):
    Channel = Channel

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cycle = Poller()
