"""/healthz and /readyz: what scripts may rely on (D24)."""

import pytest
from django.db import DatabaseError

from apps.blobs import store
from apps.jobs import heartbeats
from registry_site import health


def test_healthz_answers_without_any_input_or_output(client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_readyz_is_503_and_names_the_part_while_no_worker_has_reported(client, db):
    answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["parts"]["worker"] == "no worker has reported yet"
    assert answer.json()["parts"]["database"] == "ok"


def test_readyz_is_200_when_every_part_answers(client, db):
    heartbeats.beat("here:1")

    answer = client.get("/readyz")

    assert answer.status_code == 200, answer.json()
    assert set(answer.json()["parts"].values()) == {"ok"}


def test_a_part_that_fails_is_named_without_what_may_be_secret(monkeypatch):
    def broken() -> None:
        raise DatabaseError("could not connect to postgres://larder:hunter2@db.internal")

    assert health.state_of(broken) == "DatabaseError"


def test_storage_that_is_away_makes_it_unready(client, db, monkeypatch):
    heartbeats.beat("here:1")

    def away() -> None:
        raise store.StorageUnavailable("The storage folder cannot be written.")

    monkeypatch.setitem(health.PARTS, "storage", away)

    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["parts"]["storage"] == "The storage folder cannot be written."


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_only_reading_is_answered(client, db, path):
    assert client.post(path).status_code == 405
