"""Runs of CI that publish with the token of an exchange, and what was recorded of a release."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Namespace
from apps.releases.models import Release
from apps.releases.origin.models import Origin
from tests.api.conftest import as_described
from tests.builders import ci_runs
from tests.builders.archives import module_zip
from tests.providers.conftest import draft_client, held, registered

__all__ = ["as_described", "draft_client", "held", "registered"]


@pytest.fixture
def ci(acme: Namespace, dora: Any) -> Callable[..., Client]:
    """A client with the token of a run: `ci("gitlab", pipeline_id="575")`. Its rule is made with the first."""
    rules = {}

    def run(kind: str = "github", **claims: Any) -> Client:
        if kind not in rules:
            rules[kind] = ci_runs.add_rule(acme, dora, kind)
        return Client(headers={"Authorization": f"Bearer {ci_runs.token_of_run(rules[kind], **claims)}"})

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
