"""Large modules: inputs, outputs and resources in pages, found by words, each with a permanent address."""

import re

import pytest

from apps.modules.models import ModuleVersion
from apps.portal.modules import rows
from tests import pages
from tests.builders.archives import MODULE, module_zip
from tests.rows import for_each_row

V = "/modules/acme/vpc/aws/1.2.0"


@pytest.fixture
def large(published):
    inner = {f"modules/inner/{name}": text for name, text in MODULE.items()}
    published(version="1.2.0", data=module_zip({**MODULE, **inner}))
    version = ModuleVersion.objects.get()
    # The same rows as inspection leaves, without the time that it takes to read them.
    unit = version.inspection["units"][0]
    for key in ("variables", "outputs", "resources"):
        like = unit[key][0]
        unit[key] = [{**like, "name": f"row_{number:05}"} for number in range(600)]
    for variable in unit["variables"][-3:]:
        variable["required"], variable["default"] = False, '"x"'
    version.save()
    return version


@pytest.mark.slow
@for_each_row("tab", ["inputs", "outputs", "resources"])
def test_hundreds_of_rows_are_paged_and_found_by_words(large, browser_of, bob, tab):
    browser = browser_of(bob)
    first, last = browser.get(f"{V}/{tab}"), browser.get(f"{V}/{tab}?page=3")
    found = browser.get(f"{V}/{tab}?q=ROW_00377")

    assert len(first.content) < 400_000
    assert 'aria-label="Pages"' in first.content.decode()
    assert "row_00000" in first.content.decode()
    assert "row_00599" in last.content.decode()
    assert "row_00377" in found.content.decode()
    assert "row_00376" not in found.content.decode()
    assert f"No matching {tab}." in pages.markup_of(browser.get(f"{V}/{tab}?q=nothing"))


@pytest.mark.slow
def test_each_input_and_output_has_a_permanent_address(large, browser_of, bob):
    browser = browser_of(bob)
    addresses = {
        name: browser.get(f"{V}/{name}") for name in ("inputs/row_00000", "inputs/row_00599", "outputs/row_00200")
    }

    assert addresses["inputs/row_00000"].url == f"{V}/inputs#input_row_00000"
    assert addresses["inputs/row_00599"].url == f"{V}/inputs?page=3#input_row_00599"
    assert addresses["outputs/row_00200"].url == f"{V}/outputs?page=2#output_row_00200"
    for answer in addresses.values():
        page, _, anchor = answer.url.partition("#")
        assert f'id="{anchor}"' in browser.get(page).content.decode()
    assert browser.get(f"{V}/inputs/nothing").status_code == 404


@pytest.mark.slow
def test_the_rows_of_a_folder_are_paged_and_have_one_too(large, browser_of, bob, monkeypatch):
    monkeypatch.setattr(rows, "PAGE", 2)
    inner = large.inspection["units"][1]
    inner["variables"] = [{**inner["variables"][0], "name": f"in_{number}"} for number in range(5)]
    inner["outputs"] = [{**inner["outputs"][0], "name": "out"}]
    large.save()
    browser = browser_of(bob)
    first, last = (pages.markup_of(browser.get(f"{V}/submodules/inner?page={page}")) for page in (1, 3))
    found = {
        name: browser.get(f"{V}/{name}?folder=modules/inner").url
        for name in ("inputs/in_0", "inputs/in_4", "outputs/out")
    }

    assert [re.findall(r'id="input_(in_\d)"', page) for page in (first, last)] == [["in_0", "in_1"], ["in_4"]]
    assert 'aria-label="Pages"' in first
    assert 'Required <span class="count">5</span>' in first
    assert found == {
        "inputs/in_0": f"{V}/submodules/inner#input_in_0",
        "inputs/in_4": f"{V}/submodules/inner?page=3#input_in_4",
        "outputs/out": f"{V}/submodules/inner#output_out",
    }
    for url in found.values():
        page, _, anchor = url.partition("#")
        assert f'id="{anchor}"' in browser.get(page).content.decode()
    for missing in ("inputs/row_00000?folder=modules/inner", "inputs/in_0?folder=modules/none", "inputs/in_0"):
        assert browser.get(f"{V}/{missing}").status_code == 404


def test_optional_inputs_come_last_and_the_block_to_copy_stays_short(large, browser_of, bob):
    large.inspection["units"][0]["variables"].reverse()
    large.save()
    browser = browser_of(bob)
    last = pages.markup_of(browser.get(f"{V}/inputs?page=3"))

    assert re.findall(r'id="input_(row_\d+)"', last)[-3:] == ["row_00599", "row_00598", "row_00597"]
    assert 'Optional <span class="count">3</span>' in last
    assert len(browser.get(V).content) < 120_000
