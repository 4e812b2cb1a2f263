"""The module cases of the conformance list, with the real terraform against the live TLS server."""

import json

import httpx
import pytest

from tests.builders import constructs
from tests.builders.archives import module_zip
from tests.e2e.server.proxy import proxy
from tests.e2e.workspace import access_lines, said

pytestmark = pytest.mark.live


@pytest.mark.full
@pytest.mark.smoke
def test_case_1_it_installs_from_a_private_namespace_with_a_token_in_the_cli_configuration(live, shelf, terraform):
    workspace = terraform()
    workspace.credentials(shelf.read)
    workspace.module("vpc", "acme/vpc/aws", "1.2.0")
    mark = said(live)

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert workspace.installed() == {"vpc": "1.2.0"}
    requests = access_lines(live, mark)
    assert [(line["method"], line["auth"]) for line in requests] == [
        ("GET", "bearer"),  # discovery
        ("GET", "bearer"),  # versions
        ("GET", "bearer"),  # download
        ("HEAD", "none"),  # the archive, by its capability alone
        ("GET", "none"),
    ]
    assert all(line["status"] == 200 for line in requests)
    assert "/archives/[redacted]/" in requests[-1]["path"], "a capability is a permission: the log must not hold it"


def test_it_installs_by_constraint_and_as_two_versions_in_one_configuration(live, shelf, terraform):
    workspace = terraform()
    workspace.module("newest", "open/vpc/aws", "~> 1.0")
    workspace.module("old", "open/vpc/aws", "1.0.0")
    (workspace.work / "outputs.tf").write_text(
        'output "newest" {\n  value = module.newest.greeting\n}\noutput "old" {\n  value = module.old.greeting\n}\n'
    )

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert workspace.installed() == {"newest": "1.2.0", "old": "1.0.0"}
    applied = workspace.run("apply", "-auto-approve", "-input=false")
    assert "Apply complete" in applied.stdout, applied.stderr
    values = json.loads(workspace.run("output", "-json").stdout)
    assert values["newest"]["value"] == "hello from 1.2.0"
    assert values["old"]["value"] == "hello from 1.0.0"


def test_it_loads_a_module_with_every_construct_that_larder_reads(live, shelf, terraform):
    data = module_zip(constructs.HCL)
    assert live.publish("open/everything/null", "1.0.0", data, shelf.manage)["state"] == "published"
    workspace = terraform()
    workspace.module("all", "open/everything/null", "1.0.0")

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    computed = {"all.flavoured", "all.remote"} if workspace.program == "tofu" else set()  # of a .tofu file
    assert set(workspace.installed()) == {"all", "all.parts"} | computed
    assert "valid" in workspace.run("validate").stdout


def test_case_9_without_a_token_it_says_401_after_one_request(live, shelf, terraform):
    workspace = terraform()
    workspace.module("vpc", "acme/vpc/aws", "1.2.0")
    mark = said(live)

    done = workspace.init()

    assert done.returncode == 1
    assert "401 Unauthorized" in done.stderr
    assert [line["status"] for line in access_lines(live, mark)] == [200, 401]


@pytest.mark.parametrize("is_right", [True, False])
def test_case_14_the_client_verifies_the_checksum_that_larder_names(live, shelf, terraform, is_right):
    def other_checksum(path: str, answer: httpx.Response) -> httpx.Response:
        location = answer.headers.get("X-Terraform-Get", "")
        if not location or is_right:
            return answer
        path, _, digest = location.partition("?checksum=sha256:")
        assert len(digest) == 64, location
        wrong = f"{path}?checksum=sha256:{'0' * 64}"
        # terraform reads the header, tofu the JSON
        return httpx.Response(200, json={"location": wrong}, headers={"X-Terraform-Get": wrong})

    with proxy(live, other_checksum) as between:
        workspace = terraform(host=between.host)
        workspace.module("vpc", "open/vpc/aws", "1.2.0")
        done = workspace.init()

    assert (done.returncode == 0) is is_right
    if not is_right:
        assert "checksum" in done.stderr.lower()
