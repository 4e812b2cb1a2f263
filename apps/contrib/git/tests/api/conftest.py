"""Git repositories of a real Git server, and the API's client of Dora, who owns acme."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.contrib.git.remote import host_keys
from apps.contrib.git.tests.conftest import RULES, first, module, server, site, upstream, work_off
from apps.contrib.git.tests.credentials.github import new_key
from apps.jobs import waiting
from tests.api.conftest import as_described, in_pages
from tests.builders.git_servers import lfs_pointer

__all__ = ["as_described", "first", "in_pages", "server", "site", "upstream"]

URL = "/api/v1/namespaces/acme/repositories"


class Caller:
    """Sends JSON below the list of acme's repositories."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def get(self, below: str = "") -> Any:
        return self.client.get(f"{URL}{below}")

    def send(self, method: str, below: str = "", **fields: Any) -> Any:
        return self.client.generic(method, f"{URL}{below}", json.dumps(fields), content_type="application/json")

    def post(self, below: str = "", **fields: Any) -> Any:
        return self.send("POST", below, **fields)


@pytest.fixture
def call(tofu: Callable[..., Client]) -> Callable[..., Caller]:
    """`call(dora)`, with a token of scope manage."""
    return lambda user, *scope: Caller(tofu(user, *scope))


@pytest.fixture
def connected(call: Any, dora: Any, site: Any, upstream: Any) -> dict[str, Any]:
    """The answer to Dora, who connected the repository as a draft."""
    answer = call(dora).post(url=site.url_of("acme/terraform-aws-vpc"), rules=RULES)
    assert answer.status_code == 201, answer.content
    return answer.json()


@pytest.fixture
def synced(connected: Any, call: Any, dora: Any, upstream: Any) -> dict[str, Any]:
    """It has published v1.0.0, and not the others."""
    upstream.tag("v1.0.0")
    upstream.commit(module("LFS", **{"big.bin": lfs_pointer(), ".gitattributes": "*.bin filter=lfs\n"}))
    upstream.tag("v1.1.0")
    upstream.tag("nightly")
    assert call(dora).post(f"/{connected['id']}/sync").status_code == 202
    work_off()
    return connected


@pytest.fixture
def quiet_ssh(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An ssh server that is not asked: the fingerprints of the keys that it has. tests/remote asks a real one."""
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    monkeypatch.setattr("apps.contrib.git.remote.host_keys.scanned", lambda *_: (key,))
    return [host_keys.fingerprint(key)]


@pytest.fixture(scope="session")
def private_pem() -> str:
    """A key in the form that GitHub makes for an app."""
    return new_key()[0]


@pytest.fixture
def waited(call: Any, dora: Any) -> Callable[..., Any]:
    """Sends it as the server does: once, and again when the worker has changed the state."""

    def send(below: str, **fields: Any) -> Any:
        client = call(dora).client
        first = client.post(f"{URL}{below}", fields, "application/json", **{waiting.OFFERED: True})
        asked = first.wsgi_request.META[waiting.ASKED]
        assert waiting.with_news([asked]) == []
        work_off()
        assert waiting.with_news([asked]) == [asked]
        return client.post(f"{URL}{below}", **{waiting.OFFERED: True, waiting.ASKED: asked})  # its body was read

    return send
