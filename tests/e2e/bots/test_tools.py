"""docs/recipes/tools.md: its files and commands, as the programs that they are for execute them."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import hcl2
import pytest
import yaml

from tests import documents
from tests.builders.archives import module_zip
from tests.e2e.pages import HOST, Registry
from tests.e2e.test_documents import USING, configuration
from tests.needs import CLIENTS, needs

pytestmark = [pytest.mark.live, pytest.mark.needs("curl")]
PAGE = "docs/recipes/tools.md"
TOKEN = "TF_TOKEN_registry_example_com"  # a variable's name
REPORTED = '{{"kind":"{}","address":"{}","version":"1.2.0"'


def blocks(heading: str, language: str) -> list[str]:
    """Those of a section, without what makes them part of a list."""
    section = documents.text_of(PAGE).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def is_reported(said: str) -> bool:
    return all(REPORTED.format(*one) in said for one in (("module", "acme/vpc/aws"), ("provider", "acme/dns")))


@pytest.mark.parametrize("client", CLIENTS)
def test_atlantis_installs_with_the_token_of_its_server_and_reports(
    registry: Registry, tmp_path: Path, client: str
) -> None:
    values, repos = (yaml.safe_load(text) for text in blocks("Atlantis", "yaml"))
    [secret] = values["environmentSecrets"]
    assert repos["repos"] == [{"id": "/.*/", "workflow": "larder"}]
    folder = configuration(USING, tmp_path / "work")
    given = {"BASE_REPO_OWNER": "acme", "BASE_REPO_NAME": "live", "REPO_REL_DIR": "network"}
    # A plan would start the provider, which has nothing that runs.
    built_in = {"init": "tofu init -input=false", "plan": "tofu providers"}

    said = ""
    for step in repos["workflows"]["larder"]["plan"]["steps"]:
        command = step["run"] if isinstance(step, dict) else built_in[step]
        said += registry.type(folder, command, client, **given, **{secret["name"]: registry.read})

    assert is_reported(said)


@pytest.mark.parametrize("client", CLIENTS)
def test_spacelift_installs_with_the_variable_of_the_context_and_reports(
    registry: Registry, tmp_path: Path, client: str
) -> None:
    [text] = blocks("Spacelift", "hcl")
    resources: dict[str, Any] = {}
    for one in hcl2.loads(text)["resource"]:
        for kind, named in one.items():
            resources[kind.strip('"')] = next(iter(named.values()))
    variable = resources["spacelift_environment_variable"]
    assert variable["write_only"] is True
    assert variable["context_id"] == "${spacelift_context.larder.id}"
    hook = re.findall(r'^      "(.*)",$', text, re.MULTILINE)
    assert len(hook) == 3
    folder = configuration(USING, tmp_path / "work")
    given = {"TF_VAR_spacelift_repository": "acme/live", "TF_VAR_spacelift_project_root": "spaces"}
    given[variable["name"].strip('"')] = registry.read

    said = registry.type(folder, "tofu init -input=false\n" + " ".join(hook).replace('\\"', '"'), client, **given)

    assert is_reported(said)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_example_that_terraform_docs_includes_installs(registry: Registry, tmp_path: Path, client: str) -> None:
    [file], [example] = blocks("terraform-docs", "yaml"), blocks("terraform-docs", "hcl")
    written = yaml.safe_load(file)
    assert written["output"] == {"file": "README.md", "mode": "inject"}
    assert '{{ include "examples/complete/main.tf" }}' in written["content"]
    (tmp_path / "work").mkdir()
    (tmp_path / "work/main.tf").write_text(example)

    said = registry.type(tmp_path / "work", "tofu init -input=false", client, **{TOKEN: registry.read})

    assert f"{HOST}/acme/vpc/aws 1.2.0 for vpc" in said


@pytest.mark.needs("terraform-docs")
def test_larder_folds_what_terraform_docs_writes(registry: Registry, tmp_path: Path) -> None:
    [file], [example] = blocks("terraform-docs", "yaml"), blocks("terraform-docs", "hcl")
    (tmp_path / "examples/complete").mkdir(parents=True)
    (tmp_path / "examples/complete/main.tf").write_text(example)
    (tmp_path / ".terraform-docs.yml").write_text(file)
    (tmp_path / "main.tf").write_text('variable "cidr" {\n  type        = string\n  description = "The range."\n}\n')
    subprocess.run(["terraform-docs", "."], cwd=tmp_path, check=True)

    readme = (tmp_path / "README.md").read_text()
    assert f"~~~hcl\n{example.strip()}" in readme
    assert re.search(r"cidr.*The range\.", readme)
    files = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert registry.larder.publish("acme/documented/aws", "1.0.0", module_zip(files), registry.manage)["state"] == (
        "published"
    )
    with registry.larder.client(registry.read) as client:
        assert client.get("/v1/modules/acme/documented/aws").json()["root"]["inputs"][0]["name"] == "cidr"


@pytest.mark.needs("tflint")
@pytest.mark.parametrize(
    ("version", "found"), [("", "should specify a version"), ("~> 1.0", "a range was found"), ("1.2.0", "")]
)
def test_tflint_wants_an_exact_version_of_modules_of_larder(tmp_path: Path, version: str, found: str) -> None:
    (tmp_path / ".tflint.hcl").write_text(blocks("tflint", "hcl")[0])
    line = f'  version = "{version}"\n' if version else ""
    block = f'module "vpc" {{\n  source = "{HOST}/acme/vpc/aws"\n{line}}}\n'
    (tmp_path / "main.tf").write_text('terraform {\n  required_version = ">= 1.6"\n}\n\n' + block)

    done = subprocess.run(["tflint"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, found in done.stdout) == (2 if found else 0, True), done.stdout + done.stderr


def test_the_file_of_tflint_needs_no_plugin_to_fetch() -> None:
    file = hcl2.loads(blocks("tflint", "hcl")[0])

    [plugin] = file["plugin"]
    [fields] = plugin.values()
    assert "source" not in fields, "it would be downloaded"
    assert [next(iter(rule)).strip('"') for rule in file["rule"]] == ["terraform_module_version"]


@pytest.fixture
@needs("git")
def checkout(tmp_path: Path) -> Path:
    """A module with the script of docs/publishing.md, committed."""
    work = tmp_path / "work"
    (work / "ci").mkdir(parents=True)
    check = [fence.text for fence in documents.fences("docs/publishing.md") if "# ci/check.sh " in fence.text]
    (work / "ci/check.sh").write_text(check[0])
    (work / "VERSION").write_text("1.3.0\n")
    (work / "main.tf").write_text('output "greeting" {\n  value = "hello"\n}\n')
    return work


def commit(folder: Path) -> None:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "Change"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def test_the_hook_of_pre_commit_asks_before_a_push(registry: Registry, checkout: Path) -> None:
    [text] = blocks("pre-commit", "yaml")
    [repository] = yaml.safe_load(text)["repos"]
    [hook] = repository["hooks"]
    assert (repository["repo"], hook["language"], hook["stages"]) == ("local", "system", ["pre-push"])
    command = shlex.join(shlex.split(hook["entry"]))  # as pre-commit splits it
    given = {"LARDER_URL": f"https://{HOST}", "LARDER_TOKEN": registry.read}

    commit(checkout)
    assert registry.type(checkout, command, **given).endswith("acme/vpc/aws 1.3.0 would be published.\n")
    (checkout / "main.tf").unlink()
    commit(checkout)
    said = registry.type(checkout, f"{command} || echo refused: $?", **given)
    assert "would be rejected." in said
    assert said.endswith("refused: 1\n")


@pytest.mark.needs("jq")
def test_backstage_gets_an_entity_for_each_module_and_provider(registry: Registry, tmp_path: Path) -> None:
    test = "tests/e2e/bots/test_tools.py::test_backstage_gets_an_entity_for_each_module_and_provider"
    [fence] = documents.run_by(test, PAGE)
    work = tmp_path / "work"
    work.mkdir()
    (work / "catalog.sh").write_text(fence.text)
    given = {"LARDER_URL": f"https://{HOST}", "LARDER_TOKEN": registry.read}

    said = registry.type(work, "sh catalog.sh acme platform", **given)

    entities = {entity["metadata"]["name"]: entity for entity in yaml.safe_load_all(said)}
    assert {"acme-vpc-aws", "acme-dns"} <= entities.keys()
    for name, kind, address in (("acme-vpc-aws", "module", "acme/vpc/aws"), ("acme-dns", "provider", "acme/dns")):
        entity = entities[name]
        assert (entity["apiVersion"], entity["kind"]) == ("backstage.io/v1alpha1", "Component")
        assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", name)
        assert entity["spec"] == {"type": f"terraform-{kind}", "lifecycle": "production", "owner": "platform"}
        [link] = entity["metadata"]["links"]
        assert link == {"url": f"https://{HOST}/{kind}s/{address}", "title": "Larder, version 1.2.0"}
    [location] = yaml.safe_load(blocks("Backstage", "yaml")[0])["catalog"]["locations"]
    assert location["type"] == "url"


@pytest.mark.parametrize("client", CLIENTS)
def test_an_editor_finds_the_module_that_init_has_installed(registry: Registry, tmp_path: Path, client: str) -> None:
    """Language servers read modules.json, and the files in the folder that it names."""
    test = "tests/e2e/bots/test_tools.py::test_an_editor_finds_the_module_that_init_has_installed"
    [fence] = documents.run_by(test, PAGE)
    (tmp_path / "work").mkdir()
    source = f'source  = "{HOST}/acme/vpc/aws"\n  version = "1.2.0"'
    (tmp_path / "work/main.tf").write_text(f'module "vpc" {{\n  {source}\n}}\n')

    said = registry.type(tmp_path / "work", fence.text, client, **{TOKEN: registry.read})

    assert json.loads(said[said.index("{\n") :])["valid"] is True
    manifest = json.loads((tmp_path / "work/.terraform/modules/modules.json").read_text())
    [vpc] = [one for one in manifest["Modules"] if one["Key"] == "vpc"]
    assert vpc["Source"] == f"{HOST}/acme/vpc/aws"
    assert (tmp_path / "work" / vpc["Dir"] / "main.tf").is_file()
