"""Connections to the database, for whoever forks or lets a request wait for something else."""

import sys

from django.db import connections


def give_up_connections() -> None:
    """Close this thread's connections, and the pool that it may have begun: processes must not share either."""
    connections.close_all()
    postgres = sys.modules.get("registry_site.postgres.base")  # loaded where the database is one
    if postgres is not None:
        postgres.close_pools()
