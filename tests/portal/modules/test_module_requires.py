"""A module that only some clients load says which, on its page; none is asked about it."""

import html

from tests.builders.archives import module_zip

NEEDS_TERRAFORM = b'output "x" {\n  value = 1\n  type  = number\n}\n'


def test_the_page_says_which_client_loads_the_module(browser_of, bob, published):
    release = published("acme/vpc/aws", "1.0.0", data=module_zip({"main.tf": NEEDS_TERRAFORM}))
    page = html.unescape(browser_of(bob).get("/modules/acme/vpc/aws/1.0.0").text)

    assert release.notes["warnings"] == []
    assert "requires Terraform 1.15" in page
    assert 'output "x": the argument type needs Terraform 1.15' in page


def test_the_page_says_nothing_of_clients_that_all_load_it(browser_of, bob, published):
    published("acme/vpc/aws", "1.0.0", data=module_zip({"main.tf": b'output "x" {\n  value = 1\n}\n'}))

    assert "Its language" not in browser_of(bob).get("/modules/acme/vpc/aws/1.0.0").text
