"""Examples as configurations of their own."""

from apps.modules.usage_examples import rewritten
from tests.builders.archives import MODULE, module_zip

SOURCES = {"": "host/acme/vpc/aws", "modules/inner": "host/acme/vpc/aws//modules/inner"}
EXAMPLE = """module "this" {
  # source = "../../no"
  source = "../.." # the root

  name = "x"
}

module "inner" {
  source     = "../../modules/inner"
  depends_on = [module.this]
}

module "other" {
  source = "../outside"
}

module "far" {
  source  = "acme/far/aws"
  version = "1.0.0"
}
"""


def test_local_sources_become_addresses_with_the_version_and_what_is_outside_stays():
    found = rewritten(EXAMPLE, [1, 8, 13, 17], "examples/complete", SOURCES, "1.2.0")

    assert found == EXAMPLE.replace(
        '  source = "../.." # the root\n', '  source  = "host/acme/vpc/aws" # the root\n  version = "1.2.0"\n'
    ).replace(
        '  source     = "../../modules/inner"\n',
        '  source     = "host/acme/vpc/aws//modules/inner"\n  version    = "1.2.0"\n',
    )
    for path in ("../../..", "../../../x", "../..//modules/inner"):
        text = f'module "this" {{\n  source = "{path}"\n}}\n'
        found = rewritten(text, [1], "examples/complete", SOURCES, "1.2.0")
        assert (found == text) == (path != "../..//modules/inner")


def test_the_page_of_an_example_opens_it_ready_to_use(published, browser_of, bob, charlie, settings):
    files = {
        **MODULE,
        "examples/complete/main.tf": EXAMPLE,
        "examples/complete/nested/main.tf": "# below\n",
        "examples/complete/run.sh": "<script>\n",
        "modules/inner/main.tf": MODULE["main.tf"],
    }
    published(version="1.2.0", data=module_zip(files))
    browser, page = browser_of(bob), "/modules/acme/vpc/aws/1.2.0/configurations/complete"
    text = browser.get(page).content.decode()

    assert f'href="{page}"' in browser.get("/modules/acme/vpc/aws/1.2.0/examples/complete").content.decode()
    assert f"source  = &quot;{settings.PUBLIC_HOST}/acme/vpc/aws&quot; # the root" in text
    assert "version    = &quot;1.2.0&quot;" in text
    assert "run.sh" in text
    assert "nested/main.tf" in text
    assert browser.get(page.replace("complete", "nothing")).status_code == 404
    assert browser_of(charlie).get(page).status_code == 404
