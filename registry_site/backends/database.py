"""Connections to the database, for processes that fork."""

import sys

from django.db import connections


def give_up_connections() -> None:
    """Close this thread's connections and the pool: processes must not share them."""
    connections.close_all()
    postgres = sys.modules.get("registry_site.postgres.base")  # loaded only on PostgreSQL
    if postgres is not None:
        postgres.close_pools()
