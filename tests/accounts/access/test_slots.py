"""The limit on threads of requests that one account may keep busy with slow work."""

import threading
import time
from collections import Counter
from contextlib import ExitStack
from contextvars import copy_context

import pytest

from apps.accounts.access import slots
from apps.accounts.access.gate import Viewer
from apps.jobs.waiting import with_news
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import TooManyAttempts
from apps.lib.process import metrics
from apps.modules import dry_run, publishing
from apps.releases.models import Release, State
from apps.releases.publishing import receiving
from apps.signing import keys
from tests.rows import for_each_row
from tests.threads import at_once


@pytest.fixture(autouse=True)
def _few_threads(settings, monkeypatch):
    settings.WEB_THREADS, settings.UPLOAD_THREADS = 8, 16
    monkeypatch.setattr(slots, "_taken", Counter())
    monkeypatch.setattr(slots, "_queues", {})
    slots._turn.set(None)  # tests share one context, and a request of another one may have set it


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


class Request:
    """A request of an edge that is called again: each of its calls runs in the same context."""

    def __init__(self, viewer, seconds=30.0):
        self.viewer, self.context, self.taken = viewer, copy_context(), ExitStack()
        self.context.run(slots.may_wait, seconds)

    def call(self):
        """None once it has a slot, or how it is to be called again. Raises NoSlot if it is refused."""
        try:
            self.context.run(self.taken.enter_context, slots.slot_of(self.viewer))
        except slots.NoSlot as busy:
            if busy.waiting is None:
                raise
            return busy.waiting
        return None


def test_requests_that_can_be_called_again_wait_in_order(alice, bob):
    requests = [Request(Viewer(alice)) for _ in range(5)]
    waits = [one.call() for one in requests]
    assert waits[:2] == [None, None]
    assert with_news(waits[2:]) == []
    assert Request(Viewer(bob)).call() is None, "only the account waits"

    requests[1].taken.close()
    assert with_news(waits[2:]) == [waits[2]]
    assert Request(Viewer(alice)).call() is not None, "who comes later does not overtake"
    with pytest.raises(slots.NoSlot), slots.slot_of(Viewer(alice)):
        pass
    assert requests[3].call() is not None
    assert requests[2].call() is None
    requests[0].taken.close()
    assert requests[3].call() is None


def test_a_wait_ends_with_its_time_and_the_queue_has_an_end(alice, monkeypatch):
    monkeypatch.setattr(slots, "MAX_WAITING", 2)
    viewer = Viewer(alice)
    running = [Request(viewer) for _ in range(2)]
    assert [one.call() for one in running] == [None, None]
    late, patient = Request(viewer, 0.05), Request(viewer)
    assert late.call() is not None
    assert patient.call() is not None
    before = refusals()
    with pytest.raises(TooManyAttempts, match="2 of your requests"):
        Request(viewer).call()
    assert refusals() == before + 1, "those that wait are not refused"

    time.sleep(0.06)
    with pytest.raises(TooManyAttempts):
        late.call()
    running[0].taken.close()
    assert patient.call() is None, "one that is gone keeps nobody waiting"


def refusals():
    return metrics.rate_limit_refusals.labels("slots")._value.get()


@for_each_row("act", ["key", "dry_run"])
def test_what_takes_long_is_refused_beyond_the_slots(alice, acme, act, monkeypatch):
    """The slots of an OCI push and of a publisher's signature are in their own tests and in tests/house/outside."""
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
