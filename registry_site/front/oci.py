"""OCI pulls while the database is away (`stale.py`): as whom a question counts, which blobs a manifest opens, and what
is said without the database: the challenge with which a pull begins, and its token.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs

from rest_framework.exceptions import AuthenticationFailed

from apps.accounts.identity import tokens
from apps.http.authentication import secret_in
from apps.http.errors import Failure, oci_dialect
from apps.lib.errors import CredentialsRequired, Invalid
from apps.oci import registry_tokens
from apps.oci.base import INSUFFICIENT, PULL, challenge_to
from apps.oci.views.tokens import secret_of
from registry_site.front.table import CREDENTIALS, AccessFields, Entry, Headers, Key, Question, Whole, whole_of

PREFIX, TOKEN = "/v2/", "/v2/token"
_MANIFEST = re.compile(r"/v2/(.+)/manifests/[^/]+")
_BLOB = re.compile(r"/v2/.+/blobs/sha256:([0-9a-f]{64})")
_NAME = re.compile(r"/v2/(.+)/(?:manifests|blobs|tags|referrers)/[^/]+")


def asked_as(question: Question) -> str | bytes | None:
    """Return what stands in place of the credentials: a pull has a new token of the token service each time, which is
    for the API token behind it, or anonymous.
    """
    credentials = question.key[CREDENTIALS]
    found = _token_of(question)
    if found is None or not _covers(found[1], question):
        return credentials
    return None if found[0] is None else token_named(found[0])


def is_covered(question: Question) -> bool:
    """Return whether the scopes of a token of the token service cover the question. Other credentials have none.

    What other readers of the namespace were answered is joined with the right to read there, which has no name in it.
    """
    found = _token_of(question)
    return found is None or _covers(found[1], question)


def _covers(scopes: registry_tokens.Scopes, question: Question) -> bool:
    named = _NAME.fullmatch(question.path)
    return named is None or scopes.cover(named[1], PULL)


def _token_of(question: Question) -> tuple[int | None, registry_tokens.Scopes] | None:
    """Return the content of a token of the token service; None if it is another credential, or has ended."""
    scheme, _, text = question.header(b"authorization").partition(" ")
    is_bearer = question.path.startswith(PREFIX) and scheme.lower() == "bearer"
    if not is_bearer or not registry_tokens.is_ours(text.strip()):
        return None
    try:
        return registry_tokens.content_of(text.strip())
    except AuthenticationFailed:
        return None


def token_named(number: int) -> bytes:
    """Return the asker of all tokens that the token service issued for the API token of that number."""
    return b"token %d" % number


def digest_asked(path: str) -> str:
    """The SHA-256 of a question for a blob; empty for others."""
    found = _BLOB.fullmatch(path)
    return found[1] if found else ""


def of_blob(key: Key, path: str) -> Key:
    """Return the key of the note that the asker of `key` may read the blob."""
    return ("blob", key[1], path, None, b"", key[CREDENTIALS], *(None for _ in key[CREDENTIALS + 1 :]))


def blobs_of(key: Key, whole: Whole) -> list[Key]:
    """Return the keys like `of_blob`, of all blobs that a manifest names."""
    asked = _MANIFEST.fullmatch(str(key[2]))
    if asked is None or whole.status != HTTPStatus.OK:
        return []
    try:
        document = json.loads(whole.body)
    except ValueError:
        return []
    named = [document.get("config"), *_listed(document.get("layers"))] if isinstance(document, dict) else []
    digests = {part.get("digest") for part in named if isinstance(part, dict)}
    return [of_blob(key, f"/v2/{asked[1]}/blobs/{digest}") for digest in digests if isinstance(digest, str)]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


# --- What needs no database ------------------------------------------------------------------------------------------


def challenge(question: Question) -> Entry | None:
    """Return the challenge to a request for a repository without credentials, or with a token for something else,
    whether it exists or not.
    """
    is_wrong = not is_covered(question)
    if question.key[CREDENTIALS] is not None and not is_wrong:
        return None
    found = _NAME.fullmatch(question.path)
    failure = Failure(HTTPStatus.UNAUTHORIZED, CredentialsRequired.code, "Ask the token service for a token.")
    scope = challenge_to(f"repository:{found[1]}:{PULL}" if found else "")
    more = ((b"www-authenticate", (scope + (f",{INSUFFICIENT}" if is_wrong else "")).encode()),)
    return _said(HTTPStatus.UNAUTHORIZED, oci_dialect(failure), "oci:challenge", more)


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """The digest of the API token that the token service was sent, empty without one; and the scopes."""

    digest: str
    scopes: list[str] | None


def token_request_of(environ: Mapping[str, Any]) -> TokenRequest | None:
    """None where Django says what is wrong with it."""
    authorization, method = environ.get("HTTP_AUTHORIZATION", "").strip(), environ["REQUEST_METHOD"]
    try:
        if method == "POST":
            body = environ["wsgi.input"]
            fields = parse_qs(body.getvalue().decode() if isinstance(body, BytesIO) else "")
            secret = secret_of(fields)
        else:
            fields, secret = (
                parse_qs(environ.get("QUERY_STRING", "")),
                secret_in(authorization) if authorization else "",
            )
    except (Invalid, AuthenticationFailed, ValueError):
        return None
    if not secret and (authorization or method == "POST"):
        return None
    return TokenRequest(tokens.digest_of(secret) if secret else "", fields.get("scope"))


def token_for(number: int | None, scopes: list[str] | None) -> Entry:
    return _said(HTTPStatus.OK, registry_tokens.document_for(number, scopes), "oci:token")


def pong() -> Entry:
    """Return the answer at /v2/ to a client whose token counts."""
    return _said(HTTPStatus.OK, {}, "oci:ping")


def _said(status: HTTPStatus, document: Mapping[str, Any], route: str, more: Headers = ()) -> Entry:
    body = json.dumps(document).encode()
    headers = (
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"docker-distribution-api-version", b"registry/2.0"),
        (b"x-content-type-options", b"nosniff"),
        *more,
    )
    return Entry(whole_of(status, headers, body), (), -1, -1, 0.0, None, AccessFields(route))
