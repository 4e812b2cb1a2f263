"""The tabs of a module version: /inputs, /outputs, /resources, /dependencies, /submodules and /examples"""

import re

import pytest
from django.urls import reverse

from apps.lib.addresses import ModuleAddress
from apps.modules.contents import readme
from apps.modules.models import Module, ModuleVersion
from apps.portal.snippets import module_snippets
from apps.releases.models import Release
from tests import pages
from tests.builders import modules
from tests.builders.archives import MODULE, module_zip
from tests.portal.rows import add_module
from tests.rows import for_each_row

AT = "/modules/acme/network/aws/2.0.0"
TABS = ["", "/inputs", "/outputs", "/resources", "/dependencies", "/submodules", "/examples", "/files"]


@pytest.fixture
def network(published):
    for version in modules.HISTORY:
        published("acme/network/aws", version, data=module_zip(modules.network(version)))


@pytest.fixture
def page(browser_of, bob):
    browser = browser_of(bob)

    def text(path):
        response = browser.get(path)
        assert response.status_code == 200, path
        return pages.text_of(response)

    return text


def words(text):
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def test_each_tab_is_a_link_with_its_count(page, network):
    text = page(AT)

    found = dict(re.findall(r'class="tabs__link" href="([^"]*)".*?(?:tabs__count">(\d+))?<', text))
    unit = ModuleVersion.objects.get(release__version="2.0.0").inspection["units"][0]
    assert set(found) == {
        *(f"{AT}{tab}" for tab in (*TABS, "/origin")),
        f"{AT.rpartition('/')[0]}/usage",
    }  # who uses it: all versions
    assert f'{AT}/inputs">Inputs <span class="tabs__count">{len(unit["variables"])}<' in text
    assert f'{AT}/outputs">Outputs <span class="tabs__count">{len(unit["outputs"])}<' in text


def test_inputs_show_what_has_to_be_given_first(page, network):
    text = page(f"{AT}/inputs")

    assert text.index('id="input_availability_zones"') < text.index('id="input_cidr"')
    assert "Not a CIDR block." in text
    assert f'href="{AT}/files/variables.tf#L11"' in text
    assert '"10.0.0.0/16"' in text
    # The author's own lines, not what a parser makes of them.
    assert re.search(r"flow_log.*?<code>object\(\{\n  enabled +=", text, re.DOTALL)


def test_a_sensitive_default_is_nowhere(page, published):
    secret = 'variable "token" {\n  type = string\n  sensitive = true\n  default = "hunter2"\n}\n'
    published("acme/vpc/aws", "1.0.0", data=module_zip({"main.tf": secret}))

    text = page("/modules/acme/vpc/aws/1.0.0/inputs")

    assert "hidden, because it is sensitive" in text
    assert "hunter2" not in text
    assert "(sensitive)" not in text


def test_outputs_and_resources_lead_to_their_lines(page, network):
    unit = ModuleVersion.objects.get(release__version="2.0.0").inspection["units"][0]
    outputs, resources = page(f"{AT}/outputs"), page(f"{AT}/resources")

    for output in unit["outputs"]:
        assert f'id="output_{output["name"]}"' in outputs
        assert f'{AT}/files/{output["file"]}#L{output["line"]}"' in outputs
    for resource in unit["resources"]:
        assert f'{AT}/files/{resource["file"]}#L{resource["line"]}"' in resources
    assert resources.index("aws_vpc") < resources.index("Data sources")


def test_a_submodule_has_a_page_of_its_own(page, network, settings):
    settings.PUBLIC_HOST = "registry.example.com"

    text = page(f"{AT}/submodules/subnets")

    assert 'source  = "registry.example.com/acme/network/aws//modules/subnets"' in text
    assert 'id="input_vpc_id"' in text
    assert 'id="output_ids"' in text
    assert "aws_route_table_association" in text
    assert f'href="{AT}/files/modules/subnets"' in text


def test_an_example_shows_what_it_is_made_of(page, network):
    text = page(f"{AT}/examples/complete")

    assert "examples/complete" in text
    assert "Exactly this version" not in text  # nobody calls an example


@for_each_row("path", ["/submodules/nothing", "/examples/subnets", "/submodules/modules%2Fsubnets"])
def test_a_unit_that_is_not_there_is_not_found(browser_of, bob, network, path):
    assert browser_of(bob).get(f"{AT}{path}").status_code == 404


def test_the_readme_leads_to_the_files_of_its_own_version(page, network):
    text = page("/modules/acme/network/aws/1.1.0")

    assert 'href="/modules/acme/network/aws/1.1.0/files/modules/subnets"' in text
    assert 'src="/modules/acme/network/aws/1.1.0/raw/docs/diagram.png"' in text


@for_each_row("version", ["1.0.0", "1.0.0-rc.1", "1.0.0+build.7"])
def test_the_worker_and_the_routes_agree_on_addresses(version):
    address = ModuleAddress("acme", "my_vpc", "aws")
    at = [address.namespace, address.name, address.system, version]

    path = readme.page_path(address, version)

    assert path == reverse("portal:module-version", args=at)
    assert f"{path}/files/a b/c.tf".replace(" ", "%20") == reverse("portal:module-file", args=[*at, "a b/c.tf"])
    assert f"{path}/raw/a.png" == reverse("portal:module-raw", args=[*at, "a.png"])


def test_the_switcher_keeps_the_tab_and_knows_its_neighbours(page, network):
    text = page("/modules/acme/network/aws/1.1.0/inputs")

    assert 'rel="prev" href="/modules/acme/network/aws/1.0.0/inputs"' in text
    assert 'rel="next" href="/modules/acme/network/aws/2.0.0/inputs"' in text


def test_a_repository_is_linked_only_on_the_web(page, network):
    Module.objects.update(source_url="https://git.example.com/team/network.git")
    assert 'href="https://git.example.com/team/network.git"' in page(AT)

    for hostile in ("javascript:alert(1)", "ssh://git@example.com/x", "//evil.example", ""):
        Module.objects.update(source_url=hostile)
        assert not hostile or hostile not in page(AT)


def test_what_was_left_out_and_what_was_uploaded_is_said(page, network):
    Release.objects.update(
        uploaded_digest="f" * 64, notes={"form": "tar.gz", "left_out": [".git/config"], "left_out_count": 7}
    )

    text = words(page(AT))

    assert "SHA-256 of the upload (tar.gz)" in text
    assert "f" * 64 in text
    assert "7 that no module needs .git/config" in text


def test_what_could_not_be_read_is_said_with_its_line(page, published):
    published("acme/vpc/aws", "1.0.0", data=module_zip({**MODULE, "broken.tf": 'variable "a" {\n'}))

    assert re.search(
        r'in the files could not be parsed.*?href="/modules/acme/vpc/aws/1.0.0/files/broken.tf#L\d+"',
        page("/modules/acme/vpc/aws/1.0.0"),
        re.DOTALL,
    )


@pytest.mark.parametrize("inspection", [{}, {"units": []}, {"units": [{"path": "", "kind": "root", "name": ""}]}])
@pytest.mark.parametrize("tab", TABS)
def test_a_version_with_nothing_optional_has_every_page(page, acme, tab, inspection):
    add_module(acme, "bare/aws", "1.0.0", files=[])
    ModuleVersion.objects.update(inspection=inspection)

    assert "Inputs" in page(f"/modules/acme/bare/aws/1.0.0{tab}")


def test_a_version_that_was_never_inspected_says_so_and_counts_nothing(page, acme):
    add_module(acme, "bare/aws", "1.0.0")

    text = page("/modules/acme/bare/aws/1.0.0/inputs")

    assert "Not inspected yet" in text
    assert re.search(r">Inputs</a>", text)


@pytest.mark.parametrize("lifecycle", ["yanked", "maintained"])
def test_nobody_is_handed_the_block_of_a_yanked_version(page, network, lifecycle):
    Release.objects.filter(version="1.0.0").update(lifecycle=lifecycle, lifecycle_reason="It leaks.")

    text = page("/modules/acme/network/aws/1.0.0")

    assert ("Show the block anyway" in text) is (lifecycle == "yanked")


@for_each_row(
    ("version", "expected"),
    [("1.2.3", '"~> 1.2"'), ("0.3.1", '"~> 0.3.1"'), ("2.0.0-rc.1", None), ("1.0.0+b", '"~> 1.0"')],
)
def test_a_range_is_offered_where_a_range_finds_the_version(version, expected):
    found = module_snippets.usages(ModuleAddress("acme", "vpc", "aws"), version)

    assert [one.title for one in found] == (
        ["Exactly this version", *(["Compatible versions"] if expected else []), "As an OCI package"]
    )
    assert f'/acme/vpc/aws?tag={version.replace("+", "_")}"' in found[-1].text
    assert expected is None or f"version = {expected}" in found[1].text


def test_required_inputs_are_filled_in_by_their_types():
    inputs = [
        {"name": "zones", "type": "list(object({\n  id = string\n}))"},
        {"name": "name", "type": "string"},
        {"name": "any", "type": ""},
        {"name": 'odd" {}', "type": "string"},
    ]

    for usage in module_snippets.usages(ModuleAddress("acme", "vpc", "aws"), "1.0.0", inputs=inputs):
        assert (
            '\n\n  zones = [] # list(object({ id = string }))\n  name  = "" # string\n  any   = null\n}' in usage.text
        )
        assert "odd" not in usage.text
        assert usage.hint.endswith("Replace the values of the inputs with your own.")


def test_the_page_names_the_licence_and_to_members_who_maintains_it(page, published, client, pantry, dora):
    published(
        "acme/vpc/aws", "1.0.0", data=module_zip({**MODULE, "LICENSE": "Apache License\nVersion 2.0, January 2004"})
    )
    published("acme/vpc/aws", "1.1.0", data=module_zip({**MODULE, "LICENSE": "Ours."}))
    text = page("/modules/acme/vpc/aws/1.0.0")
    assert '<a href="/modules/acme/vpc/aws/1.0.0/files/LICENSE">Apache-2.0</a>' in text
    assert "Maintained by dora" in text
    assert '<a href="/modules/acme/vpc/aws/1.1.0/files/LICENSE">LICENSE</a>' in page("/modules/acme/vpc/aws/1.1.0")


def test_ephemeral_resources_are_apart_from_data_sources(page, published):
    files = {"main.tf": 'data "aws_ami" "one" {}\nephemeral "aws_secret" "two" {}\n'}
    published("acme/vpc/aws", "1.0.0", data=module_zip(files))
    text = words(page("/modules/acme/vpc/aws/1.0.0/resources"))
    data, _, ephemeral = text.partition("Ephemeral resources")
    assert "aws_ami" in data
    assert "aws_secret" in ephemeral
    assert "aws_secret" not in data


@pytest.mark.parametrize(
    ("path", "label"),
    [("", "module_3tier"), ("/submodules/2nd", "module_2nd"), ("/submodules/a.b", "module_3tier")],
)
def test_a_name_that_begins_with_a_digit_gets_a_label_that_clients_take(page, published, path, label):
    files = {**MODULE, "modules/2nd/main.tf": "", "modules/a.b/main.tf": ""}
    published("acme/3tier/aws", "1.0.0", data=module_zip(files))

    text = page(f"/modules/acme/3tier/aws/1.0.0{path}")

    assert set(re.findall(r'module "([^"]*)" {', words(text))) == {label}


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 80])
def test_a_tab_costs_the_same_at_any_size(browser_of, alice, acme, published, django_assert_max_num_queries, count):
    published("acme/big/aws", "0.0.1")
    files = {f"f/{number}.tf": "" for number in range(count)}
    blocks = "".join(f'variable "a{n}" {{}}\noutput "b{n}" {{ value = 1 }}\n' for n in range(count))
    calls = "".join(f'module "c{n}" {{ source = "./modules/one{n}" }}\n' for n in range(count))
    units = {f"modules/one{number}/main.tf": blocks for number in range(count)}
    published("acme/big/aws", "1.0.0", data=module_zip({"main.tf": blocks + calls, **files, **units}))
    browser = browser_of(alice)

    for tab in (*TABS, "/submodules/one0", "/files/f/0.tf"):
        with django_assert_max_num_queries(13):
            assert browser.get(f"/modules/acme/big/aws/1.0.0{tab}").status_code == 200, tab
