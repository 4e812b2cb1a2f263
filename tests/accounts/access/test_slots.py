"""How many threads of requests one account may keep busy with what takes long."""

import threading
import time
from contextlib import ExitStack

import pytest

from apps.accounts.access import slots
from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import TooManyAttempts
from apps.modules import dry_run, publishing
from apps.releases.models import Release, State
from apps.releases.publishing import receiving
from apps.signing import keys
from tests.rows import for_each_row
from tests.threads import at_once


@pytest.fixture(autouse=True)
def _few_threads(settings):
    settings.WEB_THREADS, settings.UPLOAD_THREADS = 8, 16


def test_an_account_keeps_a_quarter_of_the_threads_and_others_have_their_own(alice, bob):
    with ExitStack() as taken:
        for _ in range(2):
            taken.enter_context(slots.slot_of(Viewer(alice)))
        with pytest.raises(TooManyAttempts, match="2 of your requests"), slots.slot_of(Viewer(alice)):
            pass
        with slots.slot_of(Viewer(bob)):
            pass
    with slots.slot_of(Viewer(alice)):
        pass
    assert not slots._taken


def test_a_slot_of_what_fails_is_free_again(alice):
    for _ in range(5):
        with pytest.raises(ZeroDivisionError), slots.slot_of(Viewer(alice)):
            raise ZeroDivisionError
    assert not slots._taken


def test_no_more_than_these_are_taken_by_many_threads_at_once(alice):
    viewer, refused, all_others = Viewer(alice), [], threading.Event()

    def take():
        try:
            with slots.slot_of(viewer):
                all_others.wait(10)
        except TooManyAttempts as refusal:
            refused.append(refusal)
            if len(refused) == 14:
                all_others.set()
            return False
        return True

    assert sum(at_once(*[take] * 16)) == 2
    assert not slots._taken


@for_each_row("act", ["key", "dry_run"])
def test_what_takes_long_is_refused_beyond_the_slots(alice, acme, act, monkeypatch):
    """What of an OCI push and of a publisher's signature is in their own tests and in tests/house/outside."""
    viewer = Viewer(alice)
    acts = {
        "key": lambda: keys.read("", actor=viewer),
        "dry_run": lambda: dry_run.forecast(**forecast_of(viewer)),
    }
    monkeypatch.setattr(dry_run, "_authorise", lambda *_: acme)
    monkeypatch.setattr(publishing, "check_address", lambda *_: None)
    with ExitStack() as taken:
        for _ in range(2):
            taken.enter_context(slots.slot_of(viewer))
        with pytest.raises(TooManyAttempts):
            acts[act]()


def test_another_upload_of_the_version_is_waited_for_briefly(alice, acme, monkeypatch):
    monkeypatch.setattr(receiving, "SETTLE_SECONDS", 0.3)
    release, _ = publishing.reserve_release(
        viewer=Viewer(alice), address=ModuleAddress("acme", "vpc", "aws"), version="1.0.0"
    )
    Release.objects.filter(pk=release.pk).update(ticket_digest="")
    release.refresh_from_db()
    began = time.monotonic()
    assert receiving._settled(release).state == State.RECEIVING
    assert time.monotonic() - began < 3


def forecast_of(viewer):
    return {
        "viewer": viewer,
        "address": ModuleAddress("acme", "vpc", "aws"),
        "version": "1.0.0",
        "file_name": "",
        "folders": [],
        "confirm": [],
        "reason": "",
        "open_body": lambda: iter([b"zip"]),
    }
