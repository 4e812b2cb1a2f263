"""The line of `manage.py doctor` about LARDER_SERVE_STALE_SECONDS."""

from collections.abc import Iterator

from django.conf import settings

from registry_site import healthcheck
from registry_site.operations.examining import FAIL, OK, WARN, Finding


def look() -> Iterator[Finding]:
    """The web server of this host knows, if there is one."""
    told = healthcheck.ask_this_server("/status").document if settings.SERVE_STALE_SECONDS else {}
    if told.get("database_elsewhere"):
        hint = "Repair the way from this host to the database, or take the host out of the load balancer."
        yield Finding("last known answers", FAIL, "not served: only this host cannot reach the database", hint)
    elif stale := told.get("serving_stale"):
        found = f"served since {stale['since'][:16]}, {stale['answers']} by one web process; ends {stale['until'][:16]}"
        yield Finding("last known answers", WARN, found, "Bring the database back: docs/runbooks.md.")
    elif told:
        found = f"served for {settings.SERVE_STALE_SECONDS} s if the database goes down"
        yield Finding("last known answers", OK, found)
