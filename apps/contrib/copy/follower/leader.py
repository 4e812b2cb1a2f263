"""Requests to the leader: files of its tree, the keys that sign the manifest, and who may read what.

The address of the leader is the operator's choice, so it may be private. Nothing here retries: the next pass does.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings

from apps.contrib.copy.tree import signatures
from apps.lib.net import addresses, fetching
from apps.lib.net.outgoing import NotAnswered
from apps.lib.process import outside

TREE = "/static-copy/tree/"
LEADER = "leader"  # as metrics name it
ASK_SECONDS = 3.0
MAX_PEM, MAX_MANIFEST = 10_000, 1024 * 1024  # bytes
FILES = fetching.Limits(first_byte_seconds=15, total_seconds=3600, min_bytes_per_second=1024, window_seconds=10)


class LeaderAway(Exception):
    """The leader did not answer, or not as one does. The text is for operators."""


@dataclass(frozen=True, slots=True)
class Said:
    """The leader's answer about a permission, and for how many seconds it counts: always, and while it is away."""

    status: int
    fresh: float
    stale: float


@contextmanager
def opened(place: str, *, headers: Mapping[str, str] | None = None) -> Iterator[fetching.Response]:
    """Open a file of the leader's tree, by its path from the root. Raises LeaderAway, also for another status."""
    url, wanted = f"{settings.FOLLOW.url}{TREE}{quote(place)}", {**_HEADERS, **(headers or {})}
    authorization = f"Bearer {settings.FOLLOW.token}"
    try:
        with fetching.opened(
            "GET",
            url,
            headers=wanted,
            route=_route(),
            limits=FILES,
            authorization=authorization,
        ) as answer:
            if answer.status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
                raise LeaderAway(
                    f"{url} answered {answer.status}, expected 200. {_HINTS.get(answer.status, '')}".strip()
                )
            yield answer
    except NotAnswered as error:
        raise LeaderAway(f"{url} did not answer: {error}.") from None


def read(place: str, *, most: int = MAX_MANIFEST) -> bytes:
    """Read a small file of the tree. Raises LeaderAway."""
    with opened(place) as answer:
        return b"".join(answer.chunks(most))


def public_key(key_id: str) -> Ed25519PublicKey:
    """Return the key by its id, which is the SHA-256 of its DER form: no other can be given. Raises LeaderAway."""
    url = f"{settings.FOLLOW.url}/api/v1/statement-keys/{quote(key_id, safe='')}/pem"
    try:
        with fetching.opened("GET", url, headers=_HEADERS, route=_route(), limits=FILES) as answer:
            pem = b"".join(answer.chunks(MAX_PEM))
    except NotAnswered as error:
        raise LeaderAway(f"{url} did not answer: {error}.") from None
    key = signatures.keys_in(pem).get(key_id)
    if key is None:
        raise LeaderAway(f"{url} answered {answer.status} without that public key.")
    return key


def authorise(scope: str, authorization: str) -> Said:
    """Ask who may read a namespace, with the header of the reader. Raises LeaderAway."""
    parts = urlsplit(f"{settings.FOLLOW.url}/static-copy/authorise?scope={quote(scope, safe='')}")
    try:
        with fetching.guarding(LEADER, parts, _route()):
            answer = fetching.exchange(
                "GET",
                parts,
                headers=_HEADERS | {"Authorization": authorization},
                route=_route(),
                seconds=ASK_SECONDS,
                max_bytes=fetching.MAX_ANSWER_BYTES,
            )
    except (NotAnswered, outside.TooManyWait) as error:
        raise LeaderAway(str(error)) from None
    if answer.status not in (HTTPStatus.OK, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise LeaderAway(f"It answered {answer.status}.")
    bounds = _bounds_in(str(answer.headers.get("Cache-Control") or ""))
    return Said(answer.status, bounds.get("max-age", 0), bounds.get("stale-if-error", 0))


def _bounds_in(cache_control: str) -> dict[str, float]:
    pairs = (part.strip().partition("=") for part in cache_control.split(","))
    return {name: float(value) for name, _, value in pairs if value.isascii() and value.isdecimal() and len(value) < 9}  # noqa: PLR2004


def _route() -> fetching.Route:
    file = settings.FOLLOW.ca_file
    trusted = fetching.trusting(file, Path(file).stat().st_mtime_ns if file else 0, "")
    return fetching.Route(trusted, addresses.ANYWHERE, settings.FOLLOW.proxy)


_HEADERS = {"User-Agent": "Larder (follower)", "Accept-Encoding": "identity"}
_HINTS: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "LARDER_FOLLOW_TOKEN_FILE needs a valid token of the leader.",
    HTTPStatus.FORBIDDEN: "The token needs to be one of an operator, without limits.",
    HTTPStatus.NOT_FOUND: "The leader has no static copy, or is writing it for the first time.",
}
