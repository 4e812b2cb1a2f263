"""One limit of time for all of a fetch: the request before git runs, git itself, and submodules."""

import time
from types import SimpleNamespace

import pytest

from apps.contrib.git.remote import checkouts, children, refs
from apps.contrib.git.remote.access import Limits
from apps.contrib.git.tests.remote.asking import access_to, remote_of
from apps.lib.sandbox import parent
from tests.builders.git_servers import submodule

pytestmark = pytest.mark.needs("git")
SECONDS = 60
HANG_SECONDS = 8
DISCOVERY = "/info/refs?service=git-upload-pack"
RESULT = {"Content-Type": "application/x-git-upload-pack-result"}


@pytest.fixture
def site(site):
    mono = site.repository("acme/mono")
    part = site.repository("acme/part").commit({"main.tf": "# part\n"})
    text = '[submodule "part"]\n\tpath = part\n\turl = ../part.git\n'
    mono.commit({"main.tf": "# mono\n", ".gitmodules": text, "part": submodule(part)})
    mono.tag("v1.0.0")
    return site


@pytest.fixture
def later(monkeypatch):
    """`later(left=1)`: so many of the SECONDS are left, without waiting for the others."""
    passed: list[float] = []
    now = time.monotonic
    for module in (children, parent):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now() + sum(passed)))

    def pass_by(*, left):
        passed.append(SECONDS - left)

    return pass_by


@pytest.fixture
def fetch(site):
    def fetched():
        limits = Limits(seconds=SECONDS)
        remote = remote_of(site, "acme/mono")
        with checkouts.fetched(remote, access_to(site), limits, ref="refs/tags/v1.0.0", submodules=True) as commit:
            return b"".join(commit.archive())

    return fetched


def hang():
    yield b"0008NAK\n"
    time.sleep(HANG_SECONDS)


def test_the_time_of_the_first_request_is_not_there_for_git(site, fetch, later, refusal):
    def answer(path):
        if path.endswith(DISCOVERY) and len(site.requests) == 1:
            later(left=1.5)
        return (200, RESULT, hang()) if path.endswith("/git-upload-pack") else None

    site.answer = answer

    assert refusal(fetch).code == "too_slow"


def test_the_request_for_a_submodule_has_the_time_that_is_left(site, fetch, later, monkeypatch):
    located, given = refs.located, []

    def noted(remote, access, limits):
        given.append(limits.seconds)
        return located(remote, access, limits)

    def answer(path):
        if path.endswith("/git-upload-pack") and site.requests.count(f"POST {path}") == len(given) == 1:
            later(left=30)

    monkeypatch.setattr(refs, "located", noted)
    site.answer = answer

    assert b"# part" in fetch()
    assert len(given) == 2
    assert given[1] <= 30
