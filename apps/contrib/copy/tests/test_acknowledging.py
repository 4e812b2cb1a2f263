"""A change that takes something away is answered when the copy has it, or says that the copy has not."""

import threading
from http import HTTPStatus

import pytest
from django.test import Client

from apps.contrib.copy.models import Copy, Due
from apps.contrib.copy.writing import acknowledging, following
from apps.contrib.copy.writing.acknowledging import HEADER, Acknowledged
from tests.rows import for_each_row

URL = "/api/v1/modules/acme/vpc/aws/1.2.0"


@pytest.fixture
def quick(monkeypatch) -> None:
    monkeypatch.setattr(acknowledging, "WAIT_SECONDS", 0.1)


@pytest.fixture
def client_of(tree, settings, bearer):
    """A client of a Larder that was started with a copy: Django makes its middleware once."""
    acknowledged = "apps.contrib.copy.writing.acknowledging.Acknowledged"
    if acknowledged not in settings.MIDDLEWARE:
        settings.MIDDLEWARE = [acknowledged, *settings.MIDDLEWARE]
    return lambda user: Client(headers=bearer(user))


def test_a_yank_is_answered_when_the_copy_has_it(published, dora, client_of, monkeypatch, tree, follow):
    published()
    follow()
    waited = []

    def write(noted):
        waited.append(list(Due.objects.filter(pk__in=noted).values_list("scope", flat=True)))
        follow()
        return acknowledging.CURRENT

    monkeypatch.setattr(acknowledging, "wait_for", write)

    answer = client_of(dora).post(f"{URL}/yank", {"reason": "Wrong."}, content_type="application/json")

    assert answer.status_code == HTTPStatus.OK, answer.content
    assert answer.headers[HEADER] == "current"
    assert waited == [["address modules/acme/vpc/aws"]]
    assert b"1.2.0" not in (tree / "private/v1/modules/acme/vpc/aws/versions").read_bytes()


@for_each_row(("failure", "said"), [("", "it is still being written"), ("The disk is full.", "The disk is full.")])
def test_a_copy_that_is_behind_is_said_with_the_reason(failure, said, published, dora, client_of, quick, tree):
    published()
    Copy.objects.create(url=f"file://{tree}", failure=failure)

    answer = client_of(dora).post(f"{URL}/yank", {"reason": "Wrong."}, content_type="application/json")

    assert answer.status_code == HTTPStatus.OK
    assert answer.headers[HEADER] == f"behind; the static copy still serves what was there before: {said}"


def test_a_request_that_changes_nothing_of_the_copy_waits_for_nothing(published, dora, client_of, quick):
    published()

    answer = client_of(dora).post(f"{URL}/yank", {"reason": ""}, content_type="application/json")

    assert HEADER not in answer.headers


def test_pages_say_how_long_changes_have_been_missing(published, tree, alice, browser_of, monkeypatch, settings):
    assert acknowledging.sentence() == ""
    Due.objects.create(scope="everything")
    assert acknowledging.sentence() == ""
    monkeypatch.setattr(acknowledging, "LATE_SECONDS", 0.0)

    page = browser_of(alice).get("/")

    assert "The static copy lacks changes since" in page.content.decode()
    settings.STATIC_COPY = type(settings.STATIC_COPY)("")
    assert acknowledging.sentence() == ""


def test_what_touches_no_document_is_not_followed(tree, alice, bearer):
    bearer(alice)

    assert not Due.objects.exists()


def test_the_waiting_ends_with_the_row(tree, transactional_db):
    row = Due.objects.create(scope="everything")
    written = threading.Timer(0.1, lambda: Due.objects.all().delete())
    written.start()
    try:
        assert acknowledging.wait_for([row.pk]) == "current"
    finally:
        written.join()
    assert following.behind().total_seconds() == 0
    assert Acknowledged.__doc__
