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
def tabs(browser_of, bob, published):
    """Each tab with its page, once these files are published."""

    def texts(files):
        published("acme/vpc/aws", "1.0.0", data=module_zip(files))
        browser = browser_of(bob)
        return [(tab, html.unescape(browser.get(f"{AT}/{tab}").text)) for tab in TABS]

    return texts


def test_an_empty_tab_says_that_not_everything_could_be_read(tabs):
    for tab, text in tabs({"broken.tf": UNREADABLE}):
        assert f"No {tab} found" in text
        assert "Some files could not be parsed" in text
        assert WARNING.search(text), tab
        assert not [denial for denial in DENIALS if denial in text], tab
        assert 'tabs__count">0' not in re.split("Submodules", text)[0], tab


def test_a_filled_tab_says_so_as_well(tabs):
    for tab, text in tabs({"main.tf": READABLE, "broken.tf": UNREADABLE}):
        assert WARNING.search(text), tab
        assert f"No {tab}" not in text


def test_what_was_read_whole_is_said_for_sure(tabs):
    for tab, text in tabs({"main.tf": "locals { a = 1 }\n"}):
        assert "could not be parsed" not in text, tab
        assert any(denial in text for denial in DENIALS), tab
        assert 'tabs__count">0' in re.split("Submodules", text)[0], tab
