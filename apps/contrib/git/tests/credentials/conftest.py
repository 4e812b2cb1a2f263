import pytest

from apps.contrib.git import credentials, github_apps, hooks
from apps.contrib.git.models import GitRepository
from apps.contrib.git.tests.credentials.github import github, new_key
from apps.lib.settings_values.outgoing import Outgoing
from tests.builders.git_servers import LOOPBACK


@pytest.fixture(scope="session")
def app_key():
    """The private key of an app in PEM, and its public half."""
    return new_key()


@pytest.fixture
def forge(app_key, settings):
    """A GitHub on loopback that knows the key."""
    settings.SOURCES = Outgoing(allow=LOOPBACK)
    github_apps.clear()
    with github(app_key[1]) as site:
        yield site
    github_apps.clear()


@pytest.fixture
def repository_with():
    """A row that is not stored."""

    def made(url, given=None, **fields):
        scheme = url.partition(":")[0] if "://" in url else "ssh"
        kind, facts, secret = credentials.checked(scheme, given)
        hook_id = hooks.new_id()
        sealed = credentials.seal(secret, hook_id)
        return GitRepository(
            url=url,
            hook_id=hook_id,
            credential=kind,
            credential_facts=facts,
            sealed_credential=sealed,
            **{"forge": "github", **fields},
        )

    return made
