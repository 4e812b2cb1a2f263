"""The contents of a long README, on the page of a module and of a submodule."""

from apps.modules.contents import readme
from apps.modules.models import ModuleVersion
from tests.portal.rows import add_module

LONG = "".join(f"## Part {number}\n\n{'words ' * 300}\n\n" for number in range(5)).encode()


def test_a_long_readme_begins_with_its_contents_and_a_short_one_does_not(acme, alice, browser_of):
    html = readme.render(LONG)
    unit = {"path": "modules/subnets", "kind": "submodule", "name": "subnets", "readme": html}
    add_module(acme, "vpc/aws", readme_html=html)
    ModuleVersion.objects.update(inspection={"units": [unit]})
    add_module(acme, "dns/aws", readme_html=readme.render(b"## Usage\n\n## More\n"))
    browser = browser_of(alice)

    for page in ("vpc/aws", "vpc/aws/1.0.0/submodules/subnets"):
        shown = browser.get(f"/modules/acme/{page}").content.decode()
        assert 'aria-label="Contents"' in shown, page
        assert shown.count('href="#user-content-part-') == 5
    assert 'aria-label="Contents"' not in browser.get("/modules/acme/dns/aws").content.decode()
