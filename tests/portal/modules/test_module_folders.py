"""Every folder with configuration has a row and a page: below modules/ and examples/, however deep, and elsewhere."""

import re

import pytest

from tests import pages
from tests.builders.archives import module_zip
from tests.portal.rows import add_module
from tests.protocol.catalogue import unit

AT = "/modules/acme/caf/azurerm/1.0.0"
LOG = 'variable "retention" {}\n'
FOLDERS = {
    "": 'module "vm" {\n  source = "./modules/compute/vm"\n}\nmodule "wrapper" {\n  source = "./wrappers/vm"\n}\n',
    "modules/log": LOG,
    "modules/compute/vm": 'variable "size" {}\n\nmodule "disk" {\n  source = "./disk"\n}\n',
    "modules/compute/vm/disk": 'output "id" {\n  value = 1\n}\n',
    "modules/compute/aks": "",
    "modules/log/tests": LOG,
    "examples/one": "",
    "examples/compute/vm": "",
    "wrappers/vm": "",
    "landing": "",
}
FILES = {f"{folder}/main.tf".lstrip("/"): text for folder, text in FOLDERS.items()}


@pytest.fixture
def page(browser_of, bob):
    browser = browser_of(bob)

    def text(path: str) -> str:
        response = browser.get(path)
        assert response.status_code == 200, path
        return pages.text_of(response)

    return text


@pytest.fixture
def caf(published):
    readme = {"modules/compute/vm/README.md": "# A machine\n\nStarts one.\n"}
    return published("acme/caf/azurerm", "1.0.0", data=module_zip(FILES | readme))


def rows(text: str) -> list[str]:
    """Headings (behind a #) and links of the list, as they follow each other."""
    found = re.findall(rf'section-title"><span[^>]*>([^<]+)<|class="mono" href="{AT}/([^"]+)"', text)
    return [link or f"# {heading}" for heading, link in found]


def test_submodules_are_a_tree_all_other_folders_follow_and_each_has_a_page(page, browser_of, bob, caf):
    assert rows(page(f"{AT}/submodules")) == [
        "submodules/log",
        "# modules/compute",
        "submodules/compute/aks",
        "submodules/compute/vm",
        "# modules/compute/vm",
        "submodules/compute/vm/disk",
        "# Other folders",
        "folders/landing",
        "# modules/log",
        "folders/modules/log/tests",
        "# wrappers",
        "folders/wrappers/vm",
    ]
    assert rows(page(f"{AT}/examples")) == ["examples/one", "# examples/compute", "examples/compute/vm"]
    assert 'Submodules <span class="tabs__count">4<' in page(AT)
    for link in rows(page(f"{AT}/submodules")) + rows(page(f"{AT}/examples")):
        if not link.startswith("#"):
            kind, _, name = link.partition("/")
            folder = name if kind == "folders" else f"{kind.replace('submodules', 'modules')}/{name}"
            assert f'<span class="mono">{folder}</span></h2>' in page(f"{AT}/{link}")
    for missing in ("submodules/compute", "submodules/none/vm", "folders/modules/log", "examples/landing"):
        assert browser_of(bob).get(f"{AT}/{missing}").status_code == 404, missing


def test_the_page_of_a_deep_folder_has_its_block_its_readme_and_what_lies_below(page, caf):
    text = page(f"{AT}/submodules/compute/vm")

    assert '/acme/caf/azurerm//modules/compute/vm"' in text
    assert "Starts one." in text
    assert 'id="input_size"' in text
    assert f'href="{AT}/submodules/compute/vm/disk"' in text
    assert "Folders below it" in text
    assert "Folders below it" not in page(f"{AT}/submodules/compute/vm/disk")
    # What search and dependents read are submodules at any depth.
    called = sorted(caf.module_version.calls.values_list("unit", "name"))
    assert called == [("", "vm"), ("", "wrapper"), ("modules/compute/vm", "disk")]
    calls = page(f"{AT}/dependencies")
    assert f'href="{AT}/submodules/compute/vm"' in calls
    assert f'href="{AT}/folders/wrappers/vm"' in calls


def test_four_hundred_folders_cost_no_more_queries_and_are_paged(browser_of, bob, acme, django_assert_max_num_queries):
    found = [unit(f"modules/group{number % 7}/m{number:03}", "submodule", f"m{number:03}") for number in range(400)]
    add_module(acme, "caf/azurerm", "1.0.0", inspection={"units": [unit(), *found]})
    browser = browser_of(bob)

    with django_assert_max_num_queries(12):
        first = pages.text_of(browser.get(f"{AT}/submodules"))
    links = [row for row in rows(first) if row.startswith("submodules/")]
    assert len(links) == 100
    assert len(first) < 150_000
    last = rows(pages.text_of(browser.get(f"{AT}/submodules?page=4")))
    assert last[-1] == "submodules/group6/m398"
    home = pages.text_of(browser.get(AT))
    assert f'href="{AT}/submodules">All 400</a>' in home
    assert home.count(f'href="{AT}/submodules/') == 8
