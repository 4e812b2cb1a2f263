"""The counters of Larder itself, for /metrics (registry_site/monitoring). A room may have `counters` of its own.

No label names what people own. Counted in memory: an increment costs half a microsecond. Each metric has a label, so
that it is listed once it counted.
"""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram

registry = CollectorRegistry(auto_describe=True)
counter, histogram = partial(Counter, registry=registry), partial(Histogram, registry=registry)

_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_STEP_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0)
_WAIT_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
_PUBLISH_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 300.0, 1800.0)

requests = counter("larder_requests", "Requests that Django answered.", ["route", "method", "status"])
request_duration = histogram(
    "larder_request_duration_seconds",
    "Time from the request to the response headers, for requests that Django answered.",
    ["route"],
    buckets=_REQUEST_SECONDS,
)
publishes = counter("larder_publishes", "Finished publishes of releases.", ["kind", "outcome"])
publish_duration = histogram(
    "larder_publish_duration_seconds",
    "Time from the complete upload to `published`.",
    ["kind"],
    buckets=_PUBLISH_SECONDS,
)
publish_step_duration = histogram(
    "larder_publish_step_duration_seconds",
    "Duration of one completed publish step.",
    ["kind", "step"],
    buckets=_STEP_SECONDS,
)
job_ends = counter("larder_job_ends", "Finished job attempts.", ["kind", "outcome"])
lease_losses = counter(
    "larder_lease_losses",
    "Leases of jobs that were lost: `lapsed` found by the reaper, `taken` noticed by the worker.",
    ["how"],
)
job_wait = histogram(
    "larder_job_wait_seconds",
    "Time from the creation of a job, for a publish from `received`, until a worker took it.",
    ["kind"],
    buckets=_WAIT_SECONDS,
)
watchdog_ends = counter(
    "larder_watchdog_ends", "Workers that their watchdog ended, because they took no work.", ["reason"]
)
storage_errors = counter("larder_storage_errors", "Storage operations that failed or timed out.", ["reason"])
circuit_openings = counter("larder_circuit_openings", "Times that a service outside stopped answering.", ["service"])
outside_refusals = counter(
    "larder_outside_refusals",
    "Refused requests: the service is unreachable, or `too_many_wait` in threads.",
    ["service"],
)
database_errors = counter(
    "larder_database_errors", "Requests and tasks that the database failed: `no_answer`, `full`.", ["reason"]
)
sign_ins = counter("larder_sign_ins", "Attempts to sign in.", ["outcome"])
rate_limit_refusals = counter("larder_rate_limit_refusals", "Attempts beyond a rate limit.", ["limit"])
notifications = counter("larder_notifications", "Attempts to send a webhook or a mail.", ["channel", "outcome"])
audit_heads = counter("larder_audit_heads", "Heads of the audit chain sent to LARDER_AUDIT_HEAD_URL.", ["outcome"])
signatures = counter("larder_signatures", "Signatures by the registry.", ["algorithm"])
signing_refusals = counter("larder_signing_refusals", "Requests that the signing worker rejected.", ["reason"])
gpg_failures = counter("larder_gpg_failures", "Signatures that failed, by step.", ["step"])
