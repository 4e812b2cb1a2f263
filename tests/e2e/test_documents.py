"""Commands of the pages in docs/ that name a test of this file, typed at a Larder called registry.example.com."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests import documents
from tests.builders import docs
from tests.documents import Fence
from tests.e2e.pages import HOST, PLATFORMS, VPC, Registry, registry_of_the_pages
from tests.needs import CLIENTS

pytestmark = [pytest.mark.live, pytest.mark.needs("curl")]
USING, MOVING = "docs/using.md", "docs/moving.md"
HERE = "tests/e2e/test_documents.py::"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder = tmp_path_factory.mktemp("documents")
    with registry_of_the_pages(folder, why="its pages operate on all of it, and on its releases") as found:
        yield found


def commands(page: str, test: str) -> list[Fence]:
    return documents.run_by(HERE + test, page)


def configuration(page: str, folder: Path) -> Path:
    """A folder with the module block and the provider requirement of the page."""
    blocks = [fence.text for fence in documents.fences(page) if fence.language == "hcl" and "oci://" not in fence.text]
    folder.mkdir(parents=True)
    (folder / "main.tf").write_text("\n".join(blocks))
    return folder


@pytest.mark.parametrize("client", CLIENTS)
def test_using(registry: Registry, tmp_path: Path, client: str) -> None:
    folder = configuration(USING, tmp_path / "work")
    text = "".join(fence.text for fence in commands(USING, "test_using"))

    said = registry.type(folder, text, client, TF_TOKEN_registry_example_com=registry.read)

    assert f"{HOST}/acme/vpc/aws 1.2.0 for vpc" in said
    assert f"Installed {HOST}/acme/dns v1.2.0" in said
    assert (folder / ".terraform.lock.hcl").read_text().count('"h1:') == len(PLATFORMS)


@pytest.mark.parametrize("client", CLIENTS)
def test_using_a_token(registry: Registry, tmp_path: Path, client: str) -> None:
    by_variable, by_file, who = commands(USING, "test_using_a_token")
    for number, fence in enumerate((by_variable, by_file)):
        folder = configuration(USING, tmp_path / str(number) / "work")
        said = registry.type(folder, fence.text, client, LARDER_TOKEN=registry.read)
        assert f"Installed {HOST}/acme/dns v1.2.0" in said
    assert '"user":"admin"' in registry.type(folder, who.text, client, LARDER_TOKEN=registry.read)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("source", "token", "said"),
    [
        ("acme/vpc/aws", "", "401 Unauthorized"),
        ("acme/none/aws", "read", "cannot be found in the module registry"),
        ("acme/vpc/aws", "read", "Unresolvable module version constraint"),
    ],
)
def test_the_messages_of_the_table(
    registry: Registry, tmp_path: Path, client: str, source: str, token: str, said: str
) -> None:
    (tmp_path / "work").mkdir()
    block = f'module "vpc" {{\n  source = "{HOST}/{source}"\n  version = "9.0.0"\n}}\n'
    (tmp_path / "work/main.tf").write_text(block)
    given = {"TF_TOKEN_registry_example_com": registry.read} if token else {}

    printed = registry.type(tmp_path / "work", "tofu init -no-color 2>&1 || true", client, **given)

    assert said in re.sub(r"\W*\n\W*", " ", printed)
    assert said in documents.text_of(USING)


# --- docs/moving.md ---------------------------------------------------------------------------------------------------


def scripts(page: str, test: str, folder: Path) -> list[Fence]:
    """Save those that say their name below `#!/bin/sh`; the others are left to type."""
    left = []
    (folder / "ci").mkdir(exist_ok=True)
    for fence in commands(page, test):
        if name := re.match(r"#!/bin/sh\n# (ci/\S+\.sh) ", fence.text):
            (folder / name[1]).write_text(fence.text)
        else:
            left.append(fence)
    return left


def repository(folder: Path) -> Path:
    """The module in Git, with two tags and a third that is no version."""
    folder.mkdir(parents=True)
    names = {f"GIT_{who}_{what}": "ann@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **names}
    subprocess.run(["git", "init", "-q"], cwd=folder, env=environment, check=True)
    for version in ("1.0.0", "1.3.0", "2.0"):
        for name, text in VPC.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text.replace("%s", version))
        for words in (["add", "."], ["commit", "-qm", version], ["tag", f"v{version}"]):
            subprocess.run(["git", *words], cwd=folder, env=environment, check=True)
    return folder


def versions(registry: Registry, kind: str, address: str) -> list[str]:
    with registry.larder.client(registry.read) as client:
        document = client.get(f"/v1/{kind}/{address}/versions").raise_for_status().json()
    listed: list[Mapping[str, str]] = document["modules"][0]["versions"] if kind == "modules" else document["versions"]
    return sorted(version["version"] for version in listed)


@pytest.mark.needs("git", "jq")
@pytest.mark.parametrize("client", CLIENTS)
def test_moving(registry: Registry, tmp_path: Path, client: str) -> None:
    space, git = f"moved-to-{client}", repository(tmp_path / "repository")
    registry.depot.namespace(space, "private")
    work = tmp_path / "work"
    work.mkdir()
    before = 'module "vpc" {\n  source = "git::https://git.example.com/infra/terraform-aws-vpc.git%s?ref=v1.3.0"\n}\n'
    (work / "main.tf").write_text(before % "" + (before % "//modules/subnet").replace('"vpc"', '"subnet"'))
    environment = {"LARDER_TOKEN": registry.manage, "OLD_TOKEN": registry.read}
    environment["TF_TOKEN_registry_example_com"] = registry.read
    exports, *rest = scripts(MOVING, "test_moving", git)
    assert exports.text.startswith("export LARDER_URL=")

    for fence in rest:
        text = re.sub(r"\bacme/(?=vpc|subnet|copied|dns)", f"{space}/", fence.text)
        text = text.replace("old.example.com/infra/", f"{HOST}/acme/")
        said = registry.type(git if "ci/" in text else work, exports.text + text, client, **environment)

    assert versions(registry, "modules", f"{space}/vpc/aws") == ["1.0.0", "1.3.0"]
    assert versions(registry, "modules", f"{space}/subnet/aws") == ["1.0.0", "1.3.0"]
    assert versions(registry, "modules", f"{space}/copied/aws") == ["1.0.0", "1.2.0"]
    assert versions(registry, "providers", f"{space}/dns") == ["1.0.0", "1.2.0"]
    after = f'  source = "{HOST}/{space}/vpc/aws%s"\n  version = "1.3.0"\n'
    assert after % "" in (work / "main.tf").read_text()
    assert after % "//modules/subnet" in (work / "main.tf").read_text()
    assert "No changes" in said


@pytest.mark.parametrize("client", CLIENTS)
def test_a_state_names_the_new_provider(registry: Registry, tmp_path: Path, client: str) -> None:
    (fence,) = commands(MOVING, "test_a_state_names_the_new_provider")
    old, new = fence.text.split()[-2:]
    work = tmp_path / "work"
    work.mkdir()
    instance = {"schema_version": 0, "attributes": {"id": "1"}}
    kept = {"mode": "managed", "type": "dns_zone", "name": "one", "provider": f'provider["{old}"]'}
    state = {"version": 4, "terraform_version": "1.6.0", "serial": 1, "lineage": "moved", "outputs": {}}
    (work / "terraform.tfstate").write_text(json.dumps(state | {"resources": [kept | {"instances": [instance]}]}))

    registry.type(work, fence.text, client)

    assert json.loads((work / "terraform.tfstate").read_text())["resources"][0]["provider"] == f'provider["{new}"]'


# --- Pages for operators and for those who write scripts --------------------------------------------------------------

WORLD = """
from apps.accounts.models import User
from apps.jobs.models import Job
User.objects.get_or_create(username="alice")
Job.objects.get_or_create(id=815, kind="releases.purge", target=815, state="failed")
"""
# What a reader fills in, and where it comes from: the last such text that was answered.
PLACEHOLDERS = {"5f70bf…": r'"plan": ?"([^"]+)"', "<id>": r'"id": ?(\d+)'}


def lines_of(text: str) -> list[str]:
    """Each command, with the lines that it continues on."""
    return [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def world(registry: Registry) -> Registry:
    """With the person, the team and the failed job of the pages."""
    registry.larder.manage("shell", "--verbosity", "0", "-c", WORLD)
    with registry.larder.client(registry.manage) as client:
        client.put("/api/v1/teams/cooks", json={}).raise_for_status()
    return registry


def program(registry: Registry, folder: Path) -> None:
    """`manage.py` on the PATH, with the environment of this Larder's processes."""
    (folder.parent / "programs").mkdir()
    given = "".join(
        f"export {name}='{value}'\n"
        for name, value in registry.larder.environment.items()
        if name.startswith(("LARDER_", "AWS_"))
    )
    script = folder.parent / "programs/manage.py"
    script.write_text(f'#!/bin/sh\n{given}exec {sys.executable} {documents.CHECKOUT}/manage.py "$@"\n')
    script.chmod(0o755)


@pytest.mark.parametrize("fence", documents.run_by(f"{HERE}test_the_api"), ids=str)
def test_the_api(world: Registry, tmp_path: Path, fence: Fence) -> None:
    work = tmp_path / "work"
    work.mkdir()
    program(world, work)
    (work / "docs.zip").write_bytes(docs.archive())
    kept, said = "", ""
    for line in lines_of(fence.text):
        if re.match(r"\w+(\(\) \{|=)", line):
            kept += f"{line}\n"
            continue
        text = kept + line
        for placeholder, pattern in PLACEHOLDERS.items():
            if placeholder in text:
                text = text.replace(placeholder, re.findall(pattern, said)[-1])
        answer = world.type(work, text, shell=fence.language, TOKEN=world.manage, LARDER_TOKEN=world.manage)
        assert '"error":{' not in answer.replace(" ", ""), (line, answer)
        said += answer


@pytest.mark.parametrize("fence", documents.run_by(f"{HERE}test_operators"), ids=str)
def test_operators(world: Registry, tmp_path: Path, fence: Fence) -> None:
    for number, line in enumerate(lines_of(fence.text)):
        work = tmp_path / str(number) / "work"
        work.mkdir(parents=True)
        program(world, work)
        text = line.replace("/backups/", f"{work}/").replace("/elsewhere/", f"{work}/").replace("NAME", "alice")
        if "manage.py doctor" in line:  # the name of the page has no address on this machine
            assert "fail  name: registry.example.com has no address" in world.type(work, f"{text} || true")
        else:
            world.type(work, text)
