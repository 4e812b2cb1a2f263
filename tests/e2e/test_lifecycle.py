"""Real clients with versions that are deprecated, yanked, in quarantine, or purged."""

from collections.abc import Callable

import pytest

from tests.builders.archives import module_zip
from tests.e2e.workspace import Workspace
from tests.live import Live

pytestmark = pytest.mark.live

MODULE = {"main.tf": 'output "a" { value = 1 }\n'}


@pytest.fixture
def act(live: Live) -> Callable[..., None]:
    token = live.token()

    def post(name: str, verb: str, version: str = "1.2.0") -> None:
        with live.client(token) as client:
            url = f"/api/v1/modules/taken/{name}/aws/{version}/{verb}"
            client.post(url, json={"reason": "It loses data."}).raise_for_status()

    return post


@pytest.fixture
def publish(live: Live) -> Callable[[str, list[str]], None]:
    """Each test has a module of its own: the Larder is shared."""
    token = live.token()
    with live.client(token) as client:
        client.put("/api/v1/namespaces/taken", json={"visibility": "public"}).raise_for_status()

    def put(name: str, versions: list[str]) -> None:
        for version in versions:
            data = module_zip(MODULE, comment=f"{name} {version}".encode())
            assert live.publish(f"taken/{name}/aws", version, data, token)["state"] == "published"

    return put


def init(workspace: Workspace, name: str, constraint: str = ""):
    workspace.module("it", f"taken/{name}/aws", constraint)
    return workspace.init()


def name_for(request, word: str) -> str:
    """Terraform and tofu run the same case against the same Larder."""
    return f"{word}-{request.node.callspec.params['terraform']}"


def said_by(ended) -> str:
    """The client's output without frames and line breaks."""
    return " ".join(ended.stderr.replace("│", " ").split())


def test_a_range_takes_the_next_best_and_a_pin_fails_naming_what_there_is(request, terraform, publish, act):
    name = name_for(request, "yanked")
    publish(name, ["1.1.0", "1.2.0"])
    act(name, "yank")
    ranged, pinned = terraform(), terraform()

    assert init(ranged, name, "~> 1.0").returncode == 0
    assert ranged.installed() == {"it": "1.1.0"}
    failed = init(pinned, name, "1.2.0")
    assert failed.returncode != 0
    assert "The newest available version is 1.1.0" in said_by(failed)


def test_where_all_are_yanked_the_client_says_that_there_is_no_version(request, terraform, publish, act):
    """An empty list reads better than a 404, which says that the module cannot be found: people look for a typo."""
    name = name_for(request, "all")
    publish(name, ["1.2.0"])
    act(name, "yank")
    failed = init(terraform(), name)
    said = said_by(failed)

    assert failed.returncode != 0
    assert "has no versions" in said
    assert "cannot be found" not in said


def test_what_is_restored_installs_again(request, terraform, publish, act):
    name = name_for(request, "restored")
    publish(name, ["1.2.0"])
    act(name, "yank")
    act(name, "restore")
    act(name, "quarantine")
    assert init(terraform(), name).returncode != 0
    act(name, "restore")

    assert init(terraform(), name).returncode == 0
