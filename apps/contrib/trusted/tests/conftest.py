"""An issuer on loopback, rules of acme for it, and the exchange as a CI run calls it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.models import TrustedPublisher
from apps.contrib.trusted import keys, publishers
from tests.builders import ci_issuer
from tests.builders.ci_claims import SHAPES, Shape
from tests.builders.ci_issuer import Issuer

URL = "/api/v1/trusted-publishing/token"


@pytest.fixture(scope="session")
def ci_keys() -> dict[str, Any]:
    return {algorithm: ci_issuer.new_key(algorithm) for algorithm in ci_issuer.ALGORITHMS}


@pytest.fixture
def issuer(settings: Any, ci_keys: dict[str, Any]) -> Iterator[Issuer]:
    keys.clear()
    settings.PUBLIC_URL = "https://larder.test"
    settings.RATES = {**settings.RATES, "tokens": None}
    with ci_issuer.running(ci_keys) as found:
        settings.TRUSTED_ISSUERS = (found.url,)
        yield found
    keys.clear()


@pytest.fixture
def add(issuer: Issuer, acme: Any, dora: Any) -> Callable[..., TrustedPublisher]:
    """Dora adds a rule of the kind: `add("github", only_name="vpc/aws")`."""

    def added(kind: str = "github", *, namespace: Any = None, **more: Any) -> TrustedPublisher:
        given = {"kind": kind, "issuer": issuer.url, **SHAPES[kind].rule, **more}
        return publishers.create(namespace=namespace or acme, actor=Viewer(dora), **given)

    return added


@pytest.fixture
def id_token(issuer: Issuer) -> Callable[..., str]:
    """An id token of the kind; further words are claims, and None takes one out."""

    def token(kind: str = "github", claims: dict[str, Any] | None = None, **how: Any) -> str:
        return issuer.signed(claims_of(issuer, SHAPES[kind], **(claims or {})), **how)

    return token


def claims_of(issuer: Issuer, shape: Shape, **more: Any) -> dict[str, Any]:
    host = issuer.url.removeprefix("http://")
    said = {**shape.claims, **more}
    filled = {name: value.replace("{host}", host) if isinstance(value, str) else value for name, value in said.items()}
    return issuer.claims(**filled)


@pytest.fixture
def exchange() -> Callable[..., Any]:
    def asked(token: str, **more: Any) -> Any:
        return Client().post(URL, json.dumps({"token": token, **more}), content_type="application/json")

    return asked


@pytest.fixture
def refusal(exchange: Any) -> Callable[..., str]:
    """The message of a refusal, which names the claim."""

    def message(token: str, status: int = 403, **more: Any) -> str:
        answer = exchange(token, **more)
        assert answer.status_code == status, answer.content
        return str(answer.json()["error"]["message"])

    return message
