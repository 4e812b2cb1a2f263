"""The check-up blames only the part that fails, and waits for none longer than its time."""

import threading
import time
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection, transaction
from kombu.exceptions import OperationalError as BrokerUnavailable

from apps.blobs.store import StorageUnavailable
from apps.jobs import heartbeats
from registry_site.operations import doctor, examining
from registry_site.operations.examining import Finding, Look
from registry_site.server import probes


def told(looks):
    return [(one.part, one.state, one.found) for one in examining.examine(looks)]


def fine(part):
    return lambda: iter([Finding(part, "ok", "answers")])


def raising(error):
    def look() -> Iterator[Finding]:
        raise error

    return look


@pytest.mark.django_db
def test_a_database_outage_is_a_problem_of_the_database_alone(settings, database_away):
    """Each look of the doctor is asked, with the real ones of gpg, broker and storage."""
    settings.DATA_DIR.joinpath("blobs").mkdir(exist_ok=True)
    with database_away():
        found = list(doctor.examine())

    states = {one.part: one.state for one in found}
    assert [one.part for one in found if one.state == "fail"] == ["database"]
    assert [one.found for one in found if one.part == "database"] == ["connection refused"]
    assert {states[part] for part in ("worker and beat", "signing keys", "quotas", "audit", "backup")} == {"skip"}
    assert {states[part] for part in ("storage", "disk", "broker", "gpg")} == {"ok"}
    assert not [one for one in found if one.state == "skip" and one.hint]


@pytest.mark.django_db
def test_a_broker_that_is_down_makes_no_worker_look_dead(monkeypatch):
    def refuse():
        raise BrokerUnavailable("connection refused")

    monkeypatch.setattr(probes, "check_broker", refuse)
    states = {one.part: one.state for one in doctor.examine()}

    assert (states["broker"], states["worker and beat"]) == ("fail", "skip")


@pytest.mark.django_db
def test_a_worker_that_does_not_sign_is_named(monkeypatch, settings):
    settings.WORKER_QUEUES = ["check", "notify"]
    heartbeats.beat("here:1")
    (found,) = [one for one in doctor.examine() if one.part == "worker and beat"]

    assert (found.state, found.found) == ("fail", "no worker that signs has reported yet")


def test_what_needs_a_part_that_failed_is_not_asked():
    asked = []

    def clock() -> Iterator[Finding]:
        asked.append(1)
        return iter(())

    looks = {
        "storage": Look(raising(StorageUnavailable("away")), hint="Is it running?"),
        "clock": Look(clock, ("storage",)),
        "name": Look(fine("name")),
    }

    assert told(looks) == [
        ("storage", "fail", "away"),
        ("clock", "skip", "not checked, because it needs the storage"),
        ("name", "ok", "answers"),
    ]
    assert asked == []


def test_a_part_that_goes_down_meanwhile_is_blamed_and_only_once():
    away = Look(raising(OperationalError("gone")), ("database",))
    looks = {"database": Look(fine("database"), hint="Is it running?"), "quotas": away, "audit": away}

    assert told(looks) == [
        ("database", "ok", "answers"),
        ("database", "fail", "gone"),
        ("quotas", "skip", "not checked, because it needs the database"),
        ("audit", "skip", "not checked, because it needs the database"),
    ]


def test_a_look_that_hangs_fails_within_its_time_and_the_next_one_begins():
    ends = threading.Event()

    def hanging() -> Iterator[Finding]:
        ends.wait(30)
        return iter(())

    looks = {"name": Look(hanging, seconds=0.2), "gpg": Look(fine("gpg"))}
    began = time.monotonic()
    try:
        assert told(looks) == [("name", "fail", "no answer within 0.2 s"), ("gpg", "ok", "answers")]
    finally:
        ends.set()
    assert time.monotonic() - began < 10


def test_a_look_that_hangs_with_a_part_that_it_needs_is_not_blamed():
    """A database that stops to answer, rather than to run, is met by whatever asks it next."""
    ends, answers = threading.Event(), [True]

    def database():
        if not answers.pop():
            ends.wait(30)
        yield Finding("database", "ok", "answers")

    def quotas():
        answers.append(False)
        ends.wait(30)
        yield Finding("quotas", "ok", "room")

    looks = {"database": Look(database, seconds=0.2), "quotas": Look(quotas, ("database",), seconds=0.2)}
    try:
        assert told(looks) == [
            ("database", "ok", "answers"),
            ("database", "fail", "no answer within 0.2 s"),
            ("quotas", "skip", "not checked, because it needs the database"),
        ]
    finally:
        ends.set()


def test_a_part_that_is_slow_skips_no_other():
    """A storage with millions of objects answers, but not all that a look asks within its time."""
    ends = threading.Event()

    def hanging() -> Iterator[Finding]:
        ends.wait(30)
        return iter(())

    looks = {
        "storage": Look(hanging, seconds=0.2),
        "disk": Look(fine("disk"), ("storage",)),
        "clock": Look(fine("clock"), ("storage",)),
    }
    try:
        assert told(looks) == [
            ("storage", "fail", "no answer within 0.2 s"),
            ("disk", "ok", "answers"),
            ("clock", "ok", "answers"),
        ]
    finally:
        ends.set()


def test_a_part_that_hangs_is_named_once_and_the_rest_is_not_waited_for():
    ends = threading.Event()
    asked: list[str] = []

    def hanging() -> Iterator[Finding]:
        asked.append("")
        ends.wait(30)
        return iter(())

    needs = Look(hanging, ("storage",), seconds=0.2)
    looks = {"storage": Look(hanging, seconds=0.2)} | {f"look {number}": needs for number in range(5)}
    try:
        found = told(looks)
    finally:
        ends.set()
    assert [(part, state) for part, state, _ in found] == [
        ("storage", "fail"),
        *((f"look {number}", "skip") for number in range(5)),
    ]
    assert len(asked) == 3, "it, the first that needs it, and it once more"


@pytest.mark.both
@pytest.mark.needs("on PostgreSQL")
@pytest.mark.django_db
def test_a_statement_that_takes_too_long_skips_no_other_look_at_the_database():
    def slow() -> Iterator[Finding]:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '50ms'; SELECT pg_sleep(5)")
        return iter(())

    looks = {
        "database": Look(doctor.database),
        "quotas": Look(slow, ("database",)),
        "audit": Look(fine("audit"), ("database",)),
    }
    found = told(looks)

    assert ("quotas", "fail", "the database ended a statement that took too long") in found
    assert ("audit", "ok", "answers") in found
    assert [part for part, state, _ in found if state == "skip"] == []


def test_a_mistake_in_a_look_is_no_outage():
    with pytest.raises(ZeroDivisionError):
        told({"name": Look(raising(ZeroDivisionError()))})
