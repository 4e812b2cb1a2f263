"""Owners who connect repositories at once."""

from functools import partial

import pytest

from apps.contrib.git import connecting
from apps.contrib.git.models import GitRepository
from apps.lib.errors import Conflict
from tests.sessions import in_browser
from tests.threads import at_once

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]


def connects(acme, dora, *urls):
    make = partial(connecting.connect, namespace=acme, actor=in_browser(dora))
    return [one for one in at_once(*[partial(make, url=url) for url in urls]) if isinstance(one, Conflict)]


def test_a_repository_is_connected_once_whatever_its_urls(acme, dora):
    """Of which no constraint knows that they are of one repository."""
    host = "git.acme.example/team/vpc"
    refused = connects(acme, dora, f"https://{host}", f"https://{host}.git", f"http://{host}", f"http://{host}.git")

    assert ["connected to acme already" in str(one) for one in refused] == [True] * 3
    assert GitRepository.objects.count() == 1


def test_a_namespace_has_so_many_and_no_more(acme, dora, monkeypatch):
    monkeypatch.setattr(connecting, "MAX_REPOSITORIES", 2)
    refused = connects(acme, dora, *[f"https://git.acme.example/team/vpc-{number}" for number in range(5)])

    assert ["the maximum" in str(one) for one in refused] == [True] * 3
    assert GitRepository.objects.count() == 2
