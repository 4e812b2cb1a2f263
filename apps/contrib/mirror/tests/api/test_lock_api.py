"""POST /api/v1/lock, and the job that it may answer."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.blobs import store
from apps.contrib.mirror.ahead.choosing import zip_hashes
from apps.contrib.mirror.models import LockRun
from apps.contrib.mirror.tests.locks import HOST, PLATFORMS, complete, entry, finish
from apps.lib.formats.lock_files import parse_lock, parse_source
from apps.lib.settings_values.rates import Rate
from apps.providers.models import ProviderVersion
from apps.releases.models import Release
from tests.providers.draft_client import DraftClient, hold, zips
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
BLOCK = entry("tool", f"{HOST}/acme/tool")
URL = "/api/v1/lock"


@pytest.fixture
def own(tofu, alice, acme, dora, worker_host):
    """acme/dns 1.2.0, published and signed here, in a namespace that Bob reads and Charlie does not."""
    hold(acme, dora)
    DraftClient(tofu(alice)).publish(zips(), protocols=["5.0"])
    return ProviderVersion.objects.get()


@pytest.fixture
def tool(registry, upstream):
    return registry.add_provider(versions=["1.0.0", "2.0.0"], platforms=PLATFORMS)


@pytest.fixture
def stored(tool):
    """All that BLOCK needs."""
    complete(block=BLOCK)


def post(browser, headers=None, **fields):
    body = {"platforms": list(PLATFORMS)} | fields
    return browser.post(URL, body, content_type="application/json", headers=headers or {})


def test_it_answers_the_file_or_a_job(tool, client, monkeypatch):
    first = post(client, required_providers=BLOCK)
    assert first.status_code == 202
    job = first.json()
    assert first.headers["Location"] == f"/api/v1/lock/{job['id']}"
    assert (job["state"], job["planned"], job["done"], job["lock"], job["problem"]) == ("running", 2, 0, None, None)
    assert client.get(first.headers["Location"]).json()["state"] == "running"

    finish(monkeypatch)
    ended = client.get(first.headers["Location"]).json()
    assert (ended["state"], ended["done"]) == ("done", 2)
    assert ended["lock"] == complete(block=BLOCK)

    second = post(client, required_providers=BLOCK)
    assert (second.status_code, second.json()) == (200, {"lock": ended["lock"]})
    assert post(client, lock=ended["lock"]).json() == {"lock": ended["lock"]}


@pytest.mark.both
def test_own_and_mirrored_providers_are_in_one_file(tool, own, client, bearer, bob, settings):
    complete(block=BLOCK, platforms=["linux_amd64"])
    source = f"{settings.PUBLIC_HOST}/acme/dns"
    both = f"{BLOCK}\n{entry('dns', source, '~> 1.0')}"
    answer = post(client, bearer(bob), required_providers=both, platforms=["linux_amd64"])
    assert answer.status_code == 200, answer.json()
    found = parse_lock(answer.json()["lock"]).providers
    assert len(found) == 2
    mine = found[parse_source(source, default_host="")]
    assert mine.version == "1.2.0"
    packages = list(own.packages.all())
    sums = b"".join(store.read(own.sums_digest))
    assert mine.hashes == {one.h1 for one in packages if one.platform == "linux_amd64"} | set(zip_hashes(sums))
    assert {one.zh for one in packages} <= mine.hashes
    assert not LockRun.objects.exists()
    # Without rights nobody learns whether it is there.
    hidden = post(client, required_providers=both)
    missing = post(client, required_providers=both.replace("/dns", "/none"))
    assert hidden.status_code == missing.status_code == 401
    assert hidden.json() == missing.json()


def test_a_run_keeps_the_hashes_that_the_asker_saw(tool, own, client, bearer, bob, settings, monkeypatch):
    both = f"{BLOCK}\n{entry('dns', f'{settings.PUBLIC_HOST}/acme/dns')}"
    began = post(client, bearer(bob), required_providers=both, platforms=["linux_amd64"])
    assert began.status_code == 202
    finish(monkeypatch)
    lock = client.get(began.headers["Location"], headers=bearer(bob)).json()["lock"]
    assert lock == post(client, bearer(bob), required_providers=both, platforms=["linux_amd64"]).json()["lock"]


def test_own_versions_that_clients_would_refuse_are_refused(own, client, bearer, bob, settings):
    block = entry("dns", f"{settings.PUBLIC_HOST}/acme/dns")
    headers = bearer(bob)
    assert post(client, headers, required_providers=block, platforms=["plan9_386"]).status_code == 404
    lock = f'provider "{settings.PUBLIC_HOST}/acme/dns" {{ version = "9.0.0" }}'
    gone = post(client, headers, lock=lock)
    assert (gone.status_code, "is not available" in str(gone.json())) == (404, True)
    Release.objects.update(visible_at=timezone.now() + timedelta(hours=3))
    young = post(client, headers, lock=lock.replace("9.0.0", "1.2.0"))
    assert (young.status_code, "is in its cool-down" in str(young.json())) == (403, True)
    assert post(client, headers, required_providers=block).status_code == 404
    Release.objects.update(visible_at=None)
    own.key.state = "revoked"
    own.key.save()
    refused = post(client, headers, required_providers=block, platforms=["linux_amd64"])
    assert (refused.status_code, "was revoked" in str(refused.json())) == (409, True)


@for_each_row(
    ("fields", "status", "part"),
    [
        ({}, 422, "neither a lock file nor"),
        ({"required_providers": BLOCK, "platforms": "linux_amd64"}, 422, "platforms"),
        ({"required_providers": 3}, 422, "Line 1: found '3'"),
        ({"lock": "a = 1"}, 422, "Line 1: found the attribute a"),
        ({"required_providers": BLOCK, "client": "pulumi"}, 422, "client"),
        ({"required_providers": BLOCK, "colour": 1}, 422, "colour"),
        ({"required_providers": entry("a", f"{HOST}/acme/tool", "> 9")}, 404, "There is no version"),
    ],
)
def test_it_refuses_bad_input(stored, client, fields, status, part):
    answer = post(client, **fields)
    assert (answer.status_code, part in answer.json()["error"]["message"]) == (status, True), answer.json()


def test_the_job_of_an_account_is_only_theirs(tool, client, bearer, alice, bob):
    began = post(client, bearer(alice), required_providers=BLOCK)
    assert began.status_code == 202
    where = began.headers["Location"]
    assert client.get(where, headers=bearer(alice)).status_code == 200
    assert client.get(where, headers=bearer(bob)).status_code == 404
    assert client.get(where).status_code == 401
    for nothing in ("/api/v1/lock/1", "/api/v1/lock/" + "0" * 32):
        assert client.get(nothing, headers=bearer(bob)).status_code == 404


def test_fetches_are_limited_by_address(tool, client, settings):
    settings.RATES = settings.RATES | {"fetch": Rate(1, 60)}
    assert post(client, required_providers=BLOCK).status_code == 202
    assert post(client, required_providers=BLOCK).status_code == 429
    complete(block=BLOCK)
    # What is stored costs nothing.
    settings.RATES = settings.RATES | {"fetch": Rate(3, 60)}
    assert post(client, required_providers=BLOCK).status_code == 200
    assert post(client, required_providers=BLOCK).status_code == 200
