"""`manage.py doctor`: each part is broken for real, and the finding says what and how to fix it."""

import json
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from apps.blobs.backends import local
from apps.blobs.care import runs
from apps.blobs.models import Run
from apps.jobs import heartbeats
from apps.jobs.models import Heartbeat, Job
from apps.releases.models import Release
from apps.signing import statement_keys, vault
from apps.signing.models import Custody, PrivateKey, PrivateStatementKey, SigningKey
from registry_site.celery import app
from registry_site.monitoring import public_certificate, states
from registry_site.operations import doctor
from registry_site.startup import certificates
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def sound(db, settings):
    """A Larder of which nothing is wrong but what tests have no part of."""
    settings.DATA_DIR.joinpath("blobs").mkdir(exist_ok=True)
    heartbeats.beat("here:1")
    heartbeats.ring("here:2")


def findings_of(*parts):
    found = [finding for part in parts for finding in _looked(part)]
    return {finding.part: (finding.state, finding.found) for finding in found}


def _looked(part):
    before = dict(doctor.LOOKS)
    try:
        for other in before:
            if other != part:
                del doctor.LOOKS[other]
        return list(doctor.examine())
    finally:
        doctor.LOOKS.clear()
        doctor.LOOKS.update(before)


@contextmanager
def answering(sql, instead):
    """The database answers another statement."""

    def ask(execute, asked, *rest):
        return execute(instead if asked == sql else asked, *rest)

    with connection.execute_wrapper(ask):
        yield


@pytest.mark.both
def test_a_sound_larder_has_no_fault(sound):
    states = {part: state for part, (state, _) in findings_of(*doctor.LOOKS).items()}

    assert {part for part, state in states.items() if state == "fail"} == set()
    for part in (
        "database",
        "migrations",
        "storage",
        "broker",
        "cache",
        "worker and beat",
        "clock",
        "gpg",
        "name",
        "quotas",
    ):
        assert states[part] == "ok", part


def test_the_exit_status_and_the_json_tell_whether_something_is_wrong(sound):
    out = StringIO()
    with pytest.raises(SystemExit) as ended:  # plain http, and the key beside the database
        call_command("doctor", "--json", stdout=out)
    document = json.loads(out.getvalue())
    assert (document["status"], ended.value.code) == ("warn", 2)
    assert {"part", "state", "found", "hint"} == set(document["findings"][0])

    Heartbeat.objects.all().delete()
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", stdout=out)
    assert ended.value.code == 1
    assert "fail  worker and beat: no worker has reported yet\n      Start `manage.py worker`" in out.getvalue()


def test_all_is_well_is_status_0(sound, monkeypatch):
    monkeypatch.setattr(doctor, "LOOKS", {"versions": doctor.LOOKS["versions"]})

    call_command("doctor", stdout=StringIO())


def test_a_migration_is_missing(sound):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'jobs' AND name >= '0002'")

    assert findings_of("database")["migrations"][0] == "fail"


def overwrite(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)
    return True


@for_each_row(
    ("part", "break_it", "state", "words"),
    [
        # A file where the folder should be.
        ("storage", lambda patch: patch.setattr(settings, "STORAGE_URL", f"file://{__file__}"), "fail", "failed"),
        ("storage", lambda patch: patch.setattr(local, "_link_once", overwrite), "fail", "create objects only once"),
        ("gpg", lambda patch: patch.setenv("PATH", "/nowhere"), "fail", ""),
        ("name", lambda patch: patch.setattr(settings, "PUBLIC_URL", "https://no-such-host.invalid"), "fail", ""),
        ("disk", lambda patch: patch.setattr(doctor, "LOW_BYTES", 10**18), "warn", ""),
    ],
)
def test_a_part_of_this_host_that_fails_is_named(sound, monkeypatch, part, break_it, state, words):
    with monkeypatch.context() as patch:
        break_it(patch)
        found = findings_of(part)[part]

    assert (found[0], words in found[1]) == (state, True)


@pytest.mark.slow
def test_the_broker_is_away(sound, settings):
    before = app.conf["broker_url"]
    app.conf.update(broker_url="redis://127.0.0.1:1/0")
    try:
        assert findings_of("broker")["broker"][0] == "fail"
    finally:
        app.conf.update(broker_url=before)


def test_a_job_that_waits_and_a_worker_that_is_silent(sound):
    Job.objects.create(kind="publish-module", target=1)
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=20))
    assert findings_of("worker and beat")["queue"][0] == "warn"

    Heartbeat.objects.update(at=timezone.now() - timedelta(minutes=20))
    assert findings_of("worker and beat")["worker and beat"][0] == "fail"


@for_each_row(("minutes", "words"), [("-5", "ahead of the database"), ("+5", "behind the database")])
def test_the_clock_of_the_database_differs(sound, minutes, words):
    with answering("SELECT CURRENT_TIMESTAMP", f"SELECT datetime('now', '{minutes} minutes')"):
        state, found = findings_of("clock")["clock"]

    assert (state, words in found) == ("fail", True)


@for_each_row(("minutes", "words"), [(5, "storage is behind"), (-5, "storage is ahead")])
def test_the_clock_of_storage_differs(sound, monkeypatch, minutes, words):
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(minutes=minutes))

    state, found = findings_of("clock of storage")["clock"]
    assert (state, found.startswith(words)) == ("fail", True)


def test_the_key_encryption_key_does_not_open_a_private_key(sound, settings, acme, olga, worker_host, tmp_path):
    settings.SIGNING_KEK_FILE = tmp_path / "kek"
    settings.SIGNING_KEK_FILE.write_text("ab" * 32 + "\n")
    sealed(acme)
    assert findings_of("signing keys")["signing keys"][0] == "ok"

    settings.SIGNING_KEK_FILE.write_text("cd" * 32 + "\n")
    assert findings_of("signing keys")["signing keys"][0] == "fail"

    settings.SIGNING_KEK_FILE.unlink()
    assert findings_of("signing keys")["signing keys"][1].startswith("this host has no key-encryption key")


def sealed(namespace):
    key = SigningKey.objects.create(
        namespace=namespace, custody=Custody.REGISTRY, fingerprint="A" * 40, key_id="A" * 16, armor="-", algorithm="-"
    )
    row = vault.seal(key, b"private half")
    row.save()
    return PrivateKey.objects.get(pk=row.pk)


def test_the_certificate_is_for_another_name_or_ends_soon(sound, settings, monkeypatch, tmp_path):
    settings.TLS, settings.DATA_DIR = "auto", tmp_path
    certificates.served("auto", data_dir=tmp_path, listen_host="127.0.0.1", public_url="https://127.0.0.1:8443")
    settings.PUBLIC_URL = "https://127.0.0.1:8443"
    assert findings_of("certificate")["certificate"][0] == "ok"

    settings.PUBLIC_URL = "https://registry.example.com"
    assert "is for 127.0.0.1" in findings_of("certificate")["certificate"][1]

    settings.PUBLIC_URL = "https://127.0.0.1:8443"
    monkeypatch.setattr(certificates, "LEAF_LIFETIME", timedelta(days=3))
    (tmp_path / "tls" / "server.pem").unlink()
    certificates.served("auto", data_dir=tmp_path, listen_host="127.0.0.1", public_url="https://127.0.0.1:8443")
    assert findings_of("certificate")["certificate"][0] == "fail"


def test_the_certificate_of_a_proxy_is_read_at_the_public_name(sound, settings, monkeypatch, tmp_path):
    """Which this host need not trust, and cannot always reach."""
    monkeypatch.setattr(certificates, "LEAF_LIFETIME", timedelta(days=20))
    files = certificates.served("auto", data_dir=tmp_path, listen_host="127.0.0.1", public_url="")
    settings.TLS = "off"
    with socket.create_server(("127.0.0.1", 0)) as listening, tls_accepting(listening, files):
        port = listening.getsockname()[1]
        settings.PUBLIC_URL = f"https://localhost:{port}"
        state, found = findings_of("public certificate")["public certificate"]
        assert (state, "the one at https://localhost" in found) == ("warn", True)
        public_certificate.watch.look()
        metrics = {family.name: family.samples[0].value for family in states._certificate()}
        assert 18 * 86400 < metrics["larder_public_certificate_expiry_seconds"] < 20 * 86400
    state, found = findings_of("public certificate")["public certificate"]
    assert (state, "cannot be reached from this host" in found) == ("warn", True)
    public_certificate.watch.look()
    assert list(states._certificate()) == []
    settings.PUBLIC_URL = "http://localhost:8080"
    assert findings_of("public certificate")["public certificate"][0] == "ok"


@contextmanager
def tls_accepting(listening, files):
    """Make handshakes with these files, as a proxy does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)

    def accept():
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                with suppress(OSError), context.wrap_socket(client, server_side=True) as connection:
                    connection.recv(1)

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_backup_that_is_missing_or_late_and_a_check_that_failed(sound):
    assert findings_of("backup")["backup"] == ("warn", "the last good one: never")

    runs.record(runs.What.BACKUP, is_good=True)
    assert findings_of("backup")["backup"][0] == "ok"

    runs.record(runs.What.SCRUB, is_good=False)
    Run.objects.update(good_at=timezone.now() - timedelta(days=3))
    found = findings_of("backup")
    assert (found["backup"][0], found["scrub"][0]) == ("warn", "fail")


def test_a_namespace_is_nearly_full(sound, settings, published):
    published()
    settings.NAMESPACE_MAX_VERSIONS = 1

    assert findings_of("quotas")["quotas"] == ("warn", "acme: 1 of 1 versions")


def test_a_dangerous_setting_is_a_fault(sound, settings):
    settings.DEBUG = True

    first, *_ = doctor.configuration()
    assert (first.state, "LARDER_DEBUG" in first.found) == ("fail", True)


def test_a_private_half_of_the_registry_is_tried_too(sound, worker_host):
    statement_keys.sign("text/plain", b"one")
    assert findings_of("signing keys")["signing keys"][0] == "ok"
    PrivateStatementKey.objects.update(ciphertext=b"damaged")
    state, found = findings_of("signing keys")["signing keys"]
    assert (state, "damaged or was replaced" in found) == ("fail", True)


def test_releases_without_a_statement_are_counted(sound, published):
    release = published()
    assert findings_of("statements")["statements"][0] == "ok"  # a worker may be on it
    Release.objects.update(published_at=timezone.now() - timedelta(hours=1))
    state, found = findings_of("statements")["statements"]
    assert (state, f"the first is {release}" in found, found.startswith("1 published")) == ("warn", True, True)
