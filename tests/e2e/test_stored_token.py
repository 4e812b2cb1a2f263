"""docs/publishing-token.md: its lines for any shell and for Jenkins, with the token of a service account; and the check
of docs/publishing.md before a pull request is merged.
"""

import hashlib
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import documents
from tests.e2e.ci_jobs import HOST, NAMESPACE, Machine, Step, block
from tests.flows.crashing import make_key
from tests.live import Live

pytestmark = [pytest.mark.live, pytest.mark.needs("curl", "git", "dash")]
SPACE, PAGE = "conveyor", "docs/publishing-token.md"
HERE = "tests/e2e/test_stored_token.py"
SERVICE_ACCOUNT = f"""
from apps.accounts.access.gate import Viewer
from apps.accounts.people import service_accounts
team, admin = Team.objects.get(name="{SPACE}-team"), User.objects.get(username="admin")
print(service_accounts.create(team=team, name="ci", actor=Viewer(admin)).username)
"""


@pytest.fixture(scope="module")
def token(live: Live) -> str:
    """Of a service account that publishes in one namespace, as the page advises."""
    team, space = f"/api/v1/teams/{SPACE}-team", f"/api/v1/namespaces/{SPACE}"
    with live.client(live.token()) as client:
        make_key(client, SPACE, visibility="private")
        client.put(team, json={}).raise_for_status()
        client.put(f"{space}/grants/teams/{SPACE}-team", json={"role": "publisher"}).raise_for_status()
    account = live.manage("shell", "--verbosity", "0", "-c", SERVICE_ACCOUNT).split()[-1]
    return live.token(account, "publish", "--namespace", SPACE)


@pytest.fixture
def machine(live: Live, tmp_path: Path) -> Machine:
    return Machine(tmp_path, live.url, live.ca_bundle)


def shown(live: Live, token: str, path: str) -> dict[str, Any]:
    with live.client(token) as client:
        answer = client.get(f"/api/v1/{path}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def ours(text: str) -> str:
    return text.replace(f"{NAMESPACE}/", f"{SPACE}/")


def archive_of(machine: Machine, tag: str) -> str:
    """The digest of what Git archives."""
    environment = machine.environment | {"TZ": "UTC"}
    words = ["git", "archive", "--format=zip", tag]
    done = subprocess.run(words, cwd=machine.repository, env=environment, capture_output=True, check=True)
    return f"sha256:{hashlib.sha256(done.stdout).hexdigest()}"


def test_the_lines_for_any_shell_publish_both_and_can_be_repeated(live: Live, machine: Machine, token: str) -> None:
    [fence] = documents.run_by(f"{HERE}::test_the_lines_for_any_shell_publish_both_and_can_be_repeated")
    lines = ours(fence.text).replace("lrd_s_…", "$SECRET")
    assert "$SECRET" in lines
    machine.commit("v1.2.0")
    build = Step(("sh", "-eu", "-c"), "sh ci/build.sh 1.2.0")

    done = machine.run(build, Step(("sh", "-eu", "-c"), lines * 2, {"SECRET": token}))

    assert done.returncode == 0, done.stdout
    assert token not in done.stdout
    for kind, address in (("modules", f"{SPACE}/vpc/aws"), ("providers", f"{SPACE}/dns")):
        assert done.stdout.count(f"Published {address} 1.2.0.\n{live.url}/{kind}/{address}/1.2.0\n") == 2
    release = shown(live, token, f"modules/{SPACE}/vpc/aws/1.2.0")
    assert release["uploaded_digest"] == archive_of(machine, "v1.2.0")
    provider = shown(live, token, f"providers/{SPACE}/dns/1.2.0")
    assert (provider["signing"], provider["protocols"]) == ("registry", ["6.0"])
    assert provider["platforms"] == ["darwin_arm64", "linux_amd64"]


def test_the_stages_of_jenkins_publish_both(live: Live, machine: Machine, token: str) -> None:
    text = ours(block("Jenkins", PAGE))
    written = dict(re.findall(r"^ +(LARDER_\w+) = (.+)$", text, re.MULTILINE))
    assert written == {"LARDER_URL": f"'{HOST}'", "LARDER_TOKEN": "credentials('larder-token')"}
    environment = {"LARDER_URL": HOST, "LARDER_TOKEN": token, "TAG_NAME": "v1.0.4"}
    steps = [Step(("sh", "-xe", "-c"), one, environment) for one in re.findall(r"sh '(.*)'\n", text)]
    machine.commit("v1.0.4")

    done = machine.run(*steps)

    assert done.returncode == 0, done.stdout
    assert token not in done.stdout
    assert shown(live, token, f"modules/{SPACE}/vpc/aws/1.0.4")["state"] == "published"
    assert shown(live, token, f"providers/{SPACE}/dns/1.0.4")["state"] == "published"


def test_a_pull_request_is_told_what_would_happen(live: Live, machine: Machine, token: str) -> None:
    [fence] = documents.run_by(f"{HERE}::test_a_pull_request_is_told_what_would_happen")
    machine.write("ci/check.sh", fence.text)
    text = f"git archive -o module.zip HEAD && sh ci/check.sh {SPACE}/pr/aws 1.0.0 module.zip"
    step = Step(("sh", "-c"), text, {"LARDER_URL": live.url, "LARDER_TOKEN": token})
    machine.commit("good")
    assert machine.run(step).stdout == f"{SPACE}/pr/aws 1.0.0 would be published.\n"
    (machine.repository / "main.tf").unlink()
    machine.commit("bad")
    assert "expected at least one file there that ends in .tf" in machine.run(step).stdout
