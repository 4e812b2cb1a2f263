"""Examples as configurations of their own."""

from apps.lib.addresses import ModuleAddress
from apps.modules.contents import readme
from apps.modules.usage_examples import readdressed, rewritten
from tests.builders.archives import MODULE, module_zip
from tests.rows import for_each_row

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


VPC, OWN = ModuleAddress("acme", "vpc", "aws"), "host.example/acme/vpc/aws"


@for_each_row(
    ("written", "shown"),
    [
        ("terraform-aws-modules/vpc/aws", OWN),
        ("registry.terraform.io/terraform-aws-modules/vpc/aws", OWN),
        ("localhost:8443/old/VPC/aws", OWN),
        ("terraform-aws-modules/vpc/aws//modules/vpc-endpoints", f"{OWN}//modules/vpc-endpoints"),
        (OWN, OWN),
        ("terraform-aws-modules/vpc/google", "terraform-aws-modules/vpc/google"),
        ("terraform-aws-modules/vpc/aws/latest", "terraform-aws-modules/vpc/aws/latest"),
        (
            "git::https://example.com/terraform-aws-modules/vpc/aws",
            "git::https://example.com/terraform-aws-modules/vpc/aws",
        ),
    ],
)
def test_an_address_of_the_module_elsewhere_becomes_the_one_here(written, shown):
    text = f'module "a" {{\n  source  = "{written}"\n  version = "~> 5.0"\n}}\n# see "{written}"\n'
    found = readdressed(text, VPC, OWN)
    assert found == text.replace(f'source  = "{written}"', f'source  = "{shown}"')
    for label in ("hcl", ""):
        html = readme.render(f"```{label}\n{text}```\n[a]({written})\n".encode())
        marked = readdressed(html, VPC, OWN, mark="<mark>{}</mark>")
        assert marked.count("<mark>") == (written != shown)
        assert marked.replace("<mark>", "").replace("</mark>", "") == readdressed(html, VPC, OWN)
        assert shown in readdressed(html, VPC, OWN)


def test_a_readme_shows_this_registrys_address_and_what_its_author_wrote_behind_a_switch(
    published, browser_of, bob, settings
):
    text = '# VPC\n\n```hcl\nmodule "vpc" {\n  source = "terraform-aws-modules/vpc/aws"\n}\n```\n'
    published(version="1.2.0", data=module_zip({**MODULE, "README.md": text}))
    published(version="1.3.0", data=module_zip({**MODULE, "README.md": "# VPC\n"}))
    browser, url = browser_of(bob), "/modules/acme/vpc/aws/1.2.0"
    page, original = browser.get(url).text, browser.get(f"{url}?addresses=original").text

    assert f"<mark>{settings.PUBLIC_HOST}/acme/vpc/aws</mark>" in page
    assert "terraform-aws-modules" not in page
    assert 'href="?addresses=original"' in page
    assert "terraform-aws-modules/vpc/aws" in original
    assert f'<a href="{url}"' in original
    assert "addresses=original" not in browser.get("/modules/acme/vpc/aws/1.3.0").text


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
