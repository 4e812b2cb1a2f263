"""A namespace with everything in it that a page may have to show: three modules with history, one poor, one hostile."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from tests.builders import modules
from tests.builders.archives import MODULE, module_zip
from tests.builders.tars import gz, module_tar
from tests.live import Live
from tests.oci.manifests.documents import IMAGE, digest_of, image
from tests.site.processes import eventually

SPACE = "shelf"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}"
REAL: dict[str, Callable[[str], dict[str, bytes]]] = {
    "network/aws": modules.network,
    "kubernetes/aws": modules.kubernetes,
    "label/null": modules.label,
}


@dataclass
class Shelf:
    """Its contents, and the ids that pages use."""

    live: Live
    token: str
    held: str = ""
    draft: str = ""
    several: str = ""  # primary keys of releases
    token_id: int = 0
    grant_id: int = 0
    membership_id: int = 0
    machine: tuple[int, int] = (0, 0)  # a service account of the team, and its token
    mail: tuple[str, str] = ("", "")  # tokens of links
    fingerprint: str = ""
    known: dict[str, Any] = field(default_factory=dict)  # with what the rooms have
    releases: dict[str, str] = field(default_factory=dict)  # "name/system version" -> public id

    def publish(self, name: str, version: str, data: bytes, query: str = "") -> None:
        with self.live.client(self.token) as client:
            answer = client.put(f"/api/v1/modules/{SPACE}/{name}/{version}{query}", content=data)
            assert answer.status_code in (200, 202), answer.text
            self.releases[f"{name} {version}"] = answer.json()["id"]
            document = self.live.wait_for(client, f"/api/v1/releases/{answer.json()['id']}")
        assert document["state"] in ("published", "rejected"), document

    def publish_held(self, name: str, version: str, data: bytes) -> None:
        with self.live.client(self.token) as client:
            answer = client.put(f"/api/v1/modules/{SPACE}/{name}/{version}", content=data)
            self.releases[f"{name} {version}"] = answer.json()["id"]
            wait_until_held(client, answer.json()["id"])

    def publish_awaited(self, name: str, version: str, data: bytes) -> None:
        """It stays for another person, and the namespace then asks for nothing."""
        with self.live.client(self.token) as client:
            for required in (True, False):
                client.patch(f"/api/v1/namespaces/{SPACE}", json={"requires_approval": required}).raise_for_status()
                if required:
                    answer = client.put(f"/api/v1/modules/{SPACE}/{name}/{version}?confirm=unloadable", content=data)
                    self.releases[f"{name} {version}"] = answer.json()["id"]
                    wait_until_held(client, answer.json()["id"], "awaiting-approval")

    def guard(self, rule: str) -> None:
        with self.live.client(self.token) as client:
            client.patch(f"/api/v1/namespaces/{SPACE}", json={"breaking_changes": rule}).raise_for_status()

    def tell(self, name: str, version: str, verb: str, **body: str) -> None:
        with self.live.client(self.token) as client:
            answer = client.post(f"/api/v1/modules/{SPACE}/{name}/{version}/{verb}", json=body)
            assert answer.status_code == httpx.codes.OK, answer.text


def attach(shelf: Shelf) -> None:
    """An SBOM and a signature beside network/aws 2.0.0, and a tag that is no version."""
    name = f"{SPACE}/network/aws"
    with shelf.live.client(shelf.token) as client:
        subject = client.get(f"/v2/{name}/manifests/2.0.0")
        digest = subject.headers["Docker-Content-Digest"]
        about = {"mediaType": subject.headers["Content-Type"], "digest": digest, "size": len(subject.content)}
        signature = digest.replace(":", "-") + ".sig"
        documents = {
            "": image(b"[]" * 9000, artifactType="application/vnd.cyclonedx+json", subject=about),
            signature: image(b"signed"),
            "nightly-build-of-main": image(b"[]" * 9000),
        }
        for data in (b"{}", b"[]" * 9000, b"signed"):
            client.post(f"/v2/{name}/blobs/uploads/?digest={digest_of(data)}", content=data).raise_for_status()
        for tag, raw in documents.items():
            url = f"/v2/{name}/manifests/{tag or digest_of(raw)}"
            client.put(url, content=raw, headers={"Content-Type": IMAGE}).raise_for_status()


def fetch(shelf: Shelf) -> None:
    """Downloads by two clients, one of them of a deprecated version; counts come seconds later."""
    name = f"modules/{SPACE}/network/aws"
    with shelf.live.client(shelf.token) as client:
        for version, agent in (("1.0.0", "OpenTofu/1.12.6"), ("2.0.0", "Terraform/1.11.4"), ("2.0.0", "curl/8")):
            headers = {"User-Agent": agent}
            answer = client.get(f"/v1/{name}/{version}/download", headers=headers)
            client.get(answer.headers["X-Terraform-Get"], headers=headers).raise_for_status()
        eventually(lambda: client.get(f"/api/v1/{name}/downloads").json()["totals"]["ever"] >= 3)


def guard(shelf: Shelf) -> None:
    """Versions that break something: told by the number, confirmed with a reason, held, and refused."""
    quoted = HOSTILE.replace('"', "'").replace("{{7*7}}", "")
    module = 'variable "{}" {{\n  type = string\n  default = "{}"\n}}\n'
    shelf.publish("guarded/null", "1.0.0", module_zip({"main.tf": module.format("zone", quoted)}))
    shelf.publish("guarded/null", "2.0.0", module_zip({"main.tf": module.format("place", quoted)}))
    gone = module_zip({"main.tf": 'variable "place_of_all_that_is_stored_here_for_a_year_or_longer" {}\n'})
    shelf.guard("refuse")
    shelf.publish("guarded/null", "2.1.0", gone)
    shelf.guard("ask")
    shelf.publish("guarded/null", "2.2.0", gone, f"?confirm=breaking-change&reason={quote(HOSTILE)}")
    shelf.publish_held("guarded/null", "2.3.0", module_zip({"main.tf": module.format("other", quoted)}))
    shelf.guard("warn")


def fill(live: Live) -> Shelf:
    """Publish it all through the API, as scripts do."""
    shelf = Shelf(live, live.token())
    with live.client(shelf.token) as client:
        client.put(f"/api/v1/namespaces/{SPACE}", json={"visibility": "public"}).raise_for_status()
    for name, files in REAL.items():
        shelf.publish(name, "1.0.0", module_zip(files("1.0.0")))
        shelf.publish(name, "1.1.0", gz(module_tar(files("1.1.0"), top=f"terraform-{name.replace('/', '-')}-1.1.0/")))
        shelf.publish(name, "2.0.0", module_zip(files("2.0.0")))
    shelf.publish("network/aws", "3.0.0-rc.1", module_zip(modules.network("2.0.0"), comment=b"rc"))
    shelf.publish("poor/null", "1.0.0", module_zip({"main.tf": "\n"}))
    shelf.publish("jailed/null", "1.0.0", module_zip({"main.tf": "# jailed\n"}))
    shelf.publish("hostile/null", "1.0.0", module_zip(hostile_files()), "?confirm=unloadable")
    shelf.publish("refused/null", "1.0.0", module_zip({"README.md": "# nothing\n"}))
    shelf.tell("network/aws", "1.0.0", "deprecate", reason=f"Too old. {HOSTILE}", replacement="shelf/network/aws 2.0.0")
    shelf.tell("network/aws", "1.1.0", "yank", reason="Deletes the route tables of the peers.")
    shelf.tell("jailed/null", "1.0.0", "quarantine", reason="Its archive is being looked at.")
    attach(shelf)
    guard(shelf)
    shelf.publish_awaited("network/aws", "3.0.0", module_zip(modules.network("1.1.0") | {"README.md": b"# Other\n"}))
    hostile = hostile_files() | {"README.md": f"# Other\n{HOSTILE}\n{'a' * 300}\n", f"{'n' * 90}.tf": ""}
    shelf.publish_awaited("hostile/null", "1.1.0", module_zip(hostile))
    fetch(shelf)
    with live.client(shelf.token) as client:
        client.put("/api/v1/teams/shelvers", json={"description": "Who fill the shelf."}).raise_for_status()
    known = json.loads(live.manage("shell", "--verbosity", "0", "-c", BEHIND_THE_DESK).splitlines()[-1])
    with live.client(shelf.token) as client:
        shelf.draft = client.post(f"/api/v1/providers/{SPACE}/dns/2.0.0").json()["id"]
        package = "terraform-provider-dns_2.0.0_linux_amd64.zip"
        client.put(f"/api/v1/providers/{SPACE}/dns/2.0.0/files/{package}", content=b"zip").raise_for_status()
    shelf.held, shelf.token_id = known["held"], known["token"]
    shelf.several = known["several"]
    shelf.grant_id, shelf.membership_id = known["grant"], known["membership"]
    shelf.machine = known["machine"]
    shelf.mail = known["mail"]
    shelf.known = known
    shelf.fingerprint = known["fingerprint"]
    with live.client(shelf.token) as client:
        wait_until_held(client, shelf.held)
    return shelf


# What no script can do by the API: a release that a person watches is held. And the numbers that stand in URLs.
BEHIND_THE_DESK = """
import json
from datetime import timedelta
from django.db import transaction
from django.utils import timezone
from apps.accounts.access.gate import Viewer
from apps.accounts.models import ApiToken, Grant, Membership, Role, User
from apps.accounts.identity import tokens
from apps.accounts.models import Namespace, Team
from apps.accounts.people import service_accounts
from apps.lib.addresses import ModuleAddress
from apps.modules import publishing
from apps.providers import catalogue
from apps.releases.models import Release
from apps.providers.docs import sources
from tests import rooms
from tests.browser import origins
from tests.browser.catalogue import HOSTILE
from tests.house import scenario_notify
from tests.builders import docs
from tests.builders.archives import MODULE, PRIVATE_KEY, module_zip
from tests.builders.keys import signing_key
from tests.builders.tars import gz, module_tar
from tests.protocol.providers.cast import add_key, add_version
admin = User.objects.get(username="admin")
bob = User.objects.create_user("bob", password="bob likes pears")
grant = Grant.objects.create(namespace=Namespace.objects.get(name="shelf"), user=bob, role=Role.READER)
membership = Membership.objects.create(team=Team.objects.get(name="shelvers"), user=bob)
machine = service_accounts.create(team=membership.team, name="ci", actor=Viewer(admin))
machines, _ = tokens.issue(user=machine, label="nightly", scope="publish", actor=Viewer(admin))
address = ModuleAddress("shelf", "held", "null")
release, _ = publishing.reserve_release(viewer=Viewer(admin), address=address, version="1.0.0", multiple_modules=True)
files = {f"modules/{name}/{file}": text for name in ("one", "two") for file, text in MODULE.items()}
data = module_zip({**files, "modules/one/terraform.tfstate": "{}", "modules/two/id_rsa": PRIVATE_KEY, ".git/HEAD": "x"})
publishing.receive(release=release, chunks=iter([data]), file_name="monorepo.zip")
token = ApiToken.objects.filter(user=admin).first()
key = add_key(grant.namespace, signing_key("ed25519"), uid=HOSTILE, made_at=timezone.now())
key.expires_at = timezone.now() + timedelta(days=5)
key.save()
for number in ("1.0.0", "1.1.0"):
    version = add_version(key, signing_key("ed25519"), "dns", number)
    with transaction.atomic():
        catalogue.refresh(version.provider)
    texts = docs.TODAY if number == "1.0.0" else docs.full(HOSTILE)
    sources.write(version, docs.pages(texts, version.provider.address, number))
bare = add_version(key, signing_key("ed25519"), "bare", "1.0.0")
with transaction.atomic():
    catalogue.refresh(bare.provider)
origins.place(admin, HOSTILE)
keys = Release.objects.filter(state="published").order_by("pk").values_list("pk", flat=True)
known = {"held": str(release.public_id), "token": token.pk, "grant": grant.pk, "membership": membership.pk}
known["machine"] = [machine.pk, machines.pk]
links = scenario_notify.place(grant.namespace, Viewer(admin))
for room in rooms.modules("full_shelf"):
    known |= room.fill(grant.namespace, admin, HOSTILE)
known["mail"] = [links["mail_token"], links["address_token"]]
print(json.dumps(known | {"fingerprint": key.fingerprint, "several": ",".join(map(str, keys))}))
"""


def wait_until_held(client: httpx.Client, public_id: str, state: str = "held") -> None:
    eventually(lambda: client.get(f"/api/v1/releases/{public_id}").json()["state"] == state)


def hostile_files() -> dict[str, str | bytes]:
    """A module that says something nasty wherever it may say anything."""
    quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"').replace("{{7*7}}", "")
    return {
        **MODULE,
        "README.md": f"# {HOSTILE}\n\n[x](javascript:alert(1)) ![y](https://tracker.example/p.png) <svg onload=a()>",
        "hostile.tf": f'variable "x" {{\n  type = string\n  description = "{quoted}"\n  default = "{quoted}"\n}}\n'
        f'output "y" {{\n  description = "{quoted}"\n  value = 1\n}}\n'
        f'module "z" {{\n  source = "{quoted}"\n}}\n',
        "docs/<b>bold<!--.md": HOSTILE,
        "broken.tf": 'variable "unclosed" {\n  default = "never ends\n',
        "modules/inner/main.tf": 'variable "deep" {}\n',
        "elsewhere/main.tf": 'variable "deep" {}\n',
        "examples/first/main.tf": 'module "this" {\n  source = "../.."\n}\n',
    }
