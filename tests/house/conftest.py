"""One scene for each file that asks for it: built once, with every test's changes undone."""

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client, override_settings

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Namespace, Scope
from tests import children
from tests.cast import BLOBS
from tests.house import scenario, scenario_people, sources
from tests.house.policy.table import COLUMNS, LIKE
from tests.larders import send_with
from tests.sessions import sign_in

BARE = "bare"  # a session without a second factor
# Tokens that may manage, within a limit.
LIMITS: dict[str, Callable[[], dict[str, Any]]] = {
    "hall": lambda: {"scope": Scope.MANAGE, "namespaces": Namespace.objects.filter(name="hall")},
    "vpc": lambda: {"scope": Scope.MANAGE, "only_name": "vpc/aws"},
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """One worker reads and parses the sources of Larder."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and getattr(item.module, "sources", None) is sources:
            send_with(item, "sources")


@pytest.fixture(scope="module")
def shared_scene(django_db_setup, django_db_blocker):
    shutil.rmtree(BLOBS, ignore_errors=True)
    with django_db_blocker.unblock():
        outer: Any = transaction.atomic()
        outer._from_testcase = True  # as Django's TestCase has it: jobs may begin their durable blocks inside
        with outer:
            with children.remembered():  # each file builds the same scene
                built = scenario.build()
            yield built
            transaction.set_rollback(True)


@pytest.fixture
def empty_storage(request):
    """As for every test, but the bytes of the scene stay."""
    if "scene" not in request.fixturenames:
        shutil.rmtree(BLOBS, ignore_errors=True)


@pytest.fixture
def scene(shared_scene, db):
    """The scene in a transaction of the test's own."""
    return shared_scene


class Bare(Client):
    """Its requests meet a Larder that asks owners for a second factor."""

    def request(self, **request):
        with override_settings(SECOND_FACTOR="owners"):
            return super().request(**request)


def client_for(scene, column, *, confirmed=True):
    """The client of a column: a session by its person's name, a token as person-scope or person-limit, and others."""
    person, _, which = column.partition("-")
    client, user = Client(raise_request_exception=False), scene.users.get(person)
    if which == BARE:
        return sign_in(Bare(raise_request_exception=False), user)
    if which in scenario_people.PROOFS:
        return scenario_people.WithFactor(user, which)
    if which:
        limits = LIMITS[which]() if which in LIMITS else {"scope": Scope(which)}
        _, secret = tokens.issue(user=user, label="test", actor=Viewer(user), **limits)
        client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {secret}"
    elif user:
        sign_in(client, user, confirmed=confirmed)
    return client


@pytest.fixture(scope="module")
def shared_clients(shared_scene):
    columns = {column for listed in (COLUMNS, LIKE) for kind in listed.values() for column in kind}
    return {column: client_for(shared_scene, column) for column in sorted(columns)}


@pytest.fixture
def client_of(scene, shared_clients):
    """A client of its own, signed in already: what it does to its cookies ends with the test."""

    def client(column):
        made = shared_clients.get(column)
        return copy.deepcopy(made) if made else client_for(scene, column)

    return client
