"""How long a process may repeat what it knows."""

import time
from dataclasses import replace

from apps.audit import generation


def test_the_lease_counts_from_before_the_question(process, monkeypatch):
    """A change that was committed while the database took its time to answer is not in that answer."""
    lease, ask = process.front.lease, process.front.lease._ask

    def slowly(since):
        news = ask(since)
        return replace(news, asked=news.asked - generation.LEASE)

    monkeypatch.setattr(lease, "_asked", float("-inf"))
    monkeypatch.setattr(lease, "_ask", slowly)
    assert process.run(lease.renew())
    assert not lease.holds_unattended()
    assert not process.run(lease.holds())


def test_the_lease_ends_half_a_second_after_the_question(process, monkeypatch):
    """So long may a process repeat what was before a change, and so long waits whoever is told of one."""
    lease = process.front.lease
    monkeypatch.setattr(lease, "_asked", time.monotonic() - 0.5)
    assert not lease.holds_unattended()
