"""Real clients behind a mirror of a registry that fails, hangs, or goes away."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
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


def test_a_list_that_is_no_longer_fresh_is_served_while_the_registry_is_gone(mirror, manage, client_of, enabled):
    assert space_of(client_of, mirror, enabled).init().returncode == 0
    mirror_of(mirror, manage, enabled.host, list_seconds=0)
    enabled.stop()

    for _ in range(2):
        done = space_of(client_of, mirror, enabled).init()
        assert done.returncode == 0, said_by(done)


def test_what_does_not_verify_is_never_installed(mirror, client_of, enabled):
    enabled.misbehave("*.zip", faults.wrong_bytes())
    staged = mirror.staged()

    done = space_of(client_of, mirror, enabled).init()

    assert done.returncode == 1, said_by(done)
    assert mirror.staged() <= staged
    with mirror.client() as anybody:
        answer = anybody.get(url_of(enabled))
    assert answer.status_code in (403, 503)
    assert enabled.host in answer.text


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
