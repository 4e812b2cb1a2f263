"""While the database is away every page answers 503 and when to ask again, and asks it no second time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from tests.rows import for_each_row

pytestmark = pytest.mark.django_db

PAGES = ["/", "/modules", "/tokens", "/namespaces/acme", "/modules/acme/vpc/aws", "/admin/", "/no/such/page"]


@contextmanager
def database_away(*, from_the_first_with: str = "") -> Iterator[list[str]]:
    """Refuses every query as a server that cannot be reached, and notes what it refused."""
    asked: list[str] = []

    def refuse(execute: Callable[..., object], sql: str, *more: object) -> object:
        if not asked and from_the_first_with not in sql:
            return execute(sql, *more)
        asked.append(sql)
        raise OperationalError("connection refused")

    with connection.execute_wrapper(refuse):
        yield asked


@pytest.fixture
def browser(alice):
    client = Client(raise_request_exception=False)
    client.force_login(alice)
    return client


def is_away(response) -> None:
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert "A part of Larder is not answering" in response.content.decode()


@for_each_row("path", PAGES)
def test_a_page_answers_503_after_one_question(browser, path):
    with database_away() as asked:
        response = browser.get(path, headers={"X-Request-Id": "tell-olga"})

    is_away(response)
    assert "tell-olga" in response.content.decode()
    assert len(asked) == 1, asked


@pytest.mark.both
def test_signing_in_answers_503(bob):
    client = Client(raise_request_exception=False)
    form = {"login": "bob", "password": "bob likes pears"}
    with database_away():
        is_away(client.post(reverse("account_login"), form))

    assert client.post(reverse("account_login"), form).status_code == 302


@pytest.mark.both
@pytest.mark.django_db(transaction=True)  # in a test's own transaction Django refuses the second question by itself
def test_a_session_that_a_broken_view_has_changed_is_not_saved(bob):
    """The session is left like after a 500. It would be one more question, and one more wait for a database that
    hangs.
    """
    client = Client(raise_request_exception=False)
    with database_away(from_the_first_with='"last_login" = ') as asked:
        is_away(client.post(reverse("account_login"), {"login": "bob", "password": "bob likes pears"}))

    assert len(asked) == 1, asked


def test_a_session_that_cannot_be_saved_is_not_taken_for_one_that_was_deleted(browser, settings):
    """Django answers 400 to that: what its store raises names no outage."""
    settings.SESSION_SAVE_EVERY_REQUEST = True
    with database_away(from_the_first_with="UPDATE "):
        is_away(browser.get("/how-to-use"))


def test_a_path_of_machines_reads_its_own_dialect(browser, monkeypatch):
    """Their own views answer an outage; this is for what fails before one of them is called."""

    def fail(*_: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("django.middleware.common.CommonMiddleware.process_request", fail)
    response = browser.get("/v2/acme/vpc/aws/tags/list")

    assert (response.status_code, response.headers["Retry-After"]) == (503, "2")
    assert response.json()["errors"][0]["code"] == "UNAVAILABLE"
