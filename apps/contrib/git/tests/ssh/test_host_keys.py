"""The server gets other host keys: nothing is fetched until an owner has confirmed exactly those that were shown."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.git.models import GitRepository
from apps.contrib.git.tests.conftest import module, work_off
from apps.contrib.git.tests.pages.conftest import LIST
from apps.contrib.git.tests.ssh.conftest import NAME, vpc
from apps.notify.models import Letter
from apps.notify.outbox import dispatch
from tests import pages
from tests.builders.git_servers import ssh_key

pytestmark = [pytest.mark.slow, pytest.mark.needs("git", "ssh", "sshd")]


@pytest.fixture
def other(tmp_path):
    return (ssh_key(tmp_path / "other"),)


@pytest.fixture
def third(tmp_path):
    return (ssh_key(tmp_path / "third"),)


@pytest.fixture
def waiting(portal, serve):
    """v1.0.0 is published, and v1.1.0 was pushed; return the port, where nothing answers."""
    with serve() as site:
        upstream = vpc(site)
        repository = portal.connected(site.url(NAME))
        site.authorize(repository.credential_facts["public_key"])
        portal.look(repository)
        portal.publish(repository)
        upstream.commit(module("second"))
        upstream.tag("v1.1.0")
    return repository, site


def confirm(client, repository, fingerprints):
    return client.post(f"{LIST}/{repository.pk}/host-keys", {"fingerprint": fingerprints})


def test_other_keys_stop_the_repository_until_an_owner_confirms_those_that_were_shown(
    portal, serve, waiting, other, third, dora, bob, alice, browser_of
):
    repository, before = waiting
    known = before.fingerprints
    User.objects.filter(pk=dora.pk).update(email="dora@acme.example")
    asked = len(before.commands)

    with serve(port=before.port, own=other) as site:
        for _ in range(2):
            assert portal.sync(repository) == {"v1.0.0": "published", "nightly": "ignored"}
        assert repository.failure_code == "host_key_changed"
        assert len(site.commands) == asked
        dispatch()
        assert "host keys of a Git server of acme changed" in Letter.objects.get(user=dora).subject

        link = f'href="{LIST}/{repository.pk}/host-keys"'
        assert link in pages.shown(portal.client.get(f"{LIST}/{repository.pk}"))
        assert site.fingerprints[0] not in pages.shown(portal.client.get(f"{LIST}/{repository.pk}/host-keys"))
        page = portal.scan(repository)
        assert all(one in page for one in (*known, *site.fingerprints))
        shown = re.findall(r'name="fingerprint" value="([^"]+)"', page)
        assert shown == site.fingerprints

        publisher = browser_of(alice)
        assert link not in pages.shown(publisher.get(f"{LIST}/{repository.pk}"))
        for client in (publisher, browser_of(bob)):
            assert confirm(client, repository, shown).status_code in (403, 404)

    with serve(port=before.port, own=third) as site:
        portal.scan(repository)
        answer = confirm(portal.client, repository, shown)
        assert answer.status_code == 409
        assert all(one in pages.text_of(answer) for one in (*shown, *site.fingerprints))
        repository.refresh_from_db()
        assert repository.failure_code == "host_key_changed"

    with serve(port=before.port, own=other) as site:
        portal.scan(repository)
        GitRepository.objects.update(host_scanned_at=timezone.now() - timedelta(minutes=11))
        assert confirm(portal.client, repository, shown).status_code == 409, "an old scan"
        portal.scan(repository)
        assert confirm(portal.client, repository, shown).status_code == 303
        assert len(site.commands) == asked
        assert link not in pages.shown(portal.client.get(f"{LIST}/{repository.pk}"))
        work_off()
        assert portal.sync(repository) == {"v1.0.0": "published", "v1.1.0": "published", "nightly": "ignored"}
    first, trusted = AuditEvent.objects.filter(kind=Kind.GIT_HOST_KEYS_TRUSTED).order_by("pk")
    assert (first.detail["known"], first.detail["found"]) == ([], known)
    assert (trusted.detail["known"], trusted.detail["found"]) == (known, shown)


def test_a_draft_whose_server_changed_its_keys_is_looked_at_once_they_are_confirmed(portal, serve, other):
    with serve() as site:
        vpc(site)
        repository = portal.connected(site.url(NAME))
        site.authorize(repository.credential_facts["public_key"])

    with serve(port=site.port, own=other) as site:
        portal.look(repository)
        plan = f"{LIST}/{repository.pk}/plan"
        assert repository.preview["failure"]["code"] == "host_key_changed"
        assert f'href="{LIST}/{repository.pk}/host-keys"' in pages.shown(portal.client.get(plan))
        portal.scan(repository)
        assert confirm(portal.client, repository, site.fingerprints).status_code == 303
        assert f'href="{LIST}/{repository.pk}/host-keys"' not in pages.shown(portal.client.get(plan))
        portal.look(repository)
        assert portal.publish(repository)["v1.0.0"] == "published"


def test_a_server_that_adds_a_key_is_still_read_and_the_page_marks_the_key(portal, serve, own_keys):
    with serve(own=own_keys[1:]) as site:
        vpc(site)
        repository = portal.connected(site.url(NAME))
        site.authorize(repository.credential_facts["public_key"])

    with serve(port=site.port):
        portal.look(repository)
        assert portal.publish(repository)["v1.0.0"] == "published"
        assert portal.scan(repository).count(">New<") == 1
