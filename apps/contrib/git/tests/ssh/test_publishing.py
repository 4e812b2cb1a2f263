"""From an ssh URL to a published version, with a deploy key that is not on the server at first."""

import pytest

from apps.contrib.git.models import GitRepository
from apps.contrib.git.tests.conftest import work_off
from apps.contrib.git.tests.pages.conftest import LIST
from apps.contrib.git.tests.ssh.conftest import NAME, vpc
from apps.releases.models import Release
from tests import pages

pytestmark = [pytest.mark.slow, pytest.mark.needs("git", "ssh", "sshd")]
VERSION = "/modules/acme/{}/1.0.0"


def test_pages_lead_from_the_url_to_a_version_and_say_what_is_missing_on_the_way(portal, sshd):
    commit = vpc(sshd).head
    answer = portal.connect(sshd.url(NAME))
    repository = GitRepository.objects.get()
    assert answer.headers["Location"] == f"{LIST}/{repository.pk}/key"
    page = pages.shown(portal.client.get(answer.headers["Location"]))
    assert repository.credential_facts["public_key"] in page
    assert "A worker asks the server for its host keys." in page
    assert 'hx-trigger="every 2s"' in page
    assert "can the repository" not in page
    work_off()
    page = pages.shown(portal.client.get(answer.headers["Location"]))
    assert "hx-trigger" not in page
    assert "can the repository" in page
    assert all(one in page for one in sshd.fingerprints)
    assert len(sshd.fingerprints) == 3
    assert sshd.commands == []  # it was asked for its keys, and for nothing else

    # The key is not on the server yet.
    portal.look(repository)
    page = pages.shown(portal.client.get(f"{LIST}/{repository.pk}/plan"))
    assert repository.preview["failure"]["code"] == "unauthorized"
    assert "localhost refused the deploy key." in page
    assert "Add the repository's deploy key on the server" in page
    assert f'href="{LIST}/{repository.pk}/key"' in page
    assert sshd.commands == []

    sshd.authorize(repository.credential_facts["public_key"])
    portal.look(repository)
    assert "These rules would publish 1 of 2 tags" in pages.shown(portal.client.get(f"{LIST}/{repository.pk}/plan"))
    assert portal.publish(repository) == {"v1.0.0": "published", "nightly": "ignored"}
    page = pages.shown(portal.client.get(f"{LIST}/{repository.pk}"))
    release = Release.objects.get()
    assert f'href="{VERSION.format(release.name)}"' in page
    origin = pages.shown(portal.client.get(f"{VERSION.format(release.name)}/origin"))
    assert commit in origin
    assert f"localhost:{sshd.port}/{NAME}" in origin
