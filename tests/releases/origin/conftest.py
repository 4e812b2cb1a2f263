"""Runs of CI that publish with the token of an exchange, and what was recorded of a release."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.releases.models import Release
from apps.releases.origin.models import Origin
from tests.accounts.identity.trusted.conftest import add, ci_keys, exchange, id_token, issuer
from tests.api.conftest import as_described
from tests.builders.archives import module_zip
from tests.providers.conftest import draft_client, held, registered

__all__ = ["add", "as_described", "ci_keys", "draft_client", "exchange", "held", "id_token", "issuer", "registered"]


@pytest.fixture
def ci(add: Any, id_token: Any, exchange: Any) -> Callable[..., Client]:
    """A client with the token of a run: `ci("gitlab", pipeline_id="575")`. Its rule is made with the first."""
    rules = {}

    def run(kind: str = "github", **claims: Any) -> Client:
        if kind not in rules:
            rules[kind] = add(kind)
        answer = exchange(id_token(kind, claims))
        assert answer.status_code == 200, answer.content
        return Client(headers={"Authorization": f"Bearer {answer.json()['token']}"})

    return run


@pytest.fixture
def send(work: Callable[[], None]) -> Callable[..., Release]:
    """A module sent by this client with the API, and published by a worker."""

    def sent(client: Client, version: str = "1.2.0", address: str = "acme/vpc/aws") -> Release:
        body = module_zip(comment=version.encode())
        answer = client.generic("PUT", f"/api/v1/modules/{address}/{version}", body)
        assert answer.status_code in (200, 202), answer.content
        work()
        release = Release.objects.latest("pk")
        assert release.state == "published", release.reasons
        return release

    return sent


def origin_of(release: Release) -> Origin:
    return Origin.objects.get(release=release)
