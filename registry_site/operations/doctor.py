"""The check-up of `manage.py doctor`: each part is tried for real, and each finding says how to fix it."""

import platform
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.core import checks
from django.db import connection
from django.utils import timezone

from apps import room
from apps.accounts.access import connections
from apps.accounts.identity import sealing, tokens
from apps.accounts.models import Namespace
from apps.audit import heads
from apps.blobs import store
from apps.blobs.care import round_trip, runs
from apps.blobs.models import Run
from apps.jobs.models import Job
from apps.lib.errors import RegistryError
from apps.lib.net.forwarding import parse_address
from apps.provenance import statements
from apps.releases.publishing import quotas
from apps.signing import gpg, rewrapping, vault
from registry_site import wiring
from registry_site.backends import redis_cache
from registry_site.operations import certificates, examining, last_known
from registry_site.operations.examining import FAIL, LIMIT_SECONDS, OK, WARN, Finding, Look
from registry_site.server import probes
from registry_site.startup import schema
from registry_site.startup.bootstrap import CannotStartError

SLOW_SECONDS = 0.25
CLOCK_LIMIT = timedelta(seconds=60)
LOW_BYTES, NO_BYTES = 5_000_000_000, 1_000_000_000
LONG_WAIT = timedelta(minutes=5)
NEARLY_FULL = 0.9
HEAD_LATE = timedelta(hours=3)  # recorded every hour
MAX_NAMESPACES = 1000
MAX_TOKENS = 10
MAX_CONNECTIONS = 10
BACKUP_LATE = timedelta(days=2)


def examine() -> Iterator[Finding]:
    return examining.examine(LOOKS)


def configuration() -> Iterator[Finding]:
    if not settings.DATA_DIR.is_dir():
        hint = "`manage.py up` or `manage.py migrate` creates it; or fix LARDER_DATA_DIR."
        yield Finding("configuration", FAIL, f"{settings.DATA_DIR} is not there", hint)
        return
    # Django's own warnings advise what a proxy may do as well; its errors count.
    serious = [
        one
        for one in checks.run_checks(include_deployment_checks=True)
        if not one.is_silenced() and (one.level >= checks.ERROR or str(one.id).startswith("larder."))
    ]
    for one in sorted(serious, key=lambda one: -one.level):
        yield Finding("configuration", FAIL if one.level >= checks.ERROR else WARN, str(one.msg), str(one.hint or ""))
    if not serious:
        yield Finding("configuration", OK, f"{settings.PUBLIC_URL}, data in {settings.DATA_DIR}")


def versions() -> Iterator[Finding]:
    found = f"Larder {settings.VERSION}, Python {platform.python_version()}, Django {django.get_version()}"
    yield Finding("versions", OK, found)


def database() -> Iterator[Finding]:
    probes.check_database()  # connects
    began = time.perf_counter()
    probes.check_database()
    seconds = time.perf_counter() - began
    version = ".".join(str(number) for number in connection.get_database_version())
    found = f"{connection.display_name} {version}, answers in {seconds * 1000:.1f} ms"
    hint = "Move the database closer, or find the cause of its load." if seconds > SLOW_SECONDS else ""
    yield Finding("database", WARN if hint else OK, found, hint)
    try:
        schema.check()
    except CannotStartError as refusal:
        yield Finding("migrations", FAIL, str(refusal), "Run `manage.py migrate`.")
    else:
        yield Finding("migrations", OK, "all are applied")


def storage() -> Iterator[Finding]:
    began = time.perf_counter()
    round_trip.try_storage()
    found = f"writes, reads, creates only once and deletes, in {(time.perf_counter() - began) * 1000:.0f} ms"
    yield Finding("storage", OK, found)


def data_folder() -> Iterator[Finding]:
    yield _room("data folder", shutil.disk_usage(settings.DATA_DIR).free)


def storage_room() -> Iterator[Finding]:
    if (free := store.free_bytes()) is not None:
        yield _room("storage", free)


def _room(place: str, free: int) -> Finding:
    state = FAIL if free < NO_BYTES else WARN if free < LOW_BYTES else OK
    hint = "" if state == OK else "Free space: docs/runbooks.md, The disk is full."
    return Finding("disk", state, f"{place}: {free / 1e9:.1f} GB free", hint)


def broker() -> Iterator[Finding]:
    probes.check_broker()
    yield Finding("broker", OK, f"answers ({urlsplit(settings.BROKER_URL).scheme})")


def shared_cache() -> Iterator[Finding]:
    if settings.CACHE_URL:
        redis_cache.require(settings.CACHE_URL)
        yield Finding("cache", OK, "answers (redis)")
    else:
        yield Finding("cache", OK, "rate limits are counted without a Redis")


def workers() -> Iterator[Finding]:
    probes.check_worker()
    yield Finding("worker and beat", OK, "workers of each queue and beat reported recently")
    since = Job.objects.awaited().waiting_since()
    if since is not None and timezone.now() - since > LONG_WAIT:
        age = int((timezone.now() - since).total_seconds())
        yield Finding("queue", WARN, f"a job has waited for {age} s", "Start more workers, or find out why jobs fail.")


def clocks() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_TIMESTAMP")
        told = cursor.fetchone()[0]
    told = told if isinstance(told, datetime) else datetime.fromisoformat(told).replace(tzinfo=UTC)
    late = datetime.now(UTC) - told
    if abs(late) > CLOCK_LIMIT:
        which = "ahead of" if late > timedelta() else "behind"
        found = f"this host is {abs(late).total_seconds():.0f} s {which} the database"
        yield Finding("clock", FAIL, found, "Synchronise the clocks (NTP): signatures and tokens contain times.")
    else:
        yield Finding("clock", OK, f"agrees with the database within {CLOCK_LIMIT.total_seconds():.0f} s")


def storage_clock() -> Iterator[Finding]:
    if offset := round_trip.clock_offset(CLOCK_LIMIT):
        found = f"storage is {offset} this host by more than {CLOCK_LIMIT.total_seconds():.0f} s"
        yield Finding("clock", FAIL, found, "Synchronise the clocks (NTP): storage rejects signed requests.")
    else:
        yield Finding("clock", OK, f"agrees with storage within {CLOCK_LIMIT.total_seconds():.0f} s")


def key_services() -> Iterator[Finding]:
    """Only where they are in use, and only on hosts that sign: no other has the credentials."""
    if vault.is_for_this_host():
        vault.unlock()
        for service in vault.services():
            milliseconds = vault.try_service(service) * 1000
            yield Finding("key service", OK, f"{service.title}: wraps and unwraps in {milliseconds:.0f} ms")


def gpg_programs() -> Iterator[Finding]:
    program = gpg.program("gpg")
    gpg.program("gpgv")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    yield Finding("gpg", OK, done.stdout.splitlines()[0])


def signing_keys() -> Iterator[Finding]:
    if not rewrapping.has_any():
        yield Finding("signing keys", OK, "none are stored")
        return
    if vault.services() and not vault.is_for_this_host():
        yield Finding("signing keys", OK, "this host does not sign (LARDER_WORKER_QUEUES)")
        return
    vault.unlock()
    try:
        newest = vault.newest_kek_id()
    except vault.SignerUnavailable as why:
        if settings.SIGNING_KEK_FILE.exists() or vault.services():
            yield Finding("signing keys", FAIL, str(why), why.hint)
        else:
            yield Finding("signing keys", OK, "this host has no key-encryption key: correct for hosts without a worker")
        return
    broken = []
    for private in rewrapping.every_private():
        try:
            vault.unseal(private)
        except RegistryError as why:
            broken.append(f"{private.key}: {why}")
            if isinstance(why, vault.KeyServiceAway):
                break  # the others would wait as long
    if broken:
        yield Finding("signing keys", FAIL, broken[0], "docs/operations/keys.md, Signing keys.")
    else:
        where = vault.newest_kek_title()
        yield Finding("signing keys", OK, f"every private key can be decrypted; {where} ({newest}) encrypts")


def stored_secrets() -> Iterator[Finding]:
    """Credentials, secrets of webhooks and second factors: what the secret key encrypts."""
    outdated = list(sealing.outdated(wiring.sealed_columns()))
    closed = [one for one in outdated if one.renewed is None]
    if closed:
        found = f"{len(closed):,} were encrypted with another secret key, the first is {closed[0]}"
        yield Finding("stored secrets", FAIL, found, "docs/operations/keys.md, A stored secret does not open.")
    elif outdated:
        found = f"{len(outdated):,} are encrypted under an older line of LARDER_SECRET_KEY_FILE"
        yield Finding("stored secrets", WARN, found, "Run `manage.py reseal_secrets` before you remove that line.")
    else:
        yield Finding("stored secrets", OK, "the first line of LARDER_SECRET_KEY_FILE decrypts all")


def late_statements() -> Iterator[Finding]:
    """Releases are published without waiting for their statements."""
    late = statements.late()
    if count := late.count():
        minutes = statements.LATE.total_seconds() / 60
        first = late.select_related("namespace").order_by("pk").first()
        found = f"{count:,} published releases have had none for more than {minutes:.0f} minutes, the first is {first}"
        yield Finding("statements", WARN, found, "docs/operations/keys.md, A release has no statement.")
    else:
        yield Finding("statements", OK, "no published release waits for one")


def name() -> Iterator[Finding]:
    host = urlsplit(settings.PUBLIC_URL).hostname or ""
    if parse_address(host):
        yield Finding("name", OK, f"{host} is an address")
        return
    try:
        found = sorted({str(entry[4][0]) for entry in socket.getaddrinfo(host, None)})
    except OSError:
        hint = "Add it to the DNS, or correct LARDER_PUBLIC_URL: links and clients use this name."
        yield Finding("name", FAIL, f"{host} has no address", hint)
        return
    yield Finding("name", OK, f"{host} is {', '.join(found)}")


def namespace_quotas() -> Iterator[Finding]:
    full = []
    for namespace in Namespace.objects.order_by("pk")[:MAX_NAMESPACES]:
        use = quotas.usage(namespace)
        parts = ((use.bytes, use.max_bytes, "bytes"), (use.versions, use.max_versions, "versions"))
        nearly = (part for part in parts if part[1] and part[0] > NEARLY_FULL * part[1])
        full += [f"{namespace}: {used:,} of {most:,} {what}" for used, most, what in nearly]
    if full:
        yield Finding("quotas", WARN, "; ".join(full[:10]), "Raise the quota in the admin, or purge versions.")
    else:
        yield Finding("quotas", OK, "no namespace is near its quota")


def audit_heads() -> Iterator[Finding]:
    """The recorded heads alone: `manage.py audit verify` reads the whole chain."""
    path = heads.file()
    if path is None:
        where = "posted to LARDER_AUDIT_HEAD_URL" if settings.AUDIT_HEAD_URL else "only in the log"
        yield Finding("audit", OK, f"heads of the chain are {where}")
        return
    hint = "docs/runbooks.md, The audit log was changed."
    newest = heads.newest_in(path) if path.is_file() else None
    if newest is None or datetime.fromisoformat(newest.at) < timezone.now() - HEAD_LATE:
        found = f"{path} has no head of the last {HEAD_LATE.total_seconds() / 3600:.0f} hours"
        yield Finding("audit", WARN, found, "See audit_head_not_recorded in the log of the worker of the queue notify.")
    if newest is not None:
        problems = heads.problems_of(path)
        found = problems[0] if problems else f"the recorded heads of {path} are in the chain"
        yield Finding("audit", FAIL if problems else OK, found, hint if problems else "")


def api_tokens() -> Iterator[Finding]:
    earlier = list(tokens.by_earlier_rules().select_related("user").order_by("pk")[: MAX_TOKENS + 1])
    if not earlier:
        yield Finding("API tokens", OK, "all follow the current rules")
        return
    named = [f"{token} of {token.user}" for token in earlier[:MAX_TOKENS]]
    more = " and more" if len(earlier) > MAX_TOKENS else ""
    hint = "They keep their rights until they expire. The admin lists them (API tokens, by rules): docs/tokens.md."
    yield Finding("API tokens", WARN, f"created under earlier rules: {', '.join(named)}{more}", hint)


def left_behind() -> Iterator[Finding]:
    """Yield connections of people to namespaces that they no longer own. It works until someone suspends or removes
    it.
    """
    found = connections.left_behind()
    working = [one for one in found if not one.is_suspended]
    if not working:
        suspended = f"; {len(found):,} suspended until an owner confirms them" if found else ""
        yield Finding("connections", OK, f"an owner answers for each that works{suspended}")
        return
    named = [f"{one} of {one.row.namespace or 'the registry'} ({', '.join(one.names)})" for one in working]
    more = f" and {len(named) - MAX_CONNECTIONS:,} more" if len(named) > MAX_CONNECTIONS else ""
    listed = "; ".join(named[:MAX_CONNECTIONS])
    hint = "Owners confirm or remove each on the page Connections of its namespace: docs/handing-over.md."
    yield Finding("connections", WARN, f"{len(named):,} of people without the role owner: {listed}{more}", hint)


def last_runs() -> Iterator[Finding]:
    """Yield the last results of the scheduled backup and of the nightly scrub."""
    found = {run.what: run for run in Run.objects.all()}
    for what, run in found.items():
        if not run.is_good:
            hint = "docs/runbooks.md, The backup is late or failed."
            yield Finding(what, FAIL, f"the last one failed on {run.ended_at:%Y-%m-%d at %H:%M} UTC", hint)
    backup = found.get(runs.What.BACKUP)
    if backup is None or backup.good_at is None or timezone.now() - backup.good_at > BACKUP_LATE:
        when = f"{backup.good_at:%Y-%m-%d}" if backup and backup.good_at else "never"
        yield Finding("backup", WARN, f"the last good one: {when}", "Make one every day: docs/operations/backup.md.")
    else:
        yield Finding("backup", OK, f"the last good one was on {backup.good_at:%Y-%m-%d at %H:%M} UTC")


def _told_by_room(part: str, tell: Callable[[], Iterator[tuple[str, str, str]]]) -> Callable[[], Iterator[Finding]]:
    def look() -> Iterator[Finding]:
        for state, found, hint in tell():
            yield Finding(part, state, found, hint)

    return look


DATABASE, STORAGE = ("database",), ("storage",)
# In this order; what a look needs comes before it.
LOOKS: dict[str, Look] = {
    "configuration": Look(configuration),
    "versions": Look(versions),
    "database": Look(database, hint="Is it running, and is LARDER_DATABASE_URL right?"),
    "last known answers": Look(last_known.look),
    "storage": Look(
        storage, hint="Is it running, and may Larder write to LARDER_STORAGE_URL?", seconds=2 * LIMIT_SECONDS
    ),
    "disk": Look(data_folder, hint="Is the disk of LARDER_DATA_DIR mounted?"),
    "disk of storage": Look(storage_room, STORAGE, hint="Is the disk of LARDER_STORAGE_URL mounted?"),
    "broker": Look(broker, hint="Is it running, and is LARDER_BROKER_URL right? Until then, uploads wait."),
    "cache": Look(
        shared_cache,
        hint="Is it running, and is LARDER_CACHE_URL right? Until then, each process counts rate limits separately.",
    ),
    # A worker without the broker does not report.
    "worker and beat": Look(
        workers,
        ("database", "broker"),
        hint="Start `manage.py worker` and `manage.py beat`, and see their logs. Until then, uploads wait.",
    ),
    "clock": Look(clocks, DATABASE),
    "clock of storage": Look(storage_clock, STORAGE),
    "key service": Look(key_services, seconds=3 * LIMIT_SECONDS),
    "gpg": Look(gpg_programs, hint="Install gnupg where workers run."),
    # Each is decrypted, which a key service does in its own time.
    "signing keys": Look(signing_keys, DATABASE, seconds=6 * LIMIT_SECONDS),
    "statements": Look(late_statements, DATABASE),
    "certificate": Look(certificates.served),
    "name": Look(name, hint="See the DNS of this host."),
    "public certificate": Look(certificates.public),
    "quotas": Look(namespace_quotas, DATABASE),
    "audit": Look(audit_heads, DATABASE),
    # From here on the role of signing workers may not read: its first refusal ends the looks at the database.
    "API tokens": Look(api_tokens, DATABASE),
    "connections": Look(left_behind, DATABASE),
    "stored secrets": Look(stored_secrets, DATABASE),
    "backup": Look(last_runs, DATABASE),
    # By what workers found: nobody is asked now, so that no registry elsewhere is taken for a part of this Larder.
    **{part: Look(_told_by_room(part, tell), DATABASE) for part, tell in room.by_key("doctor_looks")},
}
