"""GET /api/v1/modules/…/<version>/details and /api/v1/providers/…/<version>/details: all of one published version."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.lifecycle import ACTIONS
from apps.modules.models import ModuleVersion
from apps.releases.catalogue import downloads
from tests.builders import constructs
from tests.builders.archives import MODULE, module_zip
from tests.builders.keys import signing_key
from tests.protocol.providers import cast

pytestmark = pytest.mark.both

URL = "/api/v1/modules/{}/vpc/aws/1.2.0/details"
CHILD = {"modules/subnet/main.tf": 'variable "cidr" {\n  default = "10.0.0.0/8"\n}\n'}


def read(client, url):
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return answer.json()


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


def test_every_construct_of_a_page_is_in_the_document(published, tofu, bob):
    published("acme/vpc/aws", "1.2.0", data=module_zip(constructs.HCL))
    said = read(tofu(bob), URL.format("acme"))
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


def test_what_an_older_larder_did_not_read_is_null(published, tofu, bob):
    published("acme/vpc/aws", "1.2.0", data=module_zip(MODULE))
    version = ModuleVersion.objects.get()
    for part, key in (("variables", "const"), ("resources", "repetition"), ("outputs", "type")):
        for row in version.inspection["units"][0][part]:
            del row[key]
    version.save()
    root = read(tofu(bob), URL.format("acme"))["root"]

    assert (root["inputs"][0]["const"], root["resources"][0]["repetition"], root["outputs"][0]["type"]) == (None,) * 3
    assert (root["moved"], root["actions"]) == ([], [])


def test_only_those_with_a_token_read_who_published(published, tofu, bob):
    published("pantry/vpc/aws", "1.2.0")

    assert read(tofu(), URL.format("pantry"))["published_by"] is None
    assert read(tofu(bob), URL.format("pantry"))["published_by"] == "alice"


def test_a_version_in_quarantine_is_there_for_staff_alone(published, tofu, alice, olga):
    published("acme/vpc/aws", "1.2.0")
    address = ModuleAddress("acme", "vpc", "aws")
    ACTIONS.quarantine(viewer=Viewer(olga), address=address, version="1.2.0", reason="It steals.")

    assert tofu(alice).get(URL.format("acme")).status_code == 404
    assert read(tofu(olga), URL.format("acme"))["quarantined"] is True


def test_a_provider_version_lists_its_packages(acme, alice, tofu):
    key = cast.add_key(acme, signing_key("ed25519"), custody="publisher", uid="Cooks <cooks@example.com>")
    version = cast.add_version(key, signing_key("ed25519"), "dns", "1.0.0", ["linux_amd64"])
    said = read(tofu(alice), "/api/v1/providers/acme/dns/1.0.0/details")

    (package,) = said["packages"]
    assert (package["os"], package["arch"]) == ("linux", "amd64")
    assert package["digest"] == f"sha256:{version.packages.get().digest}"
    assert package["h1"].startswith("h1:")
    assert said["key"] == {"fingerprint": key.fingerprint, "key_id": key.key_id, "state": "active"}
    assert (said["signing"], said["sums_digest"]) == (version.signing, f"sha256:{version.sums_digest}")


def test_the_details_cost_the_same_at_any_size(published, tofu, alice, django_assert_max_num_queries):
    files = {f"modules/m{number}/main.tf": CHILD["modules/subnet/main.tf"] for number in range(8)}
    published("acme/vpc/aws", "1.2.0", data=module_zip({**MODULE, **files}))
    client = tofu(alice)

    with django_assert_max_num_queries(6):
        read(client, URL.format("acme"))
