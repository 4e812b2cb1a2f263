"""Ask a registry for its services as soon as it is added: web processes ask no other host, so a worker does.

What it finds is written to the row of the registry, whose page waits for it.
"""

from contextlib import suppress

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.asking import registry_calls
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream
from apps.jobs import queue
from apps.jobs.claims import Claim

JOB = "check-upstream"
# What to do about a failure, by its code. Others say it themselves.
HINTS = {
    "no_providers": "Check the host. If its provider registry answers at another address, enter that as the URL.",
    "unresolved": "Check the spelling of the host.",
    "unreachable": "Check the host, and that workers of the queue upstream may connect to it; else set a proxy.",
    "not_trusted": "Enter the certificate authority that signed its certificate.",
    "connection_failed": "Check that it is up, and speaks HTTPS.",
    "unauthorized": "Enter a token that the registry accepts.",
    "forbidden": "Enter a token that the registry accepts.",
    "not_found": "Check the host: it has no discovery document. A registry at another address needs that as its URL.",
    "bad_json": "Check the host: something other than a registry answers there.",
    "private_address": "Allow its address with LARDER_OUTGOING_ALLOW.",
}


def request(upstream: Upstream, *, actor: Viewer) -> None:
    share = f"upstream {upstream.pk}"
    queue.enqueue_once(JOB, target=upstream.pk, created_by_id=actor.user_id, source="", share=share)


def run(claim: Claim) -> None:
    upstream = Upstream.objects.filter(pk=claim.target).first()
    if upstream is not None:
        with suppress(FetchFailed):  # its row has it
            registry_calls.discover(upstream)


def hint_of(upstream: Upstream) -> str:
    failure = upstream.failure
    return HINTS.get(failure.get("rule", "")) or HINTS.get(failure.get("code", "")) or "Check its settings."
