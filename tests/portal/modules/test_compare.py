"""The page that compares two versions, and the form that leads to it."""

import re

import pytest

from tests.builders.archives import module_zip

BEFORE = {"main.tf": 'variable "name" {\n  type = string\n  default = "<b>`x`</b>"\n}\n', "README.md": "# Old\n"}
AFTER = {"main.tf": 'variable "name" {\n  type = string\n}\n', "README.md": "# New\n"}
PAGE = "/modules/acme/vpc/aws/compare/1.2.0...1.3.0"


@pytest.fixture
def two(published):
    published(version="1.2.0", data=module_zip(BEFORE))
    published(version="1.3.0", data=module_zip(AFTER))


def words(answer):
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def test_a_breaking_change_under_a_minor_number_is_called_that(two, browser_of, bob, django_assert_max_num_queries):
    client = browser_of(bob)
    with django_assert_max_num_queries(12):
        answer = client.get(PAGE)

    said = words(answer)
    assert answer.status_code == 200
    assert "Contains breaking changes, but is not a major version" in said
    assert "default removed: the input is now required" in said
    assert "<b>`x`" not in answer.content.decode()  # hostile text is text
    assert "(`&quot;&lt;b&gt;&#x27;x&#x27;&lt;/b&gt;&quot;`)" in answer.content.decode()  # and ends no backticks
    equal = words(client.get(PAGE.replace("1.3.0", "1.2.0")))
    assert "Nothing breaks" in equal
    assert "No input, output, resource or requirement has changed." in equal


def test_the_form_of_the_list_leads_there(two, browser_of, bob):
    client = browser_of(bob)
    listed = client.get("/modules/acme/vpc/aws/versions").content.decode()
    assert 'action="/modules/acme/vpc/aws/compare"' in listed

    answer = client.get("/modules/acme/vpc/aws/compare", {"from": "1.2.0", "to": "1.3.0"})

    assert (answer.status_code, answer.url) == (302, PAGE)
    assert client.get("/modules/acme/vpc/aws/compare", {"from": "1.2.0"}).status_code == 404
    assert client.get("/modules/acme/vpc/aws/compare", {"from": "/", "to": "//evil.example"}).status_code == 404
