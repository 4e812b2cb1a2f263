"""Modules from a tarball, and folders that a repository links to, install like any other."""

import pytest

from tests.builders.tars import Item, gz, module_tar, tar, xz

pytestmark = pytest.mark.live
ONE = {"main.tf": 'output "one" {\n  value = file("${path.module}/text.txt")\n}\n', "text.txt": "one"}
OUTPUT = b'output "word" {\n  value = var.word\n}\n'


@pytest.fixture
def space(live):
    token = live.token()
    with live.client(token) as client:
        client.put("/api/v1/namespaces/waysin", json={"visibility": "public"}).raise_for_status()
    return token


def test_a_tarball_is_installed_and_applied(live, space, terraform):
    # Long enough to be compressed as a stream: the zip that it becomes has descriptors then.
    files: dict[str, str | bytes] = {**ONE, "noise.txt": bytes(range(256)) * 8192}
    data = xz(module_tar(files, top="top/"))
    assert live.publish("waysin/packed/null", "1.0.0", data, space)["state"] == "published"
    workspace = terraform()
    workspace.module("it", "waysin/packed/null", "1.0.0")
    (workspace.work / "outputs.tf").write_text('output "one" {\n  value = module.it.one\n}\n')

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert 'one = "one"' in workspace.run("apply", "-auto-approve", "-input=false").stdout


def test_a_module_without_a_root_is_used_by_its_submodules_and_links_are_files(live, space, terraform):
    """The layout is that of a large repository: variables in one place, linked to; a broken link in an example."""
    shared = b'variable "word" {\n  type    = string\n  default = "shared"\n}\n'
    files = {"iam/README.md": b"# Identity\n", "iam/shared/variables.tf": shared, "iam/modules/user/main.tf": OUTPUT}
    links = {
        "iam/modules/user/variables.tf": "../../shared/variables.tf",
        "iam/modules/role": "user",
        "iam/examples/one/main.tf": "../../none.tf",
    }
    items = [*(Item(name, data) for name, data in files.items())]
    items += [Item(name, kind=b"2", link=target.encode()) for name, target in links.items()]
    release = live.publish("waysin/iam/null", "1.0.0", gz(tar(items)), space)
    assert [warning["file"] for warning in release["notes"]["warnings"]] == ["examples/one/main.tf"]
    workspace = terraform()
    workspace.module("user", "waysin/iam/null//modules/user", "1.0.0")
    workspace.module("role", "waysin/iam/null//modules/role", "1.0.0")
    (workspace.work / "outputs.tf").write_text(
        'output "words" {\n  value = "${module.user.word} ${module.role.word}"\n}\n'
    )

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert 'words = "shared shared"' in workspace.run("apply", "-auto-approve", "-input=false").stdout
