"""Tokens of a GitHub App's installation, for one repository and its contents alone.

https://docs.github.com/apps (Generating a JSON Web Token for a GitHub App; Generating an installation access token) and
the REST API's `POST /app/installations/{installation_id}/access_tokens`.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from threading import Lock
from typing import Any

import jwt
import structlog
from django.views.decorators.debug import sensitive_variables

from apps.contrib.git import forges
from apps.contrib.git.remote.access import Access, GitFailed
from apps.contrib.git.remote.remotes import Remote
from apps.lib.net import fetching
from apps.lib.net.outgoing import NotAnswered

# GitHub takes no JSON web token of more than ten minutes. Sixty seconds back, for clocks that run ahead of GitHub's.
JWT_SECONDS, SKEW_SECONDS = 540, 60
SPARE_SECONDS = 300.0
MAX_ANSWER_BYTES = 64 * 1024
MAX_CACHED = 500
LIMITS = fetching.Limits(first_byte_seconds=15, total_seconds=30, max_redirects=0)

log = structlog.get_logger("larder.sources")

_tokens: dict[str, tuple[str, float]] = {}
_lock = Lock()


@sensitive_variables("pem", "body", "token")
def token_of(remote: Remote, access: Access, facts: Mapping[str, Any], pem: str) -> str:
    """Return a token that lasts for five minutes at least; this process remembers it. Raises GitFailed."""
    api, installation = forges.github_api(remote), str(facts["installation_id"])
    key = hashlib.sha256("\0".join([api, remote.name, str(facts["app_id"]), installation, pem]).encode()).hexdigest()
    with _lock:
        token, ends = _tokens.get(key, ("", 0.0))
    if ends - SPARE_SECONDS > time.time():
        return token
    body = _asked(remote, access, f"{api}/app/installations/{installation}/access_tokens", facts, pem)
    token, ends = str(body["token"]), _ends_at(body.get("expires_at"))
    with _lock:
        if len(_tokens) >= MAX_CACHED:
            _tokens.clear()
        _tokens[key] = token, ends
    return token


def clear() -> None:
    """Forget all tokens of this process."""
    with _lock:
        _tokens.clear()


@sensitive_variables("pem", "authorization")
def _asked(remote: Remote, access: Access, url: str, facts: Mapping[str, Any], pem: str) -> dict[str, Any]:
    name = remote.name.rpartition("/")[2]
    asked = json.dumps({"repositories": [name], "permissions": {"contents": "read"}}).encode()
    headers = {
        "Accept": "application/vnd.github+json",
        "Content-Type": "application/json",
        "User-Agent": "larder",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    route = fetching.Route(access.trusted, access.allowed, access.proxy)
    authorization = f"Bearer {_web_token(str(facts['app_id']), pem)}"
    try:
        with fetching.opened(
            "POST", url, headers=headers, route=route, limits=LIMITS, authorization=authorization, body=asked
        ) as answer:
            status, said = answer.status, b"".join(answer.chunks(MAX_ANSWER_BYTES))
    except NotAnswered as error:
        log.warning("github_app_unreachable", code=error.code)
        hint = f"Ask an operator about {error.rule or 'the network'}." if error.rule else "Larder tries again."
        raise GitFailed("app_unreachable", f"GitHub's API did not respond: {error}", hint=hint) from None
    try:
        body = json.loads(said)
    except (ValueError, RecursionError):
        body = None
    if status == HTTPStatus.CREATED and isinstance(body, dict) and isinstance(body.get("token"), str):
        return body
    raise _failure(status, str(body.get("message", "") if isinstance(body, dict) else ""), remote)


def _web_token(app: str, pem: str) -> str:
    now = int(time.time())
    claims = {"iat": now - SKEW_SECONDS, "exp": now + JWT_SECONDS, "iss": app}
    try:
        return jwt.encode(claims, pem, algorithm="RS256")
    except (jwt.PyJWTError, ValueError, TypeError):
        raise GitFailed(
            "app_key_wrong",
            "The private key of the GitHub App cannot be read.",
            hint="Give the credential again, with a new private key of the app.",
            is_final=True,
        ) from None


def _failure(status: int, message: str, remote: Remote) -> GitFailed:
    """Return the failure that GitHub's answer means; its own words only decide between two causes of one status."""
    log.warning("github_app_refused", status=status, said=message[:200])
    low = message.lower()
    if status == HTTPStatus.UNAUTHORIZED and any(word in low for word in ("issued at", "'iat'", "expiration", "'exp'")):
        return GitFailed(
            "app_clock_skew",
            "GitHub rejected the time in the app's token, so the clocks differ.",
            hint="Ask an operator to set this host's clock.",
        )
    if status == HTTPStatus.UNAUTHORIZED:
        return GitFailed(
            "app_key_wrong",
            "GitHub does not accept the private key for this App ID.",
            hint="Check the App ID, and generate a new private key on the app's settings page.",
            is_final=True,
        )
    if status == HTTPStatus.NOT_FOUND:
        return GitFailed(
            "app_not_installed",
            "GitHub does not know this installation of the app: it was removed, or the number is wrong.",
            hint="Install the app again, and give its new installation number.",
            is_final=True,
        )
    if status == HTTPStatus.FORBIDDEN and "suspended" in low:
        return GitFailed(
            "app_suspended",
            "The installation of the GitHub App is suspended.",
            hint="An owner of the organisation can unsuspend it in GitHub.",
            is_final=True,
        )
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return GitFailed(
            "app_without_repository",
            f"The installation of the GitHub App cannot read {remote.name}.",
            hint="In GitHub, add the repository to the installation, and give the app read access to contents.",
            is_final=True,
        )
    return GitFailed(
        "app_failed", f"GitHub answered with status {status}, expected 201 and a token.", hint="Larder tries again."
    )


def _ends_at(text: object) -> float:
    """When the token expires; now if GitHub does not say, so that it is used once."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
