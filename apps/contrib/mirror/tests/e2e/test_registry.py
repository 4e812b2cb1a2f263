"""Real clients behind a mirror of a registry that fails, hangs, or goes away."""

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from subprocess import CompletedProcess

import httpx
import pytest

from apps.contrib.mirror.tests.e2e.conftest import mirror_of
from tests.builders import faults
from tests.builders.misbehaving import Registry
from tests.e2e.providers import require, said_by
from tests.e2e.workspace import Workspace

pytestmark = pytest.mark.live

PLATFORMS = ["linux_amd64", "darwin_arm64"]


@pytest.fixture
def manage(mirror) -> str:
    return mirror.token()


@pytest.fixture
def enabled(mirror, manage, registry, request):
    """The registry under a host name of its own for each test, with acme/tool 1.0.0."""
    registry.host = f"r{registry.port}.registry.example"
    registry.add_provider("acme", "tool", versions=["1.0.0"], platforms=PLATFORMS)
    mirror_of(mirror, manage, registry.host, url=registry.url)
    return registry


def space_of(client_of, mirror, registry: Registry, kind: str = "tool") -> Workspace:
    space = client_of(mirror, registry.host)
    require(space, f"acme/{kind}", host=registry.host)
    return space


def url_of(registry: Registry) -> str:
    name = "terraform-provider-tool_1.0.0_linux_amd64.zip"
    return f"/v1/mirror/{registry.host}/acme/tool/1.0.0/{name}"


def test_with_the_registry_gone_clients_continue(mirror, client_of, enabled):
    first = space_of(client_of, mirror, enabled).init()
    assert first.returncode == 0, said_by(first)
    enabled.stop()

    second = space_of(client_of, mirror, enabled).init()

    assert second.returncode == 0, said_by(second)
    assert f"Installed {enabled.host}/acme/tool v1.0.0" in second.stdout


def test_a_list_that_is_no_longer_fresh_is_served_while_the_registry_is_gone(mirror, manage, client_of, enabled):
    assert space_of(client_of, mirror, enabled).init().returncode == 0
    mirror_of(mirror, manage, enabled.host, list_seconds=0)
    enabled.stop()

    for _ in range(2):
        done = space_of(client_of, mirror, enabled).init()
        assert done.returncode == 0, said_by(done)


def test_a_package_that_nobody_had_fetched_is_named_with_its_registry(mirror, client_of, enabled):
    with mirror.client() as anybody:
        anybody.get(f"/v1/mirror/{enabled.host}/acme/tool/1.0.0.json").raise_for_status()
        enabled.stop()
        answer = anybody.get(url_of(enabled))

    assert answer.status_code == 503
    assert enabled.url in answer.text
    assert int(answer.headers["Retry-After"]) > 0
    done = space_of(client_of, mirror, enabled).init()
    assert done.returncode == 1
    assert "503" in said_by(done) or "giving up" in said_by(done)


def test_a_client_that_gave_up_finds_the_bytes_on_retry(mirror, enabled):
    enabled.misbehave("*.zip", faults.late(4), times=1)
    with mirror.client() as anybody:
        anybody.get(f"/v1/mirror/{enabled.host}/acme/tool/1.0.0.json").raise_for_status()
        with pytest.raises(httpx.ReadTimeout):
            anybody.get(url_of(enabled), timeout=1)
        answer = anybody.get(url_of(enabled))

    assert answer.status_code == 200
    assert enabled.count("*linux_amd64.zip") == 1


def test_a_hundred_clients_at_once_cause_one_download(mirror, enabled):
    enabled.misbehave("*.zip", faults.late(1), times=1)
    with mirror.client(limits=httpx.Limits(max_connections=100)) as anybody:
        anybody.get(f"/v1/mirror/{enabled.host}/acme/tool/1.0.0.json").raise_for_status()
        with ThreadPoolExecutor(100) as clients:
            answers = list(clients.map(lambda _: anybody.get(url_of(enabled)), range(100)))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert enabled.count("*linux_amd64.zip") == 1


@pytest.mark.parametrize("fault", [faults.wrong_bytes(), faults.truncated()])
def test_what_does_not_verify_is_never_installed(mirror, client_of, enabled, fault):
    enabled.misbehave("*.zip", fault)
    staged = mirror.staged()

    done = space_of(client_of, mirror, enabled).init()

    assert done.returncode == 1, said_by(done)
    assert mirror.staged() <= staged
    with mirror.client() as anybody:
        answer = anybody.get(url_of(enabled))
    assert answer.status_code in (403, 503)
    assert enabled.host in answer.text


def test_a_provider_without_a_key_is_refused_and_the_sentence_says_so(mirror, client_of, enabled):
    enabled.add_provider("acme", "unsigned", versions=["1.0.0"], platforms=PLATFORMS).name_no_key()

    done = space_of(client_of, mirror, enabled, "unsigned").init()

    assert done.returncode == 1
    assert "409" in said_by(done)
    assert "credentials" not in said_by(done)
    with mirror.client() as anybody:
        answer = anybody.get(f"/v1/mirror/{enabled.host}/acme/unsigned/1.0.0.json")
    assert answer.status_code == 409
    assert "key" in json.loads(answer.content)["errors"][0]


def test_what_is_held_back_is_not_among_the_versions(mirror, manage, client_of, registry):
    registry.host = f"r{registry.port}.registry.example"
    tool = registry.add_provider("acme", "tool", versions=["1.0.0", "1.1.0"], platforms=PLATFORMS)
    tool.more["1.0.0"] = {"discovered": "2026-04-21T19:22:08Z"}
    tool.more["1.1.0"] = {"discovered": (datetime.now(UTC) - timedelta(hours=1)).isoformat()}
    mirror_of(mirror, manage, registry.host, url=registry.url, cooldown_days=3, list_seconds=0)

    done = space_of(client_of, mirror, registry).init()

    assert f"Installed {registry.host}/acme/tool v1.0.0" in done.stdout, said_by(done)
    with mirror.client() as anybody:
        held = anybody.get(url_of(registry).replace("1.0.0", "1.1.0"))
    assert held.status_code == 403
    assert "cool-down of 3 days" in held.text


def test_a_locked_version_installs_after_the_registry_has_dropped_it_and_not_once_it_is_gone(
    mirror, manage, client_of, registry
):
    registry.host = f"r{registry.port}.registry.example"
    tool = registry.add_provider("acme", "tool", versions=["1.0.0", "1.1.0"], platforms=PLATFORMS)
    mirror_of(mirror, manage, registry.host, url=registry.url, list_seconds=0)
    space = client_of(mirror, registry.host)
    require(space, "acme/tool", "1.0.0", host=registry.host)
    assert space.init().returncode == 0
    tool.versions.clear()

    def again() -> CompletedProcess[str]:
        shutil.rmtree(space.work / ".terraform")
        return space.init()

    done = again()
    assert done.returncode == 0, said_by(done)
    assert "from the dependency lock file" in said_by(done)
    with mirror.client(manage) as staff:
        [alarm] = staff.get(f"/api/v1/upstreams/{registry.host}/alarms").json()["alarms"]
        assert alarm["kind"] == "list_shrank"
        url = f"/api/v1/upstreams/{registry.host}/alarms/{alarm['id']}/accept"
        staff.post(url, json={"reason": "The publisher withdrew it."}).raise_for_status()
    done = again()
    assert done.returncode == 1
    assert "not found in any of the search locations" in said_by(done) or "no longer available" in said_by(done)


def test_our_own_answer_while_the_registry_hangs(mirror, enabled):
    """A provider of our own is as fast as ever: requests that wait hold no thread."""
    enabled.misbehave("*", faults.hangs())
    began = time.monotonic()

    def wait(number: int) -> None:
        with pytest.raises(httpx.ReadTimeout):  # long before LARDER_UPSTREAM_WAIT_SECONDS
            anybody.get(f"/v1/mirror/{enabled.host}/acme/p{number}/index.json", timeout=7)

    with mirror.client(limits=httpx.Limits(max_connections=60)) as anybody, ThreadPoolExecutor(60) as clients:
        stuck = [clients.submit(wait, number) for number in range(40)]
        time.sleep(1)
        took = []
        while time.monotonic() < began + 5:
            asked = time.monotonic()
            assert anybody.get("/v1/modules/demo/hello/local/versions").status_code == 200
            took.append(time.monotonic() - asked)
        for one in stuck:
            one.result()

    assert max(took) < 2
