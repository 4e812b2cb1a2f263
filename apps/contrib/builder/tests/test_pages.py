"""The usage builder: a plain GET form that writes the block with what was changed."""

import re
import subprocess
from html import unescape

import pytest

from apps.contrib.builder import pages as usage
from tests import pages
from tests.builders.archives import MODULE, module_zip

INPUTS = """
variable "cidr" {
  type        = string
  description = "Its **range**."
  validation {
    condition     = can(cidrhost(var.cidr, 0))
    error_message = "Must be a range."
  }
}
variable "zones" {
  type    = list(string)
  default = ["a"]
}
variable "size" {
  type     = number
  default  = 1
  nullable = false
}
variable "is_open" {
  type    = bool
  default = true
}
variable "password" {
  type      = string
  sensitive = true
}
variable "odd" {
  type    = strange(thing)
  default = "<b>"
}
"""
PAGE = "/modules/acme/vpc/aws/1.2.0/usage"


@pytest.fixture
def browser(published, browser_of, bob):
    inner = {"modules/inner/main.tf": 'variable "deep" {\n  type = string\n}\n'}
    published(version="1.2.0", data=module_zip({**MODULE, "variables.tf": INPUTS, **inner}))
    return browser_of(bob)


def asked(browser, **entered):
    return browser.get(PAGE, {f"i.{name}": text for name, text in entered.items()})


def lines_of(answer):
    return answer.context["written"].split("\n")[4:-1]


def test_only_what_was_changed_is_in_the_block_and_a_secret_is_never_entered(browser):
    answer = asked(browser, cidr="10.0.0.0/8", zones='["a"]', size="1.0", is_open="false", password="hunter2")

    assert lines_of(answer) == ['  cidr     = "10.0.0.0/8"', "  password = var.password", "  is_open  = false"]
    assert "hunter2" not in answer.context["written"]
    assert 'value="hunter2"' not in answer.content.decode()
    assert "3 inputs set. All required inputs are set." in pages.markup_of(answer)
    assert pages.markup_of(answer).count("Same as the default") == 2
    assert 'aria-label="Copy: Module block"' in pages.markup_of(answer)


def test_without_an_answer_it_names_what_is_required_and_a_submodule_has_its_own_block(browser):
    answer = browser.get(PAGE)

    assert lines_of(answer) == ["  # Required: cidr (string)", "  # Required: password (string)"]
    shown = pages.markup_of(answer)
    for words in (
        "Must be a range.",
        "<strong>range</strong>",
        "list(string)",
        "not nullable",
        "&quot;&lt;b&gt;&quot;",
    ):
        assert words in shown
    assert f'href="{PAGE}"' in browser.get("/modules/acme/vpc/aws/1.2.0").content.decode()
    inner = browser.get(PAGE, {"folder": "modules/inner", "i.deep": "x"}).context["written"]
    assert inner.startswith('module "inner" {\n')
    assert '//modules/inner"' in inner
    assert '  deep = "x"' in inner
    assert browser.get(PAGE, {"folder": "modules/none"}).status_code == 404


def test_a_wrong_value_stays_in_its_field_with_the_reason(browser):
    answer = asked(browser, cidr="<script>", zones="[", size="= null")
    shown = pages.markup_of(answer)

    assert {one.variable["name"] for one in answer.context["wrong"]} == {"zones", "size"}
    assert 'aria-invalid="true"' in shown
    assert re.search(r'<textarea[^>]*id="i.zones"[^>]*>\[</textarea>', shown)
    assert "the input is not nullable" in shown
    assert '  cidr = "<script>"' in answer.context["written"]
    assert "<script>&quot;" not in shown


def test_many_inputs_are_paged_and_what_was_entered_goes_along(browser, monkeypatch):
    monkeypatch.setattr(usage, "PAGE", 2)
    first = asked(browser, cidr="10.0.0.0/8", is_open="false")
    second = browser.get(PAGE, {"i.cidr": "10.0.0.0/8", "i.is_open": "false", "page": "2"})
    found = browser.get(PAGE, {"i.cidr": "10.0.0.0/8", "q": "ZONES"})

    assert re.search(r'<input type="hidden" name="i.is_open" value="false">', pages.markup_of(first))
    assert re.search(r'<input type="hidden" name="i.cidr" value="10.0.0.0/8">', pages.markup_of(second))
    assert first.context["written"] == second.context["written"]
    assert [one.variable["name"] for one in found.context["page"].object_list] == ["zones"]
    assert '  cidr = "10.0.0.0/8"' in found.context["written"]


@pytest.mark.needs("terraform")
def test_terraform_takes_the_block(browser, tmp_path):
    """It is a local module, since nothing here may be fetched."""
    answer = asked(browser, cidr='${x} "y"', zones='["a", "b"]', size="3", odd="= { a = [1] }", password="on")
    shown = re.search(r"<code data-copy-text>(.*?)</code>", answer.content.decode(), re.DOTALL)
    assert shown is not None
    block = re.sub(r"  source  = .*\n  version = .*\n", '  source = "./vpc"\n', unescape(shown[1]))
    (tmp_path / "vpc").mkdir()
    (tmp_path / "vpc/main.tf").write_text(
        INPUTS.replace("strange(thing)", "any").replace("can(cidrhost(var.cidr, 0))", "var.cidr != null")
    )
    (tmp_path / "main.tf").write_text(f'variable "password" {{\n  type = string\n}}\n\n{block}\n')
    for command in (["fmt", "-check"], ["init", "-backend=false"], ["validate"]):
        done = subprocess.run(["terraform", *command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr, block)
