"""Modules that clients load and can never plan have a warning on pages and in the API, and never a question."""

import html

from tests.builders.archives import module_zip

ROOT = """variable "region" {}
output "x" {
  value = var.regoin
}
module "a" {
  source = "./modules/a"
}
"""
WRONG = module_zip({"main.tf": ROOT, "modules/a/main.tf": 'variable "cidr" {}\nlocals {\n  a = lenght(1)\n}\n'})
SAID = [
    {
        "file": "main.tf",
        "line": 3,
        "message": "found var.regoin, which is not declared",
        "hint": 'Write var.region, or declare it: variable "regoin" { … }.',
    },
    {
        "file": "main.tf",
        "line": 5,
        "message": 'module "a": ./modules/a requires the input cidr, which is not set',
        "hint": "Set cidr, or give the variable a default.",
    },
]


def test_it_is_published_and_its_pages_and_the_api_say_what_to_fix(published, browser_of, tofu, bob, alice):
    release = published("acme/vpc/aws", "1.0.0", data=WRONG)
    said = tofu(bob).get("/api/v1/modules/acme/vpc/aws/1.0.0/details").json()
    browser = browser_of(bob)
    page, folder = (
        html.unescape(browser.get(f"/modules/acme/vpc/aws/1.0.0{path}").text) for path in ("", "/submodules/a")
    )
    own = html.unescape(browser_of(alice).get(f"/releases/{release.public_id}").text)

    assert (release.state, release.questions) == ("published", [])
    assert [(one["code"], one["file"]) for one in release.notes["warnings"]] == [
        ("plan_fails", "main.tf"),
        ("plan_fails", "main.tf"),
        ("plan_fails", "modules/a/main.tf"),
    ]
    assert said["root"]["plan_errors"] == SAID
    assert [one["hint"] for one in said["submodules"][0]["plan_errors"]] == ["Write length."]
    assert "plan fails: 3 errors" in page
    assert "found var.regoin, which is not declared. Write var.region" in page
    assert "plan fails: 1 error" in folder
    assert own.count('data-warning="plan_fails"') == 3
    assert "main.tf was left out" not in own
