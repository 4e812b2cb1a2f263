"""kombu's transport for Redis, whose workers outlive a Redis that dies while they have rings.

kombu (5.7.0) asks a channel for a new connection although its own is closed: to give rings back when a lost connection
is closed a second time, and to acknowledge a ring whose task ended meanwhile. The transport has no address any more,
and the AttributeError ended the worker. An error of the connection is what both expect.
"""

from typing import Any

from kombu.transport import redis
from redis.exceptions import ConnectionError as Lost


class Channel(redis.Channel):
    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002  # kombu's signature
        # A closed channel has no connection, and a closed connection no client.
        if getattr(self.connection, "client", None) is None:
            # Redis gives the rings back after the visibility timeout, and the reaper rings again before.
            raise Lost("The connection to Redis was lost and is closed.")
        return dict(super()._connparams(asynchronous=asynchronous))  # type: ignore[misc]  # the stubs lack it


class Transport(redis.Transport):
    Channel = Channel
