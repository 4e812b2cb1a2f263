"""Commands stop with one sentence: after a bad variable, without a database, or with an empty one."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, ProgrammingError
from django.db.migrations.recorder import MigrationRecorder

from apps.audit import generation
from registry_site import env
from registry_site.startup import bootstrap, command_line, schema
from tests import postgres
from tests.rows import for_each_row
from tests.site.commands import manage
from tests.site.processes import eventually


def refusal(done) -> str:
    """The one line that it ended with, beside structured log lines."""
    said = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert done.returncode != 0
    assert len(said) == 1, done.stderr
    return said[0]


@pytest.mark.slow
@for_each_row(
    ("variables", "expected"),
    [
        ({"LARDER_WEB_PROCESSES": "many"}, "LARDER_WEB_PROCESSES='many': expected a whole number"),
        ({"LARDER_DATABASE_URL": "postgres://larder:hunter2@127.0.0.1:1/larder"}, "Connection refused"),
        ({"LARDER_DATABASE_URL": "postgres://larder:hunter2@larder.invalid/larder"}, "LARDER_DATABASE_URL"),
        ({"LARDER_DATABASE_URL": "postgres://larder:hunter2@127.0.0.1:1/larder?connect_timeout=x"}, "bad value"),
        ({"LARDER_DATABASE_URL": "sqlite:////nonexistent/larder.sqlite3"}, "unable to open database file"),
        ({"LARDER_DATA_DIR": "/proc/none"}, "The data folder of LARDER_DATA_DIR cannot be used"),
    ],
)
def test_any_command_ends_with_one_sentence(tmp_path, variables, expected):
    said = refusal(manage(tmp_path, "token", "--user", "admin", "--scope", "read", **variables))

    assert expected in said
    assert "hunter2" not in said


@pytest.mark.slow
def test_make_run_says_the_same(tmp_path):
    url = "postgres://larder:hunter2@127.0.0.1:1/larder"
    assert "Connection refused" in refusal(manage(tmp_path, "up", LARDER_LISTEN=free(), LARDER_DATABASE_URL=url))
    assert "expected a bucket" in refusal(manage(tmp_path, "up", LARDER_STORAGE_URL="s3://"))
    azure = refusal(manage(tmp_path, "up", LARDER_STORAGE_URL="azure://registry?account=acme"))
    assert "LARDER_AZURE_KEY_FILE is not set" in azure


def free() -> str:
    return f"127.0.0.1:{postgres.free_port()}"


def test_whoever_looks_for_the_cause_sees_the_traceback(tmp_path):
    done = manage(tmp_path, "token", "--user", "a", "--scope", "read", "--traceback", LARDER_WEB_THREADS="x")
    assert "Traceback" in done.stderr


@for_each_row(
    "value",
    [
        "postgres://larder:hunter2@host:port/larder",
        "postgres://larder:hunter#2@host/larder",
        "postgres://larder:hunter2@[host/larder",
        "mysql://larder:hunter2@host/larder",
        "postgres://larder:hunter2@host",
        "postgres:///",
        "sqlite://",
        "sqlite:///",
        "sqlite://hunter2/larder.sqlite3",
        "hunter2",
    ],
)
def test_a_database_url_that_names_no_database_is_refused_without_its_password(monkeypatch, value):
    monkeypatch.setenv("LARDER_TEST_URL", value)

    with pytest.raises(ImproperlyConfigured, match="LARDER_TEST_URL") as refused:
        env.database("LARDER_TEST_URL", env.url("LARDER_TEST_URL", "", "sqlite", "postgres", "postgresql"))

    assert "hunter" not in str(refused.value).replace("begins with 'hunter2'", "")


@for_each_row(
    ("read", "value"),
    [
        (lambda name: env.number(name, 1), "9" * 5000),
        (lambda name: env.number(name, 1), "99999999999999999999"),
        (lambda name: env.number(name, 1, least=1), "-1"),
        (lambda name: env.folder(name, Path("/tmp")), "~nobody-has-this-name/data"),
        (lambda name: env.secrets_from(name, Path("/tmp/none")), "/etc"),
        (lambda name: env.secrets_from(name, Path("/tmp/none")), "/dev/null"),
        (lambda name: env.url(name, "", "https"), "https://[::1"),
        (lambda name: env.url(name, "", "https"), "https://"),
        (env.trusted_proxies, "10.0.0.0/33"),
        (lambda name: env.address(name, "127.0.0.1:1"), "127.0.0.1:70000"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_its_name(monkeypatch, read, value):
    monkeypatch.setenv("LARDER_TEST_VALUE", value)

    with pytest.raises(ImproperlyConfigured, match="LARDER_TEST_VALUE"):
        read("LARDER_TEST_VALUE")


@pytest.mark.slow
def test_each_line_of_a_file_is_a_secret_and_none_is_easy(tmp_path):
    file = tmp_path / "keys"
    for text, expected in (
        ("short", ["short"]),
        ("a key with spaces in it\n", ["a key with spaces in it"]),
        (f"{'n' * 32}\r\n\n  {'o' * 32}  \n", ["n" * 32, "o" * 32]),
    ):
        file.write_text(text)
        assert env.secrets_from("LARDER_TEST_NONE", file) == expected

    code = "from django.conf import settings as s; print(s.SECRET_KEY, *s.SECRET_KEY_FALLBACKS)"
    done = manage(tmp_path, "shell", "-v", "0", "-c", code, LARDER_SECRET_KEY_FILE=str(file))
    assert done.stdout.split() == ["n" * 32, "o" * 32], done.stderr

    file.write_text(f"{'n' * 64}\nAA==\n")  # as `openssl rand -base64 50` wraps it
    with pytest.raises(ImproperlyConfigured, match="fewer than 32 characters"):
        env.secrets_from("LARDER_TEST_NONE", file)


@pytest.mark.slow
@pytest.mark.parametrize("process", [["web"], ["worker"], ["worker", "--beat"], ["beat"]], ids=" ".join)
def test_a_process_on_an_empty_database_says_what_to_run(tmp_path, process):
    assert "There is no secret key yet" in refusal(manage(tmp_path, *process))

    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "secret_key").write_text("pears" * 10)

    said = refusal(manage(tmp_path, *process, LARDER_LISTEN=free()))
    assert said.endswith("The database has no tables yet: run `manage.py migrate` first.")


@pytest.mark.django_db
def test_a_database_of_an_older_version_is_refused_by_the_migration_that_it_lacks():
    assert schema.lacking() == []
    MigrationRecorder.Migration.objects.filter(app="oci").delete()

    assert schema.sentence(schema.lacking()).startswith("The database lacks oci.0001_squashed")


@pytest.mark.django_db
def test_an_error_of_a_command_itself_keeps_its_traceback_and_others_have_our_words():
    assert command_line.sentence_for(ProgrammingError("syntax error")) == ""
    assert command_line.sentence_for(OperationalError("canceling statement due to statement timeout\nmore")) == (
        "canceling statement due to statement timeout"
    )
    error = ImproperlyConfigured("The SECRET_KEY setting must not be empty.")
    assert command_line.sentence_for(error) == bootstrap.NO_KEY_YET


SLOW_TABLES = """
CREATE FUNCTION slowly() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.5); END';
CREATE EVENT TRIGGER slowly ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION slowly();
"""


@pytest.mark.nightly
@pytest.mark.needs("postgres")
def test_migrations_by_hand_outlast_the_statement_time_out(tmp_path):
    """Each table takes longer to make than any statement may."""
    server = postgres.Server()
    code = "from django.db import connection as c; c.cursor().execute({!r})"
    assert manage(tmp_path, "shell", "-c", code.format(SLOW_TABLES), LARDER_DATABASE_URL=server.url).returncode == 0
    url = f"{server.url}?options=-c%20statement_timeout%3D1s"
    said = refusal(
        manage(tmp_path, "shell", "-v", "0", "-c", code.format("CREATE TABLE t ()"), LARDER_DATABASE_URL=url)
    )
    assert "statement timeout" in said or "no tables yet" in said

    done = manage(tmp_path, "migrate", "audit", "0001", LARDER_DATABASE_URL=url)

    assert done.returncode == 0, done.stderr
    assert "Applying audit.0001_squashed_0023_append_only... OK" in done.stdout


@pytest.mark.nightly
@pytest.mark.needs("postgres")
def test_a_migration_that_waits_for_a_table_has_nobody_wait_behind_it(tmp_path):
    """Somebody writes the table in a long transaction, and a request comes after the migration that must lock it."""
    server = postgres.Server()
    variables = {"LARDER_DATABASE_URL": server.url}
    assert manage(tmp_path, "migrate", "accounts", **variables).returncode == 0
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'accounts_user'::regclass"
    with psycopg.connect(server.url) as writer, psycopg.connect(server.url, autocommit=True) as request:
        writer.execute("UPDATE accounts_user SET last_name = ''")
        with ThreadPoolExecutor(1) as beside:
            migrating = beside.submit(manage, tmp_path, "migrate", "releases", **variables)
            eventually(lambda: request.execute(waiting).fetchone(), what="the migration")
            request.execute("SET lock_timeout = '5s'")
            request.execute("UPDATE accounts_user SET last_name = ''")
            assert not migrating.done()
            writer.rollback()
            done = migrating.result()

    assert done.returncode == 0, done.stderr
    assert "migration_waits" in done.stderr


@pytest.mark.django_db
@for_each_row(
    ("command", "repeats", "waits"),
    [("token", 60, 1), ("token", 0, 0), ("up", 60, 0), ("web", 60, 0), ("worker", 60, 0), ("beat", 60, 0)],
)
def test_a_change_is_waited_for_at_the_end_of_a_command_and_of_no_long_process(
    monkeypatch, settings, command, repeats, waits
):
    """It waits if answers are repeated during an outage."""
    settings.SERVE_STALE_SECONDS = repeats
    slept: list[float] = []
    monkeypatch.setattr(command_line, "execute_from_command_line", lambda _: None)
    monkeypatch.setattr(generation, "_has_changed", True)
    monkeypatch.setattr(generation, "time", SimpleNamespace(sleep=slept.append))

    command_line.run(["manage.py", command])

    assert len(slept) == waits
