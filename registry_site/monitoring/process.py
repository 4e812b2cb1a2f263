"""The current load of a process: its threads, its connections to the database, its clients. Its host adds them up."""

import sys
from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from apps.lib.process import outside
from apps.lib.process.metrics import registry
from registry_site.monitoring.clients import clients
from registry_site.server import threads

# There is no pool on SQLite.
NO_POOL = {"in_use": 0, "idle": 0, "limit": 0, "waiting": 0}


class ThisProcess:
    def collect(self) -> Iterator[Metric]:
        busy = GaugeMetricFamily(
            "larder_threads", "Threads that are busy or idle, and requests that wait for one.", labels=["pool", "state"]
        )
        for name, pool in list(threads.pools.items()):
            for state, count in pool.figures().items():
                busy.add_metric([name, state], count)
        yield busy
        postgres = sys.modules.get("registry_site.postgres.base")
        connections = GaugeMetricFamily(
            "larder_database_connections", "Connections of the pools, and threads that wait for one.", labels=["state"]
        )
        for state, count in (postgres.pool_figures() if postgres else NO_POOL).items():
            connections.add_metric([state], count)
        yield connections
        open_circuits = GaugeMetricFamily(
            "larder_circuits_open", "Services outside that do not answer and are left alone.", labels=["service"]
        )
        exchanges = GaugeMetricFamily(
            "larder_outside_waiting", "Exchanges with services outside that are under way.", labels=["service"]
        )
        for service, figures in outside.figures().items():
            open_circuits.add_metric([service], figures["open"])
            exchanges.add_metric([service], figures["waiting"])
        yield from (open_circuits, exchanges)
        top = GaugeMetricFamily(
            "larder_top_client_requests",
            "Requests within five to ten minutes by the busiest clients.",
            labels=["client"],
        )
        for client, count in clients.top().items():
            top.add_metric([client], count)
        yield top


registry.register(ThisProcess())
