"""Connections to the database: which threads share the pool, and what a process that forks gives up."""

import sys
import threading

from django.db import connections


class _Thread(threading.local):
    has_own = False
    leaves_some = False


this_thread = _Thread()


def use_own_connection() -> None:
    """Let this thread connect beside the pool, so that it gets a connection while all of the pool are in use."""
    this_thread.has_own = True


def leave_some_connections() -> None:
    """Let this thread and its like never have the last connections of the pool: pages for people need them."""
    this_thread.leaves_some = True


def give_up_connections() -> None:
    """Close this thread's connections and the pool: processes must not share them."""
    connections.close_all()
    postgres = sys.modules.get("registry_site.postgres.base")  # loaded only on PostgreSQL
    if postgres is not None:
        postgres.close_pools()
