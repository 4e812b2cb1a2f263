"""The cast, and what every test may ask for. Alice publishes, Bob reads, Charlie is a stranger, Olga operates."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Grant, Namespace, Role, Scope, Team, User, Visibility
from apps.accounts.people import teams
from apps.lib.process import outside
from apps.releases.models import Release
from apps.signing import vault
from registry_site.server.probes import checks
from tests import shelves
from tests.sessions import sign_in

BLOBS = Path(settings.DATA_DIR) / "blobs"


# --- People and namespaces ---------------------------------------------------------------------------------------


@pytest.fixture
def acme(db: None) -> Namespace:
    return shelves.space("acme", Visibility.PRIVATE)


@pytest.fixture
def pantry(db: None) -> Namespace:
    """A public namespace; Alice publishes there too."""
    return shelves.space("pantry", Visibility.PUBLIC)


@pytest.fixture
def hall(db: None) -> Namespace:
    """An internal namespace."""
    return shelves.space("hall", Visibility.INTERNAL)


def person(username: str, **more: Any) -> User:
    return User.objects.create_user(username=username, password=f"{username} likes pears", **more)


@pytest.fixture
def alice(acme: Namespace, pantry: Namespace, hall: Namespace) -> User:
    """Publishes in every namespace."""
    return shelves.publisher("alice", acme, pantry, hall)


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


@pytest.fixture
def cooks(dora: User, charlie: User) -> Team:
    """A team: Dora manages it, Charlie is a member."""
    team = teams.create(name="cooks", actor=Viewer(dora))
    teams.add(team=team, user=charlie, actor=Viewer(dora))
    return team


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


@pytest.fixture
def worker_host() -> Iterator[None]:
    """This process is as a worker: it may read the key-encryption key, so it can sign."""
    vault.unlock()
    yield
    vault.lock()
    shutil.rmtree(Path(settings.DATA_DIR) / "signing", ignore_errors=True)


@pytest.fixture
def work() -> Callable[[], None]:
    return shelves.run_jobs


Publish = Callable[..., Release]


@pytest.fixture
def published(alice: User) -> Publish:
    """Publishes through the real verbs: `published("acme/vpc/aws", "1.2.0")`; bytes differ with the version.

    Where a file uses the fixture `shelf`, the first call for a release that lies there finds it.
    """

    def publish(address: str = "acme/vpc/aws", version: str = "1.2.0", data: bytes | None = None, user=None):
        is_usual = data is None and user is None
        found = shelves.taken(address, version) if is_usual else None
        return found or shelves.publish(address, version, data, user or alice)

    return publish


@pytest.fixture(scope="module")
def shelf(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Alice's acme/vpc/aws 1.2.0, published once for the tests of a file; what each of them does to it is undone."""
    with django_db_blocker.unblock(), shelves.laid_out(BLOBS):
        yield


@pytest.fixture
def stored_files() -> Callable[[], list[str]]:
    """Every object left in storage, by key."""
    return lambda: sorted(str(path.relative_to(BLOBS)) for path in BLOBS.rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def empty_storage() -> None:
    """Each test begins with the bytes of its shelf alone: the ledger would remember the versions of other tests."""
    shutil.rmtree(BLOBS, ignore_errors=True)
    shelves.lay_out_again(BLOBS)


@pytest.fixture(autouse=True)
def nothing_to_give_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test without a database may not touch the connection that the tests before it have left open."""
    node: Any = request.node
    has_database = (
        not {"db", "transactional_db"}.isdisjoint(request.fixturenames)
        or node.get_closest_marker("django_db") is not None
    )
    kept = outside.give_back
    if not has_database:
        outside.give_back = lambda: None
    yield
    outside.give_back = kept


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """Each test begins as a fresh process, which knows nothing for the time that the database is away, and no number
    of a menu.
    """
    checks.clear()
    cache.clear()
    for memory in (
        "releases.lifecycle.quarantine.blocked",
        "blobs.care.integrity.known",
        "protocol.archives.last_public",
    ):
        module, _, name = f"apps.{memory}".rpartition(".")
        if module in sys.modules:  # some are loaded with the first request
            getattr(sys.modules[module], name).clear()
