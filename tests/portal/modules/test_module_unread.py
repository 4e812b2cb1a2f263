"""The tabs of a version of which not everything could be read: none of them says that there is nothing."""

import html
import re

import pytest

from tests.builders.archives import module_zip

AT = "/modules/acme/vpc/aws/1.0.0"
TABS = ["inputs", "outputs", "resources", "dependencies"]
UNREADABLE = b'# caf\xe9\nvariable "must" { type = string }\nresource "aws_x" "y" {}\n'
READABLE = """
terraform {
  required_providers { aws = { source = "hashicorp/aws" } }
}
variable "cidr" {}
output "id" { value = 1 }
resource "aws_vpc" "this" {}
"""
DENIALS = ["with its source and version alone", "cannot read values from", "has no resources", "needs no provider"]
WARNING = re.compile(rf'in the files could not be parsed.*?href="{AT}/files/broken.tf', re.DOTALL)


@pytest.fixture
def page(browser_of, bob, published):
    def text(tab, files):
        published("acme/vpc/aws", "1.0.0", data=module_zip(files))
        return html.unescape(browser_of(bob).get(f"{AT}/{tab}").text)

    return text


@pytest.mark.parametrize("tab", TABS)
def test_an_empty_tab_says_that_not_everything_could_be_read(page, tab):
    text = page(tab, {"broken.tf": UNREADABLE})

    assert f"No {tab} found" in text
    assert "Some files could not be parsed" in text
    assert WARNING.search(text)
    assert not [denial for denial in DENIALS if denial in text]
    assert 'tabs__count">0' not in re.split("Submodules", text)[0]


@pytest.mark.parametrize("tab", TABS)
def test_a_filled_tab_says_so_as_well(page, tab):
    text = page(tab, {"main.tf": READABLE, "broken.tf": UNREADABLE})

    assert WARNING.search(text)
    assert f"No {tab}" not in text


@pytest.mark.parametrize("tab", TABS)
def test_what_was_read_whole_is_said_for_sure(page, tab):
    text = page(tab, {"main.tf": "locals { a = 1 }\n"})

    assert "could not be parsed" not in text
    assert any(denial in text for denial in DENIALS)
    assert 'tabs__count">0' in re.split("Submodules", text)[0]
