"""Installations of a GitHub App: a token for one repository and its contents, and what GitHub refuses."""

import base64
import time
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from apps.contrib.git import credentials, forges, github_apps
from apps.contrib.git.remote.access import GitFailed
from apps.contrib.git.remote.remotes import parse
from apps.lib.settings_values.outgoing import Outgoing
from tests.builders.git_servers import LOOPBACK
from tests.rows import for_each_row


@pytest.fixture
def repository(forge, app_key, repository_with):
    given = {"kind": "app", "app_id": 7, "installation_id": 42, "private_key": app_key[0]}
    return repository_with(forge.url, given)


def token_of(repository):
    text = credentials.access_of(repository).authorization
    user, _, token = base64.b64decode(text.removeprefix("Basic ")).decode().partition(":")
    assert user == "x-access-token"
    return token


def test_the_token_is_for_this_repository_and_its_contents_alone(repository, forge):
    token = token_of(repository)

    (asked,) = forge.asked
    assert token.startswith("ghs_7_")
    assert asked["repositories"] == ["vpc"]
    assert asked["permissions"] == {"contents": "read"}
    claims = asked["claims"]
    assert claims["iss"] == "7"
    assert claims["exp"] - claims["iat"] <= 600
    assert claims["iat"] < time.time()


def test_the_token_is_used_until_five_minutes_before_its_end(repository, forge):
    first = token_of(repository)
    assert token_of(repository) == first
    assert len(forge.asked) == 1

    github_apps.clear()
    forge.lasts = timedelta(minutes=4)
    assert token_of(repository) != token_of(repository)
    assert len(forge.asked) == 3

    forge.installation = "43"
    repository.credential_facts |= {"installation_id": "43"}
    assert token_of(repository) != first, "another installation has another token"


@for_each_row(
    ("answer", "code", "is_final"),
    [
        ((401, "'Expiration time' claim ('exp') is too far in the future"), "app_clock_skew", False),
        ((401, "'Issued at' claim ('iat') must be an Integer"), "app_clock_skew", False),
        ((401, "A JSON web token could not be decoded"), "app_key_wrong", True),
        ((403, "This installation has been suspended"), "app_suspended", True),
        ((403, "API rate limit exceeded"), "app_failed", False),
        ((404, "Not Found"), "app_not_installed", True),
        ((422, "There is at least one repository that does not exist"), "app_without_repository", True),
        ((503, ""), "app_failed", False),
        ((302, ""), "app_unreachable", False),
    ],
)
def test_what_github_refuses_has_a_code_and_a_hint(repository, forge, answer, code, is_final):
    forge.answer = answer

    with capture_logs() as logs, pytest.raises(GitFailed) as failed:
        credentials.access_of(repository)

    assert (failed.value.code, failed.value.is_final) == (code, is_final)
    assert failed.value.hint
    assert any(line["event"] in ("github_app_refused", "github_app_unreachable") for line in logs)


def test_the_web_token_of_the_app_follows_no_redirect(repository, forge):
    """Not even on its own server: whoever can have that redirect would get a token of the app."""
    forge.answer = (302, "")

    with pytest.raises(GitFailed, match="redirect"):
        credentials.access_of(repository)

    assert [asked["path"] for asked in forge.asked] == ["/api/v3/app/installations/42/access_tokens"]


@for_each_row(
    ("raw", "code", "said"),
    [
        *((raw, "app_failed", "") for raw in (b"", b"[]", b"{", b'{"token": 3}', b"\xff", b"[" * 50_000)),
        (b"x" * 100_000, "app_unreachable", "65,536"),  # one that does not end is cut
    ],
)
def test_an_answer_of_another_form_is_no_token(repository, forge, raw, code, said):
    forge.raw = raw

    with pytest.raises(GitFailed) as failed:
        credentials.access_of(repository)
    assert failed.value.code == code
    assert said in str(failed.value)


def test_a_token_of_another_status_is_none(repository, forge):
    forge.answer, forge.raw = (200, ""), b'{"token": "ghs_x", "expires_at": "2099-01-01T00:00:00Z"}'

    with pytest.raises(GitFailed, match="status 200, expected 201") as failed:
        credentials.access_of(repository)
    assert failed.value.code == "app_failed"


def test_a_process_remembers_so_many_tokens_and_no_more(repository, forge, monkeypatch):
    monkeypatch.setattr(github_apps, "MAX_CACHED", 2)
    for number in ("42", "43", "44", "45", "46"):
        forge.installation = number
        repository.credential_facts |= {"installation_id": number}
        token_of(repository)
        assert 1 <= len(github_apps._tokens) <= 2
    asked = len(forge.asked)
    token_of(repository)
    assert len(forge.asked) == asked, "the newest is remembered"


def test_a_private_address_is_not_asked(repository, forge, settings):
    settings.SOURCES = Outgoing()

    with pytest.raises(GitFailed) as failed:
        credentials.access_of(repository)
    assert failed.value.code == "app_unreachable"
    assert forge.asked == []


@for_each_row(
    ("url", "api"),
    [
        ("https://github.com/acme/vpc", "https://api.github.com"),
        ("git@ssh.github.com:acme/vpc.git", "https://api.github.com"),
        ("https://acme.ghe.com/acme/vpc", "https://api.acme.ghe.com"),
        ("https://github.acme.example/acme/vpc.git", "https://github.acme.example/api/v3"),
        ("ssh://git@github.acme.example:2222/acme/vpc.git", "https://github.acme.example/api/v3"),
    ],
)
def test_the_api_is_that_of_the_repository_s_github(url, api):
    assert forges.github_api(parse(url)) == api


def test_the_operator_s_proxy_is_asked(app_key, forge, repository_with, settings):
    """Over plain http a proxy sees the whole URL."""
    settings.SOURCES = Outgoing(allow=LOOPBACK, proxy=f"http://127.0.0.1:{forge.port}")
    given = {"kind": "app", "app_id": 7, "installation_id": 42, "private_key": app_key[0]}

    with pytest.raises(GitFailed) as failed:
        credentials.access_of(repository_with("http://127.0.0.1:1/acme/vpc.git", given))

    assert failed.value.code == "app_not_installed"  # the proxy's answer
    assert forge.asked[0]["path"] == "http://127.0.0.1:1/api/v3/app/installations/42/access_tokens"
    assert forge.asked[0]["repositories"] == ["vpc"]
