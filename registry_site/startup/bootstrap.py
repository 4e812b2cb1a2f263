"""Prepare what every process needs: data folder and lock, secret key, migration lock, static files."""

import fcntl
import gc
import hashlib
import io
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, OperationalError, connection, connections
from django.db.migrations.state import ModelState, ProjectState

from registry_site import env
from registry_site.server.files import replace

# Any number that all hosts share: "Larder" in ASCII.
ADVISORY_LOCK = 0x4C6172646572
BACKUP_LOCK = ADVISORY_LOCK + 1
# Metadata is read and written in milliseconds: a longer statement only blocks others.
TIME_OUTS = {"statement_timeout": "10s", "idle_in_transaction_session_timeout": "30s", "lock_timeout": "5s"}
# PostgreSQL compiles a query whose estimate is high, for 100 ms and longer; ours end before that pays.
OF_ROLE = {**TIME_OUTS, "jit": "off"}
NO_TIME_OUTS = "; ".join(f"SET LOCAL {name} = 0" for name in TIME_OUTS)
# Whoever comes after a statement that waits for a table waits as well: a migration gives up before requests do.
OF_MIGRATIONS = f"{NO_TIME_OUTS}; SET LOCAL lock_timeout = '2s'"
LOCK_NOT_AVAILABLE = "55P03"
LOCK_PAUSE, LOCK_PATIENCE = 1.0, 600.0

log = structlog.get_logger("larder.start")

NO_KEY_YET = (
    "There is no secret key yet. Set LARDER_SECRET_KEY_FILE to the file that all hosts share; on a single host "
    "`manage.py up` creates one."
)


# What web and worker import later: neither starts threads nor opens connections.
PRELOADED = (
    "registry_site.server.handler",
    "registry_site.urls",
    "a2wsgi.wsgi",
    "celery.apps.worker",
    "celery.bin.worker",
)


class CannotStartError(Exception):
    """Carries a sentence for the terminal: what prevents the start, and how to fix it."""


def data_folder(path: Path) -> None:
    """Create the folder with mode 0700: it contains keys, sessions and unpublished work."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise CannotStartError(
            f"The data folder {path} cannot be created or made private: {error.strerror}."
        ) from error


@contextmanager
def only_one(data_dir: Path) -> Iterator[None]:
    """Lock the data folder; the kernel releases the lock however the process ends."""
    with (data_dir / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            other = file.read().strip() or "unknown"
            raise CannotStartError(
                f"Larder is already running on the data folder {data_dir} (process {other}). Stop it first, or use "
                "another folder and port: LARDER_DATA_DIR=… LARDER_LISTEN=127.0.0.1:8444"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        # A child must not keep the lock of a supervisor that was killed.
        os.register_at_fork(after_in_child=file.close)
        yield


def secret_key(data_dir: Path) -> None:
    """Create the key for sessions, tickets and capability URLs once, unless LARDER_SECRET_KEY_FILE names a file."""
    if env.text("LARDER_SECRET_KEY_FILE") or (data_dir / "secret_key").is_file():
        return
    key = secrets.token_urlsafe(48)
    replace(data_dir / "secret_key", key.encode(), mode=0o600)
    # This process has read its settings already; the children will read the file.
    settings.SECRET_KEY = key


def require_secret_key() -> None:
    try:
        _ = settings.SECRET_KEY
    except ImproperlyConfigured:
        raise CannotStartError(NO_KEY_YET) from None


def port_is_free(host: str, port: int) -> None:
    """Raise CannotStartError if another process listens on the port.

    granian binds with SO_REUSEPORT, so the kernel would let two Larders share one port and split the requests. A socket
    without that option detects it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CannotStartError(
                f"Larder cannot listen on {host}:{port}: {error.strerror}. "
                "Choose another address, for example LARDER_LISTEN=127.0.0.1:8444"
            ) from error


@contextmanager
def one_host_at_a_time() -> Iterator[None]:
    """On PostgreSQL, where several hosts may start at once, let one migrate and create the first data."""
    if connection.vendor != "postgresql":
        yield
        return
    try:
        with _locking() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK])
            _set_up_role()
            with connection.execute_wrapper(_with_time_outs_of_migrations):
                yield
    finally:
        connection.close()


@contextmanager
def one_backup_at_a_time(data_dir: Path) -> Iterator[None]:
    """Raise CannotStartError if another one runs, on this or another host. The lock ends with the process."""
    running = CannotStartError("Another backup is running. Wait until it has ended.")
    if connection.vendor == "postgresql":
        with _locking() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [BACKUP_LOCK])
            if not cursor.fetchone()[0]:
                raise running
            yield
        return
    with (data_dir / "backup.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise running from None
        yield


@contextmanager
def _locking() -> Iterator[Any]:
    """Yield a cursor whose transaction has locks: behind PgBouncer a session ends with each transaction."""
    locking = connections.create_connection(connection.alias)
    try:
        locking.set_autocommit(False)
        with locking.cursor() as cursor:
            cursor.execute(NO_TIME_OUTS)
            yield cursor
    finally:
        with suppress(DatabaseError):
            locking.rollback()
            locking.set_autocommit(True)
            locking.close()


def _with_time_outs_of_migrations(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001  # Django calls it so
    """Set them in each transaction: the next one may be in another session."""
    if context["connection"].in_atomic_block:
        context["cursor"].cursor.execute(OF_MIGRATIONS)
    return execute(sql, params, many, context)


def until_tables_are_free(migrate: Callable[[], object]) -> None:
    """Migrate again and again while others use a table that it must lock; what was done before is not done twice."""
    deadline = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            with _related_models_rendered_once():
                migrate()
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != LOCK_NOT_AVAILABLE or time.monotonic() > deadline:
                raise
            log.warning("migration_waits", reason=str(error).strip().splitlines()[0])
            if connection.in_atomic_block:
                # Django adds foreign keys last, and leaves the transaction open if one of them has to wait.
                connection.close()
                connection.connect()
            time.sleep(LOCK_PAUSE)
        else:
            return


@contextmanager
def _related_models_rendered_once() -> Iterator[None]:
    """Spare three quarters of the time in which an empty database is migrated.

    For each CreateModel, AddIndex and AddConstraint Django renders again every model that is related, and nearly all
    are, by users. A new model adds its reverse relations to the others by itself, and an index or a constraint
    concerns no other model.
    """
    add_model = ProjectState.add_model

    def add_alone(self: ProjectState, model_state: ModelState) -> None:
        rendered = self.__dict__.pop("apps", None)
        add_model(self, model_state)
        if rendered is not None:
            self.__dict__["apps"] = rendered
            rendered.render_multiple([model_state])

    def in_place(add: Callable[..., None], option: str) -> Callable[..., None]:
        def added(self: ProjectState, app_label: str, model_name: str, one: Any) -> None:
            rendered = self.__dict__.pop("apps", None)
            add(self, app_label, model_name, one)
            if rendered is not None:
                self.__dict__["apps"] = rendered
                options = rendered.get_model(app_label, model_name)._meta  # noqa: SLF001  # Django documents it
                setattr(options, option, [*getattr(options, option), one])
                vars(options).pop("total_unique_constraints", None)

        return added

    replaced = {
        "add_model": add_alone,
        "add_index": in_place(ProjectState.add_index, "indexes"),
        "add_constraint": in_place(ProjectState.add_constraint, "constraints"),
    }
    kept = {name: vars(ProjectState)[name] for name in replaced}
    for name, function in replaced.items():
        setattr(ProjectState, name, function)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(ProjectState, name, function)


def _set_up_role() -> None:
    """Set the time-outs of our role in this database, and `jit`, for new sessions, unless they are set already."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_database()")
        role, database = (connection.ops.quote_name(name.replace('"', '""')) for name in cursor.fetchone())
        cursor.execute(
            "SELECT unnest(setconfig) FROM pg_db_role_setting JOIN pg_roles ON pg_roles.oid = setrole "
            "LEFT JOIN pg_database ON pg_database.oid = setdatabase "
            "WHERE rolname = current_user AND coalesce(datname, current_database()) = current_database()"
        )
        found = {row[0].partition("=")[0] for row in cursor.fetchall()}
        for name, value in OF_ROLE.items():
            if name not in found:
                cursor.execute(f"ALTER ROLE {role} IN DATABASE {database} SET {name} = '{value}'")


def load_application() -> None:
    """Import what the children need, so that they share it, and keep the garbage collector from touching it in each."""
    for module in PRELOADED:
        import_module(module)
    gc.collect()
    gc.freeze()


def static_files() -> None:
    """Collect static files if a digest of names, sizes and dates has changed."""
    root = Path(settings.STATIC_ROOT)
    stamp = root / ".collected"
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            found = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    call_command("collectstatic", interactive=False, clear=root.is_dir(), verbosity=0, stdout=io.StringIO())
    replace(stamp, digest.hexdigest().encode(), mode=0o600)
