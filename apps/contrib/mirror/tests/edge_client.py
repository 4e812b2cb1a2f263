"""A client at both edges of the mirror, in a server that can wait, with a worker behind it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from apps.contrib.mirror.models import Upstream
from apps.contrib.mirror.tests import fetched
from apps.jobs import waiting

TOFU, TERRAFORM = "OpenTofu/1.12.6", "Terraform/1.11.4"
PLATFORM = "linux_amd64"
PLATFORMS = ["linux_amd64", "darwin_arm64"]


class Edge:
    """`waited`: how often its requests left their threads."""

    def __init__(self, headers: Mapping[str, str], agent: str = TOFU) -> None:
        self.client = Client(headers={"User-Agent": agent, **headers})
        self.waited = 0

    def get(self, url: str, *, method: str = "GET", works: bool = True) -> Any:
        """Ask as the server does: again when the row has changed, with what the first time said."""
        environ: dict[str, Any] = {waiting.OFFERED: True}
        for _ in range(10):
            answer = self.client.generic(method, url, **environ)
            asked = answer.wsgi_request.META.get(waiting.ASKED)
            if asked is None or not works:
                return answer
            self.waited += 1
            fetched.work_for(asked)
            assert waiting.with_news([asked]) == [asked], "nobody wakes this request"
            environ[waiting.ASKED] = asked
        raise AssertionError(f"{url} is never answered")

    def versions(self, upstream: Upstream, address: str = "acme/tool") -> list[str]:
        answer = self.get(index_url(upstream, address))
        assert answer.status_code == 200, answer.content
        return list(json.loads(answer.content)["versions"])

    def archives(self, upstream: Upstream, number: str = "1.0.0", address: str = "acme/tool") -> dict[str, Any]:
        answer = self.get(version_url(upstream, number, address))
        assert answer.status_code == 200, answer.content
        found: dict[str, Any] = json.loads(answer.content)["archives"]
        return found

    def zip(self, upstream: Upstream, number: str = "1.0.0", platform: str = PLATFORM) -> bytes:
        answer = self.get(self.archives(upstream, number)[platform]["url"])
        assert answer.status_code == 200, answer.content
        return body_of(answer)


def body_of(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else bytes(answer.content)


def said(answer: Any) -> str:
    return " ".join(json.loads(answer.content)["errors"])


def index_url(upstream: Upstream, address: str = "acme/tool") -> str:
    return f"/v1/mirror/{upstream.host}/{address}/index.json"


def version_url(upstream: Upstream, number: str = "1.0.0", address: str = "acme/tool") -> str:
    return f"/v1/mirror/{upstream.host}/{address}/{number}.json"


def package_url(upstream: Upstream, number: str = "1.0.0", platform: str = PLATFORM) -> str:
    name = f"terraform-provider-tool_{number}_{platform}.zip"
    return f"/v1/mirror/{upstream.host}/acme/tool/{number}/{name}"


# --- For test modules that import them -----------------------------------------------------------------------------


@pytest.fixture
def tool(registry):
    return registry.add_provider("acme", "tool", versions=["1.0.0", "1.1.0", "2.0.0-beta.1"], platforms=PLATFORMS)


@pytest.fixture
def edge(tool) -> Edge:
    return Edge({})


@pytest.fixture
def edge_of(tool, bearer):
    return lambda user=None, agent="OpenTofu/1.12.6": Edge(bearer(user) if user else {}, agent)
