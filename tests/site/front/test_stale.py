"""The answers that are repeated while the database is away, to whom, and for how long (LARDER_SERVE_STALE_SECONDS)."""

import time
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import ApiToken, Grant, Visibility
from apps.audit import generation
from apps.protocol.last_public import last_public
from apps.releases.lifecycle import quarantine, verbs
from registry_site.backends.other_hosts import WELL_SECONDS
from registry_site.front.outage import SHARE_EVERY, is_no_answer
from tests.site.front.asking import Process
from tests.site.front.outages import WARNING, away, stale
from tests.site.front.test_archives import plain, warmed
from tests.site.front.test_changes import IN_ACME

PRIVATE, PUBLIC = "/v1/modules/acme/vpc/aws/versions", "/v1/modules/pantry/vpc/aws/versions"
INTERNAL, OTHER = "/v1/modules/hall/vpc/aws/versions", "/v1/modules/hall/dns/aws/versions"
DOWNLOAD = "/v1/modules/acme/vpc/aws/1.2.0/download"
SECONDS = 600


@pytest.fixture(autouse=True)
def serving(settings):
    settings.SERVE_STALE_SECONDS = SECONDS


@pytest.fixture
def later(monkeypatch) -> Callable[[float], None]:
    """So many seconds pass."""
    real, passed = time.monotonic, SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(time, "monotonic", lambda: real() + passed.seconds)

    def pass_on(seconds: float) -> None:
        passed.seconds += seconds

    return pass_on


def test_what_is_repeated_is_the_last_answer_with_a_warning(process, modules, tofu, later):
    said = process.ask(tofu(None), PUBLIC)
    later(SECONDS / 2)  # a minute is all that it is repeated otherwise
    away(process)
    again = process.ask(tofu(None), PUBLIC)
    assert (again.status, again.body, again.headers - said.headers) == (200, said.body, {WARNING})
    assert process.front.stale.answers == {"protocol:module-versions": 1}


def test_public_documents_are_repeated_to_everybody_and_whatever_they_asked_with(process, modules, tofu, bob, charlie):
    process.ask(tofu(bob), PUBLIC)
    away(process)
    assert all(stale(process, tofu(who), PUBLIC) for who in (bob, charlie, None))
    assert stale(process, tofu(None), PUBLIC, "HEAD")
    assert stale(process, tofu(None), PUBLIC, **{"If-None-Match": '"x"'})
    assert not stale(process, tofu(None), PUBLIC.replace("vpc", "dns")), "nobody has asked for it"


def test_internal_documents_are_repeated_to_tokens_that_have_read_there(process, modules, tofu, bob, charlie):
    reads, others, new = tofu(bob), tofu(charlie), tofu(charlie)
    process.ask(reads, INTERNAL)
    process.ask(others, OTHER)
    away(process)
    assert [stale(process, one, INTERNAL) for one in (reads, others, new, tofu(None))] == [True, True, False, False]


def test_private_documents_are_repeated_to_tokens_that_were_seen_with_them(process, modules, tofu, bob, alice):
    reads, others = tofu(bob), tofu(alice)
    process.ask(reads, PRIVATE)
    process.ask(reads, DOWNLOAD)
    process.ask(others, DOWNLOAD)
    away(process)
    assert [stale(process, reads, url) for url in (PRIVATE, DOWNLOAD)] == [True, True]
    assert [stale(process, others, url) for url in (PRIVATE, DOWNLOAD)] == [False, True]
    assert [stale(process, who, PRIVATE) for who in (tofu(bob), tofu(None))] == [False, False]


def test_a_token_that_the_front_itself_has_answered_was_seen_with_it_too(process, modules, tofu, bob, alice, later):
    others = tofu(alice)
    for url in (PRIVATE, DOWNLOAD):
        process.ask(tofu(bob), url)
    process.ask(others, DOWNLOAD)
    assert process.ask(others, PRIVATE).was_ready
    later(SECONDS / 2)
    away(process)
    assert stale(process, others, PRIVATE)


@pytest.mark.parametrize("verb", ["quarantine", "revoke", "withdraw", "yank"])  # test_changes.py has the others
def test_nothing_from_before_a_change_is_repeated(process, published, modules, tofu, acme, bob, dora, olga, verb):
    reads = tofu(bob)
    for url in (PRIVATE, DOWNLOAD):
        process.ask(reads, url)
    change, _ = IN_ACME[verb]
    things = {"published": published, "release": modules, "acme": acme, "bob": bob, "dora": Viewer(dora)}
    things |= {"olga": Viewer(olga), "grant": Grant.objects.get(user=bob), "token": ApiToken.objects.get(user=bob)}
    change(things)
    away(process)
    assert not stale(process, reads, PRIVATE)


def test_a_process_that_may_have_missed_a_change_repeats_nothing(process, modules, tofu):
    """Its last question was answered too long before the one that failed."""
    process.ask(tofu(None), PUBLIC)
    away(process, age=generation.KNOWN_WITHIN)
    assert not stale(process, tofu(None), PUBLIC)


def test_one_failed_question_is_no_outage_and_neither_is_a_full_server(process, modules, tofu):
    process.ask(tofu(None), PUBLIC)
    full = OperationalError("too many clients")
    full.__cause__ = type("Full", (Exception,), {"sqlstate": "53300"})()
    assert not is_no_answer(full)
    away(process, full)
    assert not process.front.changes.outage.lasts()

    process.front.changes.outage.fails(began=time.monotonic(), asked=time.monotonic(), error=OperationalError())
    assert not process.front.changes.outage.lasts()


def test_it_ends_with_the_time_that_operators_set_and_when_the_database_is_back(process, modules, tofu, later):
    process.ask(tofu(None), PUBLIC)
    ask = process.front.changes._read
    away(process)
    later(SECONDS - 1)
    assert stale(process, tofu(None), PUBLIC)
    later(1)
    assert not stale(process, tofu(None), PUBLIC)
    process.front.changes._read = ask
    process.learn()
    assert process.front.changes.outage.since is None
    assert not stale(process, tofu(None), PUBLIC)


def test_it_ends_with_the_token_and_with_the_links(process, modules, tofu, bob, later):
    reads = tofu(bob)
    ApiToken.objects.filter(user=bob).update(expires_at=timezone.now() + timedelta(seconds=SECONDS / 2))
    process.ask(reads, PRIVATE)
    away(process)
    later(SECONDS / 2 - 10)
    assert stale(process, reads, PRIVATE)
    later(10)
    assert not stale(process, reads, PRIVATE)


def test_a_private_document_is_repeated_as_long_as_its_links_open(process, modules, tofu, bob, settings, later):
    settings.ARCHIVE_URL_LIFETIME = timedelta(minutes=5)
    process.ask(tofu(None), "/v1/modules/pantry/vpc/aws/1.2.0/download")
    reads = tofu(bob)
    process.ask(reads, DOWNLOAD)
    later(9 * 60)  # five minutes, up to five more, less two to fetch
    away(process)
    assert not stale(process, reads, DOWNLOAD)
    assert stale(process, tofu(None), "/v1/modules/pantry/vpc/aws/1.2.0/download"), "its links do not end"


def test_without_the_setting_nothing_is_repeated(settings, modules, tofu):
    settings.SERVE_STALE_SECONDS = 0
    process = Process()
    process.ask(tofu(None), PUBLIC)
    away(process)
    assert not stale(process, tofu(None), PUBLIC)
    process.end()


# --- Bytes -----------------------------------------------------------------------------------------------------------


def test_a_small_public_archive_is_repeated_until_its_namespace_is_hidden(process, modules, published, pantry, tofu):
    one, two = published("pantry/dns/aws"), published("pantry/dns/aws", "1.3.0")
    warmed(process, tofu(None), plain(one), plain(two))
    assert two.digest in last_public
    namespaces.change(namespace=pantry, visibility=Visibility.PRIVATE, description="", actor=Viewer(None))
    process.learn()
    assert two.digest not in last_public, "the view would go on with it"
    away(process)
    assert not stale(process, tofu(None), plain(two))


def test_the_view_goes_on_only_with_a_list_of_what_is_in_quarantine_that_is_complete(process, modules, olga):
    blocked, asked = quarantine.blocked, []
    blocked.newest = lambda: process.front.changes.history
    process.front.archives.learn_blocked = lambda: asked.append(True)
    try:
        blocked.renew()
        assert blocked.is_complete()
        verbs.quarantine(release=modules, actor=Viewer(olga), reason="malware")
        process.learn()
        assert not blocked.is_complete(), "the quarantine is newer than the list"
        assert asked == [True], "it is read at once"
        blocked.renew()
        assert blocked.is_complete()
        assert modules.digest in blocked
    finally:
        blocked.newest = lambda: 0


# --- Whoever makes a change ------------------------------------------------------------------------------------------


def test_nobody_is_told_of_a_change_that_a_process_may_not_have_seen(process, modules, dora):
    """The database goes away between the commit and the answer."""
    verbs.yank(release=modules, actor=Viewer(dora), reason="broken")
    assert process.run(process.front.tell("POST", "/api/v1/x", 200)), "it was there half a second later"

    away(process)
    assert not process.run(process.front.tell("POST", "/api/v1/x", 200))
    assert process.run(process.front.tell("GET", PUBLIC, 200)), "which tells nobody"
    assert process.run(process.front.tell("POST", "/api/v1/x", 503))
    assert process.run(process.front.tell("GET", "/status", 200, was_away=True)), "it has not read the database"
    assert not process.run(process.front.tell("GET", "/modules", 200)), "it has, before the outage"
    assert not process.run(process.front.tell("POST", "/api/v1/x", 200, was_away=True)), "it may be back"
    process.front.stale.is_on = False
    assert process.run(process.front.tell("POST", "/api/v1/x", 200)), "nothing is repeated"


# --- Several hosts ---------------------------------------------------------------------------------------------------


def shared(process: Process, *, is_well: bool) -> None:
    """Do what `keep_asking` does after each question."""

    async def share() -> None:
        outage._shared_at = float("-inf")
        outage.share(is_well=is_well)
        assert outage._sharing is not None
        await outage._sharing

    outage = process.front.changes.outage
    process.run(share())


def test_a_host_that_alone_has_lost_the_database_repeats_nothing(both, modules, tofu, server, later):
    (one, other), url = both, PUBLIC
    for host in both:
        host.ask(tofu(None), url)
    away(one)
    shared(other, is_well=True)
    shared(one, is_well=False)
    assert stale(one, tofu(None), url), "it may have been said before the outage"

    later(WELL_SECONDS + SHARE_EVERY)
    shared(other, is_well=True)
    shared(one, is_well=False)
    assert not stale(one, tofu(None), url)
    assert one.front.stale.figures() == {"is_elsewhere": True}

    server.redis.flushall()
    server.freeze()
    shared(one, is_well=False)
    assert not stale(one, tofu(None), url), "nobody has said otherwise"
    server.thaw()
    shared(one, is_well=False)
    assert stale(one, tofu(None), url), "the others have lost it as well"
