"""The cast, and what every test may ask for. Alice publishes, Bob reads, Charlie is a stranger, Olga operates."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Grant, Namespace, Role, Scope, User, Visibility
from apps.jobs.models import Job
from apps.lib.addresses import ModuleAddress
from apps.modules import publishing
from apps.modules.tasks import publish_module
from apps.releases.models import Release
from apps.signing import vault
from registry_site.server.health import checks
from tests import children, postgres
from tests.builders.archives import module_zip
from tests.live import Live, start_live
from tests.sessions import sign_in

pytest_plugins = ["tests.chaos.report", "tests.failures", "tests.garbage", "tests.nothing", "tests.stack_hooks"]
REQUIRED = frozenset(os.environ.get("LARDER_REQUIRE", "").replace(",", " ").split())
SAY_VERSION = ("terraform", "tofu", "oras", "crane", "regctl")  # a command there, `--version` elsewhere
# tofu is in no package registry: where it is there, each case runs with it too; elsewhere recorded requests do.
CLIENTS = ["terraform", *(["tofu"] if shutil.which("tofu") or "tofu" in REQUIRED else [])]
BLOBS = Path(settings.DATA_DIR) / "blobs"
SHARED = ("full_shelf", "live", "deadly", "four_processes")  # Larders of several files
USED: dict[str, set[str]] = {}
EXECUTED: Counter[str] = Counter()


def need(client: str) -> str:
    """The path of a real client; without it the test is skipped, or fails where LARDER_REQUIRE names it."""
    path = shutil.which(client)
    if path is None:
        reason = f"{client} is not on the PATH"
        if client in REQUIRED:
            pytest.fail(f"{reason}, and LARDER_REQUIRE asks for it")
        pytest.skip(reason)
    USED.setdefault(os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0], set()).add(client)
    return path


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell the main process (also from a worker of xdist) which clients a test used."""
    report = yield
    if report.when == "call" and report.passed:
        report.user_properties.append(("clients", sorted(USED.get(item.nodeid, ()))))
        if settings.TEST_DATABASE == "postgres":
            report.user_properties.append(("clients", ["postgres"]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for name, value in report.user_properties:
        if name == "clients" and report.when == "call" and isinstance(value, list):
            EXECUTED.update(value)


def version_of(client: str) -> str:
    if client == "postgres":
        folder = postgres.programs()
        command = [str(folder / "postgres") if folder else "postgres", "--version"]
    else:
        command = [client, "version" if client in SAY_VERSION else "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return next((line for line in said.splitlines() if any(mark.isdigit() for mark in line)), "unknown version")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for client, count in sorted(EXECUTED.items()):
        terminalreporter.write_line(f"{client}: {count} tests passed with it ({version_of(client)})")


def send_with(item: pytest.Item, group: str) -> None:
    """To the worker that runs the group. xdist 3.8 writes the group where pytest 9.2 no longer looks."""
    item.add_marker(pytest.mark.xdist_group(group))
    if item.config.getoption("loadgroup", default=False):
        item._id = item.id.parse(f"{item.nodeid}@{group}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Round the hooks of others: xdist reads the groups in its own, and pytest-django puts the live tests last."""
    missing = settings.TEST_DATABASE == "postgres" and postgres.programs() is None
    if missing and "postgres" in REQUIRED:
        raise pytest.UsageError(f"{postgres.MISSING}, and LARDER_REQUIRE asks for it")
    for item in items:
        if missing:
            item.add_marker(pytest.mark.skip(reason=postgres.MISSING))
        if item.get_closest_marker("live"):
            # A whole Larder is dear: the tests that share one share a worker; others start their own, a file at a time.
            asked = getattr(item, "fixturenames", ())
            shared = next((name for name in SHARED if name in asked), item.path.stem)
            send_with(item, shared)
    yield
    if "PYTEST_XDIST_WORKER" in os.environ:
        # The long ones first, and the short ones fill the rest: nobody is left alone with a long one in the end.
        items.sort(key=lambda item: item.get_closest_marker("live") is None)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Keep SQLite's test database in a file: threads of the race tests open connections of their own."""
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(settings.DATA_DIR / f"test-{worker}.sqlite3")


# --- People and namespaces ---------------------------------------------------------------------------------------


@pytest.fixture
def acme(db: None) -> Namespace:
    return Namespace.objects.create(name="acme", canonical="acme", visibility=Visibility.PRIVATE)


@pytest.fixture
def pantry(db: None) -> Namespace:
    """A public namespace; Alice publishes there too."""
    return Namespace.objects.create(name="pantry", canonical="pantry", visibility=Visibility.PUBLIC)


@pytest.fixture
def hall(db: None) -> Namespace:
    """An internal namespace."""
    return Namespace.objects.create(name="hall", canonical="hall", visibility=Visibility.INTERNAL)


def person(username: str, **more: Any) -> User:
    return User.objects.create_user(username=username, password=f"{username} likes pears", **more)


@pytest.fixture
def alice(acme: Namespace, pantry: Namespace, hall: Namespace) -> User:
    """Publishes in every namespace."""
    user = person("alice")
    for namespace in (acme, pantry, hall):
        Grant.objects.create(namespace=namespace, user=user, role=Role.PUBLISHER)
    return user


@pytest.fixture
def bob(acme: Namespace) -> User:
    """Reads acme, may not publish."""
    user = person("bob")
    Grant.objects.create(namespace=acme, user=user, role=Role.READER)
    return user


@pytest.fixture
def charlie(db: None) -> User:
    """Has an account and nothing else."""
    return person("charlie")


@pytest.fixture
def dora(acme: Namespace) -> User:
    """Owns acme."""
    user = person("dora")
    Grant.objects.create(namespace=acme, user=user, role=Role.OWNER)
    return user


@pytest.fixture
def olga(db: None) -> User:
    """Operates: staff and superuser."""
    return person("olga", is_staff=True, is_superuser=True)


# --- Clients ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def bearer(db: None) -> Callable[..., dict[str, str]]:
    """Headers with a fresh token of a user: `client.get(url, headers=bearer(alice, Scope.READ))`."""

    def headers(user: User | None, scope: Scope = Scope.MANAGE, **more: Any) -> dict[str, str]:
        if user is None:
            return {}
        _, secret = tokens.issue(user=user, label="test", scope=scope, actor=Viewer(user), **more)
        return {"Authorization": f"Bearer {secret}"}

    return headers


@pytest.fixture
def tofu(bearer: Callable[..., dict[str, str]]) -> Callable[..., Client]:
    """A client that speaks as tofu does: a Bearer token (or none) and no cookies."""

    def client_of(user: User | None = None, scope: Scope = Scope.MANAGE) -> Client:
        return Client(headers={"User-Agent": "OpenTofu/1.12.6", **bearer(user, scope)})

    return client_of


@pytest.fixture
def browser_of() -> Callable[..., Client]:
    """A signed-in browser session without a browser."""

    def client_of(user: User | None, *, confirmed: bool = True) -> Client:
        return Client() if user is None else sign_in(Client(), user, confirmed=confirmed)

    return client_of


# --- Things ----------------------------------------------------------------------------------------------------------


def run_jobs() -> None:
    """Do what a worker would: each queued publish job, in this process."""
    for job in Job.objects.filter(kind=publishing.JOB, state="queued").order_by("pk"):
        publish_module(job_id=job.pk)


@pytest.fixture
def worker_host() -> Iterator[None]:
    """This process is as a worker: it may read the key-encryption key, so it can sign."""
    vault.unlock()
    yield
    vault.lock()
    shutil.rmtree(Path(settings.DATA_DIR) / "signing", ignore_errors=True)


@pytest.fixture
def work() -> Callable[[], None]:
    return run_jobs


Publish = Callable[..., Release]


@pytest.fixture
def published(alice: User) -> Publish:
    """Publishes through the real verbs: `published("acme/vpc/aws", "1.2.0")`; bytes differ with the version."""

    def publish(address: str = "acme/vpc/aws", version: str = "1.2.0", data: bytes | None = None, user=None):
        with children.remembered():
            result = publishing.publish(
                viewer=Viewer(user or alice),
                address=ModuleAddress.parse(address),
                version=version,
                file_name=f"{address.split('/')[1]}-{version}.zip",
                confirm=["unloadable"],  # what pages show of damaged files is tested with it
                open_body=lambda: iter([module_zip(comment=version.encode()) if data is None else data]),
            )
            run_jobs()
        result.release.refresh_from_db()
        return result.release

    return publish


@pytest.fixture
def stored_files() -> Callable[[], list[str]]:
    """Every object left in storage, by key."""
    return lambda: sorted(str(path.relative_to(BLOBS)) for path in BLOBS.rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def empty_storage() -> None:
    """Each test begins with no stored byte: the ledger would remember the versions of other tests."""
    shutil.rmtree(BLOBS, ignore_errors=True)


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """Each test begins as a fresh process, which knows nothing for the time that the database is away."""
    checks.clear()
    for memory in (
        "releases.lifecycle.quarantine.blocked",
        "blobs.care.integrity.known",
        "protocol.archives.last_public",
    ):
        module, _, name = f"apps.{memory}".rpartition(".")
        if module in sys.modules:  # some are loaded with the first request
            getattr(sys.modules[module], name).clear()


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A whole Larder of its own: `manage.py up` on a free port, with its data in a temporary folder."""
    with start_live(tmp_path_factory.mktemp("live")) as larder:
        yield larder
