"""A module that only some clients load says which, on its page; none is asked about it."""

import html

from tests.builders.archives import module_zip

NEEDS_TERRAFORM = b'output "x" {\n  value = 1\n  type  = number\n}\n'


def test_the_page_says_which_client_loads_the_module_if_not_all_do(browser_of, bob, published):
    release = published("acme/vpc/aws", "1.0.0", data=module_zip({"main.tf": NEEDS_TERRAFORM}))
    published("acme/vpc/aws", "1.1.0", data=module_zip({"main.tf": b'output "x" {\n  value = 1\n}\n'}))
    page, other = (
        html.unescape(browser_of(bob).get(f"/modules/acme/vpc/aws/{one}").text) for one in ("1.0.0", "1.1.0")
    )

    assert release.notes["warnings"] == []
    assert "requires Terraform 1.15" in page
    assert 'output "x": the argument type needs Terraform 1.15' in page
    assert "The module's syntax" not in other
