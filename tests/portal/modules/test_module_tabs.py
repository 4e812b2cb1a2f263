"""The tabs of a module version: /inputs, /outputs, /resources, /dependencies, /submodules and /examples"""

import re

import pytest
from django.urls import reverse

from apps.lib.addresses import ModuleAddress
from apps.modules.contents import readme
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import Release
from apps.snippets import module_snippets
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


def test_each_tab_is_a_link_with_its_count_and_lists_its_rows_with_their_lines(page, network):
    text, inputs, outputs, resources = (page(f"{AT}{tab}") for tab in ("", "/inputs", "/outputs", "/resources"))

    found = dict(re.findall(r'class="tabs__link" href="([^"]*)".*?(?:tabs__count">(\d+))?<', text))
    unit = ModuleVersion.objects.get(release__version="2.0.0").inspection["units"][0]
    assert set(found) == {
        *(f"{AT}{tab}" for tab in (*TABS, "/origin")),
        f"{AT.rpartition('/')[0]}/versions",
        f"{AT.rpartition('/')[0]}/usage",
    }  # who uses it: all versions
    assert f'{AT}/inputs">Inputs <span class="tabs__count">{len(unit["variables"])}<' in text
    assert f'{AT}/outputs">Outputs <span class="tabs__count">{len(unit["outputs"])}<' in text

    assert inputs.index('id="input_availability_zones"') < inputs.index('id="input_cidr"'), "what has to be given first"
    assert "Not a CIDR block." in inputs
    assert f'href="{AT}/files/variables.tf#L11"' in inputs
    assert '"10.0.0.0/16"' in inputs
    # The author's own lines, not what a parser makes of them.
    assert re.search(r"flow_log.*?<code>object\(\{\n  enabled +=", inputs, re.DOTALL)
    for output in unit["outputs"]:
        assert f'id="output_{output["name"]}"' in outputs
        assert f'{AT}/files/{output["file"]}#L{output["line"]}"' in outputs
    for resource in unit["resources"]:
        assert f'{AT}/files/{resource["file"]}#L{resource["line"]}"' in resources
    assert resources.index("aws_vpc") < resources.index("Data sources")


def test_submodules_and_examples_have_pages_of_their_own(page, browser_of, bob, network, settings):
    settings.PUBLIC_HOST = "registry.example.com"

    text, example = page(f"{AT}/submodules/subnets"), page(f"{AT}/examples/complete")

    assert 'source  = "registry.example.com/acme/network/aws//modules/subnets"' in text
    assert 'id="input_vpc_id"' in text
    assert 'id="output_ids"' in text
    assert "aws_route_table_association" in text
    assert f'href="{AT}/files/modules/subnets"' in text
    assert "examples/complete" in example
    assert "copybar" not in example  # nobody calls an example
    for missing in ("/submodules/nothing", "/examples/subnets", "/submodules/modules%2Fsubnets"):
        assert browser_of(bob).get(f"{AT}{missing}").status_code == 404, missing


@for_each_row("version", ["1.0.0", "1.0.0-rc.1", "1.0.0+build.7"])
def test_the_worker_and_the_routes_agree_on_addresses(version):
    address = ModuleAddress("acme", "my_vpc", "aws")
    at = [address.namespace, address.name, address.system, version]

    path = readme.page_path(address, version)

    assert path == reverse("portal:module-version", args=at)
    assert f"{path}/files/a b/c.tf".replace(" ", "%20") == reverse("portal:module-file", args=[*at, "a b/c.tf"])
    assert f"{path}/raw/a.png" == reverse("portal:module-raw", args=[*at, "a.png"])


def test_a_version_leads_to_its_own_files_and_to_the_same_tab_of_its_neighbours(page, network):
    readme, inputs = page("/modules/acme/network/aws/1.1.0"), page("/modules/acme/network/aws/1.1.0/inputs")

    assert 'href="/modules/acme/network/aws/1.1.0/files/modules/subnets"' in readme
    assert 'src="/modules/acme/network/aws/1.1.0/raw/docs/diagram.png"' in readme
    assert 'rel="prev" href="/modules/acme/network/aws/1.0.0/inputs"' in inputs
    assert 'rel="next" href="/modules/acme/network/aws/2.0.0/inputs"' in inputs


def test_a_repository_is_linked_only_on_the_web(page, acme):
    add_module(acme, "network/aws", "2.0.0")
    Module.objects.update(source_url="https://git.example.com/team/network.git")
    assert 'href="https://git.example.com/team/network.git"' in page(AT)

    for hostile in ("javascript:alert(1)", "ssh://git@example.com/x", "//evil.example", ""):
        Module.objects.update(source_url=hostile)
        assert not hostile or hostile not in page(AT)


def test_it_says_what_was_uploaded_left_out_and_not_read_and_hands_out_no_yanked_block(page, published):
    published("acme/vpc/aws", "1.0.0", data=module_zip({**MODULE, "broken.tf": 'variable "a" {\n'}))
    at = "/modules/acme/vpc/aws/1.0.0"
    Release.objects.update(
        uploaded_digest="f" * 64, notes={"form": "tar.gz", "left_out": [".git/config"], "left_out_count": 7}
    )

    text = page(at)

    assert re.search(rf'in the files could not be parsed.*?href="{at}/files/broken.tf#L\d+"', text, re.DOTALL)
    assert "f" * 64 in page(f"{at}/origin")
    assert "7 that no module needs .git/config" in words(page(f"{at}/files"))
    assert "Show the block anyway" not in text
    Release.objects.update(lifecycle="yanked", lifecycle_reason="It leaks.")
    assert "Show the block anyway" in page(at)


@pytest.mark.slow
@for_each_row("inspection", [{}, {"units": []}, {"units": [{"path": "", "kind": "root", "name": ""}]}])
def test_a_version_with_nothing_optional_has_every_page_and_counts_nothing(page, acme, inspection):
    add_module(acme, "bare/aws", "1.0.0", files=[])
    ModuleVersion.objects.update(inspection=inspection)
    shown = {tab: page(f"/modules/acme/bare/aws/1.0.0{tab}") for tab in TABS}

    is_read = bool(inspection.get("units"))  # then it is known that there are none, and no tab says 0
    assert all(('/inputs">Inputs' in text) is not is_read for tab, text in shown.items() if tab != "/inputs")
    assert "This version has no README" in shown[""]
    assert "0 files" in shown[""]
    if not inspection:
        assert "Not inspected yet" in shown["/inputs"]
        assert re.search(r">Inputs</a>", shown["/inputs"])


@for_each_row(
    ("version", "expected"),
    [("1.2.3", '"~> 1.2"'), ("0.3.1", '"~> 0.3.1"'), ("2.0.0-rc.1", None), ("1.0.0+b", '"~> 1.0"')],
)
def test_a_range_is_offered_where_a_range_finds_the_version(version, expected):
    found = module_snippets.usages(ModuleAddress("acme", "vpc", "aws"), version)

    ways = {one.key: one.text for one in found}
    assert list(ways) == ["exact", *(["range"] if expected else []), "oci", "form"]
    assert f'/acme/vpc/aws?tag={version.replace("+", "_")}"' in ways["oci"]
    assert expected is None or f"version = {expected}" in ways["range"]


def test_required_inputs_are_filled_in_by_their_types():
    inputs = [
        {"name": "zones", "type": "list(object({\n  id = string\n}))"},
        {"name": "name", "type": "string"},
        {"name": "any", "type": ""},
        {"name": 'odd" {}', "type": "string"},
    ]

    *lines, form = module_snippets.usages(ModuleAddress("acme", "vpc", "aws"), "1.0.0", inputs=inputs)

    assert '\n\n  zones = [] # list(object({ id = string }))\n  name  = "" # string\n  any   = null\n}' in form.text
    assert "odd" not in form.text
    assert form.hint.endswith("Replace the values of the inputs with your own.")
    assert [one.key for one in lines if "zones" in one.text] == []


@for_each_row(
    ("version", "range_"),
    [("1.2.3", ("1.2.0", "2.0.0")), ("6.6.0", ("6.6.0", "7.0.0")), ("0.25.1", ("0.25.1", "0.26.0"))],
)
def test_a_range_is_explained_by_its_ends(version, range_):
    least, below = range_
    assert module_snippets.range_hint(version) == f"The highest version from {least}, below {below}."


def test_the_page_names_the_licence_and_to_members_who_maintains_it(page, published, client, pantry, dora):
    published(
        "acme/vpc/aws", "1.0.0", data=module_zip({**MODULE, "LICENSE": "Apache License\nVersion 2.0, January 2004"})
    )
    published("acme/vpc/aws", "1.1.0", data=module_zip({**MODULE, "LICENSE": "Ours."}))
    text = page("/modules/acme/vpc/aws/1.0.0")
    assert '<a href="/modules/acme/vpc/aws/1.0.0/files/LICENSE">Apache-2.0</a>' in text
    assert re.search(r"Maintained by</dt>\s*<dd.*?</span></span> dora", text)
    assert '<a href="/modules/acme/vpc/aws/1.1.0/files/LICENSE">LICENSE</a>' in page("/modules/acme/vpc/aws/1.1.0")


def test_ephemeral_resources_are_apart_from_data_sources(page, published):
    files = {"main.tf": 'data "aws_ami" "one" {}\nephemeral "aws_secret" "two" {}\n'}
    published("acme/vpc/aws", "1.0.0", data=module_zip(files))
    text = words(page("/modules/acme/vpc/aws/1.0.0/resources"))
    data, _, ephemeral = text.partition("Ephemeral resources")
    assert "aws_ami" in data
    assert "aws_secret" in ephemeral
    assert "aws_secret" not in data


def test_a_name_that_begins_with_a_digit_gets_a_label_that_clients_take(page, published):
    files = {**MODULE, "modules/2nd/main.tf": "", "modules/a.b/main.tf": ""}
    published("acme/3tier/aws", "1.0.0", data=module_zip(files))

    for path, label in (("", "module_3tier"), ("/submodules/2nd", "module_2nd"), ("/submodules/a.b", "module_3tier")):
        text = page(f"/modules/acme/3tier/aws/1.0.0{path}")
        assert set(re.findall(r'module "([^"]*)" {', words(text))) == {label}, path


@pytest.mark.slow
def test_a_tab_costs_little_at_any_size(browser_of, alice, acme, published, django_assert_max_num_queries):
    count = 80
    published("acme/big/aws", "0.0.1")
    files = {f"f/{number}.tf": "" for number in range(count)}
    blocks = "".join(f'variable "a{n}" {{}}\noutput "b{n}" {{ value = 1 }}\n' for n in range(count))
    calls = "".join(f'module "c{n}" {{ source = "./modules/one{n}" }}\n' for n in range(count))
    units = {f"modules/one{number}/main.tf": blocks for number in range(count)}
    published("acme/big/aws", "1.0.0", data=module_zip({"main.tf": blocks + calls, **files, **units}))
    browser = browser_of(alice)

    for tab in (*TABS, "/submodules/one0", "/files/f/0.tf"):
        with django_assert_max_num_queries(15):
            assert browser.get(f"/modules/acme/big/aws/1.0.0{tab}").status_code == 200, tab
