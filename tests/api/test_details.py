"""GET /api/v1/modules/…/<version>/details and /api/v1/providers/…/<version>/details: all of one published version."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.lifecycle import ACTIONS
from apps.releases.catalogue import downloads
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
    assert root["inputs"] == [
        {"name": "name", "type": "string", "description": "What it is called.", "default": "", "required": True}
    ]
    assert root["outputs"] == [{"name": "id", "description": "Its id."}]
    assert root["resources"] == [{"name": "this", "type": "null_resource"}]
    assert root["readme"] == MODULE["README.md"]
    (child,) = said["submodules"]
    assert (child["path"], child["inputs"][0]["default"]) == ("modules/subnet", '"10.0.0.0/8"')


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
