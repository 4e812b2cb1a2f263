"""kombu's transport for Redis, whose workers outlive a Redis that dies while they have a ring that is not acknowledged.

kombu (5.7.0) closes a channel that was waiting for messages in two steps: the first one meets the broken connection,
and the second gives the rings back when the transport has no address any more. Its AttributeError ended the worker.
"""

from typing import Any

from kombu.transport import redis


class QoS(redis.QoS):  # type: ignore[misc]  # kombu ships no types
    def restore_unacked(self, client: Any = None) -> None:
        if self.channel.connection.client is None:
            # Nobody can be told. Redis gives them back after the visibility timeout, and the reaper rings again before.
            self._delivered.clear()
            return
        super().restore_unacked(client)


class Channel(redis.Channel):  # type: ignore[misc]
    QoS = QoS


class Transport(redis.Transport):  # type: ignore[misc]
    Channel = Channel
