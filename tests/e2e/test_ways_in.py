"""Modules from a tarball or from one folder of a repository install like any other."""

import pytest

from tests.builders import modules
from tests.builders.archives import module_zip
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


@pytest.mark.parametrize(("pack", "name"), [(gz, "gz"), (xz, "xz")], ids=["gz", "xz"])
def test_a_tarball_is_installed_and_applied(live, space, terraform, pack, name):
    # Long enough to be compressed as a stream: the zip that it becomes has descriptors then.
    files: dict[str, str | bytes] = {**ONE, "noise.txt": bytes(range(256)) * 8192}
    data = pack(module_tar(files, top=f"top-{name}/"))
    assert live.publish(f"waysin/{name}/null", "1.0.0", data, space)["state"] == "published"
    workspace = terraform()
    workspace.module("it", f"waysin/{name}/null", "1.0.0")
    (workspace.work / "outputs.tf").write_text('output "one" {\n  value = module.it.one\n}\n')

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert 'one = "one"' in workspace.run("apply", "-auto-approve", "-input=false").stdout


def test_one_folder_of_a_repository_is_installed(live, space, terraform):
    data = module_zip({f"infra/modules/one/{path}": text for path, text in ONE.items()})
    with live.client(space) as client:
        path = "/api/v1/modules/waysin/folder/null/1.0.0?folder=infra/modules/one"
        release = client.put(path, content=data).json()["id"]
        assert live.wait_for(client, f"/api/v1/releases/{release}")["state"] == "published"
    workspace = terraform()
    workspace.module("it", "waysin/folder/null", "1.0.0")
    done = workspace.init()
    assert done.returncode == 0, done.stderr


def test_the_submodules_of_a_real_module_come_out_of_its_tarball(live, space, terraform):
    data = gz(module_tar(modules.label("2.0.0"), top="terraform-null-label-2.0.0/"))
    assert live.publish("waysin/label/null", "2.0.0", data, space)["state"] == "published"
    workspace = terraform()
    workspace.module("text", "waysin/label/null//modules/text", "2.0.0")
    main = workspace.work / "main.tf"
    main.write_text(
        main.read_text().rstrip("}\n") + '\n  parts = ["a", "b"]\n}\noutput "text" {\n  value = module.text.text\n}\n'
    )
    done = workspace.init()
    assert done.returncode == 0, done.stderr
    assert 'text = "a-b"' in workspace.run("apply", "-auto-approve", "-input=false").stdout


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


def test_several_folders_of_a_repository_are_installed_from_one_version(live, space, terraform):
    files = {f"stacks/one/{path}": text for path, text in ONE.items()}
    files |= {
        "stacks/two/main.tf": 'module "one" {\n  source = "../one"\n}\n\noutput "two" {\n  value = module.one.one\n}\n'
    }
    with live.client(space) as client:
        path = "/api/v1/modules/waysin/several/null/1.0.0?folder=stacks/one&folder=stacks/two"
        release = client.put(path, content=module_zip(files | {"main.tf": "", "stacks/three/main.tf": ""})).json()["id"]
        assert live.wait_for(client, f"/api/v1/releases/{release}")["state"] == "published"
    workspace = terraform()
    workspace.module("one", "waysin/several/null//stacks/one", "1.0.0")
    workspace.module("two", "waysin/several/null//stacks/two", "1.0.0")
    (workspace.work / "outputs.tf").write_text('output "both" {\n  value = "${module.one.one} ${module.two.two}"\n}\n')

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert 'both = "one one"' in workspace.run("apply", "-auto-approve", "-input=false").stdout
