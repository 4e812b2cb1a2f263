"""Of many equal requests one asks Django, and the others wait for its answer."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from apps.http.ready import Ready
from apps.lib.addresses import canonical
from registry_site.front.front import Front
from registry_site.front.table import Question, question_of
from tests.rows import for_each_row
from tests.site.front.asking import scope_of

URL = "/v1/modules/pantry/vpc/aws/versions"
JSON = ((b"content-type", b"application/json"),)


@dataclass
class Crowd:
    """Equal requests at one process, each of which is answered or told to ask Django."""

    front: Front
    scope: Any
    asking: list[Question] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def ask(self) -> None:
        question = question_of(self.scope)
        assert question is not None
        if not await self.front.has_answered(self.scope, question, self.send):
            self.asking.append(question)

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            self.bodies.append(message["body"])

    def answer(self, question: Question, body: bytes) -> None:
        self.front.store(question, Ready({canonical("pantry")}, 60.0), status=200, headers=JSON, body=body)
        self.front.settle(question, is_ready=True)


@pytest.fixture
def crowd(process, client):
    return Crowd(process.front, scope_of(client, URL))


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_one_of_eight_asks_django_and_the_others_get_its_answer(process, crowd):
    async def come() -> None:
        requests = [asyncio.ensure_future(crowd.ask()) for _ in range(8)]
        await turns()
        assert (len(crowd.asking), crowd.bodies) == (1, [])
        crowd.answer(crowd.asking[0], b"{}")
        await asyncio.gather(*requests)

    process.run(come())
    assert (len(crowd.asking), crowd.bodies) == (1, [b"{}"] * 7)


def test_an_answer_from_before_a_change_is_given_to_nobody_who_waited(process, crowd):
    """The change is one that this process has learned of, as it must before anybody is told (D16)."""

    async def come() -> None:
        first, *others = [asyncio.ensure_future(crowd.ask()) for _ in range(3)]
        await turns()
        process.front.changes._numbers["pantry"] = process.front.changes.number = process.front.changes.number + 1
        crowd.answer(crowd.asking[0], b"old")
        await turns()
        assert (len(crowd.asking), crowd.bodies) == (2, []), "one of those who waited asks now"
        crowd.answer(crowd.asking[1], b"new")
        await asyncio.gather(first, *others)

    process.run(come())
    assert (len(crowd.asking), crowd.bodies) == (2, [b"new"])


def test_nobody_waits_for_an_answer_that_never_becomes_ready(process, crowd):
    async def come() -> None:
        requests = [asyncio.ensure_future(crowd.ask()) for _ in range(3)]
        await turns()
        crowd.front.settle(crowd.asking[0], is_ready=False)
        await asyncio.gather(*requests)

    process.run(come())
    assert (len(crowd.asking), crowd.bodies) == (3, [])


def test_who_has_waited_long_enough_asks_for_himself(process, crowd):
    async def come() -> None:
        await crowd.ask()
        question = question_of(crowd.scope)
        assert question is not None
        question.at -= 60
        assert not await crowd.front.has_answered(crowd.scope, question, crowd.send)

    process.run(come())


@for_each_row("url", ["/archives/a/b.zip", "/v2/acme/vpc/aws/blobs/sha256:0", "/"])
def test_what_is_never_ready_is_waited_for_by_nobody(process, client, url):
    crowd = Crowd(process.front, scope_of(client, url))

    async def come() -> None:
        await asyncio.gather(crowd.ask(), crowd.ask())

    process.run(come())
    assert len(crowd.asking) == 2
