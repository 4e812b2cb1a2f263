"""GET /api/v1/modules/…/<version>/details and /api/v1/providers/…/<version>/details: all of one published version."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.lifecycle import ACTIONS
from apps.modules.models import ModuleVersion
from apps.releases.catalogue import downloads
from tests.builders import constructs
from tests.builders.archives import MODULE, module_zip

URL = "/api/v1/modules/{}/vpc/aws/1.2.0/details"
CHILD = {"modules/subnet/main.tf": 'variable "cidr" {\n  default = "10.0.0.0/8"\n}\n'}


def read(client, url):
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.both
def test_a_module_version_says_what_is_in_it(published, tofu, bob):
    release = published("acme/vpc/aws", "1.2.0", data=module_zip({**MODULE, **CHILD}))
    downloads.flush()  # what other tests' requests left behind
    before = read(tofu(bob), URL.format("acme"))["downloads"]
    downloads.record_download(release.pk, None, "curl")
    downloads.flush()
    said = read(tofu(bob), URL.format("acme"))

    assert [said[key] for key in ("namespace", "name", "system", "version")] == ["acme", "vpc", "aws", "1.2.0"]
    assert (said["digest"], said["size"]) == (f"sha256:{release.digest}", release.size)
    assert (said["published_by"], said["downloads"], said["files"]) == ("alice", before + 1, 5)
    assert (said["lifecycle"]["state"], said["quarantined"]) == ("maintained", False)
    root = said["root"]
    (named,) = root["inputs"]
    assert named == {
        "name": "name",
        "type": "string",
        "description": "What it is called.",
        "default": "",
        "default_hidden": False,
        "required": True,
        "sensitive": False,
        "ephemeral": False,
        "nullable": True,
        "const": False,
        "deprecated": "",
        "validation": [],
    }
    (output,) = root["outputs"]
    assert (output["name"], output["description"], output["type"]) == ("id", "Its id.", "")
    assert root["resources"] == [{"name": "this", "type": "null_resource", "provider": "null", "repetition": ""}]
    assert root["readme"] == MODULE["README.md"]
    assert (root["moved"], root["actions"]) == ([], [])
    (child,) = said["submodules"]
    assert (child["path"], child["inputs"][0]["default"]) == ("modules/subnet", '"10.0.0.0/8"')


INPUTS = """\
variable "password" {
  type       = string
  default    = "hunter2"
  sensitive  = true
  ephemeral  = true
  nullable   = false
  deprecated = "Use a role."
  validation {
    condition     = length(var.password) > 8
    error_message = "Too short."
  }
}
variable "key" {
  sensitive = true
}
"""


def test_a_hidden_default_is_null_and_no_empty_text(published, tofu, bob):
    published("acme/vpc/aws", "1.2.0", data=module_zip({"main.tf": INPUTS}))
    answer = tofu(bob).get(URL.format("acme"))
    password, key = answer.json()["root"]["inputs"]

    assert b"hunter2" not in answer.content
    assert (password["default"], password["default_hidden"], password["required"]) == (None, True, False)
    assert (key["default"], key["default_hidden"], key["required"]) == ("", False, True)
    assert [password[name] for name in ("sensitive", "ephemeral", "nullable")] == [True, True, False]
    assert (password["deprecated"], password["validation"]) == ("Use a role.", ["Too short."])


def test_every_construct_of_a_page_is_in_the_document_and_null_if_it_was_not_read(
    published, tofu, bob, django_assert_max_num_queries
):
    published("acme/vpc/aws", "1.2.0", data=module_zip(constructs.HCL))
    client = tofu(bob)
    said = read(client, URL.format("acme"))
    root, tasks = said["root"], said["submodules"][1]

    assert (root["required_version"], root["compatible_with"]) == (
        ">= 1.7",
        [{"client": "opentofu", "version": ">= 1.12"}],
    )
    assert {one["name"]: one["const"] for one in root["inputs"]} == {"names": False, "flavour": True}
    assert {one["name"]: one["repetition"] for one in root["resources"]} == {
        "box": "for_each",
        "shelf": "count",
        "door": "",
    }
    assert {one["name"]: one["computed"] for one in root["dependencies"]}["flavoured"] == ["source"]
    assert root["moved"] == [{"from": "terraform_data.crate", "to": 'terraform_data.box["a"]'}]
    assert root["removed"][0] == {"from": "terraform_data.attic", "destroy": False}
    assert tasks["removed"] == [{"from": "terraform_data.shed", "destroy": None}]
    assert tasks["imports"] == [{"to": 'terraform_data.kept["a"]'}]
    assert tasks["outputs"][0]["type"] == "object({ name = string, ports = list(number) })"
    assert [one["provider"] for one in tasks["actions"]] == ["aws", "shell"]
    assert [one["name"] for one in tasks["provider_dependencies"]] == ["aws", "shell"]
    assert tasks["queries"] == [{"name": "old", "type": "aws_instance", "provider": "aws"}]
    assert tasks["migrations"] == [{"kind": "backend", "type": "s3"}]

    version = ModuleVersion.objects.get()
    for part, key in (("variables", "const"), ("resources", "repetition"), ("outputs", "type")):
        for unit in version.inspection["units"]:
            for row in unit[part]:
                del row[key]
    version.save()
    with django_assert_max_num_queries(6):
        said = read(client, URL.format("acme"))
    inputs, resources = said["root"]["inputs"], said["root"]["resources"]
    outputs = said["submodules"][1]["outputs"]
    older = [*(one["const"] for one in inputs), *(one["repetition"] for one in resources)]
    older += [one["type"] for one in outputs]
    assert set(older) == {None}, "an older Larder did not read them"


def test_a_token_reads_who_published_and_staff_alone_what_is_in_quarantine(published, tofu, bob, olga):
    published("pantry/vpc/aws", "1.2.0")
    url, address = URL.format("pantry"), ModuleAddress("pantry", "vpc", "aws")

    assert read(tofu(), url)["published_by"] is None
    assert read(tofu(bob), url)["published_by"] == "alice"
    ACTIONS.quarantine(viewer=Viewer(olga), address=address, version="1.2.0", reason="It steals.")
    assert tofu(bob).get(url).status_code == 404
    assert read(tofu(olga), url)["quarantined"] is True
