"""Counters of fetches from other registries, for /metrics."""

from apps.lib.process.metrics import counter, histogram

_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

fetches = counter("larder_upstream_fetches", "Tries to fetch from another registry.", ["host", "what", "outcome"])
fetch_duration = histogram(
    "larder_upstream_fetch_duration_seconds", "Duration of a try to fetch.", ["what"], buckets=_SECONDS
)
queue_duration = histogram(
    "larder_upstream_queue_duration_seconds",
    "Time from the request of a fetch until a worker began it.",
    ["what"],
    buckets=_SECONDS,
)
