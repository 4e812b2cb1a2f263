"""/status: a page for people, JSON where JSON is asked; strangers learn what is up and nothing more."""

from datetime import timedelta

import pytest
from django import conf
from django.utils import timezone

from apps.jobs import heartbeats
from apps.jobs.models import Job
from apps.signing.models import KeyFingerprint, SharedKey
from registry_site import status
from registry_site.server import probes
from tests import pages, rooms
from tests.rows import for_each_row

JSON = {"Accept": "application/json"}
# The parts of the page; whether a process knows the tables is its own affair.
SHARED = [part for part in probes.PARTS if part not in probes.OWN]
SECRET = "cannot reach s3.internal.example as larder"


@pytest.fixture(autouse=True)
def all_up(monkeypatch):
    """Without the checks' own threads: what they find is for test_health."""
    states = dict.fromkeys(probes.PARTS, "ok")
    monkeypatch.setattr(probes.checks, "states", lambda: states)
    return states


def test_a_stranger_sees_the_parts_and_no_versions(client, db):
    page = client.get("/status")

    assert (page.status_code, page["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "All parts are up" in page.text
    assert pages.markup_of(page).count(">Up<") == len(SHARED)
    assert "Queue" not in page.text
    assert "Python" not in page.text
    assert conf.settings.VERSION not in page.text  # nor in the footer of any page
    assert client.get("/status", headers=JSON).json() == {
        "status": "ok",
        "parts": {"database": "up", "storage": "up", "broker": "up", "worker": "up"},
    }


@pytest.mark.both
def test_who_is_signed_in_sees_the_queue_and_the_versions(browser_of, bob):
    heartbeats.beat("here:1")
    Job.objects.create(kind="publish-module", target=1)
    Job.objects.create(kind="publish-module", target=2, not_before=timezone.now() + timedelta(hours=1))
    Job.objects.create(kind="publish-module", target=3, state="failed")
    browser = browser_of(bob)

    document = browser.get("/status", headers=JSON).json()
    numbers = {name: document["queue"][name] for name in ("waiting", "running", "failed", "workers")}
    assert numbers == {"waiting": 2, "running": 0, "failed": 1, "workers": 1}
    assert document["queue"]["oldest_waiting_since"]
    assert document["versions"]["larder"] == conf.settings.VERSION
    assert set(document["ready_answers"]) == {"answers", "bytes", "hits", "misses"}
    assert set(document["versions"]) == {"larder", "python", "django", "database"}
    page = browser.get("/status").text
    assert "Jobs waiting" in page
    assert document["versions"]["database"] in page
    assert "/admin/" not in page


@pytest.mark.parametrize("who", ["nobody", "olga"])
@pytest.mark.parametrize(
    ("part", "words", "said", "code"),
    [
        ("storage", "Part of Larder is down", "down", 503),
        ("worker", "Publishing is delayed", "degraded", 200),
        ("cache", "published as usual", "degraded", 200),  # a part where there is one
    ],
)
def test_a_part_that_is_down_is_named_without_what_it_said(
    client, browser_of, olga, all_up, who, part, words, said, code
):
    all_up[part] = SECRET
    asking = client if who == "nobody" else browser_of(olga)

    page, document = asking.get("/status"), asking.get("/status", headers=JSON)

    assert page.status_code == 200  # a proxy would put its own page in place of a 503
    assert words in page.text
    assert ("Publishing is delayed" in page.text) == (part == "worker")
    assert pages.markup_of(page).count(">Down<") == 1
    assert (document.status_code, document.json()["status"], document.json()["parts"][part]) == (code, said, "down")
    assert "internal" not in page.text + document.text


def test_without_a_database_the_page_is_made_without_it(browser_of, bob, all_up, django_assert_num_queries):
    browser = browser_of(bob)
    all_up["database"] = "OperationalError"

    with django_assert_num_queries(0):
        page, document = browser.get("/status"), browser.get("/status", headers=JSON)

    assert "Part of Larder is down" in page.text
    assert document.status_code == 503
    assert set(document.json()) == {"status", "parts"}


@pytest.mark.both
@for_each_row(("minutes", "state", "overall"), [(0, "up", "ok"), (4, "down", "degraded"), (None, "down", "degraded")])
def test_a_key_service_is_a_part_as_its_workers_reported_it(client, browser_of, bob, minutes, state, overall):
    KeyFingerprint.objects.create(
        key=SharedKey.KEK,
        fingerprint="ab" * 8,
        host="signer",
        place="Vault",
        answered_at=None if minutes is None else timezone.now() - timedelta(minutes=minutes),
    )
    document = client.get("/status", headers=JSON).json()
    assert (document["status"], document["parts"]["key_service"]) == (overall, state)
    assert "signing" not in document
    page = client.get("/status").text
    assert "Key service" in page
    assert "Vault" not in page
    assert ("Publishing is delayed" in page) == (state == "down")

    known = browser_of(bob)
    signing = known.get("/status", headers=JSON).json()["signing"]
    assert signing == {"key_encryption_key": "Vault", "answers": state == "up"}
    assert ("Vault, which does not answer" in known.get("/status").text) == (state == "down")


def test_the_file_is_no_part_and_is_named_to_people_who_are_signed_in(client, browser_of, bob):
    KeyFingerprint.objects.create(
        key=SharedKey.KEK, fingerprint="ab" * 8, host="signer", place="file", answered_at=timezone.now()
    )
    assert "key_service" not in client.get("/status", headers=JSON).json()["parts"]
    assert browser_of(bob).get("/status", headers=JSON).json()["signing"]["key_encryption_key"] == "file"


def test_a_stop_is_told_and_answers_are_kept_by_no_cache(client, db, monkeypatch):
    monkeypatch.setattr(probes.stopping, "is_set", lambda: True)
    answer = client.get("/status")

    assert "is being restarted" in answer.text
    assert (answer["Cache-Control"], "Accept" in answer["Vary"]) == ("no-store", True)
    assert client.get("/status", headers=JSON).json()["status"] == "stopping"


def test_every_part_that_is_checked_has_its_words():
    assert list(status.PARTS) == [
        *SHARED,
        "cache",
        "key_service",
        *rooms.entries("PARTS"),
    ]
