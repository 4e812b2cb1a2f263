"""The real settings of the processes: from the database, Celery, and the settings under given variables."""

import json
import pickle
import socket

import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.sqlite3.base import DatabaseWrapper
from kombu import serialization
from kombu.exceptions import ContentDisallowed

from registry_site.celery import app
from tests.site.commands import run_python

__all__ = ["run_python"]


@pytest.mark.django_db
@pytest.mark.needs("on SQLite")
def test_sqlite_writes_through_to_the_disk():
    """synchronous 2 is FULL: with NORMAL a power cut takes the last commits of a WAL back, acknowledged or not."""
    served = DatabaseWrapper({**connection.settings_dict, "OPTIONS": settings.SQLITE_OPTIONS}, "default")
    found = {}
    with served.cursor() as cursor:
        for name in ("synchronous", "journal_mode", "foreign_keys", "busy_timeout"):
            found[name] = cursor.execute(f"PRAGMA {name}").fetchone()[0]
    served.close()
    assert found == {"synchronous": 2, "journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 20_000}


def settings_with(folder, *names, **variables):
    found = f"[getattr(s, name) for name in {names!r}]"
    code = f"import json; from registry_site import settings as s; print(json.dumps({found}, default=list))"
    done = run_python(code, LARDER_DATA_DIR=str(folder), **variables)
    assert done.returncode == 0, done.stderr
    return dict(zip(names, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("seconds", ["0", "601"])
def test_how_long_a_client_waits_for_another_registry_has_bounds(tmp_path, seconds):
    given = {"LARDER_DATA_DIR": str(tmp_path), "LARDER_UPSTREAM_WAIT_SECONDS": seconds}
    done = run_python("import registry_site.settings", **given)

    assert done.returncode != 0
    assert f"LARDER_UPSTREAM_WAIT_SECONDS='{seconds}': expected a number from 1 to 600" in done.stderr


def test_without_variables_nothing_is_open(tmp_path):
    """The settings of the test run cannot say this: DEBUG is off there whatever they are."""
    found = settings_with(
        tmp_path,
        *("DEBUG", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "BEHIND_PROXY", "USE_X_FORWARDED_HOST"),
        *("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SESSION_COOKIE_NAME", "LISTEN_HOST"),
    )
    assert found["DEBUG"] is False
    assert found["ALLOWED_HOSTS"] == ["127.0.0.1", "[::1]", "localhost"]
    assert found["CSRF_TRUSTED_ORIGINS"] == ["https://127.0.0.1:8443", "https://localhost:8443"]
    assert found["BEHIND_PROXY"] is False
    assert found["USE_X_FORWARDED_HOST"] is False
    assert found["SESSION_COOKIE_SECURE"] is found["CSRF_COOKIE_SECURE"] is True
    assert found["SESSION_COOKIE_NAME"].startswith("__Host-")
    assert found["LISTEN_HOST"] == "127.0.0.1"


def test_variables_for_hsts_and_for_plain_http_change_what_they_name(tmp_path):
    found = settings_with(
        tmp_path,
        *("SECURE_HSTS_SECONDS", "SESSION_COOKIE_SECURE", "SESSION_COOKIE_NAME"),
        LARDER_HSTS_SECONDS="31536000",
        LARDER_PUBLIC_URL="http://larder.example",
    )
    assert found["SECURE_HSTS_SECONDS"] == 31_536_000
    # Browsers drop Secure cookies, and names with __Host-, over plain http.
    assert (found["SESSION_COOKIE_SECURE"], found["SESSION_COOKIE_NAME"]) == (False, "larder-session")


# --- Celery ----------------------------------------------------------------------------------------------------------


def test_a_worker_refuses_messages_that_would_run_code():
    """Writing to the broker must not give a shell on the worker."""
    accepted = serialization.prepare_accept_content(app.conf.accept_content)
    for content_type in ("application/x-python-serialize", "application/x-yaml", "application/x-msgpack"):
        with pytest.raises(ContentDisallowed):
            serialization.loads(pickle.dumps(["a job"]), content_type, "binary", accept=accepted)
    assert serialization.loads(b"[1]", "application/json", "utf-8", accept=accepted) == [1]
    assert app.conf.result_accept_content is None or set(app.conf.result_accept_content) <= {"json"}


def test_a_message_gives_no_orders_to_workers():
    """A client that writes to the broker could stop them, or give the signing worker other queues."""
    assert app.conf.worker_enable_remote_control is False


def test_a_ring_is_json():
    assert (app.conf.task_serializer, app.conf.event_serializer, app.conf.result_serializer) == ("json",) * 3


# --- PostgreSQL ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_database_server_that_hangs_is_given_up(tmp_path):
    """It takes the connection and says nothing, as a host behind a broken switch does. Without a limit: for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        code = "import django; django.setup(); from django.db import connection; connection.ensure_connection()"
        url = f"postgres://larder:hunter2@127.0.0.1:{port}/larder"
        done = run_python(code, LARDER_DATA_DIR=str(tmp_path), LARDER_DATABASE_URL=url)

    assert "OperationalError" in done.stderr
    assert "timeout" in done.stderr
    assert "hunter2" not in done.stderr
