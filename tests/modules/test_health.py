"""The points of a module's health: each rule by what gains and loses it, on pages and in the API."""

import json

from apps.modules.health import RULES, Health, health_of, measure
from apps.modules.inspection.inspecting import inspect
from apps.modules.models import ModuleVersion
from tests import pages
from tests.builders.archives import module_zip
from tests.house import sources
from tests.portal.rows import add_module
from tests.rows import for_each_row

URL = "/api/v1/modules/acme/vpc/aws/health"
PERFECT = {
    "README.md": b"# VPC",
    "LICENCE.txt": b"Ours.",
    "CHANGELOG.md": b"## 1.0.0",
    "main.tf": b"""
terraform {
  required_version = ">= 1.6"
  required_providers { aws = {
    source  = "hashicorp/aws"
    version = "~> 5.0"
  } }
}
variable "cidr" {
  type        = string
  description = "The network."
}
output "id" {
  value       = 1
  description = "The VPC."
}
resource "aws_vpc" "this" {}
module "local" { source = "./modules/net" }
module "tags" {
  source  = "example.com/acme/tags/null"
  version = "1.0.0"
}
module "git" { source = "git::https://example.com/net.git?depth=1&ref=v1.2.0" }
""",
    "modules/net/main.tf": b"# nothing\n",
    "examples/full/main.tf": b'module "vpc" { source = "../.." }\n',
}


def missing(changes):
    """Return what is missing of PERFECT with these files instead; None takes a file away."""
    files = {name: text for name, text in (PERFECT | changes).items() if text is not None}
    texts = {name: text for name, text in files.items() if name.endswith(".tf")}
    document = inspect(texts, {name: len(text) for name, text in texts.items()})
    found = measure(document, has_readme="README.md" in files, files=[{"name": name} for name in files])
    assert found is not None
    return {point.code: point.found for point in found.missing}


def main(old, new):
    text = PERFECT["main.tf"].replace(old.encode(), new.encode())
    assert text != PERFECT["main.tf"]
    return {"main.tf": text}


NET = "modules/net/main.tf"
CASES = [
    ("readme", {"README.md": None}, "no README"),
    ("example", {"examples/full/main.tf": None}, "no folder below examples/"),
    ("licence", {"LICENCE.txt": None, "docs/LICENSE": b"Deeper."}, "no licence"),
    ("changelog", {"CHANGELOG.md": None, "changelogs.md": b""}, "no changelog"),
    ("inputs_described", main('"The network."', '""'), "1 of 1 inputs: cidr"),
    ("inputs_described", {NET: b'variable "a" {\n  type = any\n}\n'}, "1 of 2 inputs: modules/net: a"),
    ("inputs_typed", main("type        = string", ""), "1 of 1 inputs: cidr"),
    ("outputs_described", main('description = "The VPC."', ""), "1 of 1 outputs: id"),
    ("client_pinned", main('required_version = ">= 1.6"', ""), "no required_version"),
    ("providers_pinned", main('version = "~> 5.0"', ""), "1 of 1 providers: aws"),
    ("providers_pinned", {NET: b'resource "random_id" "a" {}\n'}, "1 of 2 providers: modules/net: random"),
    ("calls_pinned", main('version = "1.0.0"', ""), "1 of 3 calls: tags"),
    ("calls_pinned", main("&ref=v1.2.0", "&preference=1"), "1 of 3 calls: git"),
]


def test_a_module_may_gain_every_point():
    assert missing({}) == {}
    computed = main('"example.com/acme/tags/null"\n  version = "1.0.0"', "var.source")
    assert missing(computed) == {}, "nobody knows where a computed source leads"
    many = b"".join(b'output "o%d" {\n  value = 1\n}\n' % number for number in range(7))
    assert missing({NET: many})["outputs_described"].endswith(
        "o0, modules/net: o1, modules/net: o2, modules/net: o3, modules/net: o4 and 2 more"
    )


@for_each_row(("code", "changes", "found"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
def test_each_point_has_its_rule(code, changes, found):
    assert missing(changes) == {code: found}


def test_every_rule_is_tested_and_is_on_the_page_of_the_docs():
    page = (sources.CHECKOUT / "docs/module-health.md").read_text()

    assert {case[0] for case in CASES} == RULES.keys()
    assert all(f"| `{code}` | {rule.sentence} | {rule.hint} |" in page for code, rule in RULES.items())


def test_a_publish_stores_it_and_the_page_and_the_api_say_it(published, browser_of, tofu, alice, bob):
    published(data=module_zip({**PERFECT, "README.md": b""}))
    stored = ModuleVersion.objects.get()
    assert stored.health == {"rules": 1, "missing": {"readme": "no README"}}

    document = json.loads(tofu(bob).get(URL).content)
    assert (document["version"], document["score"], document["total"]) == ("1.2.0", 9, 10)
    assert [point["code"] for point in document["points"] if not point["gained"]] == ["readme"]
    hint = RULES["readme"].hint
    for person, is_told in ((bob, False), (alice, True)):
        page = pages.shown(browser_of(person).get("/modules/acme/vpc/aws"))
        assert "9 of 10" in page
        assert (hint in page) is is_told


def test_what_was_stored_by_other_rules_is_measured_again(published):
    published(data=module_zip(PERFECT))
    version = ModuleVersion.objects.get()
    everything = Health.from_dict({"rules": 1, "missing": {}})
    for stored in (None, {"rules": 0, "missing": {"readme": "no README"}}):
        version.health = stored
        assert health_of(version) == everything


def test_it_is_hidden_with_its_module_and_what_nobody_has_read_has_no_score(tofu, browser_of, bob, charlie, acme):
    add_module(acme, "vpc/aws", "1.0.0")

    assert json.loads(tofu(bob).get(URL).content)["score"] is None
    assert 'id="health-title"' not in pages.shown(browser_of(bob).get("/modules/acme/vpc/aws"))
    for client, status in ((tofu(), 401), (tofu(charlie), 404)):
        hidden, none = client.get(URL), client.get(URL.replace("acme", "nowhere"))
        assert hidden.status_code == none.status_code == status
